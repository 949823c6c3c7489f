"""Exercise 3.9: how many pairs fit."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tformer_book.exercises.registry import exercise
from tformer_book.exercises.table import Case, case


def _capacities() -> Iterator[Case]:
    some = ((2, 2.0, 0.05), (2, float(np.log(2)), 0.5), (4, 2.0, 0.9), (16, 8.0, 0.5))
    more = ((64, 16.0, 0.8), (1000, 30.0, 0.5), (1, 1.0, 0.3), (8, 5, 0.99), (300, 20.0, 0.999))
    for d, beta, share in some + more:
        yield case(d=d, beta=beta, share=share)
    why = "With β = 0 all keys weigh the same, so two of them have just the share 1/2 each."
    yield case(d=3, beta=0.0, share=0.5, want=2, why=why)
    why = "With β in the thousands a wrong key has e^{−2β/d} close to 0, and weighs 2^{−d}."
    yield case(d=50, beta=2000.0, share=0.5, why=why)
    yield case(d=10, beta=800.0, share=0.25, want=3073, why=why)
    why = "With β = 0 all keys weigh the same, so ten of them have the share 1/10 each."
    yield case(d=5, beta=0.0, share=0.1, want=10, why=why)
    yield case(d=2, beta=0.0, share=0.75, want=1, why="One pair always fits: its share is 1.")


@exercise(
    "3.9",
    praise="The numbers of pairs that the theorem vouches for, from two pairs in two dimensions to "
    "more than 10¹² in a thousand.",
    hints=(
        "The theorem bounds the mean weight of the right key from below, and the bound falls as "
        "more pairs are stored. Where does it reach the share?",
        "Solve 1/(1 + (n − 1) b) ≥ share for n, where b stands for the power in the theorem.",
        "n − 1 is at most (1/share − 1)/b. A number of pairs is whole, so round down.",
    ),
    cases=_capacities,
    slips="""
        1 + (1 / share - 1) → (1 / share - 1)
            One more: the theorem counts n − 1 wrong keys beside the right one.
        np.floor(1 + (1 / share - 1) / other) → 1 + (1 / share - 1) / other
            Pairs come in whole numbers.
        floor → ceil
            With one pair more the bound falls below the share: round down.
        floor → round
            You round to the nearest whole number, which may be one too many: round down.
        np.floor(1 + (1 / share - 1) / other) → np.ceil((1 / share - 1) / other)
            At least the share is asked for, so equality will do.
        (1 / share - 1) → 1
            That is the number for a share of 1/2.
        -2 * beta → -beta
            The exponent of e is −2β/d; the 2 is missing.
        -2 * beta / d → -2 * beta
            The exponent of e is −2β/d; the d is missing.
        -2 * beta → 2 * beta
            The exponent of e is −2β/d; the minus is missing.
        -2 * beta / d → -2 * beta / d**0.5
            The exponent of e is −2β/d; yours has the root of d.
        ** d →
            The power of d is missing.
        / 2) ** d → ) ** d
            The base is a mean of 1 and a power of e; the 2 below it is missing.
        1 / share - 1 → 1 / share
            1/share counts the right key's own term too: subtract 1.
        1 / share - 1 → 1 - share
            The right key gets the share, the others the rest: their odds are 1/share − 1.
        / other → * other
            The power divides; here it multiplies.
        1 + (1 / share - 1) / other → min($, 10**5)
            There may be more than a hundred thousand. Solve for n instead of counting up to it.
        1 + (1 / share - 1) / other → min($, 10**6)
            There may be more than a million. Solve for n instead of counting up to it.
        (1 / share - 1) → share / (1 - share)
            The odds of the share stand on their heads: the smaller the share, the more pairs fit.
        (1 / share - 1) / other → (1 / share - 1) * np.exp(beta)
            The wrong keys count as if all were orthogonal to the right one; some are nearer, and
            they weigh most.
        np.floor(1 + (1 / share - 1) / other) → np.maximum(1, np.floor(1 / share / other))
            The right key weighs 1 and not as little as a wrong one: n − 1 wrong ones stand beside
            it.
        ((1 + np.exp(-2 * beta / d)) / 2) ** d → np.exp(-beta) * np.cosh(beta / d).item() ** d
            cosh(β/d)^d leaves the range of a float where β is large; multiplied by e^−β it does
            not.
        1 + (1 / share - 1) / other → min($, 2**31 - 1)
            Your number ends at 2³¹ − 1, the largest integer of 32 bits.
        ((1 + np.exp(-2 * beta / d)) / 2) ** d → np.cosh(beta / d**0.5) ** d * np.exp(-beta)
            The power is that of cosh(β/d); yours has the root of d.
        ((1 + np.exp(-2 * beta / d)) / 2) ** d → np.exp(beta**2 / (2 * d) - beta)
            That is the approximation by e^{β²/2d}; the theorem has the power itself.
        ((1 + np.exp(-2 * beta / d)) / 2) ** d → 2.0**-d
            β has no effect: that is the bound for β without end.
        ((1 + np.exp(-2 * beta / d)) / 2) ** d → np.cosh(beta / d) ** d / np.exp(beta)
            exp(β) and cosh(β/d)^d are too large for a float64 where β is; their ratio is not.
        ((1 + np.exp(-2 * beta / d)) / 2) ** d → np.cosh(beta / d) ** d
            The factor e^−β is missing. The right key weighs e^β: divide what a wrong one weighs by
            it.
        = np.floor(1 + np.log(1 / share - 1) - d * np.log((1 + np.exp(-2 * beta / d)) / 2))
            You added logarithms, so that of the number came out. Raise e to it, and then add 1.
        1 + np.exp(-2 * beta / d) → 1 - np.exp(-2 * beta / d)
            The base is the mean of 1 and a power of e; you subtracted. Add the two.
        / 2) ** d → / 2) ** (d - 1)
            You raised to the power d − 1. Each of the d signs counts: the power is d.
        / 2) ** d → / 2) ** (d / 2)
            You raised to the power d/2. Each of the d signs counts: the power is d.
    """,
    otherwise="Put your n and n + 1 into the bound: only the first may reach the share.",
)
def pairs_that_fit(d: int, beta: float, share: float) -> float:
    """The largest n whose bound on the right key's weight is at least `share`."""
    other = ((1 + np.exp(-2 * beta / d)) / 2) ** d
    return float(np.floor(1 + (1 / share - 1) / other))
