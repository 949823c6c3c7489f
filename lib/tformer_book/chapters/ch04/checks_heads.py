"""Exercises 4.4, 4.7 and 4.8: moments of a score, a scale applied thrice, normalised heads."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from tformer import reference
from tformer_book.exercises import kinds
from tformer_book.exercises.registry import exercise
from tformer_book.exercises.samples import integers
from tformer_book.exercises.softmaxes import SOFTMAX_MUTANTS, measured_from, scaled_scores
from tformer_book.exercises.table import Case, case, each

Array = np.ndarray
Pair = tuple[float, float]


class MeanAndVariance(kinds.Array):
    """Two numbers, of which one may be right."""

    def remark(self, got: Any, want: Any) -> str:
        """Say which of the two is right."""
        if got.shape != (2,):
            return "Two numbers are asked for, mean and variance."
        right = np.isclose(got.astype(float), want).tolist()
        if right[0]:
            return (
                "The mean is right, the variance is not: write q = μ_q + a and k = μ_k + b, and "
                "add up the variances of μ_q b, μ_k a and ab, and their covariances."
            )
        mean = (
            "The variance is right, the mean is not: it is d (μ_q μ_k + the covariance of a pair)."
        )
        return mean if right[1] else ""


def _numbers() -> Iterator[Case]:
    def of(*numbers: float, want: Pair | None = None) -> Case:
        names = ("mean_q", "mean_k", "var_q", "var_k", "rho")
        rest: dict[str, Any] = dict(zip(names, map(float, numbers[1:]), strict=True))
        return case(want=want, d=int(numbers[0]), **rest)

    yield of(2, 1, 2, 4, 9, 0.5, want=(10.0, 164.0))
    yield of(3, 0, 0, 1, 1, 0)
    yield of(64, 0, 0, 1, 1, 1)
    yield of(5, 0, 0, 1, 1, -1)
    yield of(4, 1, -1, 2, 0.5, -0.5)
    yield of(1, 0, 3, 0, 4, 0)
    yield of(3, 2, 1, 0, 4, 0, want=(6.0, 48.0))
    yield of(2, 3, -2, 5, 0, 0, want=(-12.0, 40.0))
    yield of(10, 0.5, 0.25, 0.04, 2, 0.8)
    yield of(1, -2, 3, 1, 5, -1)
    yield of(1000, -0.5, -30, 100, 0.01, 0.3)
    yield of(3, 2, -1, 4, 1, 0.5)
    yield of(2, -3, -1, 1, 9, -0.5)


@exercise(
    "4.4",
    praise="Mean and variance for aligned, opposed and independent queries and keys, with means "
    "and variances of all kinds.",
    hints=(
        "Pairs of coordinates are independent of each other, so both numbers are d times those of "
        "one pair. Think about one product q k.",
        "Write q and k as mean plus deviation and multiply out. Of the four terms one is constant; "
        "which of the others are correlated with each other?",
        "For jointly normal deviations a and b, E[a²b²] = σ_q²σ_k² (1 + 2ρ²), and the product ab "
        "is uncorrelated with a and with b. The two single terms are correlated with each other.",
    ),
    cases=_numbers,
    kind=MeanAndVariance(),
    slips="""
        rho * math.sqrt(var_q * var_k) → 0.0
            Those are mean and variance for independent q and k: ρ changes both.
        mean_q * mean_k + shared → mean_q * mean_k
            The mean lacks the part that q and k share: E[qk] = μ_q μ_k + ρ σ_q σ_k.
        both = var_q * var_k + shared**2 → both = var_q * var_k ;; cross = 2 → cross = 0
            The variance is that of independent q and k.
        both = var_q * var_k + shared**2 → both = var_q * var_k
            The variance lacks the term with ρ², from E[a²b²] of the two deviations a and b.
        both = var_q * var_k + shared**2 → both = var_q * var_k * (1 + rho**2)
        math.sqrt(var_q * var_k) → var_q * var_k
            ρ times both variances stands where ρ σ_q σ_k belongs, in the mean and beside the means.
        2 * shared * mean_q → 2 * abs(shared) * mean_q
            The sign of ρ counts beside the means, too.
        2 * shared * mean_q * mean_k → abs($)
            The signs of the means and of ρ count beside each other: two single terms may cancel.
        cross = 2 → cross = 0
            The two single terms, μ_q b and μ_k a, are correlated: their covariance counts twice.
        cross = 2 → cross = 1
            Their covariance counts twice in the variance of a sum; you have it once.
        rho * math.sqrt(var_q * var_k) → rho
            In both numbers stands ρ where the covariance ρ σ_q σ_k belongs.
        mean_q * mean_k + shared → mean_q * mean_k + rho
            In the mean, ρ is a correlation: times σ_q σ_k it is the covariance.
        math.sqrt(var_q * var_k) → var_q * var_k
            The covariance is ρ times the standard deviations, and you took the variances.
        shared = → var_q, var_k = var_q**2, var_k**2; shared =
            var_q and var_k are variances; you took them for standard deviations and squared them.
        shared = → var_q, var_k = var_q**0.5, var_k**0.5; shared =
            var_q and var_k are variances already; you took their roots.
        d * (both + alone + cross) → math.sqrt($)
            That is the standard deviation beside the mean; the variance is its square.
        d * mean, d * (both + alone + cross) → mean, both + alone + cross
            Those are the numbers for one coordinate; there are d of them.
        d * (both + alone + cross) → d * $
            The variance grows with d, not with d²: the coordinates are independent.
        d * mean, d * (both + alone + cross) → d * (both + alone + cross), d * mean
            The variance comes second.
        + shared**2 → + 2 * shared**2
            E[a²b²] is σ_q²σ_k² (1 + 2ρ²), of which (ρσ_qσ_k)² is subtracted once: 1 + ρ² remains.
        mean_q**2 * var_k + mean_k**2 * var_q → mean_q**2 * var_q + mean_k**2 * var_k
            The term μ_q b has the variance of b, the deviation of k; you took that of q.
        mean_q**2 * var_k + mean_k**2 * var_q → mean_q * var_k + mean_k * var_q
            A mean that multiplies a deviation enters the variance as its square.
        d * (both + alone + cross) → d * (both + alone + cross + mean**2)
            That is d E[q²k²] beside the mean; the square of E[qk] is still to be subtracted.
        d * (both + alone + cross) → d * var_q * var_k
            The means and the correlation are missing: that is d σ_q²σ_k².
        = d * mean_q * mean_k, d * var_q * var_k
            The correlation is missing in both, and the means in the variance.
        d * (both + alone + cross) → $ * (var_q * var_k > 0)
            Where one variance is 0 the other still counts: a fixed mean multiplies what varies.
    """,
    otherwise="Multiply out one product of mean plus deviation.",
)
def moments(d: int, mean_q: float, mean_k: float, var_q: float, var_k: float, rho: float) -> Pair:
    """Mean and variance of q·k for correlated normal pairs."""
    shared = rho * math.sqrt(var_q * var_k)
    mean = mean_q * mean_k + shared
    both = var_q * var_k + shared**2
    alone = mean_q**2 * var_k + mean_k**2 * var_q
    cross = 2 * shared * mean_q * mean_k
    return d * mean, d * (both + alone + cross)


def _broken_heads() -> Iterator[Case]:
    q, k = np.zeros((1, 1, 4)), np.zeros((1, 2, 4))
    q[0, 0, 0], k[0, 1, 0] = 2, math.log(3)
    yield case(q=q, k=k, want=[[[0.25, 0.75]]], why="The scaled scores are 0 and log 3.")
    q, k = np.ones((4, 1, 1)), np.tile(np.log([[1.0], [9.0]]), (4, 1, 1))
    four = "Heads have width 1 and are four here."
    yield case(q=q, k=k, want=np.tile([[0.1, 0.9]], (4, 1, 1)), why=four)
    far = "The scores of the two queries lie 1000 apart, and each row needs a maximum of its own."
    yield case(q=[[[1000.0]], [[0]]], k=np.ones((2, 1, 1)), want=np.ones((2, 1, 1)), why=far)
    want = np.array([[[1, 0], [0.5, 0.5], [0, 1]]])
    yield case(q=[[[1000.0], [0.0], [-1000.0]]], k=[[[1.0], [-1.0]]], want=want, why=far)
    want = np.array([[[1, math.exp(100)]], [[math.exp(100), 1]]]) / (1 + math.exp(100))
    yield case(q=[[[1000.0]], [[-1000]]], k=[[[1.0], [1.1]]] * 2, want=want, why=far)
    k = np.array([[[1.0, 0], [1, 1]], [[1, 0], [0, 1]]])
    yield case(q=[[[0.0, 0], [800, 0]], [[0, 0], [0, 0]]], k=k, why=far)
    for seed, shape in enumerate([(2, 2), (1, 3), (2, 1, 2), (2, 2, 1), (2, 1, 2, 3), (3, 4)]):
        q, k = integers(seed, (*shape, 4)), integers(seed + 5, (*shape[:-1], 3, 4))
        yield case(q=q, k=k, want=reference.attention_weights(q, k), why="Heads do not mix.")
        yield case(q=q, k=k, whole=True, why="Heads do not mix.")
    for seed, (q_shape, k_shape) in enumerate(
        [
            ((1, 1, 1), (1, 1, 1)),
            ((2, 1, 3), (2, 2, 3)),
            ((2, 3, 2), (2, 1, 2)),
            ((1, 2, 1, 2),) * 2,
        ]
    ):
        q, k = integers(seed + 20, q_shape), integers(seed + 30, k_shape)
        yield case(q=q, k=k, why="An axis may have length 1.")


@exercise(
    "4.7",
    praise="All five faults are gone: the caller's queries, the width of the model, the second "
    "scaling, the one maximum for all rows, and the scaling after the softmax.",
    hints=(
        "Try it on small inputs: one head, then several, then rows whose scores lie far apart. Do "
        "the rows add up to one? Look at q afterwards.",
        "The scores are scaled once. By the width of what? Three lines of the function divide by a "
        "root.",
        "`q /= …` changes the array that the caller still holds. And each row needs a maximum of "
        "its own.",
    ),
    cases=_broken_heads,
    otherwise="Each head is softmax(q kᵀ / √d_k), with the d_k of that head.",
    slips="""
        math.sqrt(width) → math.sqrt(width * q.shape[-3] * width)
            The scores are scaled twice: with one head, both roots are √4.
        return measured_from(scores) → $ / math.sqrt(width)
            The weights are still divided by the root of the width after the softmax.
        math.sqrt(width) → math.sqrt(width * q.shape[-3] * width)
        measured_from(scores) → $ / math.sqrt(width)
            The scores are scaled twice, and the weights once more after the softmax.
        / math.sqrt(width) →
            The scores are not scaled: divide them by the root of the width of a head.
        math.sqrt(width) → math.sqrt(k.shape[-2])
            You divide by the root of the number of keys.
        math.sqrt(width) → math.sqrt(q.shape[-3] * width)
            You divide by the root of the width of the model, all heads together; the scale belongs
            to the width of a head.
        math.sqrt(width) → math.sqrt(width / q.shape[-3])
            The width was divided by the number of heads. The last axis of q has the width of a head
            already.
        math.sqrt(width) → width
            You divided by the width of a head; divide by its root.
        math.sqrt(width) → int($)
            The root of the width was cut to a whole number; it need not be one.
        measured_from(scores) → measured_from(scores, scores.max(axis=-1, keepdims=True), None)
            The weights of all heads together add up to one; those of each query should.
        return measured_from(scores) → $.mean(axis=-3, keepdims=True)
            That is the mean of the heads; each has weights of its own.
        measured_from(scores) → measured_from(scores, scores.max(axis=(-2, -1), keepdims=True))
            One maximum serves all queries of a head. Where the scores of a row lie far below it,
            all its exponentials are 0.
        measured_from(scores) → measured_from(scores, scores.max(axis=-2, keepdims=True))
            The maximum is taken over the queries; it should be taken over the keys.
        measured_from(scores) → measured_from(np.clip(scores, -700, 700), 0.0)
            Scores were cut at 700: two that lie beyond it then count as equal. Subtract the largest
            score of each row.
        return measured_from(scores) → return np.squeeze(measured_from(scores))
            An axis of length one is an axis, and `squeeze` takes it away.
    """,
    mutants=each(lambda weigh, q, k: weigh(scaled_scores(q, k)), SOFTMAX_MUTANTS),
)
def repaired(q: Array, k: Array) -> Array:
    """Attention weights of several heads, scaled once."""
    width = q.shape[-1]
    scores = q @ k.mT / math.sqrt(width)
    return measured_from(scores)


def _normalised_heads() -> Iterator[Case]:
    q, k, gain = np.array([[3.0, 0]]), np.array([[5.0, 0], [0, 3]]), math.log(3)
    want = np.array([[0.75, 0.25]])
    yield case(q=q, k=k, gain=gain, want=want, why="The cosines are 1 and 0.")
    lengths = "Each vector has its own length."
    q2, k2 = np.array([[3.0, 4], [2, 0]]), np.array([[3.0, 4], [0, 5], [10, 0]])
    yield case(q=q2, k=k2, gain=2.0, why=lengths)
    yield case(q=q2, k=k2, gain=2.0, why=lengths, whole=True)
    none = "A zero key has cosine 0 with every query."
    yield case(q=q, k=[[5.0, 0], [0, 0]], gain=gain, want=want, why=none)
    none = "A zero query has cosine 0 with every key, too."
    yield case(q=np.zeros((2, 2)), k=k, gain=gain, why=none)
    short = "Vectors are {} here, and only one of length exactly 0 is special."
    for size in (1e-9, 1e-90, 1e90):
        why = short.format("short" if size < 1 else "long")
        yield case(q=size * q, k=size * k, gain=gain, want=want, why=why)
    want = reference.softmax(2 * reference.pairwise_cosine(q2, k2))
    yield case(q=1e-90 * q2, k=1e90 * k2, gain=2.0, want=want, why=lengths)
    yield case(q=q, k=k, gain=1000.0, want=[[1.0, 0.0]])
    far = "With a large gain the scores of two queries lie far apart; "
    far += "each row needs its own maximum."
    yield case(q=[[1.0, 0], [-1, 0]], k=[[1.0, 0], [3, 4]], gain=1000.0, why=far)
    far = "No cosine is near 1; the largest score of a row lies far below the gain."
    yield case(q=[[1.0, 0], [2, 0]], k=[[-1.0, 0], [-3, 4]], gain=1000.0, why=far)
    for seed, shape in enumerate([(2, 2), (3, 2), (2, 2, 2), (2, 1, 3)]):
        q, k = integers(seed, shape), integers(seed + 8, (*shape[:-2], 3, shape[-1]))
        for gain in 2.0, 0.0:
            yield case(q=q, k=k, gain=gain, why=lengths)
    for seed, (n, m, d) in enumerate([(1, 1, 1), (1, 3, 1), (3, 1, 2), (4, 2, 3)]):
        q, k = integers(seed + 40, (1, n, d)), integers(seed + 50, (1, m, d))
        yield case(q=q, k=k, gain=3.0, why="An axis may have length 1.")


def _divided(x: Array, length: Array) -> Array:
    """`x` over a length; a zero vector stays zero."""
    return np.asarray(x / np.where(length == 0, 1, length))


def _cosines(q: Array, k: Array, of: Callable[[Array], Array]) -> Array:
    """Cosines with something else in the place of the lengths."""
    return np.asarray(_divided(q, of(q)) @ _divided(k, of(k)).mT)


@exercise(
    "4.8",
    praise="Weights that depend on directions and the gain alone: vectors of any length, zero "
    "vectors, gains from zero to a thousand, and batches.",
    hints=(
        "The score is the gain times the cosine of query and key. Nothing else scales it.",
        "Divide each query and each key by its own length, along the last axis. A zero vector has "
        "no direction: by the book's convention its cosines are 0.",
        "Cosines lie between −1 and 1, so the scores lie between −gain and gain. A gain of 1000 "
        "still needs the largest score of a row to be subtracted.",
    ),
    cases=_normalised_heads,
    slips="""
        gain * cosines → cosines
            The gain has no effect. A factor that comes before the division by the length cancels.
        gain * cosines → gain * cosines / math.sqrt(q.shape[-1])
            The scores are divided by √d_k as well; the gain takes the place of the scale.
        gain * cosines → gain**2 * cosines
            The gain came in twice, for the query and for the key; the score takes it once.
        gain * cosines → cosines / gain
            The gain multiplies the cosine; here it divides.
        measured_from(gain * cosines) → gain * measured_from(cosines)
            The gain multiplies the weights; it should multiply the cosines, before the softmax.
        gain * cosines → gain * q @ k.mT
            The dot products are not divided by the lengths of query and key.
        gain * cosines → gain * q @ _divided(k, _lengths(k)).mT
            You divided by the length of the key only.
        gain * cosines → gain * _divided(q, _lengths(q)) @ k.mT
            You divided by the length of the query only.
        _lengths) → lambda x: _lengths(x) ** 2)
            You divided by the squares of the lengths.
        _lengths) → lambda x: _lengths(x) / len(x.T) ** 0.5)
            You divided by the root of the mean square; the length is the root of the sum.
        _lengths) → np.linalg.norm)
            The norm of a whole table was taken; each row has its own length.
        _lengths) → lambda x: _lengths(x.mT).mT)
            The norm runs down the columns. A vector is a row.
        _lengths) → lambda x: abs(x).sum(-1, keepdims=True))
            The sum of magnitudes is not the length; that is the root of the sum of squares.
        _cosines(q, k, _lengths) → q / _lengths(q) @ (k / _lengths(k)).mT
            A zero vector has no direction, and 0/0 is nan. By the book's convention its cosine with
            anything is 0.
        _lengths) → _lengths_or_a_little)
            A length of less than 1e-12 is a length, too. Only a vector of length exactly 0 is
            special.
        _lengths) → lambda x: _lengths(x) + 1e-6)
            A millionth was added to each length, and short vectors feel it. Only a vector of length
            exactly 0 is special.
        _lengths) → lambda x: _lengths(x) + 1e-8)
            A number added to a length is felt by short vectors. Only a vector of length exactly 0
            is special.
        _lengths) → lambda x: _lengths(x) + 1e-12)
            A number added to a length, however small, is felt by short vectors.
        _lengths) → lambda x: np.where(np.isclose(_lengths(x), 0), np.inf, _lengths(x)))
            `isclose` takes a short vector for a zero one. Only a length of exactly 0 is special.
        = measured_from(gain * _cosines_by_squares(q, k))
            The product of two squared lengths leaves the range of a float64: that of 10⁻⁹⁰ and
            10⁻⁹⁰ is 10⁻³⁶⁰. Take the roots first.
        measured_from(gain * cosines) → measured_from(gain * cosines, gain)
            You subtracted the gain, and a row may have no cosine near 1. Subtract the largest score
            of each row.
        _cosines(q, k, _lengths) → np.abs($)
            A cosine may be negative: then the score is as well.
        measured_from(gain * cosines) → cosines
            Those are the cosines; gain and softmax are missing.
        = qk_norm_weights(q, k, max(gain, 1))
            A gain below 1 was made 1; it may be as small as 0.
        = qk_norm_weights(q - q.mean(axis=-1, keepdims=True), k - k.mean(axis=-1, keepdims=True),
        gain)
            The means of the vectors were taken off: that is no cosine any more.
    """,
    mutants=each(lambda weigh, q, k, gain: weigh(gain * _cosines(q, k, _lengths)), SOFTMAX_MUTANTS),
)
def qk_norm_weights(q: Array, k: Array, gain: float) -> Array:
    """Softmax of gain · cosine."""
    cosines = _cosines(q, k, _lengths)
    return measured_from(gain * cosines)


def _cosines_by_squares(q: Array, k: Array) -> Array:
    """Cosines whose denominator is the root of a product of squares."""
    squares = (q * q).sum(axis=-1)[..., :, None] * (k * k).sum(axis=-1)[..., None, :]
    return np.asarray(q @ k.mT / np.sqrt(np.where(squares == 0, np.inf, squares)))


def _lengths_or_a_little(x: Array) -> Array:
    return np.maximum(_lengths(x), 1e-12)


def _lengths(x: Array) -> Array:
    return np.asarray(np.linalg.norm(x, axis=-1, keepdims=True))
