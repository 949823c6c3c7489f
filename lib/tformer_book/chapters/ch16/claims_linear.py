"""Claims of chapter 16 on another function: linear attention as a recurrence, and what it holds."""

from __future__ import annotations

import numpy as np
import sympy as sp

from tformer import reference as ref
from tformer_book.chapters.ch16 import recall
from tformer_book.claims.registry import claim, require
from tformer_book.claims.tools import identity, near, show, table


@claim(
    "thm-linear",
    "symbolic",
    mutants={
        "the newest word is not among them": {"own": 0},
        "the table is overwritten": {"adds": False},
        "the features are not summed": {"summed": False},
    },
    scope="T ≤ 3, symbols; the library, 30 draws, texts to 40 words",
)
def linear(own: int = 1, adds: bool = True, summed: bool = True) -> str:
    """Features as symbols, in both orders of the sums; then table and recurrence of the library."""
    for n, d, width in ((1, 2, 1), (2, 2, 2), (3, 1, 2)):
        f, g, v = table("f", n, d), table("g", n, d), table("v", n, width)
        state, total = sp.zeros(d, width), sp.zeros(d, 1)
        for t in range(n):
            used = slice(0, t + own)
            weights = f[t] @ g[used].T if own or t else np.array([sp.Integer(0)])
            seen = v[used] if own or t else v[:1]
            more = sp.Matrix(g[t]) * sp.Matrix([v[t]])
            state = state + more if adds else more
            total = total + sp.Matrix(g[t]) if summed else sp.Matrix(g[t])
            over = (sp.Matrix([f[t]]) * state)[0]
            identity(over, (weights @ seen)[0], f"word {t + 1} of {n}, above the line")
            below = (sp.Matrix([f[t]]) * total)[0]
            identity(below, weights.sum(), f"word {t + 1} of {n}, below the line")
    for seed in range(30):
        rng = np.random.default_rng(seed)
        n, d = int(rng.integers(1, 41)), int(rng.integers(1, 7))
        q, k, v = rng.standard_normal((3, n, d))
        want = ref.linear_attention(q, k, v, causal=True)
        got, state, total = ref.recurrent_linear_attention(q, k, v)
        require(near(got, want, 1e-12), f"{n} words: {show(got[-1])}, not {show(want[-1])}")
        require(state.size + total.size == d * d + d, f"{state.size + total.size} numbers")
        features = ref.elu_feature_map(k)
        require(near(total, features.sum(axis=0), 1e-12), f"the sum is {show(total)}")
        require(bool((features > 0).all()), f"a feature of {features.min():.3g}")
    return "both orders of the sums, for symbols; table and recurrence of the library to 1e-12"


@claim(
    "thm-recall",
    "numeric",
    mutants={
        "a pair more fits": {"more": 1},
        "the softmax is bounded alike": {"softmax": True},
        "what is divided escapes": {"divided": 0.5},
    },
    scope="d ≤ 16, n ≤ 48, 5 draws; every table by least squares",
)
def held(more: int = 0, softmax: bool = False, divided: float = 1.0) -> str:
    """Ranks and errors of answers: any table, the best one, the library's, and the softmax."""
    for seed in range(5):
        for d, n in ((2, 3), (4, 9), (8, 8), (8, 20), (16, 48)):
            rng = np.random.default_rng(seed)
            k = recall.keys(n, seed, d)
            bound = max(0, n - d - more if more else n - d)
            for features in (k, ref.elu_feature_map(k)):
                any_table = features @ rng.standard_normal((d, n)) / rng.uniform(1, 2, (n, 1))
                require(_off(any_table) >= bound - 1e-9, f"{n} pairs: {_off(any_table):.3f}")
                closest = features @ np.linalg.pinv(features)
                want = max(0, n - d) if not more else max(0, n - d - more)
                got = divided * _off(closest)
                require(near(got, want, 1e-6), f"{n} pairs, width {d}: {got:.3f}, not {want}")
            got = _off(ref.linear_attention(k, k, np.eye(n)))
            require(got >= n - d, f"linear attention: {got:.3f} for {n} pairs, width {d}")
            weights = ref.attention_weights(k, k, scale=1.0)
            rank = np.linalg.matrix_rank(weights)
            require(d >= 8 or not softmax or rank <= d, f"{n} keys of width {d}: rank {rank}")
    around = 2 * np.pi * np.arange(24) / 24
    k = np.stack([np.cos(around), np.sin(around)], axis=1)
    got = _off(ref.attention(k, k, np.eye(24), scale=400.0))
    require(got < 1e-3, f"24 keys of width 2, softmax: {got:.3g}")
    return "tables drawn and best ones, n - d to 1e-6; 24 keys of width 2 by the softmax"


def _off(answers: np.ndarray) -> float:
    """The squared distance of the answers from what was stored."""
    return float(((answers - np.eye(len(answers))) ** 2).sum())
