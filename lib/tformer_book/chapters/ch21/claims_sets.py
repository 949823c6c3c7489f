"""The claims of chapter 21 on sets: how attention disperses, and what that costs."""

from __future__ import annotations

import math

import numpy as np
import sympy as sp

from tformer import reference
from tformer_book.chapters.ch21 import sets
from tformer_book.claims.registry import claim, require
from tformer_book.claims.tools import grid, identity

ERRORS = {
    "mean": {8: (0.0104, 0.0134), 64: (0.0489, 0.052), 256: (0.0564, 0.0603)},
    "attention": {8: (0.001, 0.0014), 64: (0.0082, 0.0138), 256: (0.0135, 0.0202)},
    "largest": {8: (0.0002, 0.0006), 64: (0.0002, 0.0007), 256: (0.0002, 0.0011)},
}
"""Between what the mean errors of the three models of each kind lie."""
SHARPER = (0.0014, 0.0032)
"""Between what errors of the three with attention lie at 256, by a factor chosen on other sets."""
WEIGHTS = {8: (0.88, 0.91), 256: (0.16, 0.22)}
"""Between what the mean largest weight of the sharpest head of each of them lies."""


@claim(
    "prop-dispersion",
    "exhaustive",
    mutants={
        "scores that differ by B at most": {"spread": 1},
        "the bound counts one key less": {"fewer": 1},
    },
    scope="all rows of n ≤ 6 scores in {−B, 0, B}, three B; SymPy",
)
def dispersion(spread: int = 2, fewer: int = 0) -> str:
    """The formula by symbols where it is attained; the library's weights on whole grids."""
    n, b = sp.symbols("n B", positive=True)
    attained = sp.exp(b) / (sp.exp(b) + (n - 1) * sp.exp(-b))
    bound = 1 / (1 + (n - 1 - fewer) * sp.exp(-spread * b))
    identity(attained, bound, "one score B, the others −B: the weight")
    for most in (0.5, 1.0, 3.0):
        for count in range(1, 7):
            weights = reference.softmax(grid(count, (-most, 0.0, most)))
            limit = 1 / (1 + (count - 1 - fewer) * math.exp(-spread * most))
            largest = weights.max()
            require(largest < limit + 1e-12, f"{count} scores: {largest:.4f} above {limit:.4f}")
            require(largest > limit - 1e-12, f"{count} scores: {limit:.4f} is not reached")
    for most, least in ((1.0, 0.5), (2.0, 0.1), (3.0, 0.01)):
        edge = 1 + math.exp(2 * most) * (1 / least - 1)
        for count in (math.floor(edge), math.floor(edge) + 1):
            row = np.full(count, -most)
            row[0] = most
            below = reference.softmax(row).max() < least
            require(below == (count > edge), f"{count} keys, B = {most}: {least} is not the border")
    return "the bound is reached; the count from which a weight is below .5, .1 and .01, both sides"


@claim(
    "exm-sets",
    "empirical",
    mutants={
        "attention does not get worse": {"worse": -1},
        "the largest coordinate gets better on larger sets": {"limit": 0.9},
        "sharper scores make attention worse": {"mended": -1},
    },
    scope="nine trainings; 2,000 sets of each of four sizes",
)
def sets_(growth: float = 5.0, worse: int = 1, limit: float = 3.0, mended: int = 1) -> str:
    """What is stored, against the table; and against the best constant answer, by a sample."""
    told = sets.stored()
    for pool, sizes in ERRORS.items():
        for size, (low, high) in sizes.items():
            found = [run[str(size)] for run in told[pool]]
            inside = low <= min(found) and max(found) <= high
            require(inside, f"{pool}, {size} numbers: errors {found}")
    for run in told["attention"]:
        ratio = run["256"] / run["8"]
        require(worse * (ratio - growth) > 0, f"attention: {ratio:.1f} times the error at 256")
    for run in told["largest"]:
        ratio = run["256"] / run["8"]
        require(ratio < limit, f"largest coordinate: {ratio:.2f} times the error at 256")
    for run, (factor, error) in zip(told["attention"], sets.sharpest(), strict=True):
        ratio = error / run["256"]
        require(mended * (0.3 - ratio) > 0, f"times {factor}: {ratio:.2f} of the error is left")
        low, high = SHARPER
        require(low <= error <= high, f"scores times {factor}: error {error}")
        for size, (least, most) in WEIGHTS.items():
            weight = run[f"{size}, largest weight"]
            require(least <= weight <= most, f"{size} numbers: largest weight {weight}")
        span = run["256, span of scores"]
        able = 1 / (1 + 255 * math.exp(-span))
        require(span < 45 and able > 0.99, f"a span of {span}: the weight may be {able:.3f}")
    drawn = np.random.default_rng(1).random((20000, 256)).max(axis=1)
    constant = abs(drawn - np.median(drawn)).mean()
    require(abs(constant - sets.constant(256)) < 1e-4, f"the best constant misses {constant:.5f}")
    least = min(run["256"] for run in told["attention"])
    require(least > constant, f"at 256 attention misses {least:.4f}, a constant {constant:.4f}")
    return "nine stored trainings, four sizes, sharper scores; a constant, by 20,000 sets of 256"
