"""The law E + A / N^α + B / D^β of a loss: fitted to runs, resampled, and asked for an optimum."""

import csv
from dataclasses import dataclass
from importlib.resources.abc import Traversable
from typing import NamedTuple

import numpy as np

from tformer_book.experiments.scaling.descent import Descent, huber

__all__ = [
    "Law",
    "Runs",
    "bootstrap",
    "columns",
    "draws",
    "ends",
    "explained",
    "fit",
    "fit_each",
    "objective",
    "predict",
    "read",
]


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

    def digits(self) -> dict[str, float]:
        """The constants by name, nine digits each: so many are the same on every processor."""
        return {name: float(f"{one:.9g}") for name, one in vars(self).items()}

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
    _check("objective", runs)
    off = np.log(law.loss(runs.n, runs.d)) - np.log(runs.loss)
    times = np.ones(len(off)) if counts is None else counts
    return float(huber(off, delta) @ times)


def fit(
    runs: Runs,
    floor: float | None = None,
    delta: float = 1e-3,
    counts: np.ndarray | None = None,
) -> Law:
    """The law of least `objective`.

    For each pair of exponents of a grid the other constants are a problem of least squares. From
    the best pairs Newton's method goes down in all of them; exponents stay between .01 and 5.

    Parameters
    ----------
    runs : Runs
    floor : float, optional
        E where it is known; it is fitted if left out.
    delta, counts
        As in `objective`.

    Raises
    ------
    ValueError
        If a number of a run is not finite and above 0, or the runs that count leave constants open:
        fewer runs than constants, too few sizes or numbers of tokens, or tokens that are a power
        of the sizes times a constant.
    """
    times = np.ones(len(runs.n)) if counts is None else np.asarray(counts, dtype=float)
    return fit_each(runs, times[None], floor, delta)[0]


def fit_each(
    runs: Runs, counts: np.ndarray, floor: float | None = None, delta: float = 1e-3
) -> list[Law]:
    """The laws of the same runs for many `counts`, (T, R), each as by `fit`."""
    _check("fit", runs, floor)
    if not delta > 0:
        raise ValueError(f"fit: delta must be above 0; got {delta}")
    counts = np.asarray(counts, dtype=float)
    if counts.shape[1:] != runs.n.shape or not ((counts >= 0) & (counts < np.inf)).all():
        raise ValueError(f"fit: counts must be {len(runs.n)} numbers, finite and at least 0")
    for times in counts:
        if left := _left_open(runs.keep(times > 0), floor):
            raise ValueError(f"fit: {left}")
    descent = Descent(*runs, floor, delta)
    return [_law(place, descent) for place in descent.least(counts)]


def bootstrap(
    runs: Runs,
    times: int,
    rng: np.random.Generator,
    floor: float | None = None,
    delta: float = 1e-3,
    group: np.ndarray | None = None,
) -> list[Law]:
    """Laws fitted to runs that are drawn again from these; the rest is as in `draws` and `fit`."""
    return fit_each(runs, draws(runs, times, rng, floor, group), floor, delta)


def draws(
    runs: Runs,
    times: int,
    rng: np.random.Generator,
    floor: float | None = None,
    group: np.ndarray | None = None,
) -> np.ndarray:
    """How often each run comes in each of so many draws with replacement, (times, R).

    A draw that leaves constants of the law open is drawn again.

    Parameters
    ----------
    runs : Runs
    times : int
    rng : Generator
    floor : float, optional
        As in `fit`.
    group : (R,) array, optional
        Which group a run belongs to: groups are drawn, as many as there are, each with all of its
        runs. If left out, each run is its own group.
    """
    _check("draws", runs, floor)
    if left := _left_open(runs, floor):
        raise ValueError(f"draws: {left}")
    names, which = np.unique(
        np.arange(len(runs.n)) if group is None else group, return_inverse=True
    )
    even = np.full(len(names), 1 / len(names))
    found = rng.multinomial(len(names), even, size=times)[:, which]
    for i, counts in enumerate(found):
        while _left_open(runs.keep(counts > 0), floor):
            counts = found[i] = rng.multinomial(len(names), even)[which]
    return found


def _check(where: str, runs: Runs, floor: float | None = None) -> None:
    """Refuse runs that are no runs, by name."""
    n, d, loss = (np.asarray(one) for one in runs)
    if n.ndim != 1 or not n.shape == d.shape == loss.shape:
        shapes = ", ".join(str(one.shape) for one in (n, d, loss))
        raise ValueError(f"{where}: n, d and loss must be rows of one length; got {shapes}")
    for name, column in zip(("size n", "number of tokens d", "loss"), (n, d, loss), strict=True):
        wrong = np.flatnonzero(~((column > 0) & (column < np.inf)))
        if wrong.size:
            raise ValueError(
                f"{where}: the {name} of each run must be finite and above 0; "
                f"run {wrong[0]} has {column[wrong[0]]}"
            )
    if floor is not None and not 0 <= floor < np.inf:
        raise ValueError(f"{where}: floor must be finite and at least 0; got {floor}")


def _left_open(runs: Runs, floor: float | None) -> str:
    """Why some constants of a law can be anything on these runs; nothing if none can."""
    constants = 4 + (floor is None)
    different = len({*zip(runs.n.tolist(), runs.d.tolist(), strict=True)})
    if different < constants:
        return (
            f"a law of {constants} constants needs at least {constants} different runs; "
            f"got {different}"
        )
    sizes, tokens = len({*runs.n.tolist()}), len({*runs.d.tolist()})
    if min(sizes, tokens) < 2 or min(sizes, 3) + min(tokens, 3) - 1 < constants:
        least = "3 sizes and 3" if floor is None else "3 sizes and 2, or 2 and 3,"
        return f"the runs must have {least} numbers of tokens; got {sizes} and {tokens}"
    x, y = (np.log(one) - np.log(one).mean() for one in (runs.n, runs.d))
    if x @ y > 0 and np.abs(y - (x @ y) / (x @ x) * x).max() < 1e-9 * np.abs(y).max():
        return "tokens are a power of sizes in all runs, so their two terms cannot be told apart"
    return ""


def _law(place: np.ndarray, descent: Descent) -> Law:
    """The law that a place of a descent is."""
    a, b = np.exp(place[:2] + place[2:4] * descent.middle)
    floor = np.exp(place[4]) if descent.floor is None else descent.floor
    return Law(float(floor), float(a), float(b), float(place[2]), float(place[3]))


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
    _check("predict", runs)
    if not (0 < n < np.inf and 0 < d < np.inf):
        raise ValueError(f"predict: n and d must be finite and above 0; got {n} and {d}")
    if not laws:
        raise ValueError("predict: laws is empty")
    found = []
    for law in laws:
        i = rng.integers(len(runs.n))
        found.append(law.loss(n, d) * runs.loss[i] / law.loss(runs.n[i], runs.d[i]))
    low, high = np.quantile(found, [(1 - confidence) / 2, (1 + confidence) / 2])
    return float(low), float(high)


def explained(law: Law, runs: Runs) -> float:
    """R²: the share of the variance of the losses' logarithms that the law explains."""
    _check("explained", runs)
    logs = np.log(runs.loss)
    if not np.ptp(logs):
        raise ValueError("explained: all losses are the same, so there is no variance to explain")
    off = logs - np.log(law.loss(runs.n, runs.d))
    return 1 - float((off**2).sum() / ((logs - logs.mean()) ** 2).sum())


def ends(laws: list[Law], name: str, confidence: float = 0.95) -> tuple[float, float]:
    """The ends of the middle of what a bootstrap gives for a constant or an exponent."""
    if not laws:
        raise ValueError("ends: laws is empty")
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
