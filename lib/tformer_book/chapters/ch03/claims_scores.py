"""The claims of chapter 3, queries, keys and values: what kind of score q·k/√d_k is."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import sympy as sp

from tformer import reference as ref
from tformer_book.chapters.ch03.claims import on_symbols, subsets
from tformer_book.claims.registry import claim, require
from tformer_book.claims.tools import (
    BETA,
    HALF,
    circles,
    formula,
    grid,
    identity,
    near,
    row,
    show,
    table,
)
from tformer_book.world import lexicon


@claim(
    "thm-nadaraya-watson",
    "numeric",
    mutants={"the kernel without scale": {"power": 0.0}},
    scope="key widths 1 to 3, whole numbers",
)
def nadaraya_watson(power: float = 0.5) -> str:
    """On grids with random masks."""
    for width in (1, 2, 3):
        q, k = grid(width), grid(width, (-1, 0, 2))
        rng = np.random.default_rng(width)
        v, mask = rng.standard_normal((len(k), 2)), rng.random((len(q), len(k))) < 0.8
        kernel = mask * np.exp(ref.pairwise_dot(q, k) / width**power)
        regression = kernel @ v / kernel.sum(axis=-1, keepdims=True)
        y = ref.attention(q, k, v, mask=mask)
        i = int(np.argmax(np.abs(y - regression).max(axis=-1)))
        numbers = f"attention {show(y[i])}, regression {show(regression[i])}"
        require(near(y, regression, 1e-11), f"d_k = {width}, q = {show(q[i])}: {numbers}")
    return (
        "155 queries with coordinates in {−2, …, 2} and keys with coordinates in {−1, 0, 2}, "
        f"d_k ≤ {width}, random masks, within 1e-11"
    )


@claim(
    "cor-gaussian-kernel",
    "symbolic",
    mutants={"keys of two norms": {"squares": (25, 50)}, "variance d_k": {"power": 1}},
    scope="key widths 1 to 5",
)
def gaussian_kernel(squares: tuple[int, ...] = (25,), power: sp.Expr = HALF) -> str:
    """The two kernels differ by a factor that no key changes: symbols to d_k = 5."""
    keys, queries, rng = circles(squares), grid(2), np.random.default_rng(0)
    v, mask = rng.standard_normal((len(keys), 2)), rng.random((len(queries), len(keys))) < 0.8
    variance = 2 ** float(power)
    kernel = mask * np.exp(-ref.pairwise_squared_distance(queries, keys) / (2 * variance))
    regression = kernel @ v / kernel.sum(axis=-1, keepdims=True)
    y = ref.attention(queries, keys, v, mask=mask)
    i = int(np.argmax(np.abs(y - regression).max(axis=-1)))
    numbers = f"attention {show(y[i])}, Gaussian kernel {show(regression[i])}"
    require(near(y, regression, 1e-11), f"q = {show(queries[i])}: {numbers}")
    dot, squared_distance = formula(ref.dot), formula(ref.squared_distance)
    for width in range(1, 6):
        q, k = row("q", width), row("k", width)
        log_of_gaussian = -squared_distance(q, k) / (2 * sp.sqrt(width))
        norms = (dot(q, q) + dot(k, k)) / (2 * sp.sqrt(width))
        says = "−‖q − k‖²/(2√d_k) = q·k/√d_k − (‖q‖² + ‖k‖²)/(2√d_k)"
        identity(log_of_gaussian, dot(q, k) / sp.sqrt(width) - norms, says)
    return (
        f"−‖q − k‖²/(2√d_k) = q·k/√d_k − (‖q‖² + ‖k‖²)/(2√d_k) for symbols, d_k ≤ {width}; the "
        "library "
        f"with the {len(keys)} integer keys of norm 5, random masks and the 25 queries of "
        "{−2, …, 2}² within 1e-11"
    )


@claim(
    "thm-bilinear-rank",
    "symbolic",
    mutants={"rank below the width": {"slack": -1}},
    scope="model width 3, key widths 1 and 2",
)
def bilinear_rank(slack: int = 0) -> str:
    """Rank ≤ d_k by minors of symbols, d_model = 3; the converse for matrices of size 2. Beyond the
    statement, the weights that the factors give.
    """
    pairwise_dot = formula(ref.pairwise_dot)
    for width in (1, 2):
        full = sp.Matrix(pairwise_dot(np.eye(3, width), np.eye(3, width))).rank()
        where = f"d_k = {width}, W_Q = W_K"
        require(full == width + slack, f"{where}: rank {full}, largest possible {width + slack}")
        x, w_q, w_k = table("x", 2, 3), table("a", 3, width), table("b", 3, width)
        m = pairwise_dot(w_q, w_k)
        identity(pairwise_dot(x @ w_q, x @ w_k), x @ m @ x.T, "(XW_Q)(XW_K)ᵀ = XMXᵀ")
        chosen = list(map(list, combinations(range(3), width + 1)))
        for a, b in product(chosen, repeat=2):
            minor = sp.Matrix(m[np.ix_(a, b)]).det(method="berkowitz")
            identity(minor, 0, f"minor of size {width + 1} = 0")
    tokens = np.random.default_rng(0).standard_normal((4, 2))
    for m in grid(4, (-1, 0, 1)).reshape(-1, 2, 2):
        factors = sp.Matrix(m.astype(int)).rank_decomposition()
        thin = [np.array(factor, dtype=float) for factor in (factors[0], factors[1].T)]
        rank = thin[0].shape[1]
        for width in range(rank, 3):
            w_q, w_k = (np.pad(w, ((0, 0), (0, width - rank))) for w in thin)
            found = f"W_Q W_Kᵀ = {show(w_q @ w_k.T)} row by row, not {show(m)}"
            require(near(w_q @ w_k.T, m), found)
            got = ref.attention_weights(tokens @ w_q, tokens @ w_k, scale=1.0)
            want = ref.softmax(tokens @ m @ tokens.T)
            numbers = f"{show(got[0])}, not {show(want[0])}"
            require(near(got, want), f"M = {show(m)} row by row: {numbers}")
    return (
        "(XW_Q)(XW_K)ᵀ = XMXᵀ for symbols, every minor of size d_k + 1 vanishes, d_model = 3, "
        "d_k ≤ 2; all 81 matrices of {−1, 0, 1}^(2×2) factored for every d_k from their rank to 2, "
        "same weights within 1e-12"
    )


@claim(
    "prop-tied",
    "symbolic",
    mutants={"untied": {"tied": False}},
    scope="model width 3, key widths 1 to 3",
)
def tied_projections(tied: bool = True) -> str:
    """Symbols to d_k = 3. Beyond the statement, what it means for the weights: of two tokens, at
    least one gives itself as much as it gives the other.
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
        "xMxᵀ = ‖xW‖² and (xMxᵀ + yMyᵀ)/2 − xMyᵀ = ‖xW − yW‖²/2 for symbols, d_model = 3, d_k ≤ "
        f"{width}; "
        "the weights of 100 random sentences of five tokens"
    )


@claim(
    "prop-only-pairs",
    "symbolic",
    mutants={"after an earlier layer": {"earlier": 1}},
    scope="up to 4 keys, every mask",
)
def only_pairs(earlier: int = 0) -> str:
    """Symbols to S = 4, every mask of four keys; beyond the statement, the hand-made lexicon, where
    the last word cannot change how *it* divides its attention.
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
    q, k = np.random.default_rng(0).standard_normal((2, 4, 2))
    mask = subsets(4)
    mask = mask[mask[:, 0] & mask[:, 1]]
    a = ref.attention_weights(np.tile(q[:1], (len(mask), 1)), k, mask=mask, scale=1.0)
    want = np.exp(q[0] @ (k[0] - k[1]))
    require(near(a[:, 0] / a[:, 1], want), f"with masks: {show(a[:, 0] / a[:, 1])}, not {want:.4f}")
    return (
        "a_ti/a_tj = exp(s_ti − s_tj) for symbols, S ≤ 4, and under the four masks that leave two "
        "of four keys; the lexicon's nouns in three pairs of sentences that differ in the last "
        "word, the same ratio within 1e-12"
    )
