"""Claims of the deeper page of chapter 9: regions in many dimensions, and folds of folds."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise, product

import numpy as np
from scipy.optimize import linprog

from tformer_book.chapters.ch09 import folds
from tformer_book.claims.registry import claim, require


@claim(
    "prop-more-dimensions",
    "numeric",
    mutants={
        "all patterns in every width": {"all_patterns": True},
        "one dimension less": {"less": 1},
        "without biases": {"biased": False},
    },
    scope="n ≤ 6 units, width ≤ 4, a linear program a pattern",
)
def more_dimensions(all_patterns: bool = False, less: int = 0, biased: bool = True) -> str:
    """Every pattern of signs is tried by a linear program, for random layers."""
    tried = 0
    for d, n in product((1, 2, 3, 4), range(1, 7)):
        rng = np.random.default_rng(10 * d + n)
        w, b = rng.standard_normal((d, n)), rng.standard_normal(n) * biased
        found = sum(_occurs(w, b, signs) for signs in product((1, -1), repeat=n))
        want = 2**n if all_patterns else folds.bound(n, d - less)
        require(found == want, f"{n} units in width {d}: {found} regions, not {want}")
        require((found == 2**n) == (n <= d) or all_patterns or less, "all patterns, if n ≤ d")
        tried += 1
    return (
        f"every pattern of signs of {tried} random layers, n ≤ 6, d ≤ 4, by a linear program: "
        "as many occur as the sum of binomial coefficients says, and all 2ⁿ if and only if n ≤ d"
    )


def _occurs(w: np.ndarray, b: np.ndarray, signs: tuple[int, ...]) -> bool:
    """Whether some vector has these signs at the units, with room around it."""
    d = len(w)
    s = np.array(signs, dtype=float)
    # maximise a margin: s (x w + b) ≥ margin, margin ≤ 1
    rows = np.concatenate([-s[:, None] * w.T, np.ones((len(s), 1))], axis=1)
    found = linprog(
        np.append(np.zeros(d), -1.0),
        A_ub=rows,
        b_ub=s * b,
        bounds=[(None, None)] * d + [(None, 1.0)],
    )
    return bool(found.status == 0 and -found.fun > 1e-9)


@claim(
    "thm-depth-folds",
    "exhaustive",
    mutants={
        "as many as one layer of all units": {"added": True},
        "one unit a layer": {"units": 1},
    },
    scope="up to 10 layers, exact fractions",
)
def depth(added: bool = False, units: int = 2) -> str:
    """The tent folded over itself: pieces counted by exact slopes between dyadic points."""
    zero = Fraction(0)
    for n_layers in range(1, 11):
        points: list[Fraction] = [
            Fraction(k, 2 ** (n_layers + 1)) for k in range(2 ** (n_layers + 1) + 1)
        ]
        values = points
        for _ in range(n_layers):
            bent = [4 * max(zero, v - Fraction(1, 2)) if units > 1 else zero for v in values]
            values = [2 * max(zero, v) - b for v, b in zip(values, bent, strict=True)]
        steps = [t > s for s, t in pairwise(values)]
        found = 1 + sum(s != t for s, t in pairwise(steps))
        want = 2 * n_layers + 1 if added else 2**n_layers
        require(found == want, f"{n_layers} layers: {found} pieces, not {want}")
    return (
        "2^L pieces on [0, 1] for L ≤ 10 layers of two ReLUs, exactly; one layer of 2L has 2L + 1"
    )
