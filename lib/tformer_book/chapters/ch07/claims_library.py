"""The claims of chapter 7's deeper page: learned rows, gradients, slopes, caches, few digits."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import numpy as np

from tformer import reference as ref
from tformer_book.claims import plain
from tformer_book.claims.registry import claim, require
from tformer_book.claims.tools import Array, near, show


def units(*shape: int) -> Array:
    """Return every table of a shape with a single 1, one after the other."""
    size = int(np.prod(shape))
    return np.eye(size).reshape(size, *shape)


@claim(
    "prop-learned-rows",
    "exhaustive",
    mutants={"a row used twice counts once": {"once": True}},
    scope="all texts of up to 3 places from 4 rows",
)
def learned_rows(once: bool = False) -> str:
    """The gradient is held to the definition by every table and every gradient with a single 1."""
    tried = 0
    for n in range(4):
        for tokens in map(np.array, product(range(4), repeat=n)):
            tokens = tokens.astype(int)
            for grad in units(n, 2):
                passed = ref.embedding_vjp(tokens, np.zeros((4, 2)), grad)
                if once:
                    passed = np.zeros((4, 2))
                    passed[tokens] = grad
                want = [(ref.embedding(tokens, one) * grad).sum() for one in units(4, 2)]
                says = f"places {tokens}: {show(passed)} passed back, {show(want)} right"
                require(near(passed.ravel(), want), says)
                unused = [row for row in range(4) if row not in tokens]
                require(near(passed[unused], 0), f"places {tokens}: an unused row learns")
                tried += 1
    return f"{tried} texts and gradients, each against all eight tables with a single 1, exactly"


@claim(
    "prop-toeplitz",
    "exhaustive",
    mutants={
        "the gradient forgets the offset": {"known": False},
        "one number too few": {"spare": -1},
    },
    scope="all T, S ≤ 4, m ≤ 3, offsets ≤ 3",
)
def toeplitz(known: bool = True, spare: int = 0) -> str:
    """Diagonals, the count of different numbers, and the gradient by tables with a single 1."""
    tried = 0
    for n_queries, n_keys, m, offset in product(range(1, 5), range(1, 5), range(4), range(4)):
        table = np.arange(2.0 * m + 1)[None]
        b = ref.relative_bias(table, n_queries, n_keys, offset=offset)[0]
        require(near(b[1:, 1:], b[:-1, :-1], 0), "a diagonal has two numbers")
        most = min(2 * m + 1, n_queries + n_keys - 1) + spare
        says = f"{len(np.unique(b))} numbers in {n_queries} × {n_keys}, m = {m}"
        require(len(np.unique(b)) <= most, says)
        for grad in units(1, n_queries, n_keys):
            passed = ref.relative_bias_vjp(table, grad, offset=offset if known else 0)[0]
            each = (
                ref.relative_bias(one, n_queries, n_keys, offset=offset)
                for one in units(1, 2 * m + 1)
            )
            want = [(one * grad).sum() for one in each]
            says = f"{show(passed)} passed back, {show(want)} right"
            require(near(passed, want), f"T = {n_queries}, S = {n_keys}, offset {offset}: {says}")
        tried += 1
    return f"{tried} shapes, each gradient against every table with a single 1, exactly"


@claim(
    "prop-alibi-slopes",
    "exhaustive",
    mutants={
        "beginning at 1": {"first": 0},
        "a plain sequence for all": {"plain": True},
        "the added ones come after": {"side": -1},
    },
    scope="1 to 64 heads",
)
def alibi_slopes(first: int = 1, plain: bool = False, side: int = 1) -> str:
    """Slope by slope from the statement; each added exponent half a step before its neighbour."""
    for n in range(1, 65):
        power = n if plain else 2 ** (n.bit_length() - 1)
        own = [2.0 ** (-8 * (h + first) / power) for h in range(power)]
        added = [2.0 ** (-8 * (2 * h + 1) / (2 * power)) for h in range(n - power)]
        found = ref.alibi_slopes(n)
        says = f"{n} heads: {show(found[:3])} …, not {show([*own, *added][:3])} …"
        require(near(found, [*own, *added]), says)
        require(len(set(found)) == n, f"{n} heads: two slopes are one")
        exponents, half = -np.log2(found), 4 / power
        before = exponents[: n - power] - side * half
        says = f"{n} heads: exponents {show(exponents[power:])}, not {show(before)}"
        require(near(exponents[power:], before), says)
    return "every slope of 1 to 64 heads within 1e-12, all different"


@claim(
    "prop-rope-vjp",
    "numeric",
    mutants={"turned forwards": {"back": False}},
    scope="both pairings, four shapes",
)
def rope_vjp(back: bool = True) -> str:
    """By the definition of a vector–Jacobian product: the function is linear in x."""
    for pairing in ("adjacent", "half"):
        for shape in ((1, 2), (5, 6), (2, 3, 4), (2, 1, 7, 16)):
            x, grad = np.random.default_rng(len(shape)).standard_normal((2, *shape))
            waves = ref.sinusoidal(np.arange(3, 3 + shape[-2]), shape[-1])
            passed = ref.rope_vjp(waves, grad, pairing=pairing)
            if not back:
                passed = ref.rope(grad, waves, pairing=pairing)
            one, two = (ref.rope(x, waves, pairing=pairing) * grad).sum(), (x * passed).sum()
            require(near(one, two, 1e-10), f"{pairing}, {shape}: {one:.4f} and {two:.4f}")
            require(
                near(ref.norm(passed), np.linalg.norm(grad, axis=-1)),
                "a gradient has changed its length",
            )
    return "eight cases: (x R)·g = x·(g passed back) within 1e-10, lengths within 1e-12"


@claim(
    "prop-cache",
    "numeric",
    mutants={"the offset forgotten": {"known": False}},
    scope="three schemes, every place of 40",
)
def cache(known: bool = True) -> str:
    """RoPE, ALiBi and relative bias, the last query of each text against the whole in loops."""
    rng, n = np.random.default_rng(0), 40
    q, k, v = rng.standard_normal((3, n, 8))
    table = rng.standard_normal((1, 11))
    far = np.arange(n) - np.arange(n)[:, None]
    tables = {"ALiBi": -np.abs(far) / 2.0**8, "relative": table[0][np.clip(far, -5, 5) + 5]}
    waves = ref.sinusoidal(np.arange(n), 8)
    biases: dict[str, Callable[..., Array]] = {
        "ALiBi": lambda *sizes, **at: ref.alibi_bias(1, *sizes, **at)[0],
        "relative": lambda *sizes, **at: ref.relative_bias(table, *sizes, **at)[0],
    }
    for name in ("RoPE", "ALiBi", "relative"):
        turned = name == "RoPE"
        keys, (q_t, k_t) = ref.rope(k, waves) if turned else k, (q, k)
        if turned:
            q_t, k_t = (
                np.array([plain.turned(x, t) for t, x in enumerate(rows)]) for rows in (q, k)
            )
        whole = plain.attention(q_t, k_t, v, np.tri(n, dtype=bool), tables.get(name))
        for t in range(n):
            offset = t if known else 0
            new = ref.rope(q[t : t + 1], waves[offset : offset + 1]) if turned else q[t : t + 1]
            bias = None if turned else biases[name](1, t + 1, offset=offset)
            one = ref.attention(new, keys[: t + 1], v[: t + 1], bias=bias)[0]
            gap = abs(one - whole[t]).max()
            require(gap < 1e-12, f"{name}, word {t}: an output is off by {gap:.3f}")
    return f"{n} words under each of {1 + len(biases)} schemes, one query at a time, within 1e-12"


@claim(
    "exm-few-digits",
    "exhaustive",
    mutants={"one digit more": {"more": 1}},
    scope="all whole numbers up to 4096",
)
def few_digits(more: int = 0) -> str:
    """float16 by NumPy; bfloat16 by rounding to 8 binary digits."""
    numbers = np.arange(4097)
    formats = {
        "bfloat16": (_digits(numbers, 8 + more), 256),
        "float16": (_digits(numbers, 11 + more), 2048),
    }
    if not more:
        half = numbers.astype(np.float16).astype(float)
        require(near(half, formats["float16"][0], 0), "NumPy rounds float16 otherwise")
    for name, (rounded, last) in formats.items():
        first = int(np.flatnonzero(rounded != numbers)[0])
        require(first == last + 1, f"{name}: {first} is the first that it does not have")
        require(rounded[first] == last, f"{name} makes {rounded[first]:g} of {first}")
    return "257 becomes 256 in bfloat16, 2049 becomes 2048 in float16; all before are exact"


def _digits(numbers: Array, digits: int) -> Array:
    """Return numbers rounded to so many binary digits, ties to even."""
    unit = 2.0 ** (np.floor(np.log2(np.maximum(numbers, 1))) - digits + 1)
    rounded: Array = np.round(numbers / unit) * unit
    return rounded
