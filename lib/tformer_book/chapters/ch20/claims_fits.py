"""The claims of chapter 20 on fitting: straight lines, few and related runs, parabolas."""

from __future__ import annotations

from functools import cache

import numpy as np
import sympy as sp

from tformer_book.chapters.ch20.parabolas import vertex
from tformer_book.claims.registry import claim, require
from tformer_book.claims.tools import identity
from tformer_book.experiments.scaling import Law


@claim(
    "prop-offset",
    "symbolic",
    mutants={
        "a straight line finds the exponent": {"floored": False},
        "the share of the floor, not of the rest": {"rest": False},
    },
    scope="symbols; 200 random laws, lines through 2 to 9 points",
)
def offset(floored: bool = True, rest: bool = True) -> str:
    """The local slope by symbols; that a line's slope lies between the outer ones, by drawing."""
    x, e, a, power = sp.symbols("x E A alpha", positive=True)
    loss = e + a * x**-power
    slope = x * sp.diff(sp.log(loss), x)
    part = (loss - e) / loss if rest else e / loss
    identity(slope, -power * (part if floored else 1), "the slope between logarithms")
    for seed in range(200):
        rng = np.random.default_rng(seed)
        size = int(rng.integers(2, 10))
        points = np.sort(rng.uniform(0, 10, size))
        floor, exponent = rng.uniform(0.1, 3), rng.uniform(0.1, 1)
        above = 5 * np.exp(-exponent * points)
        found = -np.polyfit(points, np.log(floor + above), 1)[0]
        local = exponent * above / (floor + above)
        inside = local[-1] < found < local[0]
        require(inside, f"draw {seed}: {found:.4f} is not in ({local[-1]:.4f}, {local[0]:.4f})")
    return (
        "the slope for symbols; lines of least squares through 200 sets of points on such curves, "
        "each flatter than the steepest place and steeper than the flattest"
    )


@claim(
    "prop-spread",
    "symbolic",
    mutants={
        "related runs count as so many": {"related": False},
        "half the range costs half as much": {"power": 1},
    },
    scope="symbols; 2 to 5 places, 1 to 4 runs at each",
)
def spread(related: bool = True, power: int = 2) -> str:
    """The covariance matrix of the runs goes through the formula of the slope, entry by entry."""
    scatter, rho, width = sp.symbols("sigma rho w", positive=True)
    for places in (2, 3, 5):
        for m in (1, 2, 4):
            grid = [width * sp.Rational(2 * i - places + 1, places - 1) for i in range(places)]
            x = sp.Matrix([one for one in grid for _ in range(m)])
            size = len(x)
            covariance = sp.Matrix(
                size,
                size,
                lambda i, j, m=m: scatter**2 * (1 if i == j else rho * int(i // m == j // m)),
            )
            pulls = x / (x.T * x)[0]
            found = (pulls.T * covariance * pulls)[0]
            stated = scatter**2 / (x.T * x)[0] * ((1 + (m - 1) * rho) if related else 1)
            identity(found, stated, f"the variance of the slope, {places} places, {m} runs at each")
            times = sp.simplify(found.subs(width, width / 2) / found)
            identity(times, 2**power, "half the range")
    return (
        "the variance of a slope of least squares, for symbols, with runs at 2, 3 and 5 places, up "
        "to 4 at each; half the range makes it four times as large"
    )


@cache
def _by_symbols(points: int) -> tuple[sp.Expr, tuple[sp.Symbol, ...]]:
    """The vertex of a parabola, to second order in how wide and how far off its window is."""
    alpha, beta, m, w, t = sp.symbols("alpha beta m w t", positive=True)
    u = sp.Symbol("u")
    # e^(-αu)/α + e^(βu)/β, which is least at 0, up to the fourth power
    curve = sum(((-alpha) ** k / alpha + beta**k / beta) * u**k / sp.factorial(k) for k in range(5))
    grid = [w * sp.Rational(2 * i - points + 1, points - 1) for i in range(points)]
    heights = [sp.expand(curve.subs(u, t * (m + v))) for v in grid]
    squares, fourths = (sum(v**k for v in grid) for k in (2, 4))
    line = sum(v * y for v, y in zip(grid, heights, strict=True)) / squares
    centred = [v**2 - squares / points for v in grid]
    bend = sum(v * y for v, y in zip(centred, heights, strict=True))
    bend = bend / (fourths - squares**2 / points)
    found = t * m - t * line / (2 * bend)
    return sp.simplify(sp.series(sp.cancel(found), t, 0, 3).removeO().coeff(t, 2)), (
        alpha,
        beta,
        m,
        w,
    )


@claim(
    "thm-parabola",
    "symbolic",
    mutants={
        "off to the other side": {"sign": -1},
        "a dense window, taken for three points": {"points": 3},
        "a window that stands off does no harm": {"off": 0},
        "it bends the exponent even if the window moves along": {"drifts": 1},
    },
    scope="symbols, 3, 4 and 7 points; 5 budgets of a real law",
)
def parabola(sign: int = 1, points: int | None = None, off: int = 1, drifts: int = 0) -> str:
    """Second order by symbols; then fits along a law, as window and miss are halved."""
    for size in (3, 4, 7):
        found, (alpha, beta, m, w) = _by_symbols(size)
        stated = _stated(alpha, beta, off * m, w, points or size)
        identity(found, sign * stated, f"where the vertex lies, {size} points")
    law = Law(0.0, 480.0, 2100.0, 0.35, 0.5)
    for miss in (0.0, 0.8, -0.8):
        errors = []
        for scale in (1.0, 0.5, 0.25):
            got = vertex(law, 1e21, 1.4 * scale, miss * scale, 9)
            errors.append(abs(got - float(_stated(0.35, 0.5, miss * scale, 1.4 * scale, 9))))
        falls = errors[0] > 6 * errors[1] > 36 * errors[2]
        require(falls, f"the error left is {errors[0]:.2g}, {errors[1]:.2g}, {errors[2]:.2g}")
    budgets = 10.0 ** np.arange(18, 23)
    widths = 1.4 + drifts * 0.1 * np.arange(5)
    off_by = [vertex(law, c, x, 0.0, 9) for c, x in zip(budgets, widths, strict=True)]
    bent = np.polyfit(np.log(budgets), off_by, 1)[0]
    require(abs(bent) < 1e-9, f"the exponent moves by {bent:.2g}")
    return (
        "the second order for symbols; on a law, what is left falls by more than six each time "
        "that width and miss are halved, and the exponent of five budgets stays within 1e-9"
    )


def _stated(alpha, beta, m, w, points: int):  # type: ignore[no-untyped-def]
    ratio = sp.Rational(3 * points**2 - 7, 30 * (points - 1) ** 2)
    return (beta - alpha) * (m**2 / 2 - ratio * w**2)
