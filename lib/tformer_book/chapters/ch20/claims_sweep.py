"""The claims of chapter 20 on our own sweep, and on the run that was held out."""

from __future__ import annotations

import numpy as np

from tformer_book.chapters.ch20 import measured
from tformer_book.chapters.ch20.search import lowest
from tformer_book.claims.registry import claim, require
from tformer_book.claims.tools import near
from tformer_book.experiments.scaling import Law, draws, fit, objective
from tformer_book.experiments.scaling.source import drawn_source

INTERVALS = ((0.579, 0.783), (0.553, 0.686))
"""Of α and β, from 200 bootstraps."""
SEEDS = ((0.579, 0.646), (0.771, 0.784))
"""Of five seeds of these draws, between what the ends of α lie."""
HARD = (30, 48, 73, 192, *range(7, 200, 16))
"""Draws that are searched by another way; a descent from the first law misses the first four."""

MIDDLE, BAR = 0.0169, (0.0129, 0.0199)
"""What the law says of the run that was held out, and the ends of its interval."""
BARS = ((0.0125, 0.0145), (0.0199, 0.0219))
"""Of five seeds of the draws, between what these ends lie."""
OFF = -0.048
"""By how much of that the run lies above it: it lies below."""


def _ends(laws: list[Law], name: str) -> np.ndarray:
    return np.quantile([getattr(law, name) for law in laws], (0.025, 0.975))


@claim(
    "exm-sweep",
    "empirical",
    mutants={
        "squares in the place of Huber's loss": {"delta": 10.0},
        "the runs of the fewest tokens are left out": {"fewest": False},
        "a source with two hundredths of a nat more": {"more": 0.02},
    },
    scope="24 runs; 200 bootstraps, 17 of them and the law searched",
)
def swept(delta: float = 1e-3, fewest: bool = True, more: float = 0.0) -> str:
    """That no law is better, by a search; intervals, also by other draws; the floor, blindly."""
    runs = measured.sweep()
    runs = runs if fewest else runs.keep(runs.d > runs.d.min())
    law = fit(runs, floor=0.0, delta=delta)
    at = (law.a / 1e4**law.alpha, law.b / 1e6**law.beta, law.alpha, law.beta)
    said = ", ".join(f"{x:.4f}" for x in at)
    require(near(at, (0.0195, 0.0352, 0.7244, 0.5698), 5e-4), f"constants and exponents are {said}")
    misses = np.log(runs.loss / law.loss(runs.n, runs.d))
    square = 1 - (misses**2).mean() / np.log(runs.loss).var()
    got = (np.median(abs(misses)), np.exp(misses.max()) - 1, square)
    require(near(got, (0.0312, 0.317, 0.9925), 2e-3), f"misses and R² are {np.round(got, 4)}")
    free, others = measured.with_floor()
    low, high = _ends(others, "floor")
    truth = drawn_source().entropy + more
    require(low < truth < high, f"the entropy {truth:.4f} is not in {low:.4f} to {high:.4f}")
    require(near(free.floor, truth, 6e-3), f"the floor is {free.floor:.4f}, not {truth:.4f}")
    many = measured.laws()
    ends = np.array([_ends(many, "alpha"), _ends(many, "beta")])
    require(near(ends, INTERVALS, 5e-3), f"intervals are {ends.round(4).tolist()}")
    seeds = np.array([_ends(laws, "alpha") for laws in measured.by_seed()]).T
    outer = np.stack([seeds.min(axis=1), seeds.max(axis=1)], axis=1)
    require(
        near(outer, SEEDS, 1e-3), f"over five seeds the ends of α are {outer.round(4).tolist()}"
    )
    drawn = draws(runs, len(many), np.random.default_rng(0), floor=0.0)
    for name, counts, one in (("24", None, law), *((i, drawn[i], many[i]) for i in HARD)):
        mine, least = objective(one, runs, counts=counts), lowest(runs, counts, floor=0.0)
        require(mine < least * (1 + 1e-6), f"draw {name}: {mine:.8f}, by a search {least:.8f}")
        require(least < 1.2 * mine, f"the search for draw {name} stays far above its law")
    return (
        "constants to .0005, ends of intervals to .005; a search without gradients finds nothing "
        "lower for the law and 17 draws; the source's entropy lies in the floor's interval"
    )


@claim(
    "exm-held-out",
    "empirical",
    mutants={
        "the term of the tokens is left out": {"tokens": 0.0},
        "the largest of the 24 answers for it": {"size": 221184.0},
        "it errs to the other side": {"side": -1},
    },
    scope="one run; 200 bootstraps, 5 seeds; 24 from the others",
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
    bars = np.array([measured.expected(n, d, seed=seed)[1:] for seed in range(5)]).T
    outer = np.stack([bars.min(axis=1), bars.max(axis=1)], axis=1)
    require(near(outer, BARS, 1e-4), f"over five seeds the ends are {outer.round(5).tolist()}")
    require(outer[0, 1] < loss < outer[1, 0], f"{loss:.4f} is not in each of them")
    inside, above = measured.backtest()
    require((inside, above) == (21, 2), f"{inside} of 24 lie inside, {above} above")
    return (
        "the prediction to .0001, its ends to .0002, those of five seeds to .0001; the run against "
        "all; each of the 24 against the interval of those bootstraps that did not draw it"
    )
