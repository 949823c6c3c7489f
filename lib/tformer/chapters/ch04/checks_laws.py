"""Exercises 4.9 to 4.12: which assumption fails, and three numbers known exactly."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import scipy.special

from tformer.exercises import say
from tformer.exercises.answer import Answer, Wrong
from tformer.exercises.registry import exercise


@exercise(
    "4.9",
    praise="Twelve samples named rightly, from normal, uniform, sign, Student and Cauchy "
    "coordinates, with and without a fault.",
    hints=(
        "Each fault has a number that betrays it: a mean, a correlation, a length, a size of the "
        "largest coordinates. Print these for samples you make yourself.",
        "Standard errors tell how far chance moves a number: with 16 000 coordinates a mean moves "
        "by about 0.008. Choose thresholds well above that.",
        "Lengths that are all equal betray normalising. The largest magnitude of 16 000 standard "
        "normal coordinates is hardly ever above 6, which betrays heavy tails. A mean product of "
        "q and k far from 0 betrays alignment, once the means are known to be 0.",
    ),
)
def diagnose(f: Answer) -> None:
    """Name the assumption that a sample of queries and keys breaks."""
    for words, kind, q, k in _samples():
        said = f"1000 pairs of width 16: {words}"
        got = f.named(_FAULTS, said, q=q, k=k)
        if got != kind:
            why = _CONFUSED.get((kind, got), _FAULTS[kind])
            raise Wrong(f"With {said}, {f.name} says {str(got)!r}. It is {kind!r}: {why}")


_FAULTS = {
    "fine": "means near 0, variances near 1, no correlation, lengths that differ, no giants. The "
    "coordinates need not be normal.",
    "shifted": "the mean of its coordinates is many standard errors away from 0.",
    "aligned": "the coordinates of q and k go together, or against each other, pair by pair.",
    "normalised": "all vectors have the length 4, the root of 16, up to rounding.",
    "heavy": "a few coordinates are many times larger than the rest, larger than normal ones ever "
    "come.",
}
_CONFUSED = {  # what it is, and what it was called
    ("heavy", "shifted"): "a few huge coordinates move the mean of the sample, while its median "
    "stays at 0.",
    ("heavy", "aligned"): "a few huge coordinates make up the mean product, while most pairs of "
    "coordinates do not go together.",
    ("shifted", "aligned"): "if both means are away from 0, so is the mean product, also for "
    "independent coordinates. Subtract the means before you multiply.",
    ("shifted", "fine"): "q or k has a mean far from 0. Look at both, and at negative means too.",
}


def _samples() -> Iterator[tuple[str, str, np.ndarray, np.ndarray]]:
    rng, shape = np.random.default_rng(8), (1000, 16)

    def normal() -> np.ndarray:
        return rng.standard_normal(shape)

    def unit(x: np.ndarray) -> np.ndarray:
        return np.asarray(4 * x / np.linalg.norm(x, axis=-1, keepdims=True))

    q = normal()
    yield "normal coordinates", "fine", q, normal()
    yield "each key equal to its query", "aligned", q, q.copy()
    yield "lengths divided out", "normalised", unit(normal()), unit(normal())
    yield "normal coordinates with mean 0.5", "shifted", normal() + 0.5, normal() + 0.5
    yield "Cauchy coordinates", "heavy", rng.standard_cauchy(shape), rng.standard_cauchy(shape)
    yield (
        "uniform coordinates of variance 1",
        "fine",
        *(math.sqrt(3) * rng.uniform(-1, 1, (2, *shape))),
    )
    yield (
        "Student coordinates with ν = 3, variance 1",
        "heavy",
        *(rng.standard_t(3, (2, *shape)) / math.sqrt(3)),
    )
    yield "k = 0.3 q + noise", "aligned", q, 0.3 * q + math.sqrt(0.91) * normal()
    yield "k = −0.8 q + noise", "aligned", q, -0.8 * q + 0.6 * normal()
    yield "coordinates 1 and −1", "normalised", *rng.choice([-1.0, 1.0], (2, *shape))
    yield "queries with mean −0.3, keys with mean 0", "shifted", normal() - 0.3, normal()
    yield "other normal coordinates", "fine", normal(), normal()


@exercise(
    "4.10",
    praise="The expected maximum to within a millionth, for one score, for two and three, where "
    "it is known exactly, and up to a million.",
    hints=(
        "The largest of n independent scores lies below x exactly if all of them do. What is the "
        "probability of that, and what is its density?",
        "The density of the maximum is n φ(x) Φ(x)^{n−1}. The mean is an integral of x times it, "
        "and a fine sum over a grid from −10 to 10 will do.",
        "A million factors Φ(x) are no trouble: a number below 1 to a large power is small, not "
        "too large. All scores are multiplied by σ, and so is their maximum.",
    ),
)
def expected_max(f: Answer) -> None:
    """E max of n independent N(0, sigma²)."""
    for n, sigma in (2, 1.0), (3, 1.0), (2, 3.0), (1, 2.0), (10, 0.5), (1000, 1.0), (10**6, 8.0):
        said = f.said(n=n, sigma=sigma)
        got = f.array(said, n=n, sigma=sigma)
        bound = sigma * math.sqrt(2 * math.log(n))
        why = f"It is at least 0 and at most σ√(2 log n), here {say.show(bound)}."
        wrong = _wrong_maxima(n, sigma)
        _judge_number(f, got, said, sigma * _largest(n), wrong, 1e-6 * sigma, why)


def _largest(n: int) -> float:
    """E max of n standard normals, by the trapezoidal rule."""
    x, step = np.linspace(-12, 12, 24_001, retstep=True)
    density = n * np.exp(-(x**2) / 2 + (n - 1) * scipy.special.log_ndtr(x))
    return float((x * density).sum() * step / math.sqrt(2 * math.pi))


def _wrong_maxima(n: int, sigma: float) -> dict[str, float]:
    right, normal = _largest(n), scipy.special.ndtri
    return {
        "That is the bound σ√(2 log n), which the maximum stays below.": (
            sigma * math.sqrt(2 * math.log(n))
        ),
        "That is the height which one score in n exceeds on average, and not the mean of the "
        "maximum.": sigma * float(normal(1 - 1 / n)),
        "That is the median of the maximum; its mean is asked for.": (
            sigma * float(normal(0.5 ** (1 / n)))
        ),
        "That is the mean of the largest magnitude; the largest score is asked for.": (
            sigma * _largest_magnitude(n)
        ),
        "The exponent n makes it the density of the largest of n + 1 scores, times n/(n + 1).": (
            sigma * _largest(n + 1) * n / (n + 1)
        ),
        "That is the integral of the density; multiply it by the score before you integrate.": 1.0,
        "The scores below 0 are left out; the largest of a few may be one of them.": (
            sigma * _above_zero(n)
        ),
    } | {why: right * factor for why, factor in _wrong_factors(n, sigma).items()}


def _wrong_factors(n: int, sigma: float) -> dict[str, float]:
    """Numbers that stand where σ should multiply the mean for standard deviation 1."""
    return {
        "That is for standard deviation 1; the maximum grows with σ.": 1.0,
        "The maximum grows with σ, not with its square.": sigma**2,
        "sigma is the standard deviation; you took its root, as if it were the variance.": (
            math.sqrt(sigma)
        ),
        "The density lacks the factor n: each of the scores may be the largest.": sigma / n,
        "The normal density lacks its factor 1/√(2π).": sigma * math.sqrt(2 * math.pi),
        "The sign is turned round. Does the grid stand in the place of the function?": -sigma,
    }


def _above_zero(n: int) -> float:
    """The part of E max that the scores above 0 contribute."""
    x, step = np.linspace(0, 12, 12_001, retstep=True)
    density = n * np.exp(-(x**2) / 2 + (n - 1) * scipy.special.log_ndtr(x))
    return float((x * density).sum() * step / math.sqrt(2 * math.pi))


def _largest_magnitude(n: int) -> float:
    x, step = np.linspace(0, 12, 12_001, retstep=True)
    density = 2 * n * np.exp(-(x**2) / 2) * scipy.special.erf(x / math.sqrt(2)) ** (n - 1)
    return float((x * density).sum() * step / math.sqrt(2 * math.pi))


def _judge_number(
    f: Answer,
    got: np.ndarray,
    said: str,
    want: float,
    mistakes: dict[str, float],
    tolerance: float,
    otherwise: str = "",
) -> None:
    """One number to within a tolerance; a near miss is told as such."""
    if got.size != 1 or not np.isfinite(got.astype(float)).all():
        shown = say.show(got)
        raise Wrong(f"With {said}, {f.name} gives {shown}; one finite number is asked for.")
    value = float(got.reshape(()))
    if abs(value - want) <= tolerance:
        return
    texts = say.pair(value, want)
    head = f"With {said}, {f.name} gives {texts[0]}; it should be {texts[1]}."
    for why, wrong in mistakes.items():
        if abs(value - wrong) <= tolerance < abs(want - wrong):
            raise Wrong(f"{head} {why}")
    if abs(value - want) < 0.08 * abs(want):
        raise Wrong(
            f"{head} That is close and not close enough: it is off by "
            f"{say.show(abs(value - want), 2)}, and {say.show(tolerance, 2)} is allowed. Random "
            "draws leave such errors, and grids that are coarse or end too early."
        )
    raise Wrong(f"{head} {otherwise}".strip())


@exercise(
    "4.11",
    praise="The expected norm for all three scales and for widths from 1 to 10 000, to within a "
    "millionth of itself: 1/2 for equal scores, 1/(σ√π) in the end.",
    hints=(
        "With two keys only the difference z of the two scores matters: p = 1/(1 + e^{−z}), and "
        "the norm of the Jacobian is 2p(1 − p).",
        "The difference of two independent scores is normal with twice the variance of one. The "
        "mean is an integral of 2p(1 − p) against that density.",
        "2p(1 − p) lives within some forty units of z = 0, however wide the density is, while a "
        "narrow density lives within ten standard deviations. Let the grid cover the smaller "
        "range, finely.",
    ),
)
def mean_norm(f: Answer) -> None:
    """E‖J‖ of softmax over two keys."""
    for d, scale in [(1, 1.0), (4, 1.0), (64, 0.125), (64, 1 / 64), (100, 1.0), (10_000, 1.0)]:
        said, want = f.said(d=d, scale=scale), _two_keys(scale * math.sqrt(2 * d))
        bound = say.show(min(0.5, 1 / (scale * math.sqrt(d * math.pi))))
        why = f"It is at most 1/2 and at most 1/(σ√π), so no more than {bound} here."
        got, wrong = f.array(said, d=d, scale=scale), _wrong_norms(d, scale)
        _judge_number(f, got, said, want, wrong, 1e-6 * want, why)


def _wrong_norms(d: int, scale: float) -> dict[str, float]:
    sigma, deviation = scale * math.sqrt(d), scale * math.sqrt(2 * d)
    want = _two_keys(deviation)
    return {
        "That is what scores with half the variance give. The difference of two scores "
        "varies twice as much as one.": _two_keys(sigma),
        "The norm is 2p(1 − p); the 2 is missing.": want / 2,
        "That is the norm at equal scores; its mean over random scores is smaller.": 0.5,
        "That is 1/(σ√π), which the mean stays below and reaches only in the limit.": (
            1 / (sigma * math.sqrt(math.pi))
        ),
        "The variance of the difference is 2 scale² d; its root is the standard deviation.": (
            _two_keys(deviation**2)
        ),
        "The scale is missing: it multiplies every score.": _two_keys(math.sqrt(2 * d)),
        "The variance of a score is scale² d, so its deviation grows with √d, not with d.": (
            _two_keys(math.sqrt(2) * scale * d)
        ),
        "The density of the difference lacks the division by its standard deviation.": (
            want * deviation
        ),
        "The other factor is 1 − p: that is the expectation of 2p².": 1 - want,
        "That is the norm at one typical difference, one standard deviation; take the mean "
        "over all.": 0.5 / math.cosh(min(sigma / math.sqrt(2), 700)) ** 2,
    }


def _two_keys(deviation: float) -> float:
    """E[2p(1 − p)] for p = 1/(1 + e^{−z}) and z normal with this standard deviation."""
    end = min(60.0, 12 * deviation)
    z, step = np.linspace(-end, end, 40_001, retstep=True)
    density = np.exp(-((z / deviation) ** 2) / 2) / (deviation * math.sqrt(2 * math.pi))
    return float((0.5 / np.cosh(z / 2) ** 2 * density).sum() * step)


@exercise(
    "4.12",
    praise="The distance to the normal distribution, exact to nine digits for eight widths up to "
    "1000; times √d it never exceeds 0.4.",
    hints=(
        "q·k is a sum of d independent signs. It takes the values −d, −d + 2, …, d; how probable "
        "is each?",
        "The distribution function of a whole-number variable is a staircase. Against a smooth "
        "curve the gap is widest at a step, just before it or just after.",
        "With j positive signs the sum is 2j − d, with probability (d choose j)/2^d. Cumulate, and "
        "compare with Φ at (2j − d)/√d.",
    ),
)
def distance_to_normal(f: Answer) -> None:
    """sup |P(q·k/√d ≤ x) − Φ(x)| for sign vectors."""
    for d in 1, 2, 3, 4, 10, 101, 256, 1000:
        said = f"d = {d}"
        got = f.array(said, d=d)
        why = "A distance of probabilities lies between 0 and 1."
        if d == 1:
            why = "For d = 1 the staircase climbs from 0 to 1/2 at −1, where Φ is 0.1587."
        _judge_number(f, got, said, _kolmogorov(d), _wrong_distances(d), 1e-9, why)


def _staircase(d: int) -> tuple[np.ndarray, np.ndarray]:
    """Values of the sum of d signs, and their probabilities."""
    weights = np.array([math.comb(d, j) / 2**d for j in range(d + 1)])
    return 2 * np.arange(d + 1) - d, weights


def _kolmogorov(d: int) -> float:
    values, weights = _staircase(d)
    return float(np.abs(weights.cumsum() - scipy.special.ndtr(values / math.sqrt(d))).max())


def _wrong_distances(d: int) -> dict[str, float]:
    values, weights = _staircase(d)
    after, root = weights.cumsum(), math.sqrt(d)
    curve = scipy.special.ndtr(values / root)
    gaps = np.abs(after - curve)
    wrong = {
        why: float(np.abs(after - other).max()) for why, other in _wrong_curves(values, d).items()
    }
    return wrong | {
        "You took the middle of each step; the gap is widest at its upper or lower end.": float(
            np.abs(after - weights / 2 - curve).max()
        ),
        "Those are the probabilities of single values. Cumulate them.": float(
            np.abs(weights - curve).max()
        ),
        "The number of ways is to be divided by 2^d, the number of all.": float(
            np.abs(after * 2.0**d - curve).max()
        ),
        "That is the bound 1/√(2πd); the distance itself is asked for.": (
            1 / math.sqrt(2 * math.pi * d)
        ),
        "That is the sum of the gaps; the largest is asked for.": float(gaps.sum()),
        "That is the mean of the gaps; the largest is asked for.": float(gaps.mean()),
    }


def _wrong_curves(values: np.ndarray, d: int) -> dict[str, np.ndarray]:
    """Curves that are not the one to compare the staircase with."""
    root, normal = math.sqrt(d), scipy.special.ndtr
    return {
        "The sum is to be divided by √d before it is compared.": normal(values),
        "The sum was divided by d; √d is its standard deviation.": normal(values / d),
        "With j positive signs there are d − j negative ones, and the sum is not j.": (
            normal(np.arange(d + 1) / root)
        ),
        "The sum has the standard deviation √d, and the number j of positive signs half of it.": (
            normal(values / 2 / root)
        ),
        "The curve was taken half a step further on, as one does to bring the two closer.": (
            normal((values + 1) / root)
        ),
        "Φ is the distribution function; you took the density.": (
            np.exp(-(values**2) / (2 * d)) / math.sqrt(2 * math.pi)
        ),
    }
