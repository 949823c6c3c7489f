"""The claims of chapter 4, why divide by √d: where the assumptions fail, and other cures."""

from __future__ import annotations

from math import comb, exp, log, pi, sqrt

import numpy as np
import sympy as sp

from tformer import reference as ref
from tformer_book.claims.registry import claim, require
from tformer_book.claims.tools import (
    HALF,
    Array,
    cosine_moments,
    expectation,
    formula,
    identity,
    near,
    row,
    show,
)
from tformer_book.experiments.intervals import cdf_gap, cdf_margin, hoeffding_margin


@claim(
    "prop-normalised-inputs",
    "symbolic",
    mutants={"variance d for length 1": {"power": 0}},
    scope="widths 1 to 10",
)
def normalised_inputs(power: int = 4) -> str:
    """Exact in R^1 to R^10, by the density of the angle, which is taken as known."""
    r = sp.Symbol("r", positive=True)
    for d in range(1, 11):
        mean, square = cosine_moments(d) if d > 1 else (sp.Integer(0), sp.Integer(1))
        require(mean == 0, f"d = {d}: mean {mean}")
        says = f"Var[q·k] = r^{power}/d at d = {d}"
        identity(r**4 * square, r**power / sp.Integer(d), says)
        for radius, want in ((sqrt(d), d), (1.0, 1 / d)):
            q = np.random.default_rng(d).standard_normal((1, d))
            q *= radius / ref.norm(q)
            axes = radius * np.concatenate([np.eye(d), -np.eye(d)])
            dots = ref.pairwise_dot(q, axes)
            require(
                near(dots.mean(), 0, 1e-9), f"d = {d}, r = {radius:.4f}: mean {dots.mean():.4f}"
            )
            numbers = f"variance {dots.var():.4f}, not {want:.4f}"
            require(near(dots.var(), want, 1e-9), f"d = {d}, r = {radius:.4f}: {numbers}")
    return (
        f"q·k = r² cos θ with density ∝ sin^(d−2) θ, integrated for symbolic r, 2 ≤ d ≤ {d}; the "
        "2d "
        "keys ±r e_i, for d = 1 the whole sphere, have the same two moments (1e-9)"
    )


@claim(
    "prop-heavy-tails",
    "statistical",
    mutants={"normal keys": {"heavy": False}, "√d‖q‖, not Σ|q_i|": {"length": True}},
    scope="ν = 3 to 6; 40 000 Cauchy keys",
)
def heavy_tails(heavy: bool = True, length: bool = False) -> str:
    """Moments at whole ν from 3 to 6; the Cauchy half by sampling. Beyond the statement: with
    |q_i| = 1 the median of |q·k/√d| is √d.
    """
    x, nu = sp.symbols("x nu", positive=True)
    for degrees in (3, 4, 5, 6):
        density = (1 + x**2 / degrees) ** (-sp.Rational(degrees + 1, 2))
        total, second = (sp.integrate(x**n * density, (x, 0, sp.oo)) for n in (0, 2))
        identity(second / total, (nu / (nu - 2)).subs(nu, degrees), f"E[x²] at ν = {degrees}")
        for d in (1, 2, 3):
            q, k = row("q", d), row("k", d)
            square = expectation(formula(ref.dot)(q, k) ** 2, {0: 1, 1: 0, 2: second / total})
            identity(square, d * (second / total) ** 2, "Var[q·k] = d E[x²]²")
    rng, n = np.random.default_rng(0), 40_000
    for d in (1, 4, 16, 64):
        q = np.where(rng.random((n, d)) < 0.5, -1.0, 1.0)
        k = rng.standard_cauchy((n, d)) if heavy else rng.standard_normal((n, d))
        above = np.mean(np.abs(ref.dot(q, k) / sqrt(d)) > sqrt(d))
        numbers = f"{above:.4f} of the scaled scores lie beyond ±√d, not half"
        require(abs(above - 0.5) <= hoeffding_margin(n, failure=2e-7), f"d = {d}: {numbers}")
    one_q = np.array([3.0, 1.0, 0.5, -0.5])
    factor = 2 * ref.norm(one_q) if length else np.abs(one_q).sum()
    scores = ref.dot(one_q, rng.standard_cauchy((n, 4))) / factor
    gap = cdf_gap(scores, lambda x: 0.5 + np.arctan(x) / pi)
    numbers = f"distribution of q·k off by {gap:.4f} from {factor:.4f} times a Cauchy variable"
    require(gap <= cdf_margin(n, 2e-7), f"q = {show(one_q)}: {numbers}")
    return (
        "E[x²] and Var[q·k] for symbols, d ≤ 3, ν = 3, …, 6 and no other; 40000 Cauchy keys: half "
        "the scores beyond ±√d for sign vectors q, d = 1, 4, 16, 64, and the distribution for one "
        "q, d = 4 (failure ≤ 1e-6)"
    )


@claim(
    "thm-aligned",
    "symbolic",
    mutants={"mean of q·k/√d bounded": {"power": 0}},
    scope="widths 1 to 4, every correlation",
)
def aligned(power: sp.Expr = HALF) -> str:
    """Moments for symbols, d ≤ 4; the limit of q·k/d follows from its variance."""
    rho, kappa, skew = sp.symbols("rho kappa gamma", real=True)
    for d in range(1, 5):
        q, z = row("q", d), row("z", d)
        dot = formula(ref.dot)(q, rho * q + sp.sqrt(1 - rho**2) * z)
        known = {0: 1, 1: 0, 2: 1, 3: skew, 4: kappa}
        mean, square = (expectation(dot**n, known, [*q, *z]) for n in (1, 2))
        identity(mean / d, rho, "E[q·k/d] = ρ")
        want = (1 - rho**2 + (kappa - 1) * rho**2) / d
        identity(square / d**2 - rho**2, want, "Var[q·k/d] = (1 − ρ² + (κ − 1)ρ²)/d")
        identity(mean / sp.sqrt(d), rho * sp.Integer(d) ** power, f"E[q·k/√d] = ρd^{power}")
    signs = np.where(np.random.default_rng(0).random((500, 1024)) < 0.5, -1.0, 1.0)
    same = signs.copy()
    same[:, 768:] *= -1
    require((ref.dot(signs, same) == 512).all(), "signs that agree in three of four places")
    return (
        f"symbol by symbol, with skewed coordinates, d ≤ {d}; sign vectors of width 1024 that "
        "agree "
        "in 768 places have q·k/d = 1/2 and q·k/√d = 16 exactly"
    )


@claim(
    "prop-qk-norm",
    "numeric",
    mutants={
        "not normalised": {"normalised": False},
        "H ≥ log n − γ²/4": {"square": 0.25},
        "H ≥ log n − γ": {"linear": 1},
        "H ≥ log n − 3γ, as nearly reached": {"linear": 3},
        "H ≥ log n − 0.55 γ², as reached": {"square": 0.55},
    },
    scope="580 rows of 2 to 100 000 keys",
)
def qk_norm(normalised: bool = True, square: float = 0.5, linear: float = 2) -> str:
    """Random directions, and keys at cosine ±1 only, where two of the bounds are reached; that of
    2γ is reached but for 1 + log 2γ.
    """
    rows = 0
    for gamma in (0.5, 1.0, 2.0, 5.0):
        least = min(square * gamma**2, linear * gamma)
        for n in (2, 5, 64):
            for d in (2, 16, 256):
                q, k = (np.random.default_rng(d).standard_normal((m, d)) for m in (8, n))
                cosines = ref.pairwise_cosine(q, k) if normalised else ref.pairwise_dot(q, k)
                _bounded(gamma * cosines, gamma, least, f"γ = {gamma:g}, n = {n}, d = {d}")
            levels = np.where(np.arange(n) < np.arange(1, n)[:, None], 1.0, -1.0)
            _bounded(gamma * levels, gamma, least, f"γ = {gamma:g}, n = {n}, two levels")
            rows += 3 * 8 + len(levels)
        many = np.where(np.arange(10**5) < 10 ** np.arange(5)[:, None], gamma, -gamma)
        _bounded(many, gamma, least, f"γ = {gamma:g}, n = 10⁵, two levels")
        rows += len(many)
    few = np.where(np.arange(10**5) < 10**5 * (2 * gamma - 1) * exp(-2 * gamma), gamma, -gamma)
    lost = log(10**5) - ref.entropy(ref.softmax(few))
    near_all = linear * gamma - log(2 * gamma) - 1
    require(lost >= near_all - 0.01, f"γ = {gamma:g}: log n − H = {lost:.4f} < {near_all:.4f}")
    even = log(2) - ref.entropy(ref.softmax(np.array([0.01, -0.01])))
    require(near(even / (square * 0.01**2), 1, 1e-3), f"γ = 0.01, n = 2: log n − H = {even:.3e}")
    for n in (2, 3, 64, 1000):
        gamma = log(n - 1) / 2
        p = ref.softmax(gamma * np.where(np.arange(n) < 1, 1.0, -1.0))
        require(near(p[0], 0.5), f"n = {n}, γ = {gamma:.4f}: the best weight is {p[0]:.4f}")
    return (
        f"{rows} rows: random directions of width 2, 16, 256, and keys at cosine 1 and −1 only; "
        "γ = 1/2, 1, 2, 5 and n = 2, 5, 64, 10⁵, within 1e-12; half the weight at γ = log(n − 1)/2"
    )


def _bounded(scores: Array, gamma: float, loss: float, where: str) -> None:
    """Require that rows of `scores` lie in [−γ, γ], and the three bounds of their weights."""
    n, p, reach = scores.shape[-1], ref.softmax(scores), np.abs(scores).max()
    require(reach <= gamma * (1 + 1e-12), f"{where}: a score of {reach:.4f}")
    ratio, most, least = (p.max(axis=-1) / p.min(axis=-1)).max(), p.max(), ref.entropy(p).min()
    high = exp(2 * gamma)
    require(ratio <= high * (1 + 1e-12), f"{where}: ratio {ratio:.4f} > {high:.4f}")
    bound = high / (high + n - 1)
    require(most <= bound + 1e-12, f"{where}: weight {most:.4f} > {bound:.4f}")
    floor = log(n) - loss
    require(least >= floor - 1e-12, f"{where}: entropy {least:.4f} < {floor:.4f}")


@claim(
    "exm-model-width",
    "exhaustive",
    mutants={"divide by √d_model": {"d_head": 512}},
    scope="all its numbers",
)
def model_width(d_head: int = 64) -> str:
    """Sign coordinates for the random scores, whose variance is exactly the width."""
    d, dots = 64, range(-64, 65, 2)
    square = sum(comb(d, (d + s) // 2) * s * s for s in dots) / 2**d
    require(
        square / d_head == 1, f"q·k/√{d_head} has standard deviation {sqrt(square / d_head):.4f}"
    )
    found = round(sqrt(square / 512), 3), sqrt(square) / 64
    require(found == (0.354, 0.125), f"standard deviations {found}")
    q, k = np.where(np.random.default_rng(0).random((2, 5, d)) < 0.5, -1.0, 1.0)
    sums = (ref.attention_weights(q, k, scale=1.0) / sqrt(d)).sum(axis=-1)
    require(near(sums, 1 / 8), f"rows divided after softmax sum to {sums[0]:.4f}")
    return "sign vectors: all values of q·k with their exact counts; row sums within 1e-12"
