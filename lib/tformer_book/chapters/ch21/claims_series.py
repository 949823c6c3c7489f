"""The claim of chapter 21 on a series: a linear fit is the better answer."""

from __future__ import annotations

import numpy as np

from tformer_book.chapters.ch21 import series
from tformer_book.claims.registry import claim, require
from tformer_book.claims.tools import near

SIMPLE = {1: (1.163, 0.471, 0.461), 6: (1.163, 1.217, 1.058)}
"""Errors of the mean of the month, the last anomaly and the linear fit, by months ahead."""
BETWEEN = {1: (0.465, 0.51), 6: (1.26, 1.3)}
"""Between what the errors of the three transformers lie."""


@claim(
    "exm-series",
    "empirical",
    mutants={
        "the transformer wins": {"sign": -1},
        "the years of the test take part in the mean": {"leak": True},
    },
    scope="six trainings; 252 months that none of them has seen",
)
def series_(sign: int = 1, leak: bool = False) -> str:
    """The linear fit by NumPy's least squares with rows for the ridge; windows cut in a loop."""
    raw = series.temperatures()
    y = np.array(
        [
            t - raw[i % 12 : (None if leak else series.N_TRAIN) : 12].mean()
            for i, t in enumerate(raw)
        ]
    )
    for ahead in series.AHEAD:
        pairs = [
            (last + ahead, y[last + 1 - series.WINDOW : last + 1], y[last + ahead])
            for last in range(series.WINDOW - 1, len(y) - ahead)
        ]
        old = [(a, b) for month, a, b in pairs if month < series.N_TRAIN]
        new = [(a, b) for month, a, b in pairs if month >= series.N_TRAIN]
        x = np.array([[*a, 1.0] for a, _ in old])
        ridge = np.vstack([x, np.eye(x.shape[1])])
        w = np.linalg.lstsq(ridge, np.array([*(b for _, b in old), *np.zeros(x.shape[1])]))[0]
        answers = [(0.0, a[-1], float(np.array([*a, 1.0]) @ w)) for a, _ in new]
        true = np.array([[b] for _, b in new])
        errors = np.sqrt(((np.array(answers) - true) ** 2).mean(axis=0))
        said = ", ".join(f"{e:.4f}" for e in errors)
        require(near(errors, SIMPLE[ahead], 6e-4), f"{ahead} months ahead: {said}")
        found = series.stored()[str(ahead)]
        low, high = BETWEEN[ahead]
        require(low <= min(found) and max(found) <= high, f"{ahead} months ahead: {found}")
        lead = min(found) - float(errors[2])
        require(sign * lead > 0, f"{ahead} months ahead: the linear fit is ahead by {lead:.4f}")
    return "three simple answers again, from the file, by loops; six stored trainings"
