"""A law in minutes: the quick sweep, and the larger run that it predicted.

The 24 runs lie in `quick.csv`, the other in `quick_heldout.csv`; `make sweep` makes them again.
Source, models, loss of the fit and intervals are those of the sweep of the chapter.
"""

from functools import cache
from importlib.resources import files

import numpy as np

from tformer_book.experiments.scaling import Law, Runs, bootstrap, explained, fit, predict, read

__all__ = ["expected", "held_out", "law", "laws", "miss", "square", "sweep"]


@cache
def sweep() -> Runs:
    """The 24 runs, by width and then by tokens."""
    return read(files(__package__) / "quick.csv")


@cache
def held_out() -> Runs:
    """The one run that the fit has not seen."""
    return read(files(__package__) / "quick_heldout.csv")


@cache
def law() -> Law:
    """The law of the 24."""
    return fit(sweep(), floor=0.0)


@cache
def laws(times: int = 200) -> list[Law]:
    """Laws of 24 runs, drawn again and again from the 24."""
    return bootstrap(sweep(), times, np.random.default_rng(0), floor=0.0)


def miss() -> np.ndarray:
    """The logarithm of each loss over what the law says of it."""
    runs = sweep()
    return np.log(runs.loss / law().loss(runs.n, runs.d))


def square() -> float:
    """R² of the logarithms."""
    return explained(law(), sweep())


@cache
def expected() -> tuple[float, float, float]:
    """What the law says of the run that was held out, and the ends of an interval of 95 %."""
    n, d = float(held_out().n[0]), float(held_out().d[0])
    return float(law().loss(n, d)), *predict(laws(), sweep(), n, d, np.random.default_rng(1))
