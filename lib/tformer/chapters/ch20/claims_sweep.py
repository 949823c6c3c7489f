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
