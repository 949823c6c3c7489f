"""Expected values over a row of independent normal scores, by quadrature: no sampling error.

Add to each score an independent Gumbel number g, with P(g ≤ x) = exp(-exp(-x)). The largest sum
has expectation E lse(s) + γ, and its place is drawn with the softmax weights. The sums are
independent, so everything follows from the distribution function of one of them.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import expit, gammaln, log_ndtr, ndtri_exp

STEP = 0.4  # of the trapezoidal rule; halving it changes no result by more than 1e-7


@dataclass(frozen=True)
class ExpectedRow:
    """Expectations over the softmax weights p of a row of independent N(0, σ²) scores s.

    Attributes
    ----------
    lse : float
        Of the soft maximum log Σ exp(s).
    score : float
        Of the weighted score Σ p s.
    coincidence : float
        Of Σ p², the chance that two draws from the weights fall on the same key.
    """

    lse: float
    score: float
    coincidence: float

    @property
    def entropy(self) -> float:
        """Expected entropy of the weights, in nats."""
        return self.lse - self.score


def expected_row(sigma: float, n_keys: float) -> ExpectedRow:
    """Integrate the expectations for `n_keys` scores with standard deviation `sigma`.

    Nothing is stored for each key, so `n_keys` may be as large as 1e100.
    """
    farthest = 8 + np.sqrt(2 * np.log(n_keys))
    z = np.arange(-farthest, farthest, min(0.1, STEP / sigma))
    density = np.exp(-z * z / 2)
    s, density = sigma * z, density / density.sum()
    # Below this start the largest sum has probability 1e-18 and less.
    start = sigma * float(ndtri_exp(-42 / n_keys)) - 8
    x = np.arange(start, s[-1] + 40 + np.log(n_keys), STEP)
    gap = np.minimum(s[:, None] - x, 300)
    above = np.exp(gap)
    log_cdf = np.log1p(-np.minimum(density @ -np.expm1(-above), 1 - 1e-16))
    hits = np.exp(gap - above)
    others = STEP * n_keys * np.exp((n_keys - 1) * log_cdf)
    largest = x[0] + STEP * ((1 - np.exp(n_keys * log_cdf)).sum() - 0.5)
    return ExpectedRow(
        lse=float(largest - np.euler_gamma),
        score=float((density * s) @ hits @ others),
        coincidence=float(density @ (hits * above) @ others),
    )


def expected_max(n: float) -> float:
    """Expected largest of `n` independent standard normal numbers, `n` up to 1e300."""
    x = np.arange(-40, 60, 0.01)
    log_density = np.log(n) + (n - 1) * log_ndtr(x) - x * x / 2
    return float(0.01 * (x @ np.exp(log_density)) / np.sqrt(2 * np.pi))


def inverse_norm(d: float) -> float:
    """E[1/‖q‖] for q standard normal in R^d, d > 1: a little more than 1/√d."""
    return float(np.exp(gammaln((d - 1) / 2) - gammaln(d / 2)) / np.sqrt(2))


def squared_norms(d: int, points: int = 200) -> tuple[np.ndarray, np.ndarray]:
    """Nodes and weights that average a function of ‖q‖² over q standard normal in R^d, d ≥ 2."""
    half = d / 2
    y = np.linspace(-30 / half**0.5, 9 / half**0.5, points)
    log_weight = half * (y - np.expm1(y))
    weight = np.exp(log_weight - log_weight.max())
    return d * np.exp(y), weight / weight.sum()


def over_queries(
    value: Callable[[np.ndarray], np.ndarray], d: int, scale: float, points: int = 200
) -> np.ndarray:
    """Average of a function of σ = scale · ‖q‖, from (n,) to (n, ...), over the same q."""
    squares, weights = squared_norms(d, points)
    likely = weights > 1e-12
    return np.asarray(weights[likely] @ value(scale * np.sqrt(squares[likely])))


def over_normal(values: np.ndarray, z: np.ndarray) -> float:
    """E[f(z)] for a standard normal z, given f at the evenly spaced points `z`."""
    return float(values @ np.exp(-z * z / 2) * (z[1] - z[0]) / np.sqrt(2 * np.pi))


def two_keys_norm(sigma: float) -> float:
    """E‖J‖ = E[2p(1 − p)] for the weights p, 1 − p of two independent N(0, σ²) scores."""
    z = np.arange(-12, 12, min(0.01, 0.1 / sigma))
    gap = np.sqrt(2) * sigma * z
    return 2 * over_normal(expit(gap) * expit(-gap), z)
