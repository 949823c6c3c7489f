"""Where a law's objective is least, by another way than the library's fit: a population of laws."""

import numpy as np
from scipy.optimize import differential_evolution

from tformer_book.experiments.scaling import Runs

__all__ = ["lowest"]


def lowest(
    runs: Runs,
    counts: np.ndarray | None = None,
    floor: float | None = None,
    delta: float = 1e-3,
    seed: int = 0,
) -> float:
    """The least objective that differential evolution finds in a wide box, without gradients.

    Written from the page's formula, and not by `objective`. Exponents lie between .02 and 3, each
    of the terms, in the middle of the runs, between a fiftieth of a typical loss and three of it.
    """
    x, y, logs = np.log(runs.n), np.log(runs.d), np.log(runs.loss)
    x, y, typical = (x - x.mean())[:, None], (y - y.mean())[:, None], np.median(logs)
    times = np.ones(len(logs)) if counts is None else counts

    def objectives(laws: np.ndarray) -> np.ndarray:
        a, b, alpha, beta, *rest = laws
        total = np.exp(a - alpha * x) + np.exp(b - beta * y)
        total += np.exp(rest[0]) if floor is None else floor
        off = np.abs(np.log(total) - logs[:, None])
        return np.asarray(times @ np.where(off <= delta, off**2 / 2, delta * (off - delta / 2)))

    box = [(typical - 4, typical + 1)] * 2 + [(0.02, 3.0)] * 2
    return float(
        differential_evolution(
            objectives,
            box + [(typical - 4, typical + 0.5)] * (floor is None),
            popsize=30,
            maxiter=800,
            mutation=(0.4, 0.9),
            tol=1e-9,
            polish=False,
            updating="deferred",
            vectorized=True,
            rng=np.random.default_rng(seed),
        ).fun
    )
