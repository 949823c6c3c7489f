"""The claim of chapter 20 on two studies that counted parameters differently."""

from __future__ import annotations

import numpy as np
import sympy as sp

from tformer_book.chapters.ch20 import published
from tformer_book.chapters.ch20.counting import SEEN, TABLES, apparent, budgets
from tformer_book.claims.registry import claim, require
from tformer_book.claims.tools import near


@claim(
    "prop-uncounted",
    "symbolic",
    mutants={
        "tables that grow as the square root of the blocks": {"root": 2},
        "models as large as today's": {"low": 1e9, "high": 1e12},
        "no tables": {"tables": 0.0},
        "the other study's exponent, to the digit": {"other": True},
    },
    scope="limits by symbols; one law, 25 budgets searched",
)
def uncounted(
    root: int = 3,
    low: float = SEEN[0],
    high: float = SEEN[1],
    tables: float = TABLES,
    other: bool = False,
) -> str:
    """Both ends by symbols; the condition against a search; the slope of the refit and of 200."""
    n, t, alpha, beta = sp.symbols("n T alpha beta", positive=True)
    every = n + t * n ** sp.Rational(1, root)
    rows = (sp.diff(every, n) * n / every, sp.diff(every, n, 2) * n / sp.diff(every, n))
    turned = 1 + ((alpha + 1) * rows[0] - rows[1] - 1) / beta
    x = sp.Symbol("x", positive=True)  # n = x³: powers are whole then
    inverse = sp.cancel(sp.simplify(turned.subs(n, x**3)))
    ends = (sp.limit(inverse, x, 0), sp.limit(inverse, x, sp.oo))
    for end, want in zip(ends, ((alpha / 3 + beta) / beta, (alpha + beta) / beta), strict=True):
        require(sp.simplify(end - want) == 0, f"at an end 1 / exponent is {end}, not {want}, T > 0")
    law, sizes = published.refit(), np.geomspace(*SEEN, 25)
    away = np.linspace(-0.5, 0.5, 2001)
    for size, compute in zip(sizes, budgets(law, sizes), strict=True):
        tried = size * np.exp(away)
        losses = law.loss(tried + TABLES * np.cbrt(tried), compute / 6 / tried)
        best = tried[losses.argmin()]
        require(near(best / size, 1, 2e-3), f"at {compute:.2g} the best n is {best:.3g}")
    slope = apparent(law, low, high, tables)
    require(near(slope, 0.795, 5e-4), f"the exponent is {slope:.4f}")
    many = [apparent(one) for one in published.laws()]
    ends_seen = np.quantile(many, (0.025, 0.975))
    require(near(ends_seen, (0.764, 0.833), 1e-3), f"the interval is {ends_seen}")
    require(not other or ends_seen[0] < 0.73, f"0.73 lies below {ends_seen[0]:.3f}")
    return (
        "both limits for symbols; at 25 budgets a search finds the same size within a fifth of a "
        "per cent; the line's slope to .0005, its interval from 200 bootstraps to .001"
    )
