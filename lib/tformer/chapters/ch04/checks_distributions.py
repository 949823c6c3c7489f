"""Exercises 4.9 to 4.11: which assumption fails, and two numbers known exactly."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
import scipy.special

from tformer.exercises import describe
from tformer.exercises.kinds import Name, Number
from tformer.exercises.registry import exercise
from tformer.exercises.table import Case, case

Array = np.ndarray
FAULTS = {
    "fine": "means near 0, variances near 1, no correlation, lengths that differ, no giants. The "
    "coordinates need not be normal.",
    "shifted": "the mean of some coordinates is many standard errors away from 0.",
    "aligned": "coordinates of q and k go together, or against each other, pair by pair.",
    "normalised": "all vectors have the length 4, the root of 16, up to rounding.",
    "heavy": "a few coordinates are many times larger than the rest, larger than normal ones ever "
    "come.",
}


def _excess(x: Array) -> float:
    """The excess kurtosis of all entries."""
    x = (x - x.mean()) / x.std()
    return float((x**4).mean() - 3)


def _fault(
    q: Array,
    k: Array,
    tails: Callable[[Array], bool] = lambda x: _excess(x) > 2,
    means: Callable[[Array], Array] = lambda x: np.abs(x.mean(axis=0)),
    products: Callable[[Array], Array] = lambda x: np.abs(x.mean(axis=0)),
    lengths: bool = True,
    shift: float = 0.2,
    together: float = 0.2,
    shift_first: bool = True,
    both: bool = True,
) -> str:
    """The fault of a sample of pairs, by means and mean products of each coordinate."""
    tables = (q, k) if both else (q,)
    if lengths and all(np.ptp(np.linalg.norm(x, axis=-1)) < 1e-6 for x in tables):
        return "normalised"
    if any(tails(x) for x in tables):
        return "heavy"
    shifted = max(np.max(means(x)) for x in tables) > shift
    if shifted and shift_first:
        return "shifted"
    if np.max(products(q * k)) > together:
        return "aligned"
    return "shifted" if shifted else "fine"


def _unit(x: Array) -> Array:
    return np.asarray(4 * x / np.linalg.norm(x, axis=-1, keepdims=True))


def _pairs() -> Iterator[tuple[str, str, Array, Array]]:
    rng, shape = np.random.default_rng(8), (1000, 16)
    halves = np.where(np.arange(16) < 8, 1.0, -1.0)

    def normal() -> Array:
        return rng.standard_normal(shape)

    q = normal()
    yield "normal coordinates", "fine", q, normal()
    yield "each key equal to its query", "aligned", q, q.copy()
    yield "lengths divided out", "normalised", _unit(normal()), _unit(normal())
    yield "normal coordinates with mean 0.5", "shifted", normal() + 0.5, normal() + 0.5
    yield "Cauchy coordinates", "heavy", rng.standard_cauchy(shape), rng.standard_cauchy(shape)
    uniform = math.sqrt(3) * rng.uniform(-1, 1, (2, *shape))
    yield "uniform coordinates of variance 1", "fine", *uniform
    student = rng.standard_t(3, (2, *shape)) / math.sqrt(3)
    yield "Student coordinates with ν = 3, variance 1", "heavy", *student
    yield "k = 0.3 q + noise", "aligned", q, 0.3 * q + math.sqrt(0.91) * normal()
    yield "k = −0.8 q + noise", "aligned", q, -0.8 * q + 0.6 * normal()
    yield "coordinates 1 and −1", "normalised", *rng.choice([-1.0, 1.0], (2, *shape))
    yield "queries with mean −0.3, keys with mean 0", "shifted", normal() - 0.3, normal()
    yield "queries with mean 0, keys with mean 0.3", "shifted", normal(), normal() + 0.3
    yield "normal queries, Student keys", "heavy", normal(), student[1]
    means = "queries with mean 0.5 in eight coordinates and −0.5 in the others"
    yield means, "shifted", normal() + 0.5 * halves, normal()
    both = "keys that go with their query in eight coordinates and against it in the others"
    yield both, "aligned", q, 0.6 * halves * q + 0.8 * normal()
    yield "uniform queries, normal keys", "fine", uniform[0], normal()
    yield "other normal coordinates", "fine", normal(), normal()


def _samples() -> Iterator[Case]:
    for words, kind, q, k in _pairs():
        yield case(q=q, k=k, want=kind, why=FAULTS[kind], said=f"1000 pairs of width 16: {words}")


@exercise(
    "4.9",
    praise="Seventeen samples named rightly, from normal, uniform, sign, Student and Cauchy "
    "coordinates, with and without a fault, in q, in k and in some coordinates only.",
    hints=(
        "Each fault has a number that betrays it: a mean, a correlation, a length, a size of the "
        "largest coordinates. Print these for samples you make yourself.",
        "Standard errors tell how far chance moves a number: over a thousand rows the mean of one "
        "coordinate moves by about 0.03. Choose thresholds well above that.",
        "Lengths that are all equal betray normalising. The largest magnitude of 16 000 standard "
        "normal coordinates is hardly ever above 6, which betrays heavy tails. A mean product of "
        "q and k far from 0 betrays alignment, once the means are known to be 0.",
    ),
    cases=_samples,
    kind=Name(names=tuple(FAULTS)),
    mutants={
        "Heavy tails are taken for another fault: a few huge coordinates move the mean of a "
        "sample and its mean product, while its median stays at 0.": partial(
            _fault, tails=lambda x: False
        ),
        "Look at k as well as at q: a fault may be in one of the two only.": partial(
            _fault, both=False
        ),
        "Means of 0.5 and −0.5 cancel in one mean over all coordinates. Take the mean of each "
        "coordinate.": partial(_fault, means=lambda x: np.abs(x.mean())),
        "Products that are positive in some coordinates and negative in others cancel in their "
        "sum. Look at each coordinate.": partial(_fault, products=lambda x: np.abs(x.mean())),
        "Look at negative means, too.": partial(_fault, means=lambda x: x.mean(axis=0)),
        "Coordinates that go against each other are correlated, too.": (
            partial(_fault, products=lambda x: x.mean(axis=0))
        ),
        "The mean of a sample may lie a little below that of its distribution: a threshold belongs "
        "between chance, some 0.03, and 0.3.": partial(
            _fault, shift=0.3, means=lambda x: np.abs(x.mean())
        ),
        "The correlation in a sample may lie a little below that of its distribution: a threshold "
        "belongs between chance, some 0.03, and 0.3.": partial(_fault, together=0.45),
        "If both means are away from 0, so is the mean product, also for independent coordinates. "
        "Subtract the means before you multiply.": partial(_fault, shift_first=False),
        "The lengths of the vectors are not looked at.": partial(_fault, lengths=False),
        "Light tails are no fault: uniform coordinates are fine.": (
            partial(_fault, tails=lambda x: abs(_excess(x)) > 1)
        ),
        "Student coordinates have heavy tails, too; their giants are smaller than Cauchy's.": (
            partial(_fault, tails=lambda x: bool(np.abs(x).max() > 100))
        ),
    },
)
def diagnose(q: Array, k: Array) -> str:
    """Name the assumption that a sample of queries and keys breaks."""
    return _fault(q, k)


def _moment(n: float, power: float | None = None, least: float = -12.0) -> float:
    """The integral of n φ(x) Φ(x)^{n−1} times x, by the trapezoidal rule."""
    x, step = np.linspace(least, 12, 24_001, retstep=True)
    power = n - 1 if power is None else power
    density = n * np.exp(-(x**2) / 2 + power * scipy.special.log_ndtr(x))
    return float((x * density).sum() * step / math.sqrt(2 * math.pi))


def _largest_magnitude(n: int) -> float:
    x, step = np.linspace(0, 12, 12_001, retstep=True)
    density = 2 * n * np.exp(-(x**2) / 2) * scipy.special.erf(x / math.sqrt(2)) ** (n - 1)
    return float((x * density).sum() * step / math.sqrt(2 * math.pi))


def _sizes() -> Iterator[Case]:
    for n, sigma in (2, 3.0), (3, 1.0), (2, 1.0), (1, 2.0), (10, 0.5), (1000, 1.0), (10**6, 8.0):
        bound = describe.show(sigma * math.sqrt(2 * math.log(n)))
        want = {1: 0.0, 2: sigma / math.sqrt(math.pi), 3: 1.5 * sigma / math.sqrt(math.pi)}.get(n)
        why = f"It is at least 0 and at most σ√(2 log n), here {bound}."
        yield case(n=n, sigma=sigma, want=want, why=why)


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
    cases=_sizes,
    kind=Number(within=5e-7, relative=5e-7),
    mutants={
        "That is the bound σ√(2 log n), which the maximum stays below.": (
            lambda n, sigma: sigma * math.sqrt(2 * math.log(n))
        ),
        "That is the height which one score in n exceeds on average, and not the mean of the "
        "maximum.": lambda n, sigma: sigma * float(scipy.special.ndtri(1 - 1 / n)),
        "That is the median of the maximum; its mean is asked for.": (
            lambda n, sigma: sigma * float(scipy.special.ndtri(0.5 ** (1 / n)))
        ),
        "That is the mean of the largest magnitude; the largest score is asked for.": (
            lambda n, sigma: sigma * _largest_magnitude(n)
        ),
        "The exponent n makes it the density of the largest of n + 1 scores, times n/(n + 1).": (
            lambda n, sigma: sigma * _moment(n, power=n)
        ),
        "That is the integral of the density; multiply it by the score before you integrate.": (
            lambda n, sigma: 1.0
        ),
        "The scores below 0 are left out; the largest of a few may be one of them.": (
            lambda n, sigma: sigma * _moment(n, least=0.0)
        ),
        "That is for standard deviation 1; the maximum grows with σ.": (
            lambda n, sigma: _moment(n)
        ),
        "The maximum grows with σ, not with its square.": lambda n, sigma: sigma**2 * _moment(n),
        "sigma is the standard deviation; you took its root, as if it were the variance.": (
            lambda n, sigma: math.sqrt(sigma) * _moment(n)
        ),
        "The density lacks the factor n: each of the scores may be the largest.": (
            lambda n, sigma: sigma * _moment(n) / n
        ),
        "The normal density lacks its factor 1/√(2π).": (
            lambda n, sigma: sigma * _moment(n) * math.sqrt(2 * math.pi)
        ),
        "The sign is turned round. Does the grid stand in the place of the function?": (
            lambda n, sigma: -sigma * _moment(n)
        ),
    },
)
def expected_max(n: int, sigma: float) -> float:
    """E max of n independent N(0, sigma²)."""
    return sigma * _moment(n)


def _two_keys(deviation: float) -> float:
    """E[2p(1 − p)] for p = 1/(1 + e^{−z}) and z normal with this standard deviation."""
    end = min(60.0, 12 * deviation)
    z, step = np.linspace(-end, end, 40_001, retstep=True)
    density = np.exp(-((z / deviation) ** 2) / 2) / (deviation * math.sqrt(2 * math.pi))
    return float((0.5 / np.cosh(z / 2) ** 2 * density).sum() * step)


def _spreads() -> Iterator[Case]:
    for d, scale in [(4, 1.5), (1, 1.0), (64, 0.125), (64, 1 / 64), (100, 1.0), (10_000, 1.0)]:
        bound = describe.show(min(0.5, 1 / (scale * math.sqrt(d * math.pi))))
        why = f"It is at most 1/2 and at most 1/(σ√π), so no more than {bound} here."
        yield case(d=d, scale=scale, why=why)


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
    cases=_spreads,
    kind=Number(relative=1e-6),
    mutants={
        "That is what scores with half the variance give. The difference of two scores "
        "varies twice as much as one.": lambda d, scale: _two_keys(scale * math.sqrt(d)),
        "The norm is 2p(1 − p); the 2 is missing.": (
            lambda d, scale: _two_keys(scale * math.sqrt(2 * d)) / 2
        ),
        "That is the norm at equal scores; its mean over random scores is smaller.": (
            lambda d, scale: 0.5
        ),
        "That is 1/(σ√π), which the mean stays below and reaches only in the limit.": (
            lambda d, scale: 1 / (scale * math.sqrt(d * math.pi))
        ),
        "The variance of the difference is 2 scale² d; its root is the standard deviation.": (
            lambda d, scale: _two_keys(2 * scale**2 * d)
        ),
        "The scale is missing: it multiplies every score.": (
            lambda d, scale: _two_keys(math.sqrt(2 * d))
        ),
        "The variance of a score is scale² d, so its deviation grows with √d, not with d.": (
            lambda d, scale: _two_keys(math.sqrt(2) * scale * d)
        ),
        "The density of the difference lacks the division by its standard deviation.": (
            lambda d, scale: _two_keys(scale * math.sqrt(2 * d)) * scale * math.sqrt(2 * d)
        ),
        "The other factor is 1 − p: that is the expectation of 2p².": (
            lambda d, scale: 1 - _two_keys(scale * math.sqrt(2 * d))
        ),
        "That is the norm at one typical difference, one standard deviation; take the mean over "
        "all.": lambda d, scale: 0.5 / math.cosh(min(scale * math.sqrt(d / 2), 700)) ** 2,
    },
)
def mean_norm(d: int, scale: float) -> float:
    """E‖J‖ of softmax over two keys."""
    return _two_keys(scale * math.sqrt(2 * d))
