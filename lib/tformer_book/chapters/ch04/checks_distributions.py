"""Exercises 4.9 to 4.11: which assumption fails, and two numbers known exactly."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import scipy.special

from tformer_book.exercises import describe
from tformer_book.exercises.kinds import Name, Number
from tformer_book.exercises.registry import exercise
from tformer_book.exercises.table import Case, case

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
    third, last = np.arange(16) == 2, np.arange(16) == 15
    yield "keys with mean −0.3 in one coordinate", "shifted", normal(), normal() - 0.3 * third
    yield (
        "queries with mean 0.35 in the last coordinate",
        "shifted",
        normal() + 0.35 * last,
        normal(),
    )
    for rho, one in ((0.35, third), (-0.35, last)):
        noise = np.where(one, math.sqrt(1 - rho**2), 1.0) * normal()
        words = f"one coordinate of a key goes {'with' if rho > 0 else 'against'} that of its query"
        yield words, "aligned", q, noise + rho * one * q
    yield "normal queries, Cauchy keys", "heavy", normal(), rng.standard_cauchy(shape)
    yield (
        "Student queries with variance 3, normal keys",
        "heavy",
        rng.standard_t(3, shape),
        normal(),
    )
    yield "normal queries, uniform keys", "fine", normal(), uniform[1]
    few = (rng.standard_t(3, shape) / math.sqrt(3) for _ in range(100))
    giants = next(x for x in few if np.abs(x).max() < 16)
    yield "Student queries of variance 1, normal keys", "heavy", giants, normal()
    low = (x for _ in range(100) if 0.27 < (x := normal() + 0.3 * last)[:, -1].mean() < 0.29)
    yield "queries with mean 0.3 in the last coordinate", "shifted", next(low), normal()
    means = "queries with mean 1 in four coordinates, keys with mean −1 in one"
    yield means, "shifted", normal() + 1.0 * (np.arange(16) < 4), normal() - 1.0 * last
    flat = (math.sqrt(3) * rng.uniform(-1, 1, (2, *shape)) for _ in range(300))
    like = (x for x in flat if np.abs(np.linalg.norm(x, axis=-1).mean(axis=1) - 4).max() < 0.015)
    yield "uniform coordinates, whose lengths are 4 on average", "fine", *next(like)
    noise = (math.sqrt(0.91) * normal() * last + normal() * ~last for _ in range(100))
    near = (x for y in noise if 0.26 < ((x := y + 0.3 * last * q) * q)[:, -1].mean() < 0.29)
    yield "correlation 0.3 in the last coordinate", "aligned", q, next(near)
    drawn = (rng.standard_normal((2, *shape)) for _ in range(300))
    chance = (x for x in drawn if np.abs(x[0].T @ x[1]).max() > 115)
    words = "normal coordinates, two of which, at other places, are correlated by chance"
    for _ in range(2):
        yield words, "fine", *next(chance)


def _samples() -> Iterator[Case]:
    for words, kind, q, k in _pairs():
        yield case(q=q, k=k, want=kind, why=FAULTS[kind], said=f"1000 pairs of width 16: {words}")


@exercise(
    "4.9",
    praise="Twenty-nine samples named rightly, from normal, uniform, sign, Student and Cauchy "
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
    slips="""
        tails = max(_excess(q), _excess(k)) → tails = 0
            Heavy tails are taken for another fault: a few huge coordinates move the mean of a
            sample and its mean product, while its median stays at 0.
        max(_excess(q), _excess(k)) → _excess(q)
        [q, k]).mean → [q]).mean
        [q, k]), axis → [q]), axis
            Look at k as well as at q: a fault may be in one of the two only.
        tails > 2 → tails > 2 and shift <= 0.2
            A sample with giants may have means far from 0 as well: look for giants first.
        max(_excess(q), _excess(k)) → _excess(q)
            Giants may stand in k alone.
        tails > 2 → tails > 2 or np.max(np.abs([q, k])) > 4
            The largest of 16 000 normal coordinates lies beyond 4: your limit for giants is too
            low.
        shift > 0.2 → shift > 0.07
            The largest of 32 means reaches 0.08 by chance: your limit for a mean is too low.
        spread < 1e-6 → abs(np.linalg.norm(q, axis=-1).mean() - 4) < 0.1
            The mean length is near 4 for normal coordinates, too; normalised means that all are.
        np.abs(means) → np.abs(means.mean(axis=-1))
            Means of 0.5 and −0.5 cancel in one mean over all coordinates. Take the mean of each
            coordinate.
        np.abs(products) → np.abs(products.mean())
            Products that are positive in some coordinates and negative in others cancel in their
            sum. Look at each coordinate.
        np.max(np.abs(products)) → products.mean()
            One mean was taken of all products, with its sign. Coordinates that go against each
            other are missed, and a few that go together.
        np.abs(means) → means
            Look at negative means, too.
        np.abs(products) → products
            Coordinates that go against each other are correlated, too.
        spread < 1e-6 → abs(np.linalg.norm(np.concatenate([q, k]), axis=-1).mean() - 4) < 0.025
            Uniform coordinates have lengths near 4 on average; normalised means that all are 4.
        shift > 0.2 → shift > 0.3
            The mean in a sample may lie below 0.3 where that of its distribution is 0.3: choose a
            threshold well above chance, some 0.03, and well below 0.3.
        together > 0.2 → together > 0.3
            The correlation in a sample may lie below 0.3 where that of its distribution is 0.3:
            choose a threshold well above chance, some 0.03, and well below 0.3.
        np.abs(means) → np.abs(means.mean(axis=-1)) ;; shift > 0.2 → shift > 0.3
            The mean of a sample may lie a little below that of its distribution: a threshold
            belongs between chance, some 0.03, and 0.3.
        together > 0.2 → together > 0.45
            The correlation in a sample may lie a little below that of its distribution: a threshold
            belongs between chance, some 0.03, and 0.3.
        shift > 0.2 → shift > 0.2 and together <= 0.2
            If both means are away from 0, so is the mean product, also for independent coordinates.
            Subtract the means before you multiply.
        spread < 1e-6 → spread < 0
            The lengths of the vectors are not looked at.
        tails > 2 → abs(tails) > 1
            Light tails are no fault: uniform coordinates are fine.
        tails > 2 → max(abs(q).max(), abs(k).max()) > 100
            Student coordinates have heavy tails, too; their giants are smaller than Cauchy's.
        (q * k).mean(axis=0) → (q.T @ k / len(q))
        together > 0.2 → together > 0.1
            Of 256 pairs of coordinates some are correlated by 0.1 and more by chance: your limit
            is too
            low.
    """,
)
def diagnose(q: Array, k: Array) -> str:
    """Name the assumption that a sample of queries and keys breaks."""
    spread = np.ptp(np.linalg.norm(np.concatenate([q, k]), axis=-1))
    tails = max(_excess(q), _excess(k))
    means, products = np.stack([q, k]).mean(axis=1), (q * k).mean(axis=0)
    shift, together = np.max(np.abs(means)), np.max(np.abs(products))
    if spread < 1e-6:
        return "normalised"
    if tails > 2:
        return "heavy"
    if shift > 0.2:
        return "shifted"
    return "aligned" if together > 0.2 else "fine"


def _largest_magnitude(n: int) -> float:
    x, step = np.linspace(0, 12, 12_001, retstep=True)
    density = 2 * n * np.exp(-(x**2) / 2) * scipy.special.erf(x / math.sqrt(2)) ** (n - 1)
    return float((x * density).sum() * step / math.sqrt(2 * math.pi))


def _sizes() -> Iterator[Case]:
    some = (2, 0.5), (3, 1.0), (2, 1.0), (1, 1.0), (10, 0.5), (1000, 1.0), (10**6, 8.0)
    for n, sigma in (*some, (4, 0.25), (50, 0.75), (54_321, 3.0), (10**6, 0.01)):
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
    kind=Number(
        within=1e-6, relative=2e-7, near=0.12
    ),  # for these sizes a millionth of sigma or more
    slips="""
        = sigma * math.sqrt(2 * math.log(n))
            That is the bound σ√(2 log n), which the maximum stays below.
        = sigma * float(scipy.special.ndtri(1 - 1 / n))
            That is the height which one score in n exceeds on average, and not the mean of the
            maximum.
        = sigma * float(scipy.special.ndtri(0.5 ** (1 / n)))
            That is the median of the maximum; its mean is asked for.
        = sigma * float(scipy.special.ndtri((n - 0.375) / (n + 0.25)))
            That is the approximation by Blom, right to a few hundredths.
        = sigma * _largest_magnitude(n)
            That is the mean of the largest magnitude; the largest score is asked for.
        (n - 1) → n
            The exponent n makes it the density of the largest of n + 1 scores, times n/(n + 1).
        = 1.0
            That is the integral of the density; multiply it by the score before you integrate.
        np.linspace(-12 → np.linspace(0
            The scores below 0 are left out; the largest of a few may be one of them.
        return sigma * → return
            That is for standard deviation 1; the maximum grows with σ.
        return sigma * → return sigma**2 *
            The maximum grows with σ, not with its square.
        return sigma * → return math.sqrt(sigma) *
            sigma is the standard deviation; you took its root, as if it were the variance.
        n * np.exp → np.exp
            The density lacks the factor n: each of the scores may be the largest.
        / math.sqrt(2 * math.pi) →
            The normal density lacks its factor 1/√(2π).
        return sigma * → return -sigma *
            The sign is reversed. Does the grid stand in the place of the function?
    """,
)
def expected_max(n: int, sigma: float) -> float:
    """E max of n independent N(0, sigma²): the integral of n φ(x) Φ(x)^{n−1} times x."""
    x, step = np.linspace(-12, 12, 24_001, retstep=True)
    density = n * np.exp(-(x**2) / 2 + (n - 1) * scipy.special.log_ndtr(x))
    return sigma * float((x * density).sum() * step / math.sqrt(2 * math.pi))


def _spreads() -> Iterator[Case]:
    for d, scale in [
        (4, 1.5),
        (1, 1.0),
        (64, 0.125),
        (64, 1 / 64),
        (100, 1.0),
        (10_000, 1.0),
        (1, 0.1),
        (1000, 0.01),
    ]:
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
    slips="""
        2 * d → d
            That is what scores with half the variance give. The difference of two scores varies
            twice as much as one.
        return → return 0.5 *
            The norm is 2p(1 − p); the 2 is missing.
        = 0.5
            That is the norm at equal scores; its mean over random scores is smaller.
        = 1 / (scale * math.sqrt(d * math.pi))
            That is 1/(σ√π), which the mean stays below and reaches only in the limit.
        scale * math.sqrt(2 * d) → 2 * scale**2 * d
            The variance of the difference is 2 scale² d; its root is the standard deviation.
        scale * math.sqrt(2 * d) → math.sqrt(2 * d)
            The scale is missing: it multiplies every score.
        scale * math.sqrt(2 * d) → math.sqrt(2 * scale * d)
            The variance of a score is scale² d; you have scale times d.
        math.sqrt(2 * d) → math.sqrt(2) * d
            The variance of a score is scale² d, so its deviation grows with √d, not with d.
        (deviation * math.sqrt(2 * math.pi)) → math.sqrt(2 * math.pi)
            The density of the difference lacks the division by its standard deviation.
        return → return 1 -
            The other factor is 1 − p: that is the expectation of 2p².
        = np.where(d * scale**2 > 400, 1 / (scale * math.sqrt(d * math.pi)), mean_norm(d, scale))
            For large deviations you took the limit 1/(σ√π); the mean is not within a millionth of
            it before σ is a thousand.
        = 0.5 / math.cosh(min(scale * math.sqrt(d / 2), 700)) ** 2
            That is the norm at one typical difference, one standard deviation; take the mean over
            all.
    """,
)
def mean_norm(d: int, scale: float) -> float:
    """E‖J‖ of softmax over two keys: E[2p(1 − p)] for p = 1/(1 + e^{−z}) and z normal."""
    deviation = scale * math.sqrt(2 * d)
    end = min(60.0, 12 * deviation)
    z, step = np.linspace(-end, end, 40_001, retstep=True)
    density = np.exp(-((z / deviation) ** 2) / 2) / (deviation * math.sqrt(2 * math.pi))
    return float((0.5 / np.cosh(z / 2) ** 2 * density).sum() * step)
