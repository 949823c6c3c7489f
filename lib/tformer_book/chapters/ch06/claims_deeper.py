"""The claims of the deeper page of chapter 6."""

from __future__ import annotations

from itertools import combinations, permutations, product
from math import comb

import numpy as np
import sympy as sp
from numpy.polynomial import polynomial

from tformer import reference as ref
from tformer.parameters import HeadParameters, leaves
from tformer_book.chapters.ch06 import slots
from tformer_book.chapters.ch06.claims import random_layer
from tformer_book.chapters.ch06.claims_veto import graded_nouns, subsets
from tformer_book.claims import plain
from tformer_book.claims.registry import claim, require
from tformer_book.claims.tools import Array, identity, near, show


@claim(
    "thm-sperner",
    "exhaustive",
    mutants={"some may contain others": {"any_sets": True}, "a smaller bound": {"less": 1}},
    scope="all families without containment, up to 5 elements",
)
def sperner(any_sets: bool = False, less: int = 0) -> str:
    """Every family without containment of subsets of at most five elements."""
    counts = []
    for size in range(1, 6):
        most = comb(size, size // 2) - less
        families = _families(size) if not any_sets else combinations(subsets(size), 2)
        longest = tried = 0
        for family in families:
            total = sum(1 / comb(size, len(one)) for one in family)
            require(total <= 1 + 1e-12, f"{_named(family)}: the sum is {total:.3f}")
            require(len(family) <= most, f"{_named(family)}: {len(family)} sets, not {most}")
            longest, tried = max(longest, len(family)), tried + 1
        require(longest == most, f"the largest family of {size} has {longest}")
        counts.append(tried)
    return (
        f"{', '.join(map(str, counts))} families of subsets of 1 to 5 elements; the bound reached"
    )


def _named(family: tuple[frozenset[int], ...]) -> str:
    return ", ".join("{" + ", ".join(map(str, sorted(one))) + "}" for one in family)


def _families(size: int) -> list[tuple[frozenset[int], ...]]:
    """Return all families of subsets of a set in which none contains another, the empty one too."""
    families: list[tuple[frozenset[int], ...]] = [()]
    for one in subsets(size):
        free = [f for f in families if not any(one <= other or other <= one for other in f)]
        families += [(*family, one) for family in free]
    return families


@claim(
    "prop-graded",
    "numeric",
    mutants={
        "an adjective that does not turn down": {"turned": False},
        "one head": {"n_heads": 1},
    },
    scope="2 to 12 kinds, every two of them",
)
def graded(turned: bool = True, n_heads: int = 2) -> str:
    """The limit for symbols; both weights at C = 10⁸, without other words."""
    a, b, c = sp.symbols("a b C", positive=True)
    right, wrong = 0, 0
    for f in (sp.sin, sp.cos):
        total = f(a) + f(b) + c / f(a)
        right, wrong = right + c * f(a) / total, wrong + c * f(b) / total
    limits = [sp.limit(weight, c, sp.oo) for weight in (right, wrong)]
    identity(limits[1] / limits[0], sp.cos(a - b), "the ratio of the limits")
    least = np.inf
    for n in range(2, 13):
        nouns = graded_nouns(2, n)[:n_heads]
        adjectives = np.log(1e8) - nouns if turned else 0 * nouns + np.log(1e8)
        angle = np.linspace(0.02, np.pi / 2 - 0.02, n)
        for i, j in permutations(range(n), 2):
            scores = np.stack([nouns[:, i], nouns[:, j], adjectives[:, i]], axis=-1)
            both = ref.softmax(scores)[:, :2].sum(axis=0)
            require(both[0] > both[1], f"n = {n}, kinds {i} and {j}: {show(both)}")
            ratio = both[0] / both[1] * np.cos(angle[i] - angle[j])
            require(near(ratio, 1, 1e-3), f"the ratio is {ratio:.6f} of 1/cos")
            least = min(least, both[0] / both[1])
    return f"the limit for symbols; n ≤ 12 at C = 10⁸, all pairs, the least ratio {least:.4f}"


@claim(
    "prop-loophole",
    "symbolic",
    mutants={
        "marks too near": {"apart": 0.5},
        "scores that do not hear the contents": {"hears": 0.0},
    },
    scope="all four pairs of signs, symbolic β",
)
def loophole(apart: float = 1.0, hears: float = 1.0) -> str:
    """Symbols, and the library's head at six β."""
    beta = sp.Symbol("beta", positive=True)
    mark, total = sp.Rational(apart) / sp.tanh(beta), sp.Integer(0)
    for one, two in product((1, -1), repeat=2):
        first, second = (sp.exp(sp.Integer(int(hears)) * beta * z) for z in (one, two))
        p = first / (first + second)
        who = p * (one + mark) + (1 - p) * (two - mark)
        whom = p * (one - mark) + (1 - p) * (two + mark)
        total = total + ((who - one) ** 2 + (whom - two) ** 2) / 4
    identity(total.rewrite(sp.exp), (sp.tanh(beta) ** 2).rewrite(sp.exp), "the mean squared error")
    for b in (0.01, 0.1, 0.5, 1.0, 2.0, 5.0):
        x, head = slots.loophole(b)
        y = ref.multi_head_attention(x, head)[:, slots.VERB, 4:]
        error = float(((y - x[:, :2, 0]) ** 2).sum(axis=1).mean())
        require(near(error, np.tanh(b) ** 2, 1e-9), f"β = {b}: {error:.6f}")
    return (
        "the mean over all four pairs of signs for a symbol β; the library's head at six β (1e-9)"
    )


@claim(
    "prop-moments",
    "numeric",
    mutants={
        "half the width": {"powers": 1},
        "one word too many": {"more": 1},
        "no word chosen": {"fewest": 0},
    },
    scope="every choice of 1 to 3 of up to 8 keys",
)
def moments(powers: int = 2, more: int = 0, fewest: int = 1) -> str:
    """Every choice of 1 to r of n keys, t_i = 1, …, n, with scores in whole numbers."""
    tried = 0
    for r, n in product((1, 2, 3), (1, 2, 4, 6, 8)):
        t = np.arange(1, n + 1)
        k = np.stack([t**power for power in range(1, powers * r + 1)], axis=-1)
        for size in range(fewest, r + 1 + more):
            for chosen in combinations(range(n), size):
                full = -np.round(polynomial.polyfromroots(np.repeat(t[list(chosen)], 2)))
                q = np.zeros(powers * r)
                q[: len(full) - 1] = full[1:][: powers * r]
                scores = (k @ q.astype(int)).astype(float)
                a = ref.softmax(scores, beta=30.0)
                want = np.isin(np.arange(n), chosen) / max(size, 1)
                said = f"n = {n}, width {powers * r}, words {chosen}: weights {show(a)}"
                require(near(a, want, 1e-9), said)
                tried += 1
    return f"{tried} choices of 1 to r of n keys, r ≤ 3, n ≤ 8, at β = 30 within 1e-9"


@claim(
    "prop-head-biases",
    "symbolic",
    mutants={"the query's bias": {"of": "q"}, "a masked row": {"masked": True}},
    scope="for symbols; the library, 30 masked heads",
)
def head_biases(of: str = "k", masked: bool = False) -> str:
    """Scores for symbols; the library with a column of ones."""
    q, k, b = (np.array(sp.symbols(f"{name}1:3")) for name in "qkb")
    if of == "k":
        identity(q @ (k + b) - q @ k, q @ b, "b_K adds q · b_K to every score")
    for seed in range(30):
        rng = np.random.default_rng(seed)
        x_1 = np.concatenate([rng.standard_normal((5, 3)), np.ones((5, 1))], axis=1)
        layer = random_layer(seed, 1, d_model=4)
        w_q, w_k, w_v, w_o = (part.copy() for part in leaves(layer))
        (w_q if of == "q" else w_k)[0, -1] += rng.standard_normal(2)
        w_v[0, -1] += (added := rng.standard_normal(2))
        mask = rng.random((5, 5)) < 0.7
        mask[:, 0] = not masked
        mask[0] = mask[0] & (not masked)
        before = plain.heads(x_1, layer, mask) + added @ w_o[0]
        after = ref.multi_head_attention(x_1, HeadParameters(w_q, w_k, w_v, w_o), mask=mask)
        require(near(after, before, 1e-9), f"row 1 is {show(after[0])}, not {show(before[0])}")
    return "the scores for symbols; 30 masked heads with random biases within 1e-9"


@claim(
    "prop-merging",
    "numeric",
    mutants={"the same signs": {"sign": 1.0}, "different values": {"values": 1.0}},
    scope="40 random groups of two heads",
)
def merging(sign: float = -1.0, values: float = 0.0) -> str:
    """Groups of equal keys and values, and a head beside itself with two signs turned."""
    for seed in range(40):
        w, rng = random_layer(seed, 2, groups=1, d_k=1 + seed % 3), np.random.default_rng(seed)
        x = rng.standard_normal((4, 3))
        copies = np.repeat(w.w_v, 2, axis=0) + values * rng.standard_normal((2, 3, 2))
        many = HeadParameters(w.w_q, np.repeat(w.w_k, 2, axis=0), copies, w.w_o)
        one, other = (ref.multi_head_attention(x, each) for each in (many, _merged(many)))
        require(near(one, other, 1e-9), f"row 1 is {show(one[0])} and {show(other[0])}")
        require(near(one, plain.heads(x, many), 1e-9), f"row 1 is {show(one[0])}, not as in loops")
        w_q, w_k = np.stack([w.w_q[0], sign * w.w_q[0]]), np.stack([w.w_k[0], sign * w.w_k[0]])
        both = HeadParameters(w_q, w_k, many.w_v, w.w_o)
        before = ref.multi_head_weights(x, both)
        require(near(before[0], before[1], 1e-9), "the two heads have different weights")
        merged = ref.multi_head_weights(x, _merged(both))
        require(near(merged, 1 / 4, 1e-9), f"merged, a row of weights is {show(merged[0, 0])}")
    return (
        "40 groups of equal tables, merged, the same within 1e-9; 40 heads beside themselves "
        + ("with W_Q and W_K turned: merged, all weights are equal")
    )


def _merged(w: HeadParameters) -> HeadParameters:
    w_k, w_v = (part.mean(axis=0, keepdims=True) for part in (w.w_k, w.w_v))
    return HeadParameters(w.w_q, w_k, w_v, w.w_o)


@claim(
    "prop-multi-head-vjp",
    "numeric",
    mutants={
        "heads that share do not add up": {"shared": False},
        "keys and values hand nothing back": {"roles": 1},
    },
    scope="every G of four heads; differences within 1e-6",
)
def multi_head_vjp(shared: bool = True, roles: int = 3) -> str:
    """The equations written out, against the library's and against central differences."""
    for groups, masked in product((1, 2, 4), (False, True)):
        w = random_layer(groups, 4, groups=groups)
        rng = np.random.default_rng(groups)
        x, grad = rng.standard_normal((2, 5, 3))
        mask = rng.random((5, 5)) < 0.7 if masked else None
        parts = _written_out(x, w, grad, mask, shared, roles)
        dx, dw, *_ = ref.multi_head_attention_vjp(x, w, grad, mask=mask)
        names = ("x", "w_q", "w_k", "w_v", "w_o")
        theirs = (dx, dw.w_q, dw.w_k, dw.w_v, dw.w_o)
        numeric = _differences(x, w, grad, mask)
        for name, ours, library, difference in zip(names, parts, theirs, numeric, strict=True):
            require(near(ours, difference, 1e-6), f"d{name} is {show(ours)}, G = {groups}")
            require(near(library, difference, 1e-6), f"the library's d{name}, G = {groups}")
    return (
        "1, 2 and 4 tables of four heads, with and without mask: the equations and the library "
        + ("against central differences within 1e-6")
    )


def _written_out(
    x: Array, w: HeadParameters, grad: Array, mask: Array | None, shared: bool, roles: int
) -> tuple[Array, ...]:
    """Return the derivatives of x and of the four tables, as the proposition says."""
    dx, (dq, dk, dv, do) = np.zeros_like(x), (np.zeros_like(part) for part in leaves(w))
    for h in range(len(w.w_q)):
        g = h * len(w.w_k) // len(w.w_q)
        q, k, v = x @ w.w_q[h], x @ w.w_k[g], x @ w.w_v[g]
        do[h] = ref.attention(q, k, v, mask=mask).T @ grad
        back = ref.attention_vjp(q, k, v, grad @ w.w_o[h].T, mask=mask)[:3]
        dq[h] = x.T @ back[0]
        dk[g] = x.T @ back[1] + (dk[g] if shared else 0)
        dv[g] = x.T @ back[2] + (dv[g] if shared else 0)
        for part, matrix in list(zip(back, (w.w_q[h], w.w_k[g], w.w_v[g]), strict=True))[:roles]:
            dx += part @ matrix.T
    return dx, dq, dk, dv, do


def _differences(x: Array, w: HeadParameters, grad: Array, mask: Array | None) -> list[Array]:
    """Return central differences of the loss Σ grad ⊙ Y with respect to x and the four tables."""
    tables = [x.copy(), *(part.copy() for part in leaves(w))]
    found = []
    for one in tables:
        d = np.zeros_like(one)
        for at in np.ndindex(one.shape):
            ends = []
            for step in (1e-5, -1e-5):
                kept = one[at]
                one[at] = kept + step
                y = ref.multi_head_attention(tables[0], HeadParameters(*tables[1:]), mask=mask)
                ends.append((y * grad).sum())
                one[at] = kept
            d[at] = (ends[0] - ends[1]) / 2e-5
        found.append(d)
    return found
