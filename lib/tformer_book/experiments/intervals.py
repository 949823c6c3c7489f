"""How far a measurement may be from the truth, with a stated probability of being wrong."""

import math
from collections.abc import Callable

import numpy as np
from scipy.special import bdtr, ndtri, stdtrit


def hoeffding_margin(n: int, width: float = 1.0, failure: float = 1e-6) -> float:
    """Largest error of the mean of `n` draws from an interval of length `width`.

    The bound fails with probability at most `failure`, whatever the distribution [hoeffding1963].
    """
    return width * math.sqrt(math.log(2 / failure) / (2 * n))


def bernstein_margin(values: np.ndarray, width: float = 1.0, failure: float = 1e-6) -> float:
    """As `hoeffding_margin`, for the draws `values` (n,): tighter where they vary little.

    The empirical Bernstein bound [maurer2009], for the deviation in both directions.
    """
    n, log_odds = len(values), math.log(4 / failure)
    spread = math.sqrt(2 * float(values.var(ddof=1)) * log_odds / n)
    return spread + 7 * width * log_odds / (3 * (n - 1))


def cdf_gap(values: np.ndarray, cdf: Callable[[np.ndarray], np.ndarray]) -> float:
    """Largest gap between the distribution function of the draws `values` (n,) and a given one."""
    n = len(values)
    return float(np.abs(cdf(np.sort(values)) - (np.arange(n) + 0.5) / n).max() + 0.5 / n)


def cdf_margin(n: int, failure: float = 1e-6) -> float:
    """Largest gap between the distribution function of `n` draws and the true, continuous one.

    The bound fails with probability at most `failure`, whatever the distribution [massart1990].
    """
    return math.sqrt(math.log(2 / failure) / (2 * n))


def mean_interval(
    values: np.ndarray, confidence: float = 0.99, points: int = 1
) -> tuple[np.ndarray, np.ndarray]:
    """Mean of independent draws along the first axis, and the half-width of Student's interval.

    With `points` intervals in a picture, all of them together hold with the stated confidence
    (Bonferroni). The level rests on the central limit theorem, so give it hundreds of draws with
    little skewness: where nearly all are equal and a few far off, use `bernstein_margin`.
    """
    quantile = stdtrit(len(values) - 1, 1 - (1 - confidence) / (2 * points))
    return values.mean(axis=0), quantile * values.std(axis=0, ddof=1) / math.sqrt(len(values))


def median_interval(
    values: np.ndarray, confidence: float = 0.99, points: int = 1
) -> tuple[float, float, float]:
    """Median of independent draws (n,), and two draws that hold the true median between them.

    Exact for every continuous distribution: the number of draws below the true median is binomial.
    """
    ordered, n = np.sort(values), len(values)
    chances = bdtr(np.arange(n + 1), n, 0.5)  # of so many draws and fewer below the median
    below = int(np.searchsorted(chances, (1 - confidence) / (2 * points)))
    if below < 1:
        raise ValueError(f"median_interval: {n} draws are too few for this confidence")
    return float(np.median(ordered)), float(ordered[below - 1]), float(ordered[n - below])


NORMAL_MEDIAN = float(ndtri(0.75))
"""Median of |z| for a standard normal z: what turns a median size into a standard deviation."""
