"""The claims of chapter 20 on the 245 published runs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tformer.chapters.ch20 import published
from tformer.claims.registry import claim, require
from tformer.claims.tools import near
from tformer.experiments.scaling import Law, Runs, fit, objective

BUDGET = 5.76e23
"""FLOPs of the model that the paper of the runs trained at last."""


@claim(
    "exm-refit",
    "numeric",
    mutants={
        "the constants that were printed": {"law": published.PRINTED},
        "squares in the place of Huber's loss": {"delta": 10.0},
        "all 245 runs": {"left_out": 0},
        "the largest loss alone is left out": {"left_out": 1},
    },
    scope="240 runs; four digits; 200 other starts of E, α, β",
)
def refit(law: Law | None = None, delta: float = 1e-3, left_out: int = published.LEFT_OUT) -> str:
    """The constants; that no law nearby is better; and how near the replication's numbers are."""
    runs = published.middle(left_out)
    found = law or fit(runs, delta=delta)
    got = (found.floor, found.alpha, found.beta, found.share)
    want = (1.8172, 0.3473, 0.3672, 0.5139)
    require(near(got, want, 5e-5), f"E, α, β and exponent are {', '.join(f'{x:.4f}' for x in got)}")
    other = published.REPLICATION
    theirs = (other.floor, other.alpha, other.beta, other.share)
    require(near(got, theirs, 2e-3), "the replication has other constants")
    best, rng = objective(found, runs), np.random.default_rng(0)
    for _ in range(200):
        push = 1 + 10 ** rng.uniform(-4, -1) * rng.standard_normal(5)
        moved = Law(*push * (found.floor, found.a, found.b, found.alpha, found.beta))
        require(objective(moved, runs) >= best, f"{moved} is better")
    return (
        "constants to four digits; each within .002 of the replication's; none of 200 laws nearby, "
        "a ten-thousandth to a tenth away, has a lower objective"
    )


@claim(
    "exm-five",
    "numeric",
    mutants={
        "one of the five": {"few": 1},
        "four of the five": {"few": 4},
    },
    scope="the five, and 40 other fives; 200 bootstraps",
)
def five(few: int = 5) -> str:
    """Beyond the five: other fives are taken out of the 240, and intervals are resampled."""
    every, share = published.runs(), published.refit().share
    order = np.argsort(-every.loss)
    ratio = every.d / every.n
    require(set(np.argsort(ratio)[:5]) == set(order[:5]), "others have fewer tokens a parameter")
    require(ratio[order[:5]].max() < 0.405 < np.sort(ratio)[5], "D / N")
    rng = np.random.default_rng(0)
    with_them = fit(every.keep(np.sort(np.append(order[5:], order[:few])))).share
    require(near(with_them, 0.5646, 5e-5), f"with {few} runs the exponent is {with_them:.4f}")
    moves = []
    for _ in range(40):
        counts = np.ones(240)
        counts[rng.choice(240, 5, replace=False)] = 0
        moves.append(abs(_share(published.middle(), counts) - share))
    require(max(moves) < 0.012, f"another five move the exponent by {max(moves):.3f}")
    low, high = np.quantile([law.share for law in published.laws()], (0.025, 0.975))
    require(near((low, high), (0.482, 0.561), 1e-3), f"the interval is {low:.3f} to {high:.3f}")
    return (
        "exponents to four digits; 40 other fives, taken out one after another, move it by less "
        "than .012; the ends of the interval to .001"
    )


def _share(runs: Runs, counts: np.ndarray) -> float:
    return fit(runs, counts=counts).share


@claim(
    "exm-rounding",
    "numeric",
    mutants={
        "rounding α alone does it": {"rounded": "alpha"},
        "rounding the floor alone does it": {"rounded": "floor"},
        "the constants of the TeX advise the same": {"advised": published.SOURCE},
    },
    scope="240 runs; each constant rounded alone; a budget",
)
def rounding(rounded: str = "beta", advised: Law = published.PRINTED) -> str:
    """The objective of each law over that of the refit, and what each says of one budget."""
    runs, best = published.middle(), objective(published.refit(), published.middle())

    def over(law: Law) -> float:
        return objective(law, runs) / best

    source, printed = over(published.SOURCE), over(published.PRINTED)
    require(near((source, printed), (1.209, 4.047), 1e-3), f"{source:.3f} and {printed:.3f}")
    alone = replace(published.SOURCE, **{rounded: getattr(published.PRINTED, rounded)})
    require(over(alone) > 4, f"with {rounded} rounded the objective is {over(alone):.2f} times")
    ratios = []
    for law in (advised, published.SOURCE, published.refit(), published.refit(0)):
        n, d = law.optimum(BUDGET)
        ratios.append(d / n)
    want = (92.6, 58.9, 17.9, 6.8)
    said = ", ".join(f"{x:.1f}" for x in ratios)
    require(near(ratios, want, 0.05), f"tokens a parameter are {said}")
    factor = 1e10 ** (published.SOURCE.beta - published.PRINTED.beta)
    require(near(factor, 1.120, 5e-4), f"at 1e10 tokens the term grows by {factor:.3f}")
    return (
        "objectives to .001 of the refit's; one constant rounded at a time; tokens a parameter, to "
        "a tenth, by four laws"
    )


@claim(
    "exm-selected",
    "numeric",
    mutants={
        "a choice by tokens a parameter moves it as far": {"by_loss": False},
        "the floor stands still as well": {"floor_moves": 0.02},
    },
    scope="cuts at 6 numbers of tokens a parameter; 5 to 30 runs",
)
def selected(by_loss: bool = True, floor_moves: float = 0.1) -> str:
    """Runs are left out by what was chosen (D / N), and by what came out (the loss)."""
    every = published.runs()
    ratio = every.d / every.n
    cuts = [fit(every.keep(ratio > cut)) for cut in (0.42, 0.7, 1, 2, 5, 10)]
    shares = [law.share for law in cuts]
    said = f"{min(shares):.3f} to {max(shares):.3f}"
    require(near((min(shares), max(shares)), (0.4995, 0.5226), 1e-3), f"exponents {said}")
    ends = cuts[0].floor, cuts[-1].floor
    require(near(ends, (1.817, 1.720), 1e-3), f"floors {ends[0]:.3f} and {ends[1]:.3f}")
    moved = ends[0] - ends[1]
    require(moved < floor_moves, f"the floor moves by {moved:.3f}")
    others = [published.refit(k).share for k in (5, 10, 20, 30)] if by_loss else shares
    require(others[0] - min(others) > 0.05, f"the exponent falls from .514 to {min(others):.3f}")
    require(near(others, (0.5139, 0.5086, 0.4838, 0.4595), 1e-3), f"{others}")
    return (
        "six cuts by tokens a parameter, 240 to 175 runs left, and four by the loss: exponents and "
        "floors to .001"
    )
