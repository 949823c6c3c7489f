"""The claims of the deeper page of chapter 8 about what melts under a mask, and what does not."""

from __future__ import annotations

from itertools import product

import numpy as np

from tformer import reference as ref
from tformer_book.chapters.ch08.rows import PLAIN, alike
from tformer_book.claims.registry import claim, require
from tformer_book.claims.tools import Array, grid, near, show, simplex_grid


@claim(
    "prop-causal-melt",
    "numeric",
    mutants={
        "twice as fast": {"speed": 2},
        "onto the last word": {"onto": -1},
        "without a mask": {"masked": False},
    },
    scope="weights in quarters, 3 words; 200 stacks; equal shares",
)
def causal_melt(speed: float = 1, onto: int = 0, masked: bool = True) -> str:
    """Distances from the first word, row by row; then equal shares, whose powers are exact."""
    columns, tried = grid(3, range(-2, 3)).T, 0
    rows = [np.eye(3)[:1], simplex_grid(2, 4), simplex_grid(3, 4)]
    rows[1] = np.hstack([rows[1], np.zeros((len(rows[1]), 1))])
    rows = rows if masked else [simplex_grid(3, 4)] * 3
    for table in product(*rows):
        a = np.array(table)
        _nearer(a, columns, speed, onto)
        tried += 1
    for seed in range(200):
        rng = np.random.default_rng(seed)
        scores = rng.standard_normal((5, 5)) + (
            0 if not masked else np.triu(np.full(5, -np.inf), 1)
        )
        _nearer(ref.softmax(scores), rng.standard_normal((5, 4)), speed, onto)
    even = np.tri(12) / np.arange(1, 13)[:, None]
    left = [1 - np.linalg.matrix_power(even, n)[-1, 0] for n in (1, 5, 10, 20)]
    require(near(left[:2], [0.917, 0.213], 6e-4), f"not of word 1: {show(left)}")
    require(near(left[2], 0.00994, 6e-6) and near(left[3], 1e-5, 1e-6), f"{left[2:]}")
    return f"{tried} tables of quarters, 200 of softmax; equal shares, 12 words: {left[1]:.3f} left"


def _nearer(a: Array, columns: Array, speed: float, onto: int) -> None:
    """One table: how far from the word they were, and are."""
    far, then = (np.abs(x - x[onto]).max(axis=0) for x in (columns, a @ columns))
    moved = np.abs((a @ columns)[onto] - columns[onto]).max()
    require(moved <= 1e-12, f"weights {show(a)}: the word itself has moved by {moved:.3g}")
    most = max(0.0, 1 - speed * float(a[1:, onto].min())) * far
    require(bool((then <= most + 1e-12).all()), f"weights {show(a)}: {then.max():.3g} away")


@claim(
    "exm-apart",
    "numeric",
    mutants={
        "the first word a hair off its axis": {"off": 1e-6},
        "a half is added": {"half": 0.5},
        "scores as they are": {"factor": 1.0},
        "the values as they are": {"stretch": 1.0},
    },
    scope="20 drawings of the vectors for each of three stacks",
)
def apart(off: float = 0.0, half: float = -0.5, factor: float = 20.0, stretch: float = 4.0) -> str:
    """Three stacks that do not melt, run layer by layer."""
    ends: list[float] = []
    melted = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        x = np.array([[1.0, off], rng.standard_normal(2)])
        weights = ref.softmax(np.array([[0.0, -np.inf], [0.0, 0.0]]))
        for _ in range(200):
            x = ref.rms_norm(weights @ (x * [1, stretch]), PLAIN)
        require(near(alike(x), 1 / 3, 1e-4), f"two words: cosine {float(alike(x)):.4f}")
        x = rng.standard_normal((12, 8))
        for _ in range(200):
            x = ref.rms_norm(x + half * x.mean(axis=0), PLAIN)
        require(near(alike(x), -1 / 11, 1e-6), f"twelve words: cosine {float(alike(x)):.4f}")
        x = np.random.default_rng(seed).standard_normal((5, 8))
        for _ in range(60):
            x = ref.rms_norm(ref.attention(factor * x, x, x), PLAIN)
        ends.append(float(alike(x)))
        alone = np.diag(ref.softmax(factor * x @ x.T / np.sqrt(8)))
        twins = abs(alone - 0.5) < 1e-3
        require(near(alone[~twins], 1, 0.01), f"five words: they look at themselves {show(alone)}")
        melted += bool(twins.any())
    require(near(ends[0], -0.004, 6e-4), f"five words: cosine {ends[0]:.4f}")
    require(melted == 3, f"in {melted} drawings some are one")
    require(max(ends) < 0.2, f"five words: cosine {max(ends):.3f}")
    return f"two words at 0.333, twelve at −1/11, five at {ends[0]:.3f}, at most {max(ends):.2f}"
