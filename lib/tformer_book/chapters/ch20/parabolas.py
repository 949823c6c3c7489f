"""Parabolas through the runs of one budget, and where they say that the best size is."""

import numpy as np

from tformer_book.experiments.scaling import Law

__all__ = ["vertex"]


def vertex(law: Law, compute: float, width: float, miss: float = 0.0, points: int = 9) -> float:
    """How far the vertex of a parabola lies from the best log N of a budget.

    Parameters
    ----------
    law : Law
        What the runs follow, without scatter.
    compute : float
    width : float
        The sizes lie evenly in log N, so far to either side of the middle one.
    miss : float
        How far the middle lies from the best log N.
    points : int
        How many runs, at least 3.
    """
    best = np.log(law.optimum(compute)[0])
    away = np.linspace(-width, width, points)
    n = np.exp(best + miss + away)
    bend, slope, _ = np.polyfit(away, law.loss(n, compute / 6 / n), 2)
    return float(miss - slope / (2 * bend))
