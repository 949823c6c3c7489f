"""The claims of chapter 20 on budgets of our own, and on losses that stand still and fall."""

from __future__ import annotations

import numpy as np

from tformer_book.chapters.ch20 import budgets, measured, plateaus, widths
from tformer_book.claims.registry import claim, require
from tformer_book.claims.tools import near
from tformer_book.experiments.scaling import fit
from tformer_book.storyteller.tales import NAMES

BEST = ((1639, 3319, 6607, 11401), (1849, 3404, 6267, 11538))
"""Parameters at the vertices, and by the law of the 24."""


@claim(
    "exm-four-budgets",
    "empirical",
    mutants={
        "parabolas against N, and not its logarithm": {"log": False},
        "squares in the place of Huber's loss": {"delta": 10.0},
        "intervals of 50 %": {"confidence": 0.5},
    },
    scope="20 runs, of which ten are new; 200 bootstraps",
)
def four_budgets(log: bool = True, delta: float = 1e-3, confidence: float = 0.95) -> str:
    """Vertices by normal equations, the law's best sizes by a search; the ten against intervals."""
    law = fit(measured.sweep(), floor=0.0, delta=delta)
    found: tuple[list[float], list[float]] = ([], [])
    for k in budgets.WIDTHS:
        runs = budgets.ours(k)
        require(near(6 * runs.n * runs.d / budgets.compute(k), 1, 2e-3), f"budget {k} is another")
        x = np.log(runs.n) if log else runs.n / runs.n.mean()
        table = np.stack([x * x, x, np.ones(5)], axis=1)
        bend, slope, _ = np.linalg.solve(table.T @ table, table.T @ runs.loss)
        best = -slope / (2 * bend)
        found[0].append(np.exp(best) if log else best * runs.n.mean())
        sizes = np.geomspace(300, 1e5, 200_001)
        found[1].append(sizes[law.loss(sizes, budgets.compute(k) / 6 / sizes).argmin()])
    for name, got, right in zip(("vertices", "law"), found, BEST, strict=True):
        require(near(np.divide(got, right), 1, 5e-4), f"{name}: {np.round(got)}, not {right}")
    paid = np.log([budgets.compute(k) for k in budgets.WIDTHS])
    rises = [np.polyfit(paid, np.log(sizes), 1)[0] for sizes in found]
    require(near(rises, (0.4694, 0.4403), 3e-4), f"exponents are {np.round(rises, 4)}")
    ends = np.quantile([one.share for one in measured.laws()], (0.025, 0.975))
    require(near(ends, (0.416, 0.537), 5e-3), f"its interval is {ends.round(4)}")
    require(ends[0] < rises[0] < ends[1], f"{rises[0]:.4f} is not in {ends.round(4)}")
    new = budgets.new()
    off = abs(new.loss / law.loss(new.n, new.d) - 1).max()
    require(near(off, 0.061, 5e-4), f"the new run that is furthest off is so by {off:.4f}")
    inside = 0
    for n, d, loss in zip(*new, strict=True):
        _, low, high = measured.expected(float(n), float(d), confidence)
        inside += low < loss < high
    require(inside == len(new.n) == 10, f"{inside} of {len(new.n)} new runs lie inside")
    return (
        "sizes to .05 %, exponents to .0003, ends of the interval to .005; each of ten runs that "
        "no fit has seen against its own interval"
    )


@claim(
    "exm-plateau",
    "empirical",
    mutants={
        "half as many names": {"names": 12},
        "who is helped, in the place of the name": {"kind": "patient"},
        "the power law from the last step of the plateau on": {"seen": (150, 175)},
    },
    scope="one training; losses on 256 tales",
)
def plateau(
    names: int = len(NAMES), kind: str = "name again", seen: tuple[int, int] = plateaus.SEEN
) -> str:
    """The stored losses at three steps, a guess among the names, and a line between logarithms."""
    steps, loss = plateaus.losses(kind)
    first, last, late = (float(loss[steps == step].item()) for step in (*seen, 250))
    got = (first, last, last - np.log(names))
    require(near(got, (3.408, 3.193, 0.015), 6e-4), f"losses, and over a guess: {np.round(got, 4)}")
    slope, middle = np.polyfit(np.log(seen), np.log((first, last)), 1)
    said = float(np.exp(middle + slope * np.log(250)))
    both = (said, late)
    require(near(both, (3.043, 0.013), 6e-4), f"said and measured: {np.round(both, 4)}")
    require(near(plateaus.against(kind, 250), both, 1e-9), f"the page prints others than {both}")
    return "the stored losses to .0006 nats; the power law by a line through two logarithms"


@claim(
    "exm-widths",
    "empirical",
    mutants={
        "half as many names": {"names": 12},
        "known from width 8 on": {"known": 8},
        "who is helped, at width 12": {"at": 12},
    },
    scope="24 trainings of 1,000 steps; losses on 256 tales",
)
def against_width(names: int = len(NAMES), known: int = 12, at: int = 16) -> str:
    """The stored losses, by width; the tests make one of the trainings again."""
    again, helped = (
        dict(zip(widths.WIDTHS, np.sort(widths.stored(kind)), strict=True))
        for kind in ("name again", "patient")
    )
    over = again[4] - np.log(names)
    require((over > 0).all() and (over < 0.05).all(), f"width 4, over a guess: {np.round(over, 3)}")
    require(near(again[6], (0.009, 0.025, 0.716), 6e-4), f"width 6: {np.round(again[6], 4)}")
    most = max(loss[-1] for width, loss in again.items() if width >= known)
    require(most < 1e-3, f"from width {known} on up to {most:.4f}")
    require(near(helped[at], (0.145, 0.388, 2.206), 6e-4), f"helped: {np.round(helped[at], 4)}")
    return "the stored losses to .0006 nats, and a guess among the names"
