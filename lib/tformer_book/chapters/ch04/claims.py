"""The claims of chapter 4, why divide by √d: mean, variance and distribution of a dot product."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import comb, sqrt
from typing import Any

import numpy as np
import sympy as sp
from scipy.special import ndtr

from tformer import reference as ref
from tformer_book.chapters.ch04.scores import distance_of_signs
from tformer_book.claims import plain
from tformer_book.claims.registry import claim, require
from tformer_book.claims.tools import Array, expectation, formula, grid, identity, near, row, table
from tformer_book.experiments.intervals import cdf_gap, cdf_margin, hoeffding_margin

UNIT = {0: 1, 1: 0, 2: 1}
NORMAL = {**UNIT, 3: 0, 4: 3}


def moments(
    dot: sp.Expr, parts: Sequence[tuple[Array, Mapping[int, Any]]]
) -> tuple[sp.Expr, sp.Expr]:
    """Return mean and variance of `dot`, whose variables are independent with the given moments."""
    mean, square = dot, dot**2
    for variables, known in parts:
        mean, square = (expectation(power, known, list(variables)) for power in (mean, square))
    return mean, sp.expand(square - mean**2)


def shifted(name: str, noise: Array) -> tuple[Array, Array, Array]:
    """Return mean + deviation · noise with symbols for every coordinate, and those symbols."""
    mean, deviation = row(f"mu_{name}", len(noise)), row(f"sigma_{name}", len(noise))
    return mean + deviation * noise, mean, deviation


@claim(
    "thm-random-matrices",
    "symbolic",
    mutants={
        "one matrix for both": {"tied": True},
        "variance d · d_model": {"power": 0},
        "unrelated, whatever the words": {"related": 0},
    },
    scope="d_model = 2, widths 1 and 2, every entry",
)
def random_matrices(tied: bool = False, power: int = 2, related: int = 1) -> str:
    """Two rows that meet one query, so that the covariance comes with the variance."""
    m, x, y, other = 2, row("x", 2), row("y", 2), row("z", 2)
    known = {0: 1, 1: 0, 2: sp.Rational(1, m), 3: 0, 4: sp.Symbol("kappa")}
    for d in (1, 2):
        w_q, w_k = table("w", m, d), table("w" if tied else "v", m, d)
        entries = sorted({*w_q.ravel(), *w_k.ravel()}, key=str)
        first, second = (formula(ref.dot)(x @ w_q, rows @ w_k) for rows in (y, other))
        mean, square, mixed = (
            expectation(part, known, entries) for part in (first, first**2, first * second)
        )
        identity(mean, 0, "E[q·k] = 0")
        size = d * (x @ x) / sp.Integer(m) ** power
        identity(square, size * (y @ y), f"Var[q·k] = d‖x‖²‖y‖²/d_model^{power}")
        identity(mixed, related * size * (y @ other), "Cov[q·k, q·k′] = d‖x‖²(y·y′)/d_model²")
    signs = grid(4, (-1, 1)).reshape(-1, m, 2) / sqrt(m)
    q, k = np.array([1.0, 2.0]) @ signs, np.array([3.0, -1.0]) @ signs
    dots = ref.pairwise_dot(q, k)
    require(near(dots.mean(), 0) and near(dots.var(), 2 * 5 * 10 / 4), f"signs: {dots.var():.4f}")
    return (
        f"symbol by symbol, d_model = {m}, d ≤ {d}, entries with any fourth moment; for two "
        "rows over all 256 pairs of sign matrices, by the library within 1e-12"
    )


@claim(
    "thm-moments-independent",
    "symbolic",
    mutants={"without the means": {"means": 0}, "k is q": {"independent": False}},
    scope="widths 1 to 3, every coordinate",
)
def moments_independent(means: int = 1, independent: bool = True) -> str:
    """Symbol by symbol: only the first two moments of each coordinate enter."""
    for d in (1, 2, 3):
        x, z = row("x", d), row("z", d)
        (q, mu_q, sigma_q), (k, mu_k, sigma_k) = shifted("q", x), shifted("k", z)
        if not independent:
            k, mu_k, sigma_k = q, mu_q, sigma_q
        mean, variance = moments(formula(ref.dot)(q, k), [(x, NORMAL), (z, NORMAL)])
        want = sigma_q**2 * sigma_k**2 + means * (mu_q**2 * sigma_k**2 + mu_k**2 * sigma_q**2)
        identity(mean, (mu_q * mu_k).sum(), "E[q·k] = Σ μ_q μ_k")
        identity(variance, want.sum(), "Var[q·k] = Σ (σ²σ² + μ²σ² + μ²σ²)")
    q, k = grid(1, (0, 2, 4)), grid(1, (-1, 5))
    dots = ref.pairwise_dot(grid(3, (0, 2, 4)), grid(3, (-1, 5)))
    want = 3 * (q.var() * k.var() + q.mean() ** 2 * k.var() + k.mean() ** 2 * q.var())
    require(near(dots.mean(), 3 * q.mean() * k.mean(), 1e-10), f"mean {dots.mean():.4f}")
    require(near(dots.var(), want, 1e-10), f"variance {dots.var():.4f}, not {want:.4f}")
    return (
        f"symbol by symbol, each coordinate with its own mean and variance, d ≤ {d}; all 216 "
        "pairs with coordinates in {0, 2, 4} and {−1, 5}, by the library within 1e-10"
    )


@claim(
    "thm-moments-gaussian",
    "symbolic",
    mutants={"1, not 1 + ρ²": {"square": 0}},
    scope="widths 1 to 4, every parameter",
)
def moments_gaussian(square: int = 1) -> str:
    """A correlated pair is written with two independent normal numbers."""
    a, b, s, t, rho = sp.symbols("mu_q mu_k sigma_q sigma_k rho", real=True)
    for d in range(1, 5):
        x, z = row("x", d), row("z", d)
        q, k = a + s * x, b + t * (rho * x + sp.sqrt(1 - rho**2) * z)
        mean, variance = moments(formula(ref.dot)(q, k), [(x, NORMAL), (z, NORMAL)])
        identity(mean, d * (a * b + rho * s * t), "E[q·k] = d(μ_qμ_k + ρσ_qσ_k)")
        cross = a**2 * t**2 + b**2 * s**2 + 2 * rho * s * t * a * b
        want = d * (s**2 * t**2 * (1 + square * rho**2) + cross)
        identity(variance, want, f"Var[q·k] = d(σ_q²σ_k²(1 + {square}ρ²) + …)")
    return f"with k_i = μ_k + σ_k(ρx_i + √(1 − ρ²)z_i), symbol by symbol, d ≤ {d}"


@claim(
    "prop-fourth-moment",
    "symbolic",
    mutants={"as if normal": {"kurtosis": 3}},
    scope="widths 1 to 4, every moment",
)
def fourth_moment(kurtosis: int | None = None) -> str:
    """Only the mean and the mean square of a product enter; every sign vector, d ≤ 4."""
    m, square, kappa = sp.symbols("m1 m2 kappa")
    for d in range(1, 5):
        q = row("q", d)
        _, variance = moments(q.sum(), [(q, {0: 1, 1: m, 2: square})])
        identity(variance, d * (square - m**2), "Var[Σ q_i k_i] = d(E[q²k²] − E[qk]²)")
        mean, variance = moments(formula(ref.dot)(q, q), [(q, UNIT | {3: 0, 4: kappa})])
        identity(mean, d, "E[q·q] = d")
        identity(variance, d * ((kurtosis or kappa) - 1), "Var[q·q] = d(κ − 1)")
        identity(variance.subs(kappa, 3), 2 * d, "Var[q·q] = 2d for normal coordinates")
        signs = grid(d, (-1, 1))
        require((ref.dot(signs, signs) == d).all(), f"signs, d = {d}: q·q is not always {d}")
    return f"symbol by symbol, d ≤ {d}; q·q = d for every sign vector, d ≤ {d}, exactly"


@claim(
    "prop-covariance",
    "symbolic",
    mutants={"only the traces": {"coupled": False}},
    scope="widths 1 and 2, every covariance",
)
def covariance(coupled: bool = True) -> str:
    """The trace for symbols, d ≤ 2; the bounds and the two cases of equality by sampling."""
    for d in (1, 2):
        x, z, a, b = row("x", d), row("z", d), table("a", d, d), table("b", d, d)
        _, variance = moments(formula(ref.dot)(x @ a, z @ b), [(x, UNIT), (z, UNIT)])
        c_q, c_k = sp.Matrix(a.T @ a), sp.Matrix(b.T @ b)
        want = (c_q * c_k).trace() if coupled else c_q.trace() * c_k.trace() / d
        identity(variance, want, "Var[q·k] = tr(C_q C_k)")
    for d in (2, 5, 16):
        rng, one = np.random.default_rng(d), np.eye(d)
        for _ in range(100):
            c_q, c_k = (w.T @ w for w in rng.standard_normal((2, d, d)))
            c_q, c_k = d * c_q / np.trace(c_q), d * c_k / np.trace(c_k)
            require(0 <= np.trace(c_q @ c_k) <= d * d, f"d = {d}: {np.trace(c_q @ c_k):.4f}")
            require(near(np.trace(c_q @ one), d, 1e-9), f"d = {d}: C_k = I gives another variance")
            require(np.trace(c_q @ c_q) > d, f"d = {d}: {np.trace(c_q @ c_q):.4f} ≤ {d}")
        line, other = d * np.outer(one[0], one[0]), d * np.outer(one[1], one[1])
        extremes = np.trace(line @ other), np.trace(line @ line)
        require(extremes == (0, d * d), f"d = {d}: {extremes}, not 0 and {d * d}")
    return (
        "q = xA, k = zB for symbols, d ≤ 2; bounds for 300 pairs of random covariances of trace "
        "d = 2, 5, 16, reached when all variance lies along one direction"
    )


@claim(
    "prop-only-differences",
    "symbolic",
    mutants={"as if the mean of k counted": {"shared": 1}},
    scope="widths 1 to 3, every parameter",
)
def only_differences(shared: int = 0) -> str:
    """Beyond the statement: a vector added to every key leaves the weights as they are."""
    a, b, s, t = sp.symbols("mu_q mu_k sigma_q sigma_k", real=True)
    dot = formula(ref.dot)
    for d in (1, 2, 3):
        x, z, w = row("x", d), row("z", d), row("w", d)
        parts = [(x, NORMAL), (z, NORMAL), (w, NORMAL)]
        first, second = dot(a + s * x, b + t * z), dot(a + s * x, b + t * w)
        _, variance = moments(first - second, parts)
        want = 2 * d * (t**2 * (s**2 + a**2) + shared * b**2 * s**2)
        identity(variance, want, "Var[s − s′] = 2dσ_k²(σ_q² + μ_q²)")
        _, total = moments(first + second, parts)
        identity((total - variance) / 4, d * b**2 * s**2, "Cov[s, s′] = dμ_k²σ_q²")
    q, k = np.random.default_rng(0).standard_normal((2, 5, 8))
    p, moved = (ref.softmax(ref.pairwise_dot(q, k + c)) for c in (0, np.arange(8)))
    require(near(p, moved, 1e-12), "adding one vector to all keys changes the weights")
    require(near(p, plain.softmax(q @ k.T), 1e-12), "the weights are not those by the definition")
    return (
        f"symbol by symbol, d ≤ {d}; one vector added to every key leaves the library's weights as "
        "they are, 5 queries and 5 keys, within 1e-12"
    )


@claim(
    "thm-conditional-gaussian",
    "statistical",
    mutants={
        "uniform coordinates": {"uniform": True},
        "variance d": {"variance": 4.0},
        "q drawn anew": {"fixed": False},
        "one sign for both": {"signs": False},
    },
    scope="200 000 pairs of scores, width 4",
)
def conditional_gaussian(
    uniform: bool = False, variance: float | None = None, fixed: bool = True, signs: bool = True
) -> str:
    """The moments for symbols, d = 2; normality and independence of one pair of scores by sampling.
    More than two scores are not tried.
    """
    x, z, w = row("x", 2), row("z", 2), row("w", 2)
    first, second, square = (formula(ref.dot)(x, other) for other in (z, w, x))
    for power, want in ((1, 0), (2, square**2)):
        product = (first * second) ** power
        for variables in (z, w):
            product = expectation(product, NORMAL, list(variables))
        identity(product, want, f"E[(ss′)^{power} | q] = {want}")
    n, d, rng = 200_000, 4, np.random.default_rng(0)
    q = np.array([3.0, 1.0, 0.5, -0.5]) if fixed else rng.standard_normal((n, d))
    size = 2 * np.sqrt(3) if uniform else 1
    draw = rng.random if uniform else rng.standard_normal
    keys = size * (draw((2, n, d)) - (0.5 if uniform else 0))
    s, other = ref.dot(q, keys)
    other = other if signs else np.copysign(other, s)
    sigma = sqrt(variance or 10.5) if fixed else 2.0
    if fixed:
        gap = cdf_gap(s / sigma, ndtr)
        require(
            gap <= cdf_margin(n, 1e-7), f"distribution function off by {gap:.4f} from N(0, ‖q‖²)"
        )
    middle = [np.abs(part) < np.median(np.abs(part)) for part in (s, other)]
    share, margin = np.mean(middle[0] & middle[1]), 3 * hoeffding_margin(n, failure=1e-7)
    numbers = f"share of pairs that are both small {share:.4f}, independent 0.25 ± {margin:.4f}"
    require(abs(share - 0.25) <= margin, numbers)
    share, margin = np.mean((s > 0) & (other > 0)), hoeffding_margin(n, failure=1e-7)
    numbers = f"share of pairs that are both positive {share:.4f}, not 0.25 ± {margin:.4f}"
    require(abs(share - 0.25) <= margin, numbers)
    return (
        f"{n} pairs of scores for one q, d = {d}: distribution, and shares of both small and both "
        "positive (failure ≤ 1e-6); E[s²s′² | q] for symbols, d = 2; three scores at once are not "
        "tried"
    )


@claim(
    "thm-limit-law",
    "exhaustive",
    mutants={
        "rate 1/d": {"power": 1.0},
        "a smaller constant": {"constant": 0.39},
        "a larger constant, as the limit": {"constant": 0.4},
    },
    scope="every width to 1000",
)
def limit_law(constant: float = 1 / sqrt(2 * np.pi), power: float = 0.5) -> str:
    """Every d ≤ 1000. Beyond the statement: for even d the distance is half the probability of
    q·k = 0, so that √d times it tends to 1/√(2π).
    """
    for d in range(1, 7):
        signs = grid(d, (-1, 1))
        found = np.sort(ref.pairwise_dot(signs, signs).ravel() / sqrt(d))
        normal = ndtr(found)
        sides = [np.searchsorted(found, found, side) / found.size for side in ("left", "right")]
        gap = max(np.abs(side - normal).max() for side in sides)
        require(near(gap, distance_of_signs(d)), f"d = {d}: distance {gap:.6f} by counting")
    for d in range(1, 1001):
        distance, bound = distance_of_signs(d), constant / d**power
        require(distance <= bound, f"d = {d}: distance {distance:.6f} > {bound:.6f}")
        if d % 2 == 0:
            half = comb(d, d // 2) / 2 ** (d + 1)
            require(near(distance, half, 1e-13), f"d = {d}: {distance:.6f}, not {half:.6f}")
    limit = 1000**power * distance_of_signs(1000)
    require(near(limit, constant, 2e-4), f"d = 1000: √d times the distance {limit:.4f}")
    return (
        "the distance from exact binomial counts at every d ≤ 1000, where √d times it is within "
        "2e-4 of 1/√(2π), and counted over all pairs of sign vectors, d ≤ 6"
    )


@claim(
    "prop-excess-kurtosis",
    "symbolic",
    mutants={"not divided by d": {"power": 0}},
    scope="widths 1 to 4, every fourth moment",
)
def excess_kurtosis(power: int = 1) -> str:
    """Third moments may be anything; symbols to d = 4."""
    skew_q, skew_k, kappa_q, kappa_k = sp.symbols("gamma_q gamma_k kappa_q kappa_k")
    for d in (1, 2, 3, 4):
        x, z = row("x", d), row("z", d)
        fourth = expectation(formula(ref.dot)(x, z) ** 4, UNIT | {3: skew_q, 4: kappa_q}, list(x))
        fourth = expectation(fourth, UNIT | {3: skew_k, 4: kappa_k}, list(z))
        want = (kappa_q * kappa_k - 3) / sp.Integer(d) ** power
        identity(fourth / sp.Integer(d) ** 2 - 3, want, "excess kurtosis = (κ_qκ_k − 3)/d")
    signs = grid(6, (-1, 1))
    fourth = (ref.pairwise_dot(signs, signs) ** 4).mean() / 36
    require(near(fourth - 3, -1 / 3), f"signs, d = 6: excess {fourth - 3:.4f}, not −1/3")
    return f"symbol by symbol, with skewed coordinates, d ≤ {d}; −2/d over all sign vectors, d = 6"
