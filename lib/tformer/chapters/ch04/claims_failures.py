"""The claims of chapter 4, why divide by √d: where the assumptions fail, and other cures."""

from __future__ import annotations

from math import comb, exp, log, pi, sqrt

import numpy as np
import sympy as sp

from tformer import reference as ref
from tformer.claims.registry import claim, require
from tformer.claims.tools import Array, expectation, formula, identity, near, row, show
from tformer.experiments.intervals import cdf_gap, cdf_margin, hoeffding_margin

HALF = sp.Rational(1, 2)


@claim("prop-normalised-inputs", "symbolic", broken={"variance d for length 1": {"power": 0}})
def normalised_inputs(power: int = 4) -> str:
    """If k is uniform on the sphere of radius r in R^d and q is any vector of length r, then E[q·k]
    = 0 and Var[q·k] = r⁴/d. So it is d exactly for r = √d, as RMS normalisation makes it, although
    the coordinates of k depend on each other; for r = 1 it is 1/d, and the scale that restores 1 is
    √d.
    """
    angle, r = sp.symbols("theta r", positive=True)
    for d in range(2, 11):
        density = sp.sin(angle) ** (d - 2)
        total, first, second = (
            sp.integrate(sp.cos(angle) ** n * density, (angle, 0, sp.pi)) for n in range(3)
        )
        require(first == 0, f"d = {d}: mean {first}")
        variance = sp.simplify(r**4 * second / total)
        identity(variance, r**power / sp.Integer(d), f"Var[q·k] = r^{power}/d at d = {d}")
        for radius, want in ((sqrt(d), d), (1.0, 1 / d)):
            q = np.random.default_rng(d).standard_normal((1, d))
            q *= radius / ref.norm(q)
            axes = radius * np.concatenate([np.eye(d), -np.eye(d)])
            found = ref.pairwise_dot(q, axes).var()
            require(near(found, want, 1e-9), f"d = {d}, r = {radius:.4f}: variance {found:.4f}")
    return (
        "q·k = r² cos θ with density ∝ sin^(d−2) θ, integrated for symbolic r, 2 ≤ d ≤ 10; the 2d "
        "keys ±r e_i have the same two moments (1e-9)"
    )


@claim(
    "prop-heavy-tails",
    "statistical",
    broken={"normal keys": {"heavy": False}, "√d‖q‖, not Σ|q_i|": {"length": True}},
)
def heavy_tails(heavy: bool = True, length: bool = False) -> str:
    """For independent Student coordinates with ν > 2 degrees of freedom Var[q·k] = d(ν/(ν − 2))²:
    9d at ν = 3, where 1/√d leaves the standard deviation 3. If the key has independent standard
    Cauchy coordinates and is independent of q, then q·k is, given q, a standard Cauchy variable
    times Σ|q_i|: with |q_i| = 1 the median of |q·k/√d| is √d, and a scale d^(−a) with a < 1 does
    not keep it bounded.
    """
    x, nu = sp.symbols("x nu", positive=True)
    for degrees in (3, 4, 5, 6):
        density = (1 + x**2 / degrees) ** (-sp.Rational(degrees + 1, 2))
        total, second = (sp.integrate(x**n * density, (x, 0, sp.oo)) for n in (0, 2))
        identity(second / total, (nu / (nu - 2)).subs(nu, degrees), f"E[x²] at ν = {degrees}")
        for d in (1, 2, 3):
            q, k = row("q", d), row("k", d)
            law = {0: 1, 1: 0, 2: second / total}
            square = expectation(formula(ref.dot)(q, k) ** 2, law)
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
    numbers = f"law of q·k off by {gap:.4f} from {factor:.4f} times a Cauchy variable"
    require(gap <= cdf_margin(n, 2e-7), f"q = {show(one_q)}: {numbers}")
    return (
        "E[x²] and Var[q·k] for symbols, d ≤ 3, ν = 3, …, 6; for 40000 Cauchy keys half the scores "
        "beyond ±√d if q is a sign vector, d = 1, 4, 16, 64, and the law for "
        "q = (3, 1, 1/2, −1/2) (failure ≤ 1e-6)"
    )


@claim("thm-aligned", "symbolic", broken={"mean of q·k/√d bounded": {"power": 0}})
def aligned(power: sp.Expr = HALF) -> str:
    """Let k = ρq + √(1 − ρ²)z, −1 ≤ ρ ≤ 1, with all coordinates of q and z independent, mean 0,
    variance 1, and κ = E[q_i⁴] finite, the same for all i. Then E[q·k/d] = ρ and Var[q·k/d] = (1 −
    ρ² + (κ − 1)ρ²)/d → 0: q·k/d → ρ, while q·k/√d has mean ρ√d, which grows without bound unless
    ρ = 0.
    """
    rho, kappa, skew = sp.symbols("rho kappa gamma", real=True)
    for d in range(1, 5):
        q, z = row("q", d), row("z", d)
        dot = formula(ref.dot)(q, rho * q + sp.sqrt(1 - rho**2) * z)
        law = {0: 1, 1: 0, 2: 1, 3: skew, 4: kappa}
        mean, square = (expectation(dot**n, law, [*q, *z]) for n in (1, 2))
        identity(mean / d, rho, "E[q·k/d] = ρ")
        want = (1 - rho**2 + (kappa - 1) * rho**2) / d
        identity(square / d**2 - rho**2, want, "Var[q·k/d] = (1 − ρ² + (κ − 1)ρ²)/d")
        identity(mean / sp.sqrt(d), rho * sp.Integer(d) ** power, f"E[q·k/√d] = ρd^{power}")
    signs = np.where(np.random.default_rng(0).random((500, 1024)) < 0.5, -1.0, 1.0)
    same = signs.copy()
    same[:, 768:] *= -1
    require((ref.dot(signs, same) == 512).all(), "signs that agree in three of four places")
    return (
        "symbol by symbol, with skewed coordinates, d ≤ 4; sign vectors of width 1024 that agree "
        "in 768 places have q·k/d = 1/2 and q·k/√d = 16 exactly"
    )


@claim("prop-qk-norm", "numeric", broken={"not normalised": {"normalised": False}})
def qk_norm(normalised: bool = True) -> str:
    """For γ > 0, n ≥ 2, q ≠ 0 and all k_i ≠ 0, scores γ cos(q, k_i) lie in [−γ, γ], whatever the
    width. So two weights of a row differ at most by the factor exp(2γ), no weight exceeds
    exp(2γ)/(exp(2γ) + n − 1), and H ≥ log n − min(γ²/2, 2γ). To give one of n keys half the weight
    needs γ ≥ log(n − 1)/2.
    """
    rows = 0
    for gamma in (0.5, 1.0, 2.0, 5.0):
        for n in (2, 5, 64):
            for d in (2, 16, 256):
                q, k = (np.random.default_rng(d).standard_normal((m, d)) for m in (8, n))
                cosines = ref.pairwise_cosine(q, k) if normalised else ref.pairwise_dot(q, k)
                _bounded(gamma * cosines, gamma, f"γ = {gamma:g}, n = {n}, d = {d}")
            levels = np.where(np.arange(n) < np.arange(1, n)[:, None], 1.0, -1.0)
            _bounded(gamma * levels, gamma, f"γ = {gamma:g}, n = {n}, two levels")
            rows += 3 * 8 + len(levels)
    for n in (3, 64, 1000):
        gamma = log(n - 1) / 2
        p = ref.softmax(gamma * np.where(np.arange(n) < 1, 1.0, -1.0))
        require(near(p[0], 0.5), f"n = {n}, γ = {gamma:.4f}: the best weight is {p[0]:.4f}")
    return (
        f"{rows} rows: random directions of width 2, 16, 256, and keys at cosine 1 and −1 only; "
        "γ = 1/2, 1, 2, 5 and n = 2, 5, 64, within 1e-12"
    )


def _bounded(scores: Array, gamma: float, where: str) -> None:
    """Require the three bounds of rows of `scores` in [−γ, γ]."""
    n, p = scores.shape[-1], ref.softmax(scores)
    ratio, most, least = (p.max(axis=-1) / p.min(axis=-1)).max(), p.max(), ref.entropy(p).min()
    high = exp(2 * gamma)
    require(ratio <= high * (1 + 1e-12), f"{where}: ratio {ratio:.4f} > {high:.4f}")
    bound = high / (high + n - 1)
    require(most <= bound + 1e-12, f"{where}: weight {most:.4f} > {bound:.4f}")
    floor = log(n) - min(gamma**2 / 2, 2 * gamma)
    require(least >= floor - 1e-12, f"{where}: entropy {least:.4f} < {floor:.4f}")


@claim("exm-model-width", "exhaustive", broken={"divide by √d_model": {"d_head": 512}})
def model_width(d_head: int = 64) -> str:
    """Eight heads of width 64 in a model of width 512, sign coordinates: q·k/√64 has standard
    deviation 1, q·k/√512 has 1/√8 = 0.354, and q·k/64, divided twice, 1/8. Dividing the weights by
    √64 instead leaves rows that sum to 1/8.
    """
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
    return "over all values of q·k with their exact binomial counts; row sums within 1e-12"
