"""The claims of chapter 20 on our own sweep, and on the run that was held out."""

from __future__ import annotations

import numpy as np

from tformer.chapters.ch20 import measured
from tformer.claims.registry import claim, require
from tformer.claims.tools import near
from tformer.experiments.scaling import Law, fit, objective
from tformer.experiments.scaling.source import drawn_source

INTERVALS = ((0.600, 0.783), (0.553, 0.686))
"""Of α and β, from 200 bootstraps."""

MIDDLE, BAR = 0.0169, (0.0129, 0.0199)
"""What the law says of the run that was held out, and the ends of its interval."""
OFF = -0.048
"""By how much of that the run lies above it: it lies below."""


def _ends(laws: list[Law], name: str) -> np.ndarray:
    return np.quantile([getattr(law, name) for law in laws], (0.025, 0.975))


@claim(
    "exm-sweep",
    "numeric",
    mutants={
        "squares in the place of Huber's loss": {"delta": 10.0},
        "the runs of the fewest tokens are left out": {"fewest": False},
        "a source with two hundredths of a nat more": {"more": 0.02},
    },
    scope="24 runs; 200 bootstraps; 200 other laws nearby",
)
def swept(delta: float = 1e-3, fewest: bool = True, more: float = 0.0) -> str:
    """The law, that no law nearby is better, its intervals; and the floor, fitted blindly."""
    runs = measured.sweep()
    runs = runs if fewest else runs.keep(runs.d > runs.d.min())
    law = fit(runs, floor=0.0, delta=delta)
    at = (law.a / 1e4**law.alpha, law.b / 1e6**law.beta, law.alpha, law.beta)
    said = ", ".join(f"{x:.4f}" for x in at)
    require(near(at, (0.0195, 0.0352, 0.7244, 0.5698), 5e-4), f"constants and exponents are {said}")
    best, rng = objective(law, runs, delta), np.random.default_rng(0)
    for _ in range(200):
        push = 1 + 10 ** rng.uniform(-4, -1) * rng.standard_normal(4)
        moved = Law(0.0, *push * (law.a, law.b, law.alpha, law.beta))
        require(objective(moved, runs, delta) >= best * (1 - 1e-9), f"{moved} is better")
    misses = np.log(runs.loss / law.loss(runs.n, runs.d))
    square = 1 - (misses**2).mean() / np.log(runs.loss).var()
    got = (np.median(abs(misses)), np.exp(misses.max()) - 1, square)
    require(near(got, (0.0312, 0.317, 0.9925), 2e-3), f"misses and R² are {np.round(got, 4)}")
    many = measured.laws()
    ends = np.array([_ends(many, "alpha"), _ends(many, "beta")])
    require(near(ends, INTERVALS, 5e-3), f"intervals are {ends.round(4).tolist()}")
    free, others = measured.with_floor()
    low, high = _ends(others, "floor")
    truth = drawn_source().entropy + more
    require(low < truth < high, f"the entropy {truth:.4f} is not in {low:.4f} to {high:.4f}")
    require(near(free.floor, truth, 6e-3), f"the floor is {free.floor:.4f}, not {truth:.4f}")
    return (
        "constants to .0005, ends of intervals to .005; none of 200 laws nearby is better; the "
        "source's entropy, from its probabilities, lies in the interval of the floor"
    )


@claim(
    "exm-held-out",
    "numeric",
    mutants={
        "the term of the tokens is left out": {"tokens": 0.0},
        "the largest of the 24 answers for it": {"size": 221184.0},
        "it errs to the other side": {"side": -1},
    },
    scope="one run; 200 bootstraps; each of the 24 from the others",
)
def held_out(tokens: float = 1.0, size: float | None = None, side: int = 1) -> str:
    """The prediction from the stored runs, the run itself, and how often such intervals hold."""
    out, law = measured.held_out(), measured.law()
    n, d = size or float(out.n[0]), float(out.d[0])
    middle, low, high = measured.expected(n, d)
    said = law.a / n**law.alpha + tokens * law.b / d**law.beta
    require(near(said, MIDDLE, 5e-5), f"the law says {said:.4f}, not {MIDDLE}")
    require(near((middle, low, high), (MIDDLE, *BAR), 2e-4), f"{middle:.4f}, {low:.4f}, {high:.4f}")
    loss = float(out.loss[0])
    require(low < loss < high, f"{loss:.4f} is not in {low:.4f} to {high:.4f}")
    off = side * (loss / middle - 1)
    require(near(off, OFF, 5e-4), f"the run lies {100 * off:+.1f} % off the law")
    inside, above = measured.backtest()
    require((inside, above) == (21, 2), f"{inside} of 24 lie inside, {above} above")
    return (
        "the prediction to .0001, its ends to .0002; the run against both; each of the 24 against "
        "the interval of those bootstraps that did not draw it"
    )
