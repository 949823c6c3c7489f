"""The claim of the deeper page of chapter 9 about dropout."""

from __future__ import annotations

import numpy as np

from tformer import reference as ref
from tformer.configuration import Configuration
from tformer_book.claims.registry import claim, require
from tformer_book.claims.tools import grid, near, show


@claim(
    "prop-dropout",
    "numeric",
    mutants={
        "what is kept is not divided": {"divided": False},
        "the mean of the output's squares stays": {"squares": 0},
        "what is dropped passes its gradient on": {"passed": True},
    },
    scope="all 16 tables of 4 numbers; 4 shares; 5 vectors each",
)
def dropout(divided: bool = True, squares: int = 1, passed: bool = False) -> str:
    """Means over every table, weighed by its chance; gradients by differences, table by table."""
    tables, rng = grid(4, (0, 1)).astype(bool), np.random.default_rng(9)
    for share in (0.0, 0.1, 0.5, 0.9):
        c = Configuration(dropout=share)
        chances = np.prod(np.where(tables, 1 - share, share), axis=1)
        for x, dy in rng.standard_normal((5, 2, 4)):
            y = np.array([ref.dropout(x, kept, c) for kept in tables])
            mean, square = chances @ y, chances @ y**2
            want = x if divided else (1 - share) * x
            require(near(mean, want), f"ρ = {share}: the mean is {show(mean)}, not {show(want)}")
            want = x**2 * (1 + squares * share / (1 - share))
            require(near(square, want), f"ρ = {share}: squares {show(square)}, not {show(want)}")
            for kept in tables:
                got = ref.dropout_vjp(x, kept, c, dy)
                move = 1e-3 * np.eye(4)
                if passed:
                    kept = np.ones_like(kept)
                up, down = (ref.dropout(x + by * move, np.tile(kept, (4, 1)), c) for by in (1, -1))
                want = (up - down) @ dy / 2e-3
                require(near(got, want, 1e-9), f"ρ = {share}: {show(got)}, not {show(want)}")
    return (
        "20 vectors under all 16 tables, each weighed by its chance: means, mean squares, and "
        "gradients by central differences"
    )
