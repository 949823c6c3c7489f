"""The claims of chapter 4, why divide by √d: the weights and their entropy."""

from __future__ import annotations

from math import exp, log, sqrt

import numpy as np
import sympy as sp

from tformer import reference as ref
from tformer_book.claims.registry import claim, require
from tformer_book.claims.tools import identity, near
from tformer_book.experiments.gaussian_rows import expected_max, expected_row, over_queries
from tformer_book.experiments.intervals import hoeffding_margin

SIGMAS = (0.125, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0)
SIZES = (2, 3, 16, 64, 1024, 10**6)
QUADRATURE = 1e-6


@claim(
    "thm-expected-max",
    "numeric",
    mutants={"√(log n)": {"factor": 1}, "as if always independent": {"independent": True}},
    scope="2 to 10³⁰⁰ scores",
)
def expected_largest(factor: int = 2, independent: bool = False) -> str:
    """Beyond the statement: if the scores are independent, the ratio of the two rises to 1, slowly.
    Of dependent scores those that sum to 0 are tried.
    """
    t, sigma, logarithm = sp.symbols("t sigma L", positive=True)
    bound = logarithm / t + t * sigma**2 / 2
    best = sp.sqrt(2 * logarithm) / sigma
    identity(sp.diff(bound, t).subs(t, best), 0, "slope of (log n)/t + tσ²/2 at its minimum")
    identity(bound.subs(t, best), sigma * sp.sqrt(2 * logarithm), "minimum = σ√(2 log n)")
    ratios = []
    for n in (2, 3, 5, 10, 64, 1000, 1e6, 1e12, 1e30, 1e100, 1e300):
        mean, above = expected_max(n), sqrt(factor * log(n))
        require(mean <= above, f"n = {n:g}: expected maximum {mean:.4f} > {above:.4f}")
        # Subtract from the scores their mean, which has mean 0 itself, and restore their variance.
        centred, most = mean / sqrt(1 - 1 / n), mean if independent else above
        numbers = f"expected maximum {centred:.4f} > {most:.4f}"
        require(centred <= most, f"n = {n:g} scores that sum to 0: {numbers}")
        ratios.append(mean / above)
    require(ratios == sorted(ratios) and ratios[-1] > 0.99, "the ratio does not rise to 1")
    require(round(ratios[4], 2) == 0.81 and round(ratios[6], 2) == 0.93, "other ratios")
    by_hand = 1 / sqrt(np.pi), 1.5 / sqrt(np.pi)
    require(near((expected_max(2), expected_max(3)), by_hand, 1e-9), "n = 2, 3: not 1/√π, 3/(2√π)")
    return (
        "minimised over t for symbols; the exact expectation by quadrature for eleven n from 2 to "
        "10³⁰⁰, where the ratio has risen to 0.997, and for scores that sum to 0, such as s and −s"
    )


@claim(
    "lem-gaussian-parts",
    "symbolic",
    mutants={"without σ²": {"power": 0}, "without χ": {"share": 0}},
    scope="odd powers to 9; softmax by quadrature",
)
def gaussian_parts(power: int = 2, share: int = 1) -> str:
    """Odd powers for f, through the slope of the density; the sum by quadrature."""
    z, sigma = sp.symbols("z sigma", positive=True)
    density = sp.exp(-(z**2) / (2 * sigma**2)) / (sigma * sp.sqrt(2 * sp.pi))
    slope = sp.diff(density, z)
    identity(
        -(sigma**power) * slope, z * density, f"−σ^{power} × slope of the density = z × density"
    )
    for n in range(5):
        even = 2 * sp.integrate(z ** (2 * n + 2) * density, (z, 0, sp.oo))
        lower = 2 * sp.integrate((2 * n + 1) * z ** (2 * n) * density, (z, 0, sp.oo))
        identity(even, sigma**power * lower, f"E[z·z^{2 * n + 1}] = σ²E[{2 * n + 1}z^{2 * n}]")
    for sigma_n in SIGMAS:
        for n in SIZES:
            row = expected_row(sigma_n, n)
            want = sigma_n**power * (1 - share * row.coincidence)
            numbers = f"E[Σ p s] = {row.score:.6f}, not {want:.6f}"
            require(near(row.score, want, QUADRATURE * (1 + want)), f"σ = {sigma_n:g}, {numbers}")
    return (
        "z × density = −σ² × its slope, and E[z f(z)] for odd powers up to 9, symbolic; the two "
        "sides for softmax by quadrature, 7 σ × 6 n, within 1e-6"
    )


@claim(
    "thm-entropy-gaussian",
    "statistical",
    mutants={"a quarter of σ²": {"loss": 0.25}, "1 − 2χ, not 1 − χ": {"share": 2}},
    scope="2 to a million keys; 20 000 rows",
)
def entropy_gaussian(loss: float = 0.5, share: float = 1) -> str:
    """The bound by quadrature, and what quadrature gives by sampling."""
    for sigma in SIGMAS:
        for n in SIZES:
            row = expected_row(sigma, n)
            low = log(n) - loss * sigma**2 * (1 - share * row.coincidence)
            above = row.entropy >= low - QUADRATURE * (1 + sigma**2 / 2)
            require(above, f"σ = {sigma:g}, n = {n}: E[H] = {row.entropy:.4f} < {low:.4f}")
    rows, n = 20_000, 64
    p = ref.softmax(np.random.default_rng(0).standard_normal((rows, n)))
    want, margin = expected_row(1.0, n), hoeffding_margin(rows, failure=5e-7)
    measured = ref.entropy(p).mean(), (p * p).sum(axis=-1).mean()
    near_entropy = near(measured[0], want.entropy, log(n) * margin)
    require(near_entropy, f"mean entropy {measured[0]:.4f}, expected {want.entropy:.4f}")
    require(near(measured[1], want.coincidence, margin), f"mean Σ p² {measured[1]:.4f}")
    return (
        "the bound by quadrature, 7 σ × 6 n, within 1e-6; 20000 rows at σ = 1, n = 64 within "
        "Hoeffding's margin (failure ≤ 1e-6)"
    )


@claim(
    "thm-entropy-limit",
    "statistical",
    mutants={"σ², not σ²/2": {"loss": 1.0}, "a quarter of σ²": {"loss": 0.25}},
    scope="up to 10¹² keys",
)
def entropy_limit(loss: float = 0.5) -> str:
    """The bound, nχ and the shortfall by quadrature; the limit in probability at n = 10⁵."""
    for sigma in SIGMAS:
        for n in SIZES:
            row = expected_row(sigma, n)
            high = log(n) - loss * sigma**2 + row.coincidence * sigma**2
            below = row.entropy <= high + QUADRATURE * (1 + sigma**2 / 2)
            require(below, f"σ = {sigma:g}, n = {n}: E[H] = {row.entropy:.4f} > {high:.4f}")
    for sigma in (0.5, 1.0, 2.0):
        keys = expected_row(sigma, 1e12).coincidence * 1e12
        require(near(keys / exp(sigma**2), 1, 1e-4), f"σ = {sigma:g}: nχ = {keys:.4f} at n = 10¹²")
    rng, n = np.random.default_rng(1), 10**5
    for sigma in (0.5, 1.0):
        p = ref.softmax(sigma * rng.standard_normal((50, n)))
        share = 1 / (p * p).sum(axis=-1) / n * exp(2 * loss * sigma**2)
        worst = share[np.argmax(np.abs(share - 1))]
        require(near(share, 1, 0.1), f"σ = {sigma:g}, n = 10⁵: 1/Σ p² is {worst:.4f} n exp(−σ²)")
    for d in (4, 16, 64, 256):
        lost = log(10**6) - expected_entropy(d**-0.5, d, 10**6)
        require(near(lost, loss, 1e-3), f"d = {d}, n = 10⁶: 1/√d loses {lost:.4f}")
    return (
        "the bound by quadrature, 7 σ × 6 n, within 1e-6; nχ = exp(σ²) within 1e-4 at n = 10¹²; "
        "1/Σ p² within a tenth of n exp(−σ²) in 100 rows, n = 10⁵; with 1/√d a loss of 0.500 to "
        "three digits at n = 10⁶"
    )


def expected_entropy(scale: float, d: int, n: int) -> float:
    """Return E[H] over standard normal q and n keys of width d: the average over ‖q‖."""
    entropy = np.vectorize(lambda sigma: expected_row(sigma, n).entropy)
    return float(over_queries(entropy, d, scale, points=60))


@claim(
    "cor-entropy-scales",
    "numeric",
    mutants={"a quarter of a nat": {"half": 0.25}},
    scope="widths 4 to 256",
)
def entropy_scales(half: float = 0.5) -> str:
    """By quadrature over ‖q‖, at a few widths and two numbers of keys."""
    for d in (4, 16, 64, 256):
        for n in (64, 10**6):
            root, one = (log(n) - expected_entropy(scale, d, n) for scale in (d**-0.5, 1 / d))
            where = f"d = {d}, n = {n}"
            require(0 <= root <= half + QUADRATURE, f"{where}: 1/√d loses {root:.4f} > {half:g}")
            require(-QUADRATURE <= one <= half / d + QUADRATURE, f"{where}: 1/d loses {one:.6f}")
    for d in (16, 256):
        entropy = expected_entropy(1.0, d, 64)
        require(
            max(log(64) - half * d, 0) < entropy < 1.5, f"d = {d}, scale 1: E[H] = {entropy:.4f}"
        )
    return (
        "E[H] averaged over ‖q‖ by quadrature for d = 4, 16, 64, 256 and n = 64, 10⁶, within 1e-6"
    )


@claim(
    "prop-freezing",
    "numeric",
    mutants={"already at √(log n)": {"factor": 1}, "√(2.5 log n), as close": {"factor": 2.5}},
    scope="2 to a million keys",
)
def freezing(factor: float = 2) -> str:
    """Beyond the statement, the cited limit of the random energy model: with σ = r√(2 log n),
    E[H]/log n tends to 1 − r² for r ≤ 1 and to 0 beyond.
    """
    for n in SIZES:
        for sigma in (*SIGMAS, 32.0):
            same, least = expected_row(sigma, n).coincidence, 1 - sqrt(factor * log(n)) / sigma
            require(same >= least - QUADRATURE, f"n = {n}, σ = {sigma:g}: {same:.4f} < {least:.4f}")
    missing = 32 * (1 - expected_row(32.0, 10**6).coincidence) / sqrt(factor * log(10**6))
    require(missing > 0.9, f"n = 10⁶, σ = 32: 1 − χ is {missing:.4f} of its bound")
    for r, limit in ((0.5, 0.75), (1.0, 0.0), (2.0, 0.0)):
        sizes = (1e2, 1e4, 1e8, 1e16, 1e32)
        entropies = [expected_row(r * sqrt(2 * log(n)), n).entropy / log(n) for n in sizes]
        off = [abs(entropy - limit) for entropy in entropies]
        require(off == sorted(off, reverse=True), f"r = {r:g}: E[H]/log n = {entropies[-1]:.4f}")
        require(off[-1] < 0.15, f"r = {r:g}: E[H]/log n = {entropies[-1]:.4f} at n = 10³²")
    return (
        f"the bound by quadrature, 8 σ × 6 n, within 1e-6; 1 − χ is {missing:.2f} of √(2 log n)/σ "
        "at n = 10⁶, σ = 32; E[H]/log n moves towards the cited limit from n = 10² to 10³² for "
        "r = σ/√(2 log n) = 1/2, 1, 2"
    )
