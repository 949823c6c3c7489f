"""The claims of chapter 3, queries, keys and values: what kind of score q·k/√K is."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import sympy as sp

from tformer import reference as ref
from tformer.chapters.ch02.claims import BETA
from tformer.chapters.ch03.claims import on_symbols
from tformer.claims.registry import claim, require
from tformer.claims.tools import HALF, formula, grid, identity, near, row, show, table
from tformer.world import lexicon


@claim("thm-nadaraya-watson", "numeric", broken={"the kernel without scale": {"power": 0.0}})
def nadaraya_watson(power: float = 0.5) -> str:
    """Attention is the kernel regression Σ_i κ(q, k_i) v_i / Σ_i κ(q, k_i) with
    κ(q, k) = exp(q·k/√K), both sums over the keys that q may look at.
    """
    for width in (1, 2, 3):
        q, k = grid(width), grid(width, (-1, 0, 2))
        rng = np.random.default_rng(width)
        v, mask = rng.standard_normal((len(k), 2)), rng.random((len(q), len(k))) < 0.8
        kernel = mask * np.exp(ref.pairwise_dot(q, k) / width**power)
        regression = kernel @ v / kernel.sum(axis=-1, keepdims=True)
        y = ref.attention(q, k, v, mask=mask)
        i = int(np.argmax(np.abs(y - regression).max(axis=-1)))
        numbers = f"attention {show(y[i])}, regression {show(regression[i])}"
        require(near(y, regression, 1e-11), f"K = {width}, q = {show(q[i])}: {numbers}")
    return "155 queries in {−2, …, 2}^K, K ≤ 3, keys in {−1, 0, 2}^K, random masks, within 1e-11"


@claim(
    "cor-gaussian-kernel",
    "symbolic",
    broken={"keys of two norms": {"squares": (25, 50)}, "variance K": {"power": 1}},
)
def gaussian_kernel(squares: tuple[int, ...] = (25,), power: sp.Expr = HALF) -> str:
    """If all keys have the same norm, attention is kernel regression with the Gaussian kernel
    exp(−‖q − k‖²/(2√K)), of variance √K.
    """
    keys = grid(2, range(-7, 8))
    keys = keys[np.isin(ref.dot(keys, keys), squares)]
    queries, v = grid(2), np.random.default_rng(0).standard_normal((len(keys), 2))
    variance = 2 ** float(power)
    kernel = np.exp(-ref.pairwise_squared_distance(queries, keys) / (2 * variance))
    regression, y = kernel @ v / kernel.sum(axis=-1, keepdims=True), ref.attention(queries, keys, v)
    i = int(np.argmax(np.abs(y - regression).max(axis=-1)))
    numbers = f"attention {show(y[i])}, Gaussian kernel {show(regression[i])}"
    require(near(y, regression, 1e-11), f"q = {show(queries[i])}: {numbers}")
    dot, squared_distance = formula(ref.dot), formula(ref.squared_distance)
    for width in range(1, 6):
        q, k = row("q", width), row("k", width)
        log_of_gaussian = -squared_distance(q, k) / (2 * sp.sqrt(width))
        norms = (dot(q, q) + dot(k, k)) / (2 * sp.sqrt(width))
        says = "−‖q − k‖²/(2√K) = q·k/√K − (‖q‖² + ‖k‖²)/(2√K)"
        identity(log_of_gaussian, dot(q, k) / sp.sqrt(width) - norms, says)
    return (
        "−‖q − k‖²/(2√K) = q·k/√K − (‖q‖² + ‖k‖²)/(2√K) for symbols, K ≤ 5; the library with the "
        f"{len(keys)} integer keys of norm 5 and the 25 queries of {{−2, …, 2}}² within 1e-11"
    )


@claim("thm-bilinear-rank", "symbolic", broken={"rank below the width": {"slack": -1}})
def bilinear_rank(slack: int = 0) -> str:
    """The score of token t for token s is x_t M x_sᵀ/√K with M = W_Q W_Kᵀ, a matrix of rank at most
    K; and every D × D matrix of rank at most K is such an M.
    """
    pairwise_dot = formula(ref.pairwise_dot)
    for width in (1, 2):
        full = sp.Matrix(pairwise_dot(np.eye(3, width), np.eye(3, width))).rank()
        require(full <= width + slack, f"K = {width}, W_Q = W_K: rank {full} > {width + slack}")
        x, w_q, w_k = table("x", 2, 3), table("a", 3, width), table("b", 3, width)
        m = pairwise_dot(w_q, w_k)
        identity(pairwise_dot(x @ w_q, x @ w_k), x @ m @ x.T, "(XW_Q)(XW_K)ᵀ = XMXᵀ")
        chosen = list(map(list, combinations(range(3), width + 1)))
        for a, b in product(chosen, repeat=2):
            minor = sp.Matrix(m[np.ix_(a, b)]).det(method="berkowitz")
            identity(minor, 0, f"minor of size {width + 1} = 0")
    tokens = np.random.default_rng(0).standard_normal((4, 2))
    for m in grid(4, (-1, 0, 1)).reshape(-1, 2, 2):
        columns, rows = sp.Matrix(m.astype(int)).rank_decomposition()
        w_q, w_k = np.array(columns, dtype=float), np.array(rows.T, dtype=float)
        require(near(w_q @ w_k.T, m), f"W_Q W_Kᵀ = {show(w_q @ w_k.T)} row by row, not {show(m)}")
        got = ref.attention_weights(tokens @ w_q, tokens @ w_k, scale=1.0)
        want = ref.softmax(tokens @ m @ tokens.T)
        require(near(got, want), f"M = {show(m)} row by row: {show(got[0])}, not {show(want[0])}")
    return (
        "(XW_Q)(XW_K)ᵀ = XMXᵀ for symbols, every minor of size K + 1 vanishes, D = 3, K ≤ 2; all "
        "81 matrices of {−1, 0, 1}^(2×2) factored with K = their rank, same weights within 1e-12"
    )


@claim("prop-tied", "symbolic", broken={"untied": {"tied": False}})
def tied_projections(tied: bool = True) -> str:
    """If W_Q = W_K, then M = W_Q W_Kᵀ is symmetric positive semidefinite and x_t M x_sᵀ is at most
    the larger of x_t M x_tᵀ and x_s M x_sᵀ: of two tokens, at least one gives itself as much weight
    as it gives the other.
    """
    rng = np.random.default_rng(0)
    for _ in range(100):
        x, (w, other) = rng.standard_normal((5, 3)), rng.standard_normal((2, 3, 2))
        a = ref.attention_weights(x @ w, x @ (w if tied else other))
        itself = np.diag(a)[:, None]
        t, s = np.unravel_index(np.argmax(np.minimum(a - itself, (a - itself).T)), a.shape)
        prefers = f"token {t + 1} gives {a[t, s]:.4f} to token {s + 1} and {a[t, t]:.4f} to itself"
        back = f"token {s + 1} gives {a[s, t]:.4f} back and {a[s, s]:.4f} to itself"
        fair = min(a[t, s] - a[t, t], a[s, t] - a[s, s]) <= 1e-12
        require(fair, f"{prefers}; {back}")
    dot, squared_distance = formula(ref.dot), formula(ref.squared_distance)
    for width in (1, 2, 3):
        x, y, w = row("x", 3), row("y", 3), table("w", 3, width)
        m = w @ w.T
        identity(x @ m @ x, dot(x @ w, x @ w), "xMxᵀ = ‖xW‖²")
        gap = (x @ m @ x + y @ m @ y) / 2 - x @ m @ y
        identity(gap, squared_distance(x @ w, y @ w) / 2, "mean of the two − xMyᵀ = ‖xW − yW‖²/2")
    return (
        "xMxᵀ = ‖xW‖² and (xMxᵀ + yMyᵀ)/2 − xMyᵀ = ‖xW − yW‖²/2 for symbols, D = 3, K ≤ 3; the "
        "weights of 100 random sentences of five tokens"
    )


@claim("prop-only-pairs", "symbolic", broken={"after an earlier layer": {"earlier": 1}})
def only_pairs(earlier: int = 0) -> str:
    """In one head of self-attention without bias, a_ti/a_tj = exp(s_ti − s_tj) depends on the
    embeddings of the tokens t, i and j only. So without positions the last word cannot change how
    *it* divides its attention between two nouns; after an earlier layer it can.
    """
    pairs = list(lexicon.SENTENCES.items())
    for (tired, animal), (wide, street) in zip(pairs[::2], pairs[1::2], strict=True):
        readings = [lexicon.read(x, lexicon.LAYERS[1 - earlier :]) for x in (tired, wide)]
        ratios = [r.weight("it", animal) / r.weight("it", street) for r in readings]
        first, second = (reading.tokens[-1] for reading in readings)
        numbers = f"{ratios[0]:.3f} with {first!r}, {ratios[1]:.3f} with {second!r}"
        require(near(*ratios), f"{animal} : {street} is {numbers}")
    for n in (2, 3, 4):
        q, k = table("q", 1, 2), table("k", n, 2)
        a = on_symbols(ref.attention_weights)(q, k, scale=BETA)[0]
        difference = BETA * (q[0] @ k[0] - q[0] @ k[1])
        identity(a[0] / a[1], sp.exp(difference), "a_ti/a_tj = exp(s_ti − s_tj)")
    return (
        "a_ti/a_tj = exp(s_ti − s_tj) for symbols, S ≤ 4; the hand-made lexicon's nouns in three "
        "pairs of sentences that differ in the last word, the same ratio within 1e-12"
    )
