"""The claims of chapter 8: what is added up, and what norms forget and pass back."""

from __future__ import annotations

from itertools import product

import numpy as np
import sympy as sp

from tformer import reference as ref
from tformer.parameters import NormParameters
from tformer_book.chapters.ch08 import rows
from tformer_book.claims.registry import claim, require
from tformer_book.claims.tools import Array, grid, identity, near, row, show, sizes, table

PLAIN = rows.PLAIN


@claim(
    "exm-runaway",
    "numeric",
    mutants={
        "with the norm, the vectors stay apart": {"melts_to": 0.512},
        "the norm stands after the sum": {"order": "post"},
        "without a norm every word ends at itself": {"own_words": 12},
    },
    scope="six layers, with the norm and without",
)
def runaway(order: str = "pre", melts_to: float = 0.922, own_words: int = 7) -> str:
    """Beyond the statement, that each of the other words looks at a word with a longer vector."""
    plain, normed = rows.run("none"), rows.run(order)
    it, others = rows.IT, [rows.WORDS.index(word) for word in ("because", "animal", "street")]
    sizes_of = [np.linalg.norm(one.rows[[0, 6], it], axis=-1) for one in (plain, normed)]
    for got, want in zip(sizes_of, ((6.4, 402.4), (6.4, 26.8)), strict=True):
        require(near(got, want, 0.05), f"the vector of it is {show(got)} long, not {show(want)}")
    own = plain.weights[[0, 6], it, it]
    require(near(own, (0.855, 1.0), 5e-4), f"without a norm it weighs itself {show(own)}")
    weights, lengths = plain.weights[6], np.linalg.norm(plain.rows[6], axis=-1)
    at, words = weights.argmax(axis=-1), np.arange(len(weights))
    require((weights.max(axis=-1) > 0.999).all(), "without a norm a word looks at two")
    require(sum(at == words) == own_words, f"{sum(at == words)} words end at themselves")
    require((lengths[at] > lengths)[at != words].all(), "a word ends at one with a shorter vector")
    first, last = normed.weights[[0, 6], it, it]
    require(near((first, last), (0.354, 0.111), 5e-4), f"with the norm {first:.3f}, {last:.3f}")
    seen = normed.weights[0, it, others]
    require(near(seen, (0.109, 0.036, 0.033), 5e-4), f"the others get {show(seen)}")
    cosines = rows.alike(normed.rows)[[0, 6]]
    require(near(cosines, (0.512, melts_to), 5e-4), f"the mean cosines are {show(cosines)}")
    without = rows.alike(plain.rows)[6]
    require(near(without, 0.619, 5e-4), f"without a norm the mean cosine is {without:.3f}")
    return (
        "lengths to 0.05, weights and mean cosines to 5e-4, of the count vectors of the sentence "
        "through six layers without matrices; where all twelve words look"
    )


@claim(
    "prop-unrolled",
    "symbolic",
    mutants={
        "without the skip": {"skip": 0},
        "later layers stand to the left": {"turned": True},
    },
    scope="up to 3 layers of width 2, symbols; curved layers, 20 stacks",
)
def unrolled(skip: int = 1, turned: bool = False) -> str:
    """Matrices of symbols that do not commute; then layers that are not linear, in floats."""
    for depth in sizes(3):
        x, layers = table("x", 1, 2), [table(name, 2, 2) for name in "abc"[:depth]]
        got = x
        for b in layers:
            got = skip * got + got @ b
        want = 0 * x
        for chosen in product((False, True), repeat=depth):
            path = [b for b, takes in zip(layers, chosen, strict=True) if takes]
            one = x
            for b in reversed(path) if turned else path:
                one = one @ b
            want = want + one
        identity(got, want, f"{depth} layers are {2**depth} paths")
    for seed in range(20):
        rng = np.random.default_rng(seed)
        start = x = rng.standard_normal((4, 5))
        added = []
        for w in rng.standard_normal((6, 5, 5)):
            added.append(np.tanh(x @ w))
            x = skip * x + added[-1]
        require(near(x, start + sum(added)), f"the vectors are {show(x[0])}")
    return (
        "2, 4 and 8 paths through one, two and three matrices of symbols; vectors after six curved "
        "layers are the first vectors and all that was added, within 1e-12, 20 stacks"
    )


@claim(
    "thm-sphere",
    "symbolic",
    mutants={
        "any factor, also a negative one": {"sign": -1},
        "the variance over d − 1": {"less": 1},
        "with ε = 1/10": {"eps": sp.Rational(1, 10)},
        "RMSNorm forgets a shift": {"shifts_rms": True},
    },
    scope="d ≤ 4, symbols; the library, widths to 64",
)
def sphere(sign: int = 1, less: int = 0, eps: sp.Expr = 0, shifts_rms: bool = False) -> str:
    """Symbols without ε; the library on the grid of small vectors and on wide ones, at its ε."""
    factor, shift = sign * sp.Symbol("a", positive=True), sp.Symbol("c", real=True)
    for d in range(2, 5):
        x = row("x", d)
        n, m = _standard(x, less, eps), _over_rms(x)
        identity(sum(n), 0, "the coordinates add up to 0")
        identity(sum(n * n), d, "the squares add up to d")
        identity(sum(m * m), d, "the squares add up to d, RMSNorm")
        identity(_standard(factor * x + shift, less, eps), n, "LN(ax + c) = LN(x)")
        identity(_over_rms(factor * x), m, "RMS(ax) = RMS(x)")
        if shifts_rms:
            identity(_over_rms(x + 1), m, "RMS(x + 1) = RMS(x)")
    tried = 0
    for x in [*grid(3), *np.random.default_rng(0).standard_normal((200, 64))]:
        v = x.var()
        n = ref.layer_norm(x[None], PLAIN)[0]
        require(near(n @ n, len(x) * v / (v + 1e-5), 1e-9), f"vector {show(x)}: square {n @ n:.4g}")
        m, tiny = ref.rms_norm(x[None], PLAIN, eps=1e-30)[0], x.any()
        require(near(m @ m, len(x) * tiny, 1e-9), f"vector {show(x)}: square {m @ m:.4g}, RMSNorm")
        same = ref.rms_norm(0.7 * x[None], PLAIN, eps=1e-30)[0]
        require(near(m, same, 1e-9), f"vector {show(x)} and 0.7 times it differ, RMSNorm")
        if v > 0:
            same = ref.layer_norm(3 * x[None] - 7, PLAIN, eps=9e-5)[0]
            require(near(n, same, 1e-9), f"vector {show(x)} and three times it less 7 differ")
            tried += 1
    return (
        f"symbols, d ≤ 4; the library's LayerNorm of {tried} vectors of widths 3 and 64 is "
        "√(d v/(v + ε)) long and forgets a shift, and a factor if ε is scaled with it; RMSNorm "
        "with ε = 1e-30 is √d long and forgets a factor"
    )


def _standard(x: Array, less: int = 0, eps: sp.Expr = 0) -> Array:
    """LayerNorm of a vector of symbols."""
    centred = x - sum(x) / len(x)
    return centred / sp.sqrt(sum(centred * centred) / (len(x) - less) + eps)


def _over_rms(x: Array) -> Array:
    """RMSNorm of a vector of symbols."""
    return x / sp.sqrt(sum(x * x) / len(x))


@claim(
    "exm-two-numbers",
    "numeric",
    mutants={
        "three numbers": {"width": 3},
        "equal numbers too": {"equal": True},
    },
    scope="all different pairs of whole numbers from −9 to 9",
)
def two_numbers(width: int = 2, equal: bool = False) -> str:
    """Every such pair through the library with an ε of 1e-30; the vectors that the source has."""
    for x in product(range(-9, 10) if width == 2 else range(-2, 3), repeat=width):
        if len(set(x)) == 1 and not equal:
            continue
        n = ref.layer_norm(np.array([x], float), PLAIN, eps=1e-30)[0]
        require(near(abs(n), 1), f"{x} becomes {show(n)}")
        signs = np.sign(np.subtract(x, x[::-1]))
        require(near(n, signs), f"{x} becomes {show(n)}")
    printed = np.array([[0.3, 2.0], [2.6702, 0.3149], [1.5844, 1.2926]])
    n = ref.layer_norm(printed, PLAIN)
    require(near(n, [[-1, 1], [1, -1], [1, -1]], 5e-4), f"the printed vectors give {show(n)}")
    return "342 pairs give the signs of their differences; so do the three printed vectors, to 5e-4"


@claim(
    "thm-norm-jacobian",
    "symbolic",
    mutants={
        "along the vector something passes": {"along": 0},
        "a shift passes": {"shift": 0},
        "not divided by the size": {"divided": False},
        "the brackets are projections for every ε": {"always": True},
    },
    scope="d ≤ 3, symbols and ε; the library, widths 1 to 8",
)
def norm_jacobian(
    along: int = 1, shift: int = 1, divided: bool = True, always: bool = False
) -> str:
    """Derivatives by SymPy; then the vector–Jacobian products of the library, row by row.

    Beyond the statement, the gradients of gain and bias.
    """
    eps = sp.Symbol("epsilon", positive=True)
    for d in (2, 3):
        x = row("x", d)
        for centre in (0, 1):
            c = x - centre * sum(x) / d
            size = sp.sqrt(sum(c * c) / d + eps)
            n = c / size
            got = np.array([[sp.diff(one, by) for by in x] for one in n])
            want = np.eye(d, dtype=int) - sp.Rational(along, d) * np.outer(n, n)
            want = want - sp.Rational(shift * centre, d) * np.ones((d, d), dtype=int)
            stated = want if divided else want * size
            identity(got * size, stated, f"the Jacobian times the size, d = {d}")
            if d == 2:  # of more coordinates the library's vectors are tried
                _projects(_at(want, eps, eps if always else 0), c, centre)
    tried = 0
    for d, seed in product((1, 2, 3, 8), range(10)):
        x = np.random.default_rng(seed).standard_normal(d) * 10.0 ** (seed % 4 - 2)
        for name, centre in (("layer_norm", 1), ("rms_norm", 0)):
            n = getattr(ref, name)(x[None], PLAIN)[0]
            size = np.sqrt(np.mean((x - centre * x.mean()) ** 2) + 1e-5)
            want = np.eye(d) - centre * shift / d - along * np.outer(n, n) / d
            vjp = getattr(ref, f"{name}_vjp")
            gain, bias, dy = np.random.default_rng(seed + 99).standard_normal((3, d))
            dx, grads = vjp(x[None], NormParameters(gain, bias), dy[None])
            require(
                near(dx[0] * size, (gain * dy) @ want, 1e-9) or not divided, f"{name} with gain"
            )
            require(near((grads.gain, grads.bias), (dy * n, dy)), f"{name}: gain and bias")
            got = np.array([vjp(x[None], PLAIN, e[None])[0][0] for e in np.eye(d)])
            require(near(got * size, want if divided else want * size, 1e-9), f"{name}, d = {d}")
            if not centre or d > 1:
                n = getattr(ref, name)(x[None], PLAIN, eps=1e-30)[0]
                bracket = np.eye(d) - centre / d - np.outer(n, n) / d
                require(near(bracket @ bracket, bracket, 1e-9), f"{name}: no projection, d = {d}")
            tried += 1
    return (
        "derivatives for symbols and ε, d = 2 and 3, both norms; projections for ε = 0; the "
        f"library's backward pass of {tried} vectors, with gain and without, is the stated matrix "
        "within 1e-9"
    )


def _projects(bracket: Array, c: Array, centre: int) -> None:
    """Require an orthogonal projection that takes away the part along c, or along c and ones."""
    identity(bracket @ bracket, bracket, "the bracket twice is the bracket")
    identity(bracket, bracket.T, "the bracket is its transpose")
    for gone in (c, np.ones(len(c), dtype=int))[: 1 + centre]:
        identity(gone @ bracket, 0 * c, "the bracket takes a part away")


def _at(matrix: Array, symbol: sp.Symbol, value: object) -> Array:
    """The matrix of symbols with a value in the place of one symbol."""
    placed = [sp.cancel(sp.sympify(one).subs(symbol, value)) for one in np.ravel(matrix)]
    return np.array(placed, dtype=object).reshape(np.shape(matrix))
