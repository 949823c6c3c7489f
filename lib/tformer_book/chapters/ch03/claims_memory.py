"""The claims of chapter 3, queries, keys and values: gradients, cost and what can be stored."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import sympy as sp

from tformer import reference as ref
from tformer_book.chapters.ch03.claims import on_symbols, subsets
from tformer_book.chapters.ch03.retrieval import capacity, expected_weight, interference, retrieved
from tformer_book.claims.registry import claim, require
from tformer_book.claims.tools import (
    BETA,
    BETAS,
    HALF,
    ONE,
    Array,
    Counted,
    grid,
    identity,
    near,
    show,
    table,
)
from tformer_book.experiments.intervals import bernstein_margin

FLAT = 1e-9
NAMES = ("dQ", "dK", "dV", "dbias")


@claim(
    "thm-attention-vjp",
    "symbolic",
    mutants={"row sums forgotten": {"centred": 0}, "scale forgotten": {"power": 0}},
    scope="up to 2 queries and 3 keys",
)
def attention_vjp(centred: int = 1, power: int = 1) -> str:
    """Symbols for small tables; beyond the statement, masks: fully masked rows pass back zeros."""
    rng, mask, scale = np.random.default_rng(0), subsets(3), 0.5
    q, k, v, g, bias = (rng.standard_normal(x) for x in ((8, 2), (3, 2), (3, 2), (8, 2), (8, 3)))
    a = ref.attention_weights(q, k, mask, bias, scale)
    formulas = _by_hand(a, q, k, v, g, scale, centred, power)
    library = ref.attention_vjp(q, k, v, g, mask, bias, scale)
    for name, x, hand, lib in zip(NAMES, (q, k, v, bias), formulas, library, strict=True):
        quotients = _quotients(lambda: (g * ref.attention(q, k, v, mask, bias, scale)).sum(), x)
        i = np.unravel_index(np.argmax(np.abs(hand - quotients)), x.shape)
        numbers = f"{hand[i]:.4f} by the formula, {quotients[i]:.4f} by a difference quotient"
        require(near(hand, quotients, 1e-8), f"entry {i[0] + 1}, {i[1] + 1} of {name}: {numbers}")
        require(near(hand, lib), f"{name} by the library is {show(lib)} row by row")
    _differentiate(centred, power)
    return (
        "loss = Σ G ⊙ Y differentiated for symbols, T ≤ 2, S ≤ 3, d_k, d_v ≤ 2; the library with "
        "all eight masks of three keys (1e-12), and central differences within 1e-8"
    )


def _by_hand(
    a: Array, q: Array, k: Array, v: Array, g: Array, scale: Any, centred: int, power: int
) -> tuple[Array, Array, Array, Array]:
    """Return dQ, dK, dV and dbias by the formulas of the statement."""
    d_a = g @ v.T
    d_s = a * (d_a - centred * (d_a * a).sum(axis=1, keepdims=True))
    return scale**power * d_s @ k, scale**power * d_s.T @ q, a.T @ g, d_s


def _differentiate(centred: int, power: int) -> None:
    """Compare the formulas with derivatives taken by SymPy."""
    for n_queries, n_keys, d_k, d_v in ((2, 2, 1, 1), (1, 2, 2, 1), (1, 3, 1, 2)):
        q, k = table("q", n_queries, d_k), table("k", n_keys, d_k)
        v, g = table("v", n_keys, d_v), table("g", n_queries, d_v)
        bias = table("b", n_queries, n_keys)
        a = on_symbols(ref.attention_weights)(q, k, bias=bias, scale=BETA)
        loss = (g * on_symbols(ref.attention)(q, k, v, bias=bias, scale=BETA)).sum()
        formulas = _by_hand(a, q, k, v, g, BETA, centred, power)
        for name, x, hand in zip(NAMES, (q, k, v, bias), formulas, strict=True):
            identity(hand.ravel(), [sp.diff(loss, symbol) for symbol in x.ravel()], name)


def _quotients(loss: Callable[[], float], x: Array, step: float = 1e-5) -> Array:
    """Return the difference quotients of a loss in each entry of x, changed in place."""
    quotients = np.zeros_like(x)
    for place in np.ndindex(x.shape):
        x[place] += step
        above = loss()
        x[place] -= 2 * step
        quotients[place] = (above - loss()) / (2 * step)
        x[place] += step
    return quotients


@claim(
    "prop-attention-cost",
    "exhaustive",
    mutants={"the scale left out": {"scalings": 0}},
    scope="all sizes up to 3",
)
def attention_cost(scalings: int = 1) -> str:
    """Counted at small sizes, as the library's formula computes."""
    attend, weigh = (
        on_symbols(f, softmax=_softmax) for f in (ref.attention, ref.attention_weights)
    )
    for t, s, d_k, d_v in product(range(1, 4), repeat=4):
        done: list[str] = []
        one = np.full((3, 3), Counted(done), dtype=object)
        stored = weigh(one[:t, :d_k], one[:s, :d_k], scale=1.0).size
        done.clear()
        attend(one[:t, :d_k], one[:s, :d_k], one[:s, :d_v], scale=1.0)
        counts = [*(done.count(operation) for operation in ("×", "exp", "÷")), stored]
        want = [t * s * (d_k + d_v + scalings), t * s, t * s, t * s]
        require(counts == want, f"T, S, d_k, d_v = {t}, {s}, {d_k}, {d_v}: {counts}, not {want}")
    return (
        "multiplications, exponentials and divisions, counted by numbers that record their use, "
        f"and the size of the table of weights, all 81 sizes with T, S, d_k, d_v ≤ {d_v}"
    )


def _softmax(scores: Array) -> Array:
    terms = np.exp(scores)
    return terms / terms.sum(axis=-1, keepdims=True)


@claim(
    "thm-retrieval",
    "numeric",
    mutants={
        "half the interference": {"share": HALF},
        "a tenth more interference, as reached": {"share": sp.Rational(11, 10)},
    },
    scope="nine sizes, up to 4 keys",
)
def retrieval(share: sp.Expr = ONE) -> str:
    """Exact means at small sizes; at d = 16 sampled. Beyond the statement, the bound is reached as
    β → 0.
    """
    for n, d in ((1, 1), (2, 1), (2, 2), (2, 3), (2, 4), (3, 1), (3, 2), (3, 3), (4, 2)):
        keys = np.array(list(product(grid(d, (-1, 1)), repeat=n)))
        for beta in (FLAT, *BETAS):
            p = ref.attention_weights(keys[:, :1], keys, scale=beta / d)[:, 0, 0].mean()
            bound = 1 / (1 + (n - 1) * float(share) ** d * interference(d, beta))
            where = f"n = {n}, d = {d}, β = {beta:g}"
            require(p >= bound - 1e-12, f"{where}: E[p] = {p:.4f} < {bound:.4f}")
            sharp = beta > FLAT or near(p, bound, 1e-8)
            require(sharp, f"{where}: E[p] = {p:.4f}, but the bound is {bound:.4f}")
            exact = _weight_against_one(d, beta)
            require(n != 2 or near(p, exact), f"{where}: E[p] = {p:.4f}, not {exact:.4f}")
    x = sp.Symbol("x", positive=True)
    for d in range(1, 9):
        mean = sum(math.comb(d, wrong) * x**wrong for wrong in range(d + 1)) / 2**d
        identity(mean, ((1 + x) / 2) ** d, "E[exp(β(cos − 1))] with x = exp(−2β/d)")
    shown = []
    for n in (capacity(16, 8.0, 0.8), capacity(16, 8.0)):
        drawn, bound = retrieved(n, 16, 8.0), expected_weight(n, 16, 8.0)
        p, margin = drawn.mean(), bernstein_margin(drawn, failure=5e-7)
        require(p >= bound - margin, f"d = 16, β = 8, n = {n}: {p:.4f} measured, below {bound:.4f}")
        shown.append(f"{p:.2f} ≥ {bound:.2f} at n = {n}")
    return (
        "exact means over all sets of n keys, nine sizes, β = 1/2, 1, 4, and β → 0, which reaches "
        f"the bound; E[exp(β(cos − 1))] for symbols, d ≤ {d}; sampled, d = 16, β = 8: "
        f"{shown[0]}, {shown[1]}"
    )


def _weight_against_one(d: int, beta: float) -> float:
    """Return E[p] for two keys, from the binomial number of signs in which they differ."""
    terms = (math.comb(d, j) / (1 + math.exp(-2 * beta * j / d)) for j in range(d + 1))
    return sum(terms) / 2**d
