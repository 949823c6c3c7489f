"""Exercises 4.6 to 4.8: predicted entropy, a scale applied three times, normalised heads."""

from __future__ import annotations

import math

import numpy as np

from tformer import reference
from tformer.exercises.answer import Answer
from tformer.exercises.registry import exercise
from tformer.exercises.samples import integers


@exercise(
    "4.6",
    praise="Checked for the three scales at several widths, with nothing below zero where the "
    "weights freeze.",
    hints=(
        "The theorem needs the variance of the scores. What is it for standard normal coordinates "
        "and a given scale?",
        "The entropy is log n minus half of that variance, as long as the result makes sense.",
        "An entropy is never negative. Where the formula falls below 0, the weights freeze on a "
        "few keys, and the best prediction is 0.",
    ),
)
def expected_entropy(f: Answer) -> None:
    """max(0, log n − scale² d / 2)."""
    why = "Here log n is 4.605, and the scaled scores have the variance 4.5."
    f.expect(_LOG_N - 2.25, _WRONG_ENTROPIES, why, n=100, d=8, scale=0.75)
    frozen = {
        "An entropy cannot be negative. Beyond σ = √(2 log n) the formula is out of its depth, and "
        "0 is predicted.": _LOG_N - 32,
        "Leaving out the sign does not help. Where the formula falls below 0, 0 is predicted.": (
            32 - _LOG_N
        ),
    }
    f.expect(0.0, frozen, n=100, d=64, scale=1.0)
    for n in 2, 1000, 10**6:
        for d in 1, 16, 256:
            for scale in 1.0, 1 / math.sqrt(d), 1 / d:
                want = max(0.0, math.log(n) - scale**2 * d / 2)
                f.expect(want, n=n, d=d, scale=scale)


_LOG_N = math.log(100)
_WRONG_ENTROPIES = {  # for a hundred keys of width 8 and the scale 0.75
    "You subtracted the whole variance; half of it is lost.": _LOG_N - 4.5,
    "You subtracted ½ whatever the scale. That is right for 1/√d only.": _LOG_N - 0.5,
    "The scale enters the variance as its square.": _LOG_N - 3,
    "The width is missing: the variance of the scores is scale² · d.": _LOG_N - 0.75**2 / 2,
    "The wider the vectors, the larger the variance: it is scale² · d.": _LOG_N - 0.75**2 / 16,
    "Half of the variance is less than log n here, so that there is nothing to cut off.": 0.0,
    "You subtracted half of the standard deviation; the variance counts.": (
        _LOG_N - math.sqrt(4.5) / 2
    ),
    "That is in bits; the book measures in nats.": (_LOG_N - 2.25) / math.log(2),
    "The logarithm of n is natural; you took the one to base 2.": math.log2(100) - 2.25,
    "Larger scores sharpen the weights: the variance is subtracted.": _LOG_N + 2.25,
    "That is n minus half of the variance; take the logarithm of n.": 97.75,
    "That is the number of keys that are really looked at; its logarithm is not the entropy.": (
        100 * math.exp(-4.5)
    ),
}


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
)
def repaired(f: Answer) -> None:
    """Attention weights of several heads, scaled once."""
    q, k = np.zeros((1, 1, 4)), np.zeros((1, 2, 4))
    q[0, 0, 0], k[0, 1, 0] = 2, math.log(3)
    f.expect([[[0.25, 0.75]]], _WRONG_REPAIRS, "The scaled scores are 0 and log 3.", q=q, k=k)
    q, k = np.ones((4, 1, 1)), np.tile(np.log([[1.0], [9.0]]), (4, 1, 1))
    width = {
        "There are four heads of width 1. You divide by the root of 4, the width of the model; "
        "the scale belongs to the width of a head.": np.tile([[0.25, 0.75]], (4, 1, 1)),
        "A width of 1 was divided by the 4 heads. The last axis of q has the width of a head "
        "already.": np.full((4, 1, 2), np.nan),
        "The weights of all heads together add up to one; those of each query should.": (
            np.tile([[0.025, 0.225]], (4, 1, 1))
        ),
        "That is the mean of the heads; each has weights of its own.": [[[0.1, 0.9]]],
    }
    f.expect(np.tile([[0.1, 0.9]], (4, 1, 1)), width, "Heads have width 1 here.", q=q, k=k)
    far = "The scores of the two queries lie 1000 apart, and each row needs a maximum of its own."
    over = {"exp(1000) is more than a float64 can hold: keep the shift.": [[[np.nan]], [[1]]]}
    q = np.array([[[1000.0]], [[0]]])
    f.expect(np.ones((2, 1, 1)), over, far, q=q, k=np.ones((2, 1, 1)))
    for seed in range(4):
        shape = ((2, 2), (1, 3), (2, 1, 2), (2, 2, 1))[seed]
        q, k = integers(seed, (*shape, 4)), integers(seed + 5, (*shape[:-1], 3, 4))
        f.expect(reference.attention_weights(q, k), why="Heads do not mix.", q=q, k=k)


_R3 = math.sqrt(3)
_WRONG_REPAIRS = {  # one head; the scores 0 and 2 log 3 are to be halved
    "The scores are scaled twice: with one head, both roots are √4.": [
        [[1 / (1 + _R3), _R3 / (1 + _R3)]]
    ],
    "The weights add up to 1/2: they are still divided by √4 after the softmax.": [
        [[1 / 8, 3 / 8]]
    ],
    "The scores are scaled twice, and the weights once more after the softmax.": [
        [[0.5 / (1 + _R3), 0.5 * _R3 / (1 + _R3)]]
    ],
    "The scores are not scaled: the width is 4 here, so divide them by 2.": [[[0.1, 0.9]]],
    "You divide by the root of 2, the number of keys.": [
        [[1 / (1 + 3**2**0.5), 3**2**0.5 / (1 + 3**2**0.5)]]
    ],
    "Each weight is 1, as if the sum ran over the queries, of which there is one. It should run "
    "over the keys.": [[[1.0, 1.0]]],
    "The weights are equal, as if all scores were 0. A maximum over the queries leaves them so; it "
    "should run over the keys.": [[[0.5, 0.5]]],
}


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
)
def qk_norm_weights(f: Answer) -> None:
    """Softmax of gain · cosine."""
    q, k, gain = np.array([[3.0, 0]]), np.array([[5.0, 0], [0, 3]]), math.log(3)
    why = "The cosines are 1 and 0."
    f.expect([[0.75, 0.25]], _WRONG_NORMS, why, q=q, k=k, gain=gain)
    _expect_lengths(f, np.array([[3.0, 4], [2, 0]]), np.array([[3.0, 4], [0, 5], [10, 0]]), 2.0)
    zero = {
        "A zero vector has no direction, and 0/0 is nan. By the book's convention its cosine with "
        "anything is 0.": [[np.nan, np.nan]]
    }
    none = "A zero key has cosine 0 with every query."
    f.expect([[0.75, 0.25]], zero, none, q=q, k=np.array([[5.0, 0], [0, 0]]), gain=gain)
    short = (
        "A number added to a length is felt by short vectors. Only a vector of length exactly 0 "
        "is special."
    )
    f.expect([[0.75, 0.25]], why=short, q=1e-9 * q, k=1e-9 * k, gain=gain)
    over = {"exp(1000) is more than a float64 can hold: subtract the largest score.": [[np.nan, 0]]}
    f.expect([[1.0, 0.0]], over, q=q, k=k, gain=1000.0)
    for seed in range(4):
        shape = ((2, 2), (3, 2), (2, 2, 2), (2, 1, 3))[seed]
        q, k = integers(seed, shape), integers(seed + 8, (*shape[:-2], 3, shape[-1]))
        for gain in 2.0, 0.0:
            _expect_lengths(f, q, k, gain)


def _weights(score: float) -> np.ndarray:
    """Weights of two keys of which the second has the score 0."""
    return reference.softmax(np.array([[score, 0.0]]))


_GAIN = math.log(3)
_WRONG_NORMS = {  # lengths 3 for the query, 5 and 3 for the keys, cosines 1 and 0
    "The gain has no effect. A factor that comes before the division by the length cancels.": (
        _weights(1)
    ),
    "The scores are divided by √K as well; the gain takes the place of the scale.": (
        _weights(_GAIN / math.sqrt(2))
    ),
    "The gain came in twice, for the query and for the key; the score takes it once.": (
        _weights(_GAIN**2)
    ),
    "The gain multiplies the cosine; here it divides.": _weights(1 / _GAIN),
    "The gain multiplies the weights; it should multiply the cosines, before the softmax.": (
        _GAIN * _weights(1)
    ),
    "The dot products are not divided by the lengths of query and key.": _weights(15 * _GAIN),
    "You divided by the length of the key only.": _weights(3 * _GAIN),
    "You divided by the length of the query only.": _weights(5 * _GAIN),
    "You divided by the squares of the lengths.": _weights(_GAIN / 15),
    "You divided by the root of the mean square; the length is the root of the sum.": (
        _weights(2 * _GAIN)
    ),
    "The norm of the whole table of keys was taken, √34; each row has its own length.": (
        _weights(_GAIN * 5 / math.sqrt(34))
    ),
    "The softmax runs down the columns; it should run over the keys.": [[1.0, 1.0]],
    "Those are the scores; softmax is missing.": [[_GAIN, 0]],
    "Those are the cosines; gain and softmax are missing.": [[1.0, 0]],
}


def _expect_lengths(f: Answer, q: np.ndarray, k: np.ndarray, gain: float) -> None:
    """Weights that are wrong if the lengths are."""
    with np.errstate(all="ignore"):
        wrong = {
            why: reference.softmax(gain * (q / of_q) @ (k / of_k).mT)
            for why, (of_q, of_k) in _wrong_lengths(q, k).items()
        }
    want = reference.softmax(gain * reference.pairwise_cosine(q, k))
    f.expect(want, wrong, "Each vector has its own length.", q=q, k=k, gain=gain)


def _wrong_lengths(q: np.ndarray, k: np.ndarray) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    return {
        "The norm of a whole table was taken; each row has its own length.": (
            np.sqrt((q**2).sum()),
            np.sqrt((k**2).sum()),
        ),
        "The norm runs down the columns. A vector is a row.": (
            np.sqrt((q**2).sum(-2, keepdims=True)),
            np.sqrt((k**2).sum(-2, keepdims=True)),
        ),
        "The sum of magnitudes is not the length; that is the root of the sum of squares.": (
            np.abs(q).sum(-1, keepdims=True),
            np.abs(k).sum(-1, keepdims=True),
        ),
    }
