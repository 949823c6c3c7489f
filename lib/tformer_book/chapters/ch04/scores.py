"""Dot products of random queries and keys, and what softmax makes of them."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr

from tformer import reference
from tformer_book.experiments.gaussian_rows import over_queries
from tformer_book.experiments.intervals import NORMAL_MEDIAN, median_interval

SCALES: dict[str, Callable[[int], float]] = {
    "1": lambda d: 1.0,
    "1/√d": lambda d: 1 / math.sqrt(d),
    "1/d": lambda d: 1 / d,
}
"""The three scales that the chapter compares, by the name they have in its figures."""

Draw = Callable[[np.random.Generator, int, int], tuple[np.ndarray, np.ndarray]]


@dataclass(frozen=True)
class Rows:
    """What was measured on independent rows of attention weights, for one width and one scale.

    Attributes
    ----------
    entropy, effective_keys, jacobian : (n,) arrays
        Entropy in nats, 1/Σ p², and the spectral norm of diag p - pᵀp, one entry a row.
    """

    entropy: np.ndarray
    effective_keys: np.ndarray
    jacobian: np.ndarray


def raw_scores(rng: np.random.Generator, d: int, n_keys: int, n_rows: int) -> np.ndarray:
    """Dot products q·k of `n_rows` queries, each with `n_keys` keys of its own: (n_rows, n_keys).

    All coordinates are independent standard normal numbers.
    """
    scores = np.empty((n_rows, n_keys))
    for row in scores:
        q, k = (rng.standard_normal(shape, dtype=np.float32) for shape in ((1, d), (n_keys, d)))
        row[:] = reference.pairwise_dot(q, k)[0]
    return scores


def jacobian_norm(p: np.ndarray, steps: int = 60) -> np.ndarray:
    """Spectral norm of diag p - pᵀp for weights (..., S), without forming the matrix: (...).

    It is the root λ of Σ p_i²/(p_i - λ) = 1 between the two largest weights, found by bisection.
    """
    top = np.sort(p, axis=-1)[..., -2:]
    low, high = top[..., 0].copy(), top[..., 1].copy()
    for _ in range(steps):
        middle = (low + high) / 2
        with np.errstate(divide="ignore", invalid="ignore"):
            below = (p * p / (p - middle[..., None])).sum(axis=-1) < 1
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    return low


def normal_jacobians(n_keys: int, sigma: float = 1.0, n_rows: int = 4000) -> np.ndarray:
    """Norms of the Jacobian in rows of independent N(0, σ²) scores: (n_rows,), always the same.

    With σ = 1 their mean is what scale 1/√d tends to in wide heads, by cor-jacobian-scales.
    """
    draws = np.random.default_rng(0).standard_normal((n_rows, n_keys))
    return jacobian_norm(reference.softmax(sigma * draws), steps=30)


def measure(scores: np.ndarray) -> Rows:
    """Measure the softmax of each row of `scores` (n, S)."""
    p = reference.softmax(scores)
    return Rows(reference.entropy(p), 1 / (p * p).sum(axis=-1), jacobian_norm(p))


def by_width(
    rng: np.random.Generator, widths: Sequence[int], n_keys: int = 64, n_rows: int = 1000
) -> dict[str, list[Rows]]:
    """Measure the same random rows under the three scales: for each, one entry a width."""
    found: dict[str, list[Rows]] = {name: [] for name in SCALES}
    for d in widths:
        scores = raw_scores(rng, d, n_keys, n_rows)
        for name, scale in SCALES.items():
            found[name].append(measure(scale(d) * scores))
    return found


def gradient_at_query(
    rng: np.random.Generator, widths: Sequence[int], n_keys: int = 64, n_rows: int = 1000
) -> dict[str, np.ndarray]:
    """Norm of the gradient that arrives at the query, for the three scales: (widths, rows).

    As in `raw_scores`; the gradient that reaches the weights is standard normal, at every width.
    """
    norms = np.empty((len(SCALES), len(widths), n_rows))
    for i, row in np.ndindex(norms.shape[1:]):
        d = widths[i]
        q, k = (rng.standard_normal((n, d), dtype=np.float32) for n in (1, n_keys))
        c = np.array([[scale(d)] for scale in SCALES.values()])
        p = reference.softmax(c * reference.pairwise_dot(q, k))
        upstream = np.broadcast_to(rng.standard_normal(n_keys), p.shape)
        norms[:, i, row] = reference.norm(c * reference.softmax_vjp(p, upstream) @ k)
    return dict(zip(SCALES, norms, strict=True))


@dataclass(frozen=True)
class Answers:
    """Rows of attention weights (n, S), a wish for other weights for each, and what arrives.

    The wishes are the gradients at the weights; what arrives at the scores is their product with
    the softmax Jacobian J.
    """

    weights: np.ndarray
    wishes: np.ndarray

    @property
    def largest(self) -> np.ndarray:
        """The largest weight of each row: (n,)."""
        return self.weights.max(axis=-1)

    @property
    def worst(self) -> np.ndarray:
        """The greatest length of J u over wishes u of length 1, for each row: (n,)."""
        return jacobian_norm(self.weights, steps=20)

    @property
    def random(self) -> np.ndarray:
        """The length of J u for the wish u of each row: (n,)."""
        return reference.norm(reference.softmax_vjp(self.weights, self.wishes))


def answers(d: int, n_keys: int = 64, n_rows: int = 4000) -> dict[str, Answers]:
    """Draw rows of scores and wishes, the same ones for every scale and in every call.

    All coordinates of queries and keys are standard normal, so that by thm-conditional-gaussian a
    row is the length of its query times independent standard normal numbers. So are the wishes.
    """
    rng = np.random.default_rng(d)
    lengths = np.sqrt(rng.chisquare(d, (n_rows, 1)))
    raw, wishes = rng.standard_normal((2, n_rows, n_keys))
    raw *= lengths
    return {
        name: Answers(reference.softmax(scale(d) * raw), wishes) for name, scale in SCALES.items()
    }


def distance_of_signs(d: int) -> float:
    """Kolmogorov distance of q·k/√d from N(0, 1) for independent sign vectors, from integers."""
    count, below, farthest = 1, 0, 0.0
    for heads in range(d // 2 + 1):
        normal = float(ndtr((2 * heads - d) / math.sqrt(d)))
        before, below = below, below + count
        farthest = max(farthest, abs(before / 2**d - normal), abs(below / 2**d - normal))
        count = count * (d - heads) // (heads + 1)
    return farthest


def distance_of_normals(d: int) -> float:
    """Kolmogorov distance of q·k/√d from N(0, 1) for standard normal coordinates, d ≥ 2."""
    x = np.linspace(0, 4, 801)
    gaps = over_queries(lambda sigma: ndtr(x / sigma[:, None]) - ndtr(x), d, 1 / math.sqrt(d))
    return float(np.abs(gaps).max())


def _independent(rng: np.random.Generator, n: int, d: int) -> tuple[np.ndarray, np.ndarray]:
    q, k = rng.standard_normal((2, n, d))
    return q, k


def _same(rng: np.random.Generator, n: int, d: int) -> tuple[np.ndarray, np.ndarray]:
    q = rng.standard_normal((n, d))
    return q, q


def _unit_length(rng: np.random.Generator, n: int, d: int) -> tuple[np.ndarray, np.ndarray]:
    q, k = rng.standard_normal((2, n, d))
    return q / reference.norm(q)[:, None], k / reference.norm(k)[:, None]


def _rms_norm(rng: np.random.Generator, n: int, d: int) -> tuple[np.ndarray, np.ndarray]:
    q, k = _unit_length(rng, n, d)
    return math.sqrt(d) * q, math.sqrt(d) * k


def _student(rng: np.random.Generator, n: int, d: int) -> tuple[np.ndarray, np.ndarray]:
    q, k = rng.standard_t(3, (2, n, d))
    return q, k


def _cauchy(rng: np.random.Generator, n: int, d: int) -> tuple[np.ndarray, np.ndarray]:
    q, k = rng.standard_cauchy((2, n, d))
    return q, k


ASSUMPTIONS: dict[str, Draw] = {
    "Cauchy": _cauchy,
    "q = k": _same,
    "Student, ν = 3": _student,
    "independent": _independent,
    "RMS-normalised": _rms_norm,
    "length 1": _unit_length,
}
"""Ways to draw n queries and n keys of width d, by the name they have in the figure."""


def typical_sizes(
    rng: np.random.Generator, widths: Sequence[int], n: int = 2000, confidence: float = 0.99
) -> dict[str, np.ndarray]:
    """Typical size of q·k/√d under each of the `ASSUMPTIONS`: (widths, 3).

    The median of |q·k|/√d with its exact interval, over the median of |N(0, 1)|: 1 where the scale
    does what it should. All intervals together hold with the stated confidence.
    """
    points = len(widths) * len(ASSUMPTIONS)
    found: dict[str, np.ndarray] = {}
    for name, draw in ASSUMPTIONS.items():
        sizes = [np.abs(reference.dot(*draw(rng, n, d))) / math.sqrt(d) for d in widths]
        intervals = [median_interval(size, confidence, points) for size in sizes]
        found[name] = np.array(intervals) / NORMAL_MEDIAN
    return found


def weight_of_aligned(
    rng: np.random.Generator,
    widths: Sequence[int],
    rho: float,
    n_keys: int = 64,
    n_rows: int = 4000,
) -> dict[str, np.ndarray]:
    """Weight on the one key that correlates with the query, for two scales: (widths, rows).

    All coordinates are standard normal; those of the first of `n_keys` keys have correlation `rho`
    with the query's, and all else is independent. By thm-conditional-gaussian the other scores
    can be drawn without their keys.
    """
    found: dict[str, list[np.ndarray]] = {"1/√d": [], "1/d": []}
    for d in widths:
        q, z = rng.standard_normal((2, n_rows, d))
        scores = reference.norm(q)[:, None] * rng.standard_normal((n_rows, n_keys))
        scores[:, 0] = reference.dot(q, rho * q + math.sqrt(1 - rho**2) * z)
        for name, weights in found.items():
            weights.append(reference.softmax(SCALES[name](d) * scores)[:, 0])
    return {name: np.array(weights) for name, weights in found.items()}
