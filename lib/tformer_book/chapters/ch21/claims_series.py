"""The claim of chapter 21 on a series: transformers that stop early tie with a linear fit."""

from __future__ import annotations

import numpy as np

from tformer_book.chapters.ch21 import series
from tformer_book.claims.registry import claim, require
from tformer_book.claims.tools import near

SIMPLE = {1: (1.163, 0.471, 0.461), 6: (1.163, 1.217, 1.058)}
"""Errors of the mean of the month, the last anomaly and the linear fit, by months ahead."""
BETWEEN = {1: (0.46, 0.473), 6: (1.015, 1.07)}
"""Between what the errors of the three transformers lie."""
LATE = {1: (0.472, 0.539), 6: (1.089, 1.194)}
"""Between what they lie after all 300 steps."""


@claim(
    "exm-series",
    "empirical",
    mutants={
        "a transformer is a twentieth better than the linear fit": {"tie": (0.9, 0.95)},
        "more steps do no harm": {"sign": -1},
        "the years of the test take part in the mean": {"leak": True},
    },
    scope="six trainings; 252 months that none of them has seen",
)
def series_(tie: tuple[float, float] = (0.95, 1.05), sign: int = 1, leak: bool = False) -> str:
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
        told = series.stored()[str(ahead)]
        found, late = told["errors"], told["errors after all steps"]
        for (low, high), shown in ((BETWEEN[ahead], found), (LATE[ahead], late)):
            require(low <= min(shown) and max(shown) <= high, f"{ahead} months ahead: {shown}")
        for seed, (early, after) in enumerate(zip(found, late, strict=True)):
            ratio = early / float(errors[2])
            said = f"{ahead} months ahead, seed {seed}: {ratio:.3f} times the linear fit's error"
            require(tie[0] < ratio < tie[1], said)
            require(sign * (after - early) > 0, f"seed {seed}: {after - early:.4f} more if late")
    return "three simple answers again, from the file, by loops; six stored trainings"
