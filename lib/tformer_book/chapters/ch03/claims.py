"""The claims of chapter 3, queries, keys and values: what kind of average attention is."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from itertools import permutations
from math import exp, log, sqrt
from types import FunctionType
from typing import Any

import numpy as np
import sympy as sp

from tformer import reference as ref
from tformer_book.claims import plain
from tformer_book.claims.registry import claim, require
from tformer_book.claims.tools import (
    BETA,
    BETAS,
    HALF,
    ONE,
    Array,
    distribution,
    grid,
    identity,
    near,
    one_winner,
    row,
    show,
    table,
    weights,
)


def on_symbols(function: Callable[..., Any], **instead: Any) -> Callable[..., Any]:
    """Return the body of a function of attention so that it takes symbols, and a symbol as scale.

    The library functions that it calls lose their argument checks too, and softmax is written out.
    """
    body = inspect.unwrap(function)
    instead = {"softmax": _softmax} | instead
    called = {name: body.__globals__.get(name) for name in body.__code__.co_names}
    opened = {x: on_symbols(f, **instead) for x, f in called.items() if hasattr(f, "__wrapped__")}
    known = body.__globals__ | opened | instead
    return FunctionType(body.__code__, known, body.__name__, body.__defaults__, body.__closure__)


def _softmax(scores: Array) -> Array:
    return np.array([weights(x) for x in scores])


def subsets(size: int) -> Array:
    """Return every mask of `size` keys, one a row; the first hides them all."""
    return grid(size, (0, 1)).astype(bool)


@claim(
    "exm-attention-by-hand",
    "symbolic",
    mutants={"the default scale of d_k = 4": {"c": HALF}},
    scope="all its numbers",
)
def attention_by_hand(c: sp.Expr = ONE) -> str:
    """The weights and the output, by symbols and by the library."""
    scores = c * np.array([sp.Integer(0), sp.log(2), sp.log(3)], dtype=object)
    v = np.array([[6, 0], [0, 6], [6, 6]])
    by_hand = [sp.Rational(1, n) for n in (6, 3, 2)]
    identity(weights(scores), by_hand, "the weights by hand")
    identity(weights(scores) @ v, [4, 5], "the output by hand")
    q, k = np.ones((1, 1)), np.log([[1.0], [2.0], [3.0]])
    a = ref.attention_weights(q, k, scale=float(c))
    y = ref.attention(q, k, v.astype(float), scale=float(c))
    require(near(a, [[1 / 6, 1 / 3, 1 / 2]]) and near(y, [[4, 5]]), f"the library gives {show(y)}")
    return "exactly (1/6, 1/3, 1/2) and (4, 5); the library within 1e-12"


@claim(
    "exm-uniform",
    "numeric",
    mutants={"one score larger": {"extra": log(2)}},
    scope="up to 5 keys, every mask",
)
def uniform(extra: float = 0.0) -> str:
    """Beyond the statement, masked rows: the mean is then of the values that are left."""
    for n in range(1, 6):
        v = np.random.default_rng(n).standard_normal((n, 2))
        bias = np.append(extra, np.zeros(n - 1))[None]
        for allowed in subsets(n)[1:]:
            y = ref.attention(np.zeros((1, 3)), np.ones((n, 3)), v, mask=allowed[None], bias=bias)
            numbers = f"output {show(y)}, mean {show(v[allowed].mean(axis=0))}"
            require(near(y, v[allowed].mean(axis=0)), f"{allowed.sum()} of {n} keys: {numbers}")
    y = ref.attention(np.zeros((1, 3)), np.ones((3, 3)), np.array([[6.0, 0], [0, 6], [6, 6]]))
    require(near(y, [[4, 4]]), f"the output is {show(y)}, not (4, 4)")
    return f"(4, 4); the query 0 and every choice of keys from n ≤ {n}, 57 masks, within 1e-12"


@claim(
    "thm-convex-hull",
    "symbolic",
    mutants={
        "weights not normalised": {"normalised": False},
        "a fully masked row": {"fully_masked": True},
    },
    scope="up to 4 values",
)
def convex_hull(normalised: bool = True, fully_masked: bool = False) -> str:
    """No direction u separates y from the values, for symbols; norms are compared with the values
    that the query may look at, which is more than the statement says.
    """
    directions, tried = grid(2), 0
    for n in (1, 2, 3, 4):
        rng = np.random.default_rng(n)
        q, k, v = (rng.standard_normal((rows, 2)) for rows in (1, n, n))
        for allowed in subsets(n)[0 if fully_masked else 1 :]:
            total = 1 if normalised else (allowed * np.exp(k @ q[0] / sqrt(2))).sum()
            y = total * ref.attention(q, k, v, mask=allowed[None])[0]
            reach = (v[allowed] @ directions.T).max(axis=0, initial=-np.inf)
            i = int(np.argmax(directions @ y - reach))
            numbers = f"u·y = {directions[i] @ y:.4f} > {reach[i]:.4f}, the largest u·v_s"
            require(directions[i] @ y <= reach[i] + 1e-12, f"u = {show(directions[i])}: {numbers}")
            most = np.linalg.norm(v[allowed], axis=1).max()
            require(ref.norm(y) <= most + 1e-12, f"norm {ref.norm(y):.4f}")
            tried += 1
    c = sp.Symbol("c", real=True)
    for n in (1, 2, 3, 4):
        a, u, v = distribution(n), row("u", 2), table("v", n, 2)
        identity(c - a @ v @ u, a @ (c - v @ u), "c − u·y = Σ a_s (c − u·v_s)")
    return (
        f"c − u·y = Σ a_s (c − u·v_s) for symbols with Σ a = 1, n ≤ {n}, so no direction u "
        f"separates y from the values; the library on {tried} masked rows, 24 directions (1e-12)"
    )


@claim(
    "thm-equivariance",
    "symbolic",
    mutants={"with a causal mask": {"causal": True}, "with positions added": {"positions": 1.0}},
    scope="up to 3 words; the library, 5",
)
def equivariance(causal: bool = False, positions: float = 0.0) -> str:
    """The rows of Q, K and V for symbols; the projections themselves by the library."""
    tried = 0
    for n in range(1, 6):
        x, place = np.random.default_rng(n).standard_normal((2, n, 3))
        mask = np.tri(n, dtype=bool) if causal else None
        before = _self_attention(x + positions * place, mask)
        for order in map(list, permutations(range(n))):
            after = _self_attention(x[order] + positions * place, mask)
            numbers = f"row 1 is {show(after[0])}, not {show(before[order[0]])}"
            require(near(after, before[order]), f"tokens in the order {order}: {numbers}")
            tried += 1
    for n in (2, 3):
        q, k, v = table("q", n, 2), table("k", n, 2), table("v", n, 2)
        attend = on_symbols(ref.attention)
        before = attend(q, k, v, scale=BETA)
        want = [weights(one @ k.T, BETA) @ v for one in q]
        identity(before, np.array(want), "Attn(Q, K, V) by the definition")
        for order in map(list, permutations(range(n))):
            after = attend(q[order], k[order], v[order], scale=BETA)
            identity(after, before[order], "Attn(PX) = P Attn(X)")
    return (
        f"PX turns Q, K, V into PQ, PK, PV, which permutes the rows of symbolic outputs, n ≤ {n}; "
        f"the library under all {tried} permutations of n ≤ 5 tokens, within 1e-12"
    )


def _self_attention(x: Array, mask: Array | None = None) -> Array:
    """Return self-attention with fixed projections: d_model = 3, d_k = d_v = 2."""
    w_q, w_k, w_v = np.random.default_rng(0).standard_normal((3, 3, 2))
    return ref.attention(x @ w_q, x @ w_k, x @ w_v, mask=mask)


@claim(
    "prop-not-invariant",
    "numeric",
    mutants={"the keys alone": {"values_too": False}, "the tokens": {"queries_too": True}},
    scope="up to 5 words, every order",
)
def not_invariant(values_too: bool = True, queries_too: bool = False) -> str:
    """One pair of tokens for the first half; every order of five memories for the second."""
    x = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    moved = np.abs(_self_attention(x[::-1]) - _self_attention(x)).max()
    require(moved > 0.1, f"exchanging two tokens moves no output by more than {moved:.1e}")
    tried = 0
    for n in range(1, 6):
        q, k, v = np.random.default_rng(n).standard_normal((3, n, 2))
        before = ref.attention(q, k, v)
        require(near(before, plain.attention(q, k, v)), f"{n} words: row 1 is {show(before[0])}")
        for order in map(list, permutations(range(n))):
            queries, values = q[order] if queries_too else q, v[order] if values_too else v
            after = ref.attention(queries, k[order], values)
            numbers = f"row 1 is {show(after[0])}, not {show(before[0])}"
            require(near(after, before), f"in the order {order}: {numbers}")
            tried += 1
    return (
        "two tokens exchanged move an output by more than 0.1; keys and values together under all "
        f"{tried} permutations, n ≤ {n}, within 1e-12"
    )


@claim(
    "prop-mask-is-restriction",
    "numeric",
    mutants={"mask after softmax": {"after": True}},
    scope="up to 5 keys, every mask",
)
def mask_is_restriction(after: bool = False) -> str:
    """Every mask of a few random rows; finite scores and values only, as it says."""
    for n in range(1, 6):
        rng, mask = np.random.default_rng(n), subsets(n)
        q, k, v = (rng.standard_normal((rows, 2)) for rows in (len(mask), n, n))
        masked = ref.attention(q, k, v, mask=mask)
        total = np.ones(len(mask))
        if after:
            kept = mask * ref.attention_weights(q, k)
            masked, total = kept @ v, kept.sum(axis=-1)
        for t, allowed in enumerate(mask[1:], start=1):
            deleted = plain.attention(q[t : t + 1], k[allowed], v[allowed])[0]
            numbers = f"{show(masked[t])}, not {show(deleted)}; its weights sum to {total[t]:.4f}"
            require(near(masked[t], deleted), f"keys {1 + np.flatnonzero(allowed)}: {numbers}")
        require((masked[0] == 0).all(), f"a fully masked row gives {show(masked[0])}, not zeros")
    return (
        f"each of the 62 masks of a row with n ≤ {n} keys, within 1e-12; fully masked rows exactly "
        "zero"
    )


@claim(
    "thm-hard-lookup",
    "numeric",
    mutants={"rate 2Δ": {"rate": 2}, "rate Δ/2, as reached": {"rate": 0.5}},
    scope="scores 0 to 3, up to 4 keys",
)
def hard_lookup(rate: float = 1) -> str:
    """On a grid; beyond the statement, the rate is reached with two keys."""
    rows = 0
    for n in (2, 3, 4):
        scores, gaps = one_winner(n)
        v, best = np.random.default_rng(n).standard_normal((n, 2)), scores.argmax(axis=-1)
        spread = np.sqrt(ref.pairwise_squared_distance(v, v).max(axis=-1))[best]
        rows += len(scores)
        for beta in BETAS:
            y = ref.attention(scores, np.eye(n), v, scale=beta)
            error = ref.norm(y - v[best])
            bound = (n - 1) * np.exp(-rate * beta * gaps) * spread
            i = int(np.argmax(np.round(error - bound, 9)))  # the first of those that tie
            numbers = f"distance {error[i]:.4f} > {bound[i]:.4f}"
            require(error[i] <= bound[i] + 1e-12, f"s = {show(scores[i])}, β = {beta:g}: {numbers}")
        a, values = distribution(n), table("v", n, 1)
        others = sum(a[s] * (values[s] - values[-1]) for s in range(n - 1))
        identity(a @ values - values[-1], others, "y − v* = Σ a_s (v_s − v*) over s ≠ s*")
    alone = ref.attention(np.array([[30.0]]), np.array([[1.0], [0.0]]), np.eye(2), scale=1.0)
    reached = alone[0, 1] / exp(-30 * rate)
    require(near(reached, 1, 1e-9), f"S = 2, βΔ = 30: {reached:.4g} of the bound, not 1")
    return (
        f"all {rows} rows of scores in {{0, …, 3}} with one winner, S ≤ 4, β = 1/2, 1, 4 (1e-12); "
        "y − v* as a sum over the losers for symbols; error/bound 1 within 1e-9 at S = 2, βΔ = 30"
    )
