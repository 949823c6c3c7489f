"""The law E + A / N^α + B / D^β of a loss: fitted to runs, resampled, and asked for an optimum."""

import csv
import math
from dataclasses import dataclass
from importlib.resources.abc import Traversable
from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize, nnls

__all__ = [
    "Law",
    "Runs",
    "bootstrap",
    "columns",
    "ends",
    "explained",
    "fit",
    "objective",
    "predict",
    "read",
    "resampled",
]

EXPONENTS = np.linspace(0.1, 1.2, 23)
"""Where a fit looks first, for either exponent."""
STARTS = 3
"""So many of the best places of the grid are followed down."""


class Runs(NamedTuple):
    """Trained models.

    Attributes
    ----------
    n, d : (R,) arrays
        Parameters, and tokens read.
    loss : (R,) array
        What each run ended at, above 0.
    """

    n: np.ndarray
    d: np.ndarray
    loss: np.ndarray

    def keep(self, which: np.ndarray) -> "Runs":
        """Some of them, by numbers or by a mask."""
        return Runs(self.n[which], self.d[which], self.loss[which])


@dataclass(frozen=True)
class Law:
    """The loss E + A / N^α + B / D^β of N parameters that have read D tokens [hoffmann2022].

    Parameters
    ----------
    floor, a, b, alpha, beta : float
        E, A, B, α and β.
    """

    floor: float
    a: float
    b: float
    alpha: float
    beta: float

    def loss(self, n: np.ndarray | float, d: np.ndarray | float) -> np.ndarray:
        """The loss that the law gives; `n` and `d` broadcast."""
        return np.asarray(self.floor + self.a / n**self.alpha + self.b / d**self.beta)

    @property
    def share(self) -> float:
        """The exponent of compute in the best number of parameters, β / (α + β)."""
        return self.beta / (self.alpha + self.beta)

    def optimum(self, compute: float, each: float = 6.0) -> tuple[float, float]:
        """Parameters and tokens of least loss, where `each` · N · D is the compute."""
        product = compute / each
        ratio = self.alpha * self.a / (self.beta * self.b)
        n = (ratio * product**self.beta) ** (1 / (self.alpha + self.beta))
        return n, product / n


def objective(
    law: Law,
    runs: Runs,
    delta: float = 1e-3,
    counts: np.ndarray | None = None,
) -> float:
    """Summed Huber loss of the differences of logarithms: r² / 2, from |r| = δ on δ (|r| - δ / 2).

    Parameters
    ----------
    law : Law
    runs : Runs
    delta : float
        Where a square goes over into a line.
    counts : (R,) array, optional
        How often each run counts; once if left out.
    """
    off = np.log(law.loss(runs.n, runs.d)) - np.log(runs.loss)
    times = np.ones(len(off)) if counts is None else counts
    return float(_huber(off, delta) @ times)


def fit(
    runs: Runs,
    floor: float | None = None,
    delta: float = 1e-3,
    counts: np.ndarray | None = None,
    near: Law | None = None,
) -> Law:
    """The law of least `objective`.

    For each pair of exponents of a grid the other three constants are a problem of non-negative
    least squares, which has one solution; the best pairs are followed down by BFGS in all five.

    Parameters
    ----------
    runs : Runs
    floor : float, optional
        E where it is known; it is fitted if left out.
    delta, counts
        As in `objective`.
    near : Law, optional
        Where to begin instead of the grid.

    Raises
    ------
    ValueError
        If no pair of the grid leaves both terms, and the floor if it is fitted, above 0.
    """
    problem = _Problem(runs, floor, delta, counts)
    starts = problem.grid() if near is None else [problem.inside(near)]
    if not starts:
        raise ValueError("fit: these runs determine no law: no exponents leave all its terms")
    found = [minimize(problem, x, jac=True, method="BFGS", options={"gtol": 1e-10}) for x in starts]
    return problem.outside(min(found, key=lambda one: one.fun).x)


def bootstrap(
    runs: Runs,
    times: int,
    rng: np.random.Generator,
    floor: float | None = None,
    delta: float = 1e-3,
) -> list[Law]:
    """Laws fitted to as many runs, drawn again from these with replacement."""
    first = fit(runs, floor, delta)
    drawn = resampled(len(runs.n), times, rng)
    return [fit(runs, floor, delta, counts, first) for counts in drawn]


def resampled(size: int, times: int, rng: np.random.Generator) -> np.ndarray:
    """How often each of so many things comes in as many draws with replacement, (times, size)."""
    return rng.multinomial(size, np.full(size, 1 / size), size=times)


def predict(
    laws: list[Law],
    runs: Runs,
    n: float,
    d: float,
    rng: np.random.Generator,
    confidence: float = 0.95,
) -> tuple[float, float]:
    """An interval for the loss of one run that was not seen.

    Each law of a bootstrap gives its loss times the factor by which a run, drawn from those seen,
    differs from that law: so the interval holds what a run scatters as well as what a fit does.
    """
    found = []
    for law in laws:
        i = rng.integers(len(runs.n))
        found.append(law.loss(n, d) * runs.loss[i] / law.loss(runs.n[i], runs.d[i]))
    low, high = np.quantile(found, [(1 - confidence) / 2, (1 + confidence) / 2])
    return float(low), float(high)


def explained(law: Law, runs: Runs) -> float:
    """R²: the share of the variance of the losses' logarithms that the law explains."""
    logs = np.log(runs.loss)
    off = logs - np.log(law.loss(runs.n, runs.d))
    return 1 - float((off**2).sum() / ((logs - logs.mean()) ** 2).sum())


def ends(laws: list[Law], name: str, confidence: float = 0.95) -> tuple[float, float]:
    """The ends of the middle of what a bootstrap gives for a constant or an exponent."""
    found = [getattr(one, name) for one in laws]
    low, high = np.quantile(found, [(1 - confidence) / 2, (1 + confidence) / 2])
    return float(low), float(high)


def read(file: Traversable, size: str = "n") -> Runs:
    """The runs of a table that a sweep has written, with their excess as loss.

    The column `n` counts the parameters of the blocks' matrices, `n_all` all parameters.
    """
    return Runs(*columns(file, size, "tokens", "excess"))


def columns(file: Traversable, *names: str) -> list[np.ndarray]:
    """Some columns of a table of numbers; its lines that begin with # are remarks."""
    lines = file.read_text(encoding="utf-8").splitlines()
    rows = [*csv.DictReader(line for line in lines if not line.startswith("#"))]
    return [np.array([float(row[name]) for row in rows]) for name in names]


def _huber(off: np.ndarray, delta: float) -> np.ndarray:
    size = np.abs(off)
    return np.where(size <= delta, off * off / 2, delta * (size - delta / 2))


class _Problem:
    """A fit in its own units: logarithms of constants, sizes over their geometric means."""

    def __init__(
        self, runs: Runs, floor: float | None, delta: float, counts: np.ndarray | None
    ) -> None:
        logs = np.log(np.array([runs.n, runs.d]))
        self.middle = logs.mean(axis=1)
        self.x, self.loss = logs - self.middle[:, None], np.asarray(runs.loss)
        self.floor, self.delta = floor, delta
        self.counts = np.ones(len(self.loss)) if counts is None else np.asarray(counts)

    def __call__(self, at: np.ndarray) -> tuple[float, np.ndarray]:
        """The objective and its gradient; `at` has log A, log B, α, β, and log E unless given."""
        terms = np.exp(at[:2, None] - at[2:4, None] * self.x)
        floor = math.exp(at[4]) if self.floor is None else self.floor
        total = floor + terms.sum(axis=0)
        off = np.log(total / self.loss)
        slope = self.counts * np.clip(off, -self.delta, self.delta) / total
        by_terms = slope * terms
        gradient = [*by_terms.sum(axis=1), *-(by_terms * self.x).sum(axis=1)]
        if self.floor is None:
            gradient.append(floor * slope.sum())
        return float(self.counts @ _huber(off, self.delta)), np.array(gradient)

    def grid(self) -> list[np.ndarray]:
        """The best places of the grid, with constants by least squares of relative errors."""
        found = []
        weight = np.sqrt(self.counts) / self.loss
        target = weight * (self.loss - (self.floor or 0.0))
        for alpha in EXPONENTS:
            for beta in EXPONENTS:
                columns = [np.exp(-alpha * self.x[0]), np.exp(-beta * self.x[1])]
                if self.floor is None:
                    columns.append(np.ones_like(self.loss))
                constants, _ = nnls(weight[:, None] * np.stack(columns, axis=1), target)
                if constants.min() > 0:
                    logs = np.log(constants)
                    found.append(np.array([*logs[:2], alpha, beta, *logs[2:]]))
        return sorted(found, key=lambda at: self(at)[0])[:STARTS]

    def inside(self, law: Law) -> np.ndarray:
        """A law in these units."""
        exponents = np.array([law.alpha, law.beta])
        logs = np.log([law.a, law.b]) - exponents * self.middle
        return np.array([*logs, *exponents, *([math.log(law.floor)] if self.floor is None else [])])

    def outside(self, at: np.ndarray) -> Law:
        """The law that a place in these units is."""
        a, b = np.exp(at[:2] + at[2:4] * self.middle)
        floor = math.exp(at[4]) if self.floor is None else self.floor
        return Law(floor, float(a), float(b), float(at[2]), float(at[3]))
