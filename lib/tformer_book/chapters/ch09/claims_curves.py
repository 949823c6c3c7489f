"""Claims of chapter 9 about curves, costs and folds."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from math import erf, pi, sqrt, tanh

import numpy as np
import sympy as sp
from scipy.optimize import minimize_scalar

from tformer import reference as ref
from tformer.configuration import Configuration
from tformer.models.sizes import Sizes, initialise
from tformer.parameters import (
    BlockParameters,
    FeedForwardParameters,
    NormParameters,
    leaves,
    tree_map,
)
from tformer_book.chapters.ch09 import folds, measured
from tformer_book.chapters.ch09.claims import random_layer
from tformer_book.claims.registry import claim, require
from tformer_book.claims.tools import identity, near, profiled


@claim(
    "exm-tanh-form",
    "empirical",
    mutants={
        "another weight of the cube": {"cubic": 0.044},
        "the largest error is below 0.0004": {"most": 0.0004},
        "the share stays below a half": {"share": 0.5},
        "one binade was left out": {"left_out": 1},
        "it is 0 too early at −8 and below": {"silent": 3},
    },
    scope="all 4,278,190,080 finite float32, stored; 5 binades again",
)
def tanh_form(
    cubic: float = 0.044715,
    most: float = 0.000474,
    share: float = 1.0,
    left_out: int = 0,
    silent: int = 2,
) -> str:
    """The stored sweep is whole and agrees with five binades, with a sample and with calculus."""
    import torch

    from tformer_book.chapters.ch09 import float32

    found = measured.binades()[left_out:]
    numbers = len(found) * 2**23
    require(numbers == 2**32 - 2**24, f"{numbers} numbers were tried, of {2**32 - 2**24}")

    def off(x: float) -> float:
        inner = sqrt(2 / pi) * (x + cubic * x**3)
        return abs(x / 2 * (tanh(inner) - erf(x / sqrt(2))))

    grid = np.linspace(0, 8, 801)
    start = grid[int(np.argmax([off(x) for x in grid]))]
    top = minimize_scalar(lambda x: -off(x), bounds=(start - 0.01, start + 0.01), method="bounded")
    worst = max(found, key=lambda one: one["error"])
    said = f"at {worst['at']:.6f} it is off by {worst['error']:.8f}, by calculus {-top.fun:.8f}"
    require(abs(worst["error"] + top.fun) < 1e-9, said)
    require(worst["error"] < most, f"at {worst['at']:.4f} it is off by {worst['error']:.6f}")
    largest = max(one["share"] for one in found)
    require(largest <= share, f"below zero, the share of the error reaches {largest:.4g}")
    early = [(one["sign"], one["exponent"], one["silent"]) for one in found if one["silent"]]
    said = "; ".join(f"{n} numbers of sign {s} from 2^{e} on" for s, e, n in early)
    require(early == [(-1, silent, 990448)], f"in float32, 0 where the exact form is not: {said}")
    for sign, exponent in ((1, 1), (-1, 1), (-1, 2), (-1, -20), (1, 100)):
        one = next(x for x in found if (x["sign"], x["exponent"]) == (sign, exponent))
        again = float32.farthest(exponent, sign < 0)
        require(near(again["error"], one["error"], 1e-12), f"{one} is now {again}")
        require(near(again["share"], one["share"], 1e-9), f"{one} is now {again}")
    bits = np.random.default_rng(0).integers(-(2**31), 2**31, 10**5).astype(np.int32)
    x = bits.view(np.float32)
    x = np.unique(x[np.isfinite(x)])
    apart, _ = float32.errors(torch.from_numpy(x))
    wide = x.astype(np.float64)
    with np.errstate(over="ignore"):
        ours = np.abs(ref.gelu_tanh(wide) - ref.gelu(wide))
    middle = np.abs(wide) < 1e6  # beyond, both are x or 0, and a tanh of −1 is exact
    require(near(ours[middle], apart.numpy()[middle], 1e-9), "the library and the sweep differ")
    return (
        f"{len(found)} binades, {numbers} numbers, stored: the largest error is "
        f"{worst['error']:.7f}, at ±{abs(worst['at']):.4f}, as by calculus (1e-9); "
        "0 too early in float32: 990448, from −8 to −4; five binades again, the library at 100000"
    )


@claim(
    "prop-share",
    "numeric",
    mutants={
        "gates are for nothing": {"matrices": 2},
        "d_ff = 3 d": {"ratio": 3},
        "a word's share of attention is left out": {"tables": 0},
        "they meet at T = d": {"even": 1},
    },
    scope="12 blocks made, their entries counted; PyTorch's counter",
)
def share(matrices: int = 3, ratio: int = 4, tables: int = 4, even: int = 2) -> str:
    """Entries of the arrays of blocks that are made; operations as PyTorch counts them."""
    for d, h, gated in product((6, 12, 24), (1, 3), (False, True)):
        width = 8 * d // 3 if gated else ratio * d
        sizes = Sizes(7, d, 1, h, width, biased=False, gated=gated)
        (block,) = initialise(sizes, _LLAMA, np.random.default_rng(0)).blocks
        attention, layer = (
            sum(x.size for x in leaves(part)) for part in (block.heads, block.feed_forward)
        )
        said = f"d = {d}, d_ff = {width}: {layer} entries of {attention + layer}"
        require(layer == (matrices if gated else 2) * d * width, said)
        require(3 * layer == 2 * (attention + layer), said)
        for n_tokens in (1, d, even * d):
            took, looked = _operations(block, d, n_tokens)
            require(took == n_tokens * 16 * d * d, f"d = {d}: {took} operations in the layer")
            want = n_tokens * (8 * d * d + tables * n_tokens * d)
            require(looked == want, f"d = {d}, T = {n_tokens}: {looked} in attention, not {want}")
            said = f"d = {d}, T = {n_tokens}: {took} in the layer, {looked} in attention"
            require((took == looked) == (n_tokens == even * d), said)
    return (
        "the entries of 12 blocks: 2/3 of them in the layer, with gates and 8d/3 hidden units too; "
        "operations counted while the blocks run: as many in attention at T = 2d, at no other T "
        "tried"
    )


def _operations(block: BlockParameters, d: int, n_tokens: int) -> tuple[int, int]:
    """What PyTorch counts in the layer and in attention, for all words together."""
    import torch

    from tformer import fast

    p, x = tree_map(torch.from_numpy, block), torch.ones(n_tokens, d, dtype=torch.float64)
    return (
        profiled(lambda: fast.feed_forward(x, p.feed_forward, _LLAMA)),
        profiled(lambda: fast.multi_head_attention(x, p.heads)),
    )


_LLAMA = Configuration(norm="rms", activation="silu", positions="rope")


@claim(
    "thm-folds",
    "numeric",
    mutants={
        "every pattern of units occurs": {"patterns": True},
        "without biases the number is the same": {"biased": False},
        "two of the lines may be parallel": {"spoiled": "two parallel lines"},
        "three of the lines may meet": {"spoiled": "three lines through a point"},
        "a unit need not have a line": {"spoiled": "a unit without a line"},
    },
    scope="n ≤ 6 lines, exact integers; 60 layers on a line",
)
def fold(patterns: bool = False, biased: bool = True, spoiled: str = "") -> str:
    """Pieces by slopes along a line; regions of the plane by exact signs around every crossing."""
    for seed, n in product(range(12), range(1, 6)):
        layer = random_layer(seed, 1, n)
        found, want = folds.pieces(layer), n + 1
        require(found == want, f"n = {n} on a line: {found} pieces, not {want}")
        layer.b_in[:] = 0
        require(folds.pieces(layer) <= 2, "more than two pieces, and all bends at 0")
    tried = 0
    for seed, n in product(range(6), range(1, 7)):
        rng = np.random.default_rng(seed)
        w, b = _general(rng, n)
        want = 2**n if patterns else folds.bound(n, 2)
        if not biased:
            b = 0 * b
        if spoiled in (others := _spoiled(w, b)):
            w, b = others[spoiled]
        found = folds.regions(w, b)
        require(found == want, f"n = {n} in the plane: {found} regions, not {want}")
        require(_gradients(w, b, seed) == found, f"n = {n}: other slopes than regions")
        for which, lines in others.items():
            less = folds.regions(*lines)
            require(less < want, f"n = {n}, with {which}: {less} regions")
        tried += 1
    return (
        "n + 1 pieces in 60 layers on a line, n ≤ 5; 1 + n + n(n − 1)/2 regions for "
        f"{tried} general sets of lines, n ≤ 6, exact, slopes that differ; fewer if two are "
        "parallel, three meet, or a unit has none"
    )


Lines = tuple[np.ndarray, np.ndarray]


def _spoiled(w: np.ndarray, b: np.ndarray) -> dict[str, Lines]:
    """Lines of which all but one are in general position, by what is wrong with the last."""
    n = len(b)

    def last(p: int, q: int, r: int) -> Lines:
        one, other = w.copy(), b.copy()
        one[:, -1], other[-1] = (p, q), r
        return one, other

    found = {"a unit without a line": last(0, 0, int(b[-1]))}
    if n > 1:
        p, q, r = (int(x) for x in (*w[:, 0], b[0]))
        found["two parallel lines"] = last(-2 * p, -2 * q, 2 * r + 1)
    if n > 2:  # the sum of two lines passes where they meet
        p, q, r = (int(x) for x in (*(w[:, 0] + w[:, 1]), b[0] + b[1]))
        found["three lines through a point"] = last(p, q, r)
    return found


def _general(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw n lines with integers, no two parallel and no three through a point."""
    while True:
        w, b = rng.integers(-40, 41, (2, n)), rng.integers(-40, 41, n)
        two = [w[0, i] * w[1, j] - w[0, j] * w[1, i] for i in range(n) for j in range(i)]
        three = [
            round(float(np.linalg.det(np.array([w[0, [i, j, k]], w[1, [i, j, k]], b[[i, j, k]]]))))
            for i in range(n)
            for j in range(i)
            for k in range(j)
        ]
        if w.any(axis=0).all() and all(two) and all(three):
            return w, b


def _gradients(w: np.ndarray, b: np.ndarray, seed: int) -> int:
    """How many gradients a layer over these lines has, asked at a point of every region."""
    lines = [(int(p), int(q), int(r)) for p, q, r in zip(*w, b, strict=True)]
    points = np.array([[float(x), float(y)] for x, y in folds.witnesses(lines)])
    out = np.random.default_rng(seed).standard_normal((w.shape[1], 2))
    layer = FeedForwardParameters(w.astype(float), out, b.astype(float))
    return len({tuple(g) for g in folds.slopes(points, layer).round(7)})


@claim(
    "prop-odd-part",
    "symbolic",
    mutants={
        "tanh itself": {"name": "tanh"},
        "softplus": {"name": "softplus"},
    },
    scope="symbols for four activations",
)
def odd_part(name: str = "") -> str:
    """a(x) − a(−x) = x, and so every difference of two is even; symbols."""
    x = sp.Symbol("x", real=True)
    cubic = sp.sqrt(2 / sp.pi) * (x + sp.Rational(44715, 10**6) * x**3)
    forms = {
        "relu": (x + sp.Abs(x)) / 2,
        "gelu": x * (1 + sp.erf(x / sp.sqrt(2))) / 2,
        "gelu_tanh": x * (1 + sp.tanh(cubic)) / 2,
        "silu": x / (1 + sp.exp(-x)),
    }
    others = {"tanh": sp.tanh(x), "softplus": sp.log(1 + sp.exp(x))}
    chosen = {name: others[name]} if name else forms
    for which, form in chosen.items():
        identity(form.subs(x, 0), 0, f"{which}(0) = 0")
        identity(form - form.subs(x, -x), x, f"{which}(x) − {which}(−x) = x")
    points = np.linspace(-9, 9, 181)
    for which in forms:
        a = getattr(ref, which)
        require(near(a(points) - a(-points), points, 1e-12), f"the library's {which}")
    return (
        "a(x) − a(−x) = x and a(0) = 0 for ReLU, GELU, its tanh form and SiLU, as symbols, and in "
        "the library at 181 points (1e-12); so the difference of any two is even"
    )


@claim(
    "prop-smoothed",
    "symbolic",
    mutants={
        "a hard threshold at 1": {"mean": 1},
        "twice the noise": {"spread": 2},
        "the slope turns at −1": {"turn": 1},
    },
    scope="symbols; the place of the lowest value by a search",
)
def smoothed(mean: int = 0, spread: int = 1, turn: int = 2) -> str:
    """E x·1{z < x} for a normal z; where its slope falls and rises; its lowest value."""
    x, z = sp.symbols("x z", real=True)
    s = sp.Integer(spread)
    density = sp.exp(-((z - mean) ** 2) / (2 * s**2)) / (s * sp.sqrt(2 * sp.pi))
    chance = sp.simplify(sp.integrate(density, (z, -sp.oo, x)).rewrite(sp.erf))
    identity(chance, (1 + sp.erf(x / sp.sqrt(2))) / 2, "the probability of z < x")
    slope = sp.diff(x * chance, x)
    normal = sp.exp(-(x**2) / 2) / sp.sqrt(2 * sp.pi)
    identity(sp.diff(slope, x), (turn - x**2) * normal, "the slope of the slope")
    ends = [sp.limit(slope, x, -sp.oo), slope.subs(x, 0), sp.limit(slope, x, sp.oo)]
    require(ends == [0, sp.Rational(1, 2), 1], f"the slope at −∞, 0 and ∞ is {ends}")
    for at in (-2, -1, sp.Rational(-1, 2), 0, 1, 3):
        one, two = float((x * chance).subs(x, at)), float(ref.gelu(np.array(float(at))))
        require(near(one, two, 1e-12), f"x = {at}: the mean is {one:.4f}, GELU {two:.4f}")
    lowest = minimize_scalar(
        lambda u: float(ref.gelu(np.array(u))), bounds=(-2, 0), method="bounded"
    )
    require(near(lowest.fun, -0.16997, 1e-5), f"the lowest value is {lowest.fun:.5f}")
    require(near(lowest.x, -0.7518, 1e-3), f"it stands at {lowest.x:.4f}")
    return (
        "the probability of z < x, the slope of the slope, and the slope at −∞, 0 and ∞, for "
        "symbols; the library at six points; the lowest value of GELU is −0.1700, at −0.752"
    )


@claim(
    "prop-dead",
    "numeric",
    mutants={
        "half the bias is enough": {"share": 0.5},
        "GELU dies as well": {"activation": "gelu"},
        "vectors of any length": {"stretch": 3.0},
    },
    scope="d_model ≤ 8, four lengths, 160 layers, 400 vectors each",
)
def dead(share: float = 1.0, activation: str = "relu", stretch: float = 1.0) -> str:
    """Units with b = −r |k|: never on, no gradient; a little above, on along the key."""
    for seed, d in product(range(10), (1, 2, 4, 8)):
        rng = np.random.default_rng(seed)
        drawn = random_layer(seed, d, 5)
        lengths = np.linalg.norm(drawn.w_in, axis=0)
        table = np.concatenate([rng.standard_normal((400, d)), drawn.w_in.T])
        normed = ref.rms_norm(table, NormParameters(), eps=1e-30)
        for r in (0.0, 0.5, 3.0, np.sqrt(d)):
            x = normed * (r / np.sqrt(d) * (1 - 1e-12) * stretch)
            x[:200] *= rng.random((200, 1))  # as long at most
            layer = replace(drawn, b_in=-share * r * lengths)
            n_on = int((~folds.dead(x, layer)).sum())
            require(not n_on, f"d = {d}, r = {r:.3g}: {n_on} of 5 units are on for some vector")
            back = ref.feed_forward_vjp(
                x, layer, Configuration(activation=activation), np.ones_like(x)
            )[1]
            moved = max(float(np.abs(g).max()) for g in (back.w_in, back.b_in, back.w_out))
            require(moved == 0, f"d = {d}: a gradient of {moved:.3g} reaches the unit")
            awake = replace(layer, b_in=layer.b_in + 1e-6)
            require(not folds.dead(x, awake).any(), "a larger bias, and still never on")
    return (
        "160 layers, r = 0, ½, 3 and, after an RMSNorm, √d: with b = −r |k| no unit is on for "
        "400 vectors and those along the keys, no gradient for k, b, v; with a bias larger by "
        "1e-6, on for one"
    )
