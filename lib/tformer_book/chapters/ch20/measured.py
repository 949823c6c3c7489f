"""Our own sweep, its law, and what that law says of a run that it has not seen.

The 24 runs lie in `sweep.csv`, the run that was held out in `heldout.csv`; both say what made them.
The loss of a run is its excess: the exact KL from the source to the model, in nats a token. So
its floor is known, and it is 0.
"""

from functools import cache
from importlib.resources import files

import numpy as np

from tformer_book.experiments.scaling import (
    Law,
    Runs,
    bootstrap,
    draws,
    explained,
    fit,
    predict,
    read,
)
from tformer_book.experiments.scaling.source import drawn_source

__all__ = [
    "backtest",
    "by_seed",
    "by_width",
    "expected",
    "held_out",
    "law",
    "laws",
    "miss",
    "other_choices",
    "spread",
    "steps",
    "sweep",
    "with_floor",
]

TIMES = 200
"""Bootstraps of an interval."""


@cache
def sweep(size: str = "n") -> Runs:
    """The 24 runs, by width and then by tokens; with `n_all` for all parameters."""
    return read(files(__package__) / "sweep.csv", size)


@cache
def held_out(size: str = "n") -> Runs:
    """The one run that no fit has seen."""
    return read(files(__package__) / "heldout.csv", size)


@cache
def law() -> Law:
    """The law of the 24."""
    return fit(sweep(), floor=0.0)


def steps(tokens: int) -> int:
    """How many steps a run of the sweep makes that reads so many tokens, whatever its width."""
    from tformer_book.experiments.scaling.sweep import Plan

    return Plan(4, tokens).steps


@cache
def laws(seed: int = 0) -> list[Law]:
    """Laws of 24 runs, drawn again and again from the 24."""
    return bootstrap(sweep(), TIMES, np.random.default_rng(seed), floor=0.0)


def by_seed(seeds: int = 5) -> list[list[Law]]:
    """The same with other draws: what an interval's ends owe to which runs happened to be drawn."""
    return [laws(seed) for seed in range(seeds)]


@cache
def expected(
    n: float, d: float, confidence: float = 0.95, seed: int = 0
) -> tuple[float, float, float]:
    """What the law gives for one more run, and the ends of an interval for it."""
    rng = np.random.default_rng(seed + 1)
    ends = predict(laws(seed), sweep(), n, d, rng, confidence)
    return float(law().loss(n, d)), *ends


def miss(runs: Runs) -> np.ndarray:
    """The logarithm of each loss over what the law says of it."""
    return np.log(runs.loss / law().loss(runs.n, runs.d))


def spread() -> tuple[float, float]:
    """The median of how far the 24 lie from their law, in logarithms; and R² of the logarithms."""
    return float(np.median(abs(miss(sweep())))), explained(law(), sweep())


@cache
def with_floor(times: int = TIMES) -> tuple[Law, list[Law]]:
    """The law, and bootstraps of it, if entropy and excess are added and the floor is fitted."""
    runs = sweep()._replace(loss=sweep().loss + drawn_source().entropy)
    return fit(runs), bootstrap(runs, times, np.random.default_rng(0))


@cache
def by_width(times: int = TIMES) -> list[Law]:
    """Laws of six widths, drawn again and again from the six, each with all of its runs."""
    return bootstrap(sweep(), times, np.random.default_rng(0), floor=0.0, group=sweep().n)


def _interval(
    runs: Runs, n: float, d: float, floor: float | None = 0.0, delta: float = 1e-3, *, times: int
) -> tuple[float, float, float]:
    first = fit(runs, floor, delta)
    many = bootstrap(runs, times, np.random.default_rng(0), floor, delta)
    return float(first.loss(n, d)), *predict(many, runs, n, d, np.random.default_rng(1))


@cache
def other_choices(times: int = 100) -> dict[str, tuple[float, float, float]]:
    """What else might have been said of the run that was held out: the law, and an interval."""
    runs, out = sweep(), held_out()
    n, d, entropy = float(out.n[0]), float(out.d[0]), drawn_source().entropy
    whole = runs._replace(loss=runs.loss + entropy)
    free = np.array(_interval(whole, n, d, None, times=times)) - entropy
    wide, long = runs.keep(runs.n > runs.n.min()), runs.keep(runs.d > runs.d.min())
    return {
        f"as on the main page, {times} bootstraps": _interval(runs, n, d, times=times),
        "squares": _interval(runs, n, d, delta=10.0, times=times),
        "a floor that is fitted": (float(free[0]), float(free[1]), float(free[2])),
        "all parameters": _interval(sweep("n_all"), float(held_out("n_all").n[0]), d, times=times),
        "without the smallest width": _interval(wide, n, d, times=times),
        "without the fewest tokens": _interval(long, n, d, times=times),
    }


def backtest(confidence: float = 0.95) -> tuple[int, int]:
    """How many of the 24 lie in the interval that the others give, and how many lie above it.

    A bootstrap that happens not to draw a run is one of the other 23; some 70 of 200 do so.
    """
    runs, inside, above = sweep(), 0, 0
    size, rng = len(runs.n), np.random.default_rng(1)
    drawn = draws(runs, TIMES, np.random.default_rng(0), floor=0.0)  # as for the laws
    for i, loss in enumerate(runs.loss):
        without = [one for one, counts in zip(laws(), drawn, strict=True) if not counts[i]]
        others = runs.keep(np.arange(size) != i)
        low, high = predict(without, others, runs.n[i], runs.d[i], rng, confidence)
        inside, above = inside + (low < loss < high), above + (loss >= high)
    return int(inside), int(above)
