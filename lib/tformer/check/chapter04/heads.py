"""Exercises 4.6 to 4.8: predicted entropy, a scale applied three times, normalised heads."""

from __future__ import annotations

import math

import numpy as np

from tformer import reference
from tformer.check.answer import Answer
from tformer.check.registry import exercise
from tformer.check.samples import integers


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
    log_n = math.log(100)
    mistakes = {
        "You subtracted the whole variance; half of it is lost.": log_n - 4.5,
        "You subtracted ½ whatever the scale. That is right for 1/√d only.": log_n - 0.5,
        "The scale enters the variance as its square.": log_n - 3,
        "The width is missing: the variance of the scores is scale² · d.": log_n - 0.75**2 / 2,
        "You subtracted half of the standard deviation; the variance counts.": log_n
        - math.sqrt(4.5) / 2,
        "That is in bits; the book measures in nats.": (log_n - 2.25) / math.log(2),
        "The logarithm of n is natural; you took the one to base 2.": math.log2(100) - 2.25,
        "Larger scores sharpen the weights: the variance is subtracted.": log_n + 2.25,
    }
    f.expect(log_n - 2.25, mistakes, n=100, d=8, scale=0.75)
    frozen = {
        "An entropy cannot be negative. Beyond σ = √(2 log n) the formula is out of its depth, and "
        "0 is predicted.": math.log(100) - 32
    }
    f.expect(0.0, frozen, n=100, d=64, scale=1.0)
    for n in 2, 1000, 10**6:
        for d in 1, 16, 256:
            for scale in 1.0, 1 / math.sqrt(d), 1 / d:
                want = max(0.0, math.log(n) - scale**2 * d / 2)
                f.expect(want, n=n, d=d, scale=scale)


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
    root = math.sqrt(3)
    once = {
        "The scores are scaled twice: with one head, both roots are √4.": [[[1, root]]]
        / np.array(1 + root),
        "The weights add up to 1/2: they are still divided by √4 after the softmax.": [[[1, 3]]]
        / np.array(8.0),
        "The scores are scaled twice, and the weights once more after the softmax.": [[[1, root]]]
        / np.array(2 + 2 * root),
        "Now the scores are not scaled at all.": [[[0.1, 0.9]]],
    }
    f.expect([[[0.25, 0.75]]], once, q=q, k=k)
    q, k = np.ones((4, 1, 1)), np.tile(np.log([[1.0], [9.0]]), (4, 1, 1))
    width = {
        "There are four heads of width 1. You divide by the root of 4, the width of the model; "
        "the scale belongs to the width of a head.": np.tile([[0.25, 0.75]], (4, 1, 1))
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
    q, k, gain = np.array([[2.0, 0]]), np.array([[5.0, 0], [0, 3]]), math.log(3)
    near = {
        "The gain has no effect. A factor that comes before the division by the length cancels.": (
            [1.0, 0]
        ),
        "The scores are divided by √K as well; the gain takes the place of the scale.": (
            [gain / math.sqrt(2), 0]
        ),
        "The gain came in twice, for the query and for the key; the score takes it once.": (
            [gain**2, 0]
        ),
        "The dot products are not divided by the lengths of query and key.": [10 * gain, 0],
        "You divided by the length of the key only.": [2 * gain, 0],
        "You divided by the length of the query only.": [5 * gain, 0],
        "You divided by the squares of the lengths.": [gain / 10, 0],
    }
    mistakes = {why: reference.softmax(np.array([s], dtype=float)) for why, s in near.items()}
    mistakes["Those are the scores; softmax is missing."] = np.array([[gain, 0]])
    f.expect([[0.75, 0.25]], mistakes, q=q, k=k, gain=gain)
    zero = {
        "A zero vector has no direction, and 0/0 is nan. By the book's convention its cosine with "
        "anything is 0.": [[np.nan, np.nan]]
    }
    why = "A zero key has cosine 0 with every query."
    f.expect([[0.75, 0.25]], zero, why, q=q, k=np.array([[5.0, 0], [0, 0]]), gain=gain)
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
        for gain in 0.0, 2.0:
            want = reference.softmax(gain * reference.pairwise_cosine(q, k))
            f.expect(want, why="Each vector has its own length.", q=q, k=k, gain=gain)
