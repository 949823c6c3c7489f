"""The claims of chapter 20 on the 245 published runs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.optimize import least_squares

from tformer_book.chapters.ch20 import published
from tformer_book.chapters.ch20.search import lowest
from tformer_book.claims.registry import claim, require
from tformer_book.claims.tools import near
from tformer_book.experiments.scaling import Law, Runs, fit, fit_each, objective

BUDGET = 5.76e23
"""FLOPs of the model that the paper of the runs trained at last."""


@claim(
    "exm-refit",
    "empirical",
    mutants={
        "the constants that were printed": {"law": published.PRINTED},
        "squares in the place of Huber's loss": {"delta": 10.0},
        "all 245 runs": {"left_out": 0},
        "the largest loss alone is left out": {"left_out": 1},
    },
    scope="240 runs; four digits; a search without gradients",
)
def refit(law: Law | None = None, delta: float = 1e-3, left_out: int = published.LEFT_OUT) -> str:
    """That no law is better, by a search in a wide box; how near the replication's numbers are."""
    runs = published.middle(left_out)
    found = law or fit(runs, delta=delta)
    got = (found.floor, found.alpha, found.beta, found.share)
    want = (1.8172, 0.3473, 0.3672, 0.5139)
    require(near(got, want, 5e-5), f"E, α, β and exponent are {', '.join(f'{x:.4f}' for x in got)}")
    other = published.REPLICATION
    theirs = (other.floor, other.alpha, other.beta, other.share)
    require(near(got, theirs, 2e-3), "the replication has other constants")
    _least(found, runs)
    return (
        "constants to four digits; each within .002 of the replication's; a search without "
        "gradients, in a wide box of all five, finds no lower objective"
    )


def _least(law: Law, runs: Runs) -> None:
    """That a search by another way comes near this objective, and not below."""
    got, least = objective(law, runs), lowest(runs)
    require(got < least * (1 + 1e-6), f"the objective is {got:.8f}, by a search {least:.8f}")
    require(least < 1.2 * got, "the search stays far above the law")


@claim(
    "exm-five",
    "empirical",
    mutants={
        "one of the five": {"few": 1},
        "four of the five": {"few": 4},
        "Huber's loss undoes what they do": {"halves": 0.25},
    },
    scope="the five, 40 other fives; squares by SciPy; 200 bootstraps",
)
def five(few: int = 5, halves: float = 0.6) -> str:
    """Beyond the five: other fives are taken out of the 240, and intervals are resampled."""
    every, share = published.runs(), published.refit().share
    order = np.argsort(-every.loss)
    ratio = every.d / every.n
    require(set(np.argsort(ratio)[:5]) == set(order[:5]), "others have fewer tokens a parameter")
    require(ratio[order[:5]].max() < 0.405 < np.sort(ratio)[5], "D / N")
    rng = np.random.default_rng(0)
    some = every.keep(np.sort(np.append(order[5:], order[:few])))
    law = fit(some)
    require(near(law.share, 0.5646, 5e-5), f"with {few} runs the exponent is {law.share:.4f}")
    _least(law, some)
    squares = _by_squares(some), _by_squares(published.middle())
    require(near(squares, (0.6219, 0.5298), 1e-4), f"by squares {squares[0]:.4f}, {squares[1]:.4f}")
    part = (law.share - share) / (squares[0] - squares[1])
    require(0.5 < part < halves, f"Huber's loss leaves {part:.2f} of what squares let them do")
    counts = np.ones((40, 240))
    for one in counts:
        one[rng.choice(240, 5, replace=False)] = 0
    moves = [abs(one.share - share) for one in fit_each(published.middle(), counts)]
    require(max(moves) < 0.012, f"another five move the exponent by {max(moves):.3f}")
    low, high = np.quantile([law.share for law in published.laws()], (0.025, 0.975))
    require(near((low, high), (0.482, 0.561), 1e-3), f"the interval is {low:.3f} to {high:.3f}")
    return (
        "exponents to four digits, the law with the five against a search, squares by SciPy; 40 "
        "other fives, taken out, move it by less than .012; the ends of the interval to .001"
    )


def _by_squares(runs: Runs) -> float:
    """The exponent of the best size by least squares of logarithms, as SciPy finds it."""
    x, y = np.log(runs.n / 1e9), np.log(runs.d / 1e10)

    def off(at: np.ndarray) -> np.ndarray:
        terms = np.exp(at[0]), np.exp(at[1] - at[3] * x), np.exp(at[2] - at[4] * y)
        return np.log(sum(terms)) - np.log(runs.loss)

    tight = {"xtol": 1e-12, "ftol": 1e-12, "gtol": 1e-12}
    alpha, beta = least_squares(off, [0.6, -1.0, -1.0, 0.35, 0.4], **tight).x[3:]
    return float(beta / (alpha + beta))


@claim(
    "exm-rounding",
    "empirical",
    mutants={
        "rounding α alone does it": {"rounded": "alpha"},
        "rounding the floor alone does it": {"rounded": "floor"},
        "the constants of the TeX advise the same": {"advised": published.SOURCE},
    },
    scope="240 runs; each constant rounded alone; two budgets",
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
        ratios.append(_ratio(law, BUDGET))
    want = (92.6, 58.9, 17.9, 6.8)
    said = ", ".join(f"{x:.1f}" for x in ratios)
    require(near(ratios, want, 0.05), f"tokens a parameter are {said}")
    for budget, ends in ((1e21, (15.4, 28.1)), (BUDGET, (7.2, 34.0))):
        many = [_ratio(law, budget, 20_001) for law in published.laws()]
        found = np.quantile(many, (0.025, 0.975))
        require(near(found, ends, 0.1), f"for {budget:.3g} the interval is {found.round(2)}")
    factor = 1e10 ** (published.SOURCE.beta - published.PRINTED.beta)
    require(near(factor, 1.120, 5e-4), f"at 1e10 tokens the term grows by {factor:.3f}")
    return (
        "objectives to .001 of the refit's; one constant rounded at a time; tokens a parameter by "
        "four laws, on a grid of sizes, and the refit's interval, to a tenth"
    )


def _ratio(law: Law, compute: float, sizes: int = 200_001) -> float:
    """Tokens a parameter where the loss is least, by trying sizes."""
    n = np.geomspace(1e8, 1e13, sizes)
    best = n[law.loss(n, compute / 6 / n).argmin()]
    return float(compute / 6 / best**2)


@claim(
    "exm-selected",
    "empirical",
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
    kept = [every.keep(ratio > cut) for cut in (0.42, 0.7, 1, 2, 5, 10)]
    cuts = [fit(runs) for runs in kept]
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
    for law, runs in zip(cuts, kept, strict=True):
        _least(law, runs)
    return (
        "six cuts by tokens a parameter, 240 to 175 runs left, each law against a search, and four "
        "by the loss: exponents and floors to .001"
    )
