"""Exercises 5.9 and 5.10: a thousand questions in one pass, the newest words ask."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tformer import reference
from tformer_book.exercises.registry import exercise
from tformer_book.exercises.samples import integers
from tformer_book.exercises.scales import SCALE_MUTANTS
from tformer_book.exercises.softmaxes import SOFTMAX_MUTANTS, measured_from, scaled_scores
from tformer_book.exercises.table import Case, case, each

Array = np.ndarray


def _texts() -> Iterator[Case]:
    yield case(
        logits=np.log(np.array([[3.0, 1], [1, 1], [1, 9]])),
        words=np.array([0, 0, 1]),
        want=np.log(3 / 8),
        why="Word 1 is 0, with 3/4; word 2 is 1, with 1/2. The last row is not asked.",
    )
    yield case(logits=np.zeros((2, 4)), words=np.array([3, 1]), want=np.log(0.25))
    rng = np.random.default_rng(0)
    for shape, n_tokens in (((3,), 3), ((5,), 2), ((2, 4), 3), ((2, 3, 2), 5), ((3, 6), 6)):
        yield case(
            logits=rng.normal(size=(*shape, n_tokens)).round(1),
            words=rng.integers(n_tokens, size=shape),
        )
    yield case(logits=integers(7, (4, 3)), words=np.array([2, 0, 1, 1]), whole=True)
    far = "Logits may lie thousands apart, and so may logarithms of probabilities and 0."
    yield case(logits=1000 * integers(8, (4, 3)), words=np.array([0, 2, 2, 1]), why=far)
    yield case(
        logits=np.array([[0.0, -5000], [3000, 0]]),
        words=np.array([0, 1]),
        want=-5000.0,
        why="The weight of word 1 is too small for a float64, but its logarithm is not.",
    )


def _floored(logits: Array) -> Array:
    return np.log(np.maximum(measured_from(logits), 1e-300))


def _with_a_little(logits: Array) -> Array:
    return np.log(measured_from(logits) + 1e-12)


def _cut_off(logits: Array) -> Array:
    return np.maximum(reference.log_softmax(logits.astype(float)), -745.0)


def _naive(logits: Array) -> Array:
    return np.asarray(logits - np.log(np.exp(logits).sum(axis=-1, keepdims=True)))


def _down(logits: Array) -> Array:
    return np.asarray(logits - reference.logsumexp(logits.mT)[..., None, :])


@exercise(
    "5.9",
    praise="Checked on texts of two words and more, on stacks of texts, and on logits thousands "
    "apart.",
    hints=(
        "Which row has seen word 0 only, and of which word does it speak?",
        "Row t speaks of word t + 1: the last row and the first word have no partner.",
        "Take the log-softmax of the logits first, choose an entry in each row, and add.",
    ),
    cases=_texts,
    slips="""
        logits[..., :-1, :] → logits ;; words[..., 1:, None] → words[..., None]
            Row t was asked for word t, which it has seen: it speaks of word t + 1.
        :-1, : → 1:, : ;; words[..., 1:, None] → words[..., :-1, None]
            Row t + 1 was asked for word t. It has seen that word, and the next one as well.
        logits[..., :-1, :] → logits[..., 1:, :]
            Row t was asked for word t, and the first row for none. Row t has seen that word.
        chosen.sum(axis=-1) → np.exp($)
            That is the probability; its logarithm is asked for.
        .sum(axis=-1) → .mean(axis=-1)
            Logarithms of chances are added up, not averaged.
        chosen.sum(axis=-1) → -$
            That is minus the logarithm.
        .sum(axis=-1) →
            The logarithms of the chances are not added up yet: each text has one.
        reference.log_softmax →
            The logits were added up; a softmax makes chances of them first.
        reference.log_softmax(logits[..., :-1, :]) → np.log(measured_from(logits[..., :-1, :]))
            The logarithm of a softmax that underflows is −∞: take the logarithm on paper.
        reference.log_softmax → _floored
            Small chances were replaced by a larger number before the logarithm: it may be any
            number below 0.
        reference.log_softmax → _with_a_little
            A small number was added to the chances before the logarithm; they may be far smaller.
        reference.log_softmax → _cut_off
            Logarithms below −745 were cut off: that is the least exponent of a float64, and no
            logarithm is raised here.
        reference.log_softmax → _naive
            exp of a logit in the thousands is more than a float64 can hold.
        reference.log_softmax → _down
            The softmax runs over the words of the vocabulary, along the last axis.
        reference.log_softmax(logits[..., :-1, :]) → _down(logits)[..., :-1, :]
            The softmax ran along the text. It runs over the vocabulary, along the last axis.
        .sum(axis=-1) → .sum()
            All texts were added up; each has its own logarithm.
        logits[..., :-1, :] → logits
        words[..., 1:, None] → np.roll(words, -1, axis=-1)[..., None]
            The first text word is given; the first factor belongs to word 1.
        = log_probability(logits[..., 1:, :], words[..., 1:]) if words.shape[-1] > 2 else 0 *
        log_probability(logits, words)
            Word 1 is left out; only word 0 is given.
    """,
    otherwise="Row t speaks of word t + 1.",
)
def log_probability(logits: Array, words: Array) -> Any:
    """Log-probability of each text given its first word."""
    rows = reference.log_softmax(logits[..., :-1, :])
    chosen = np.take_along_axis(rows, words[..., 1:, None], axis=-1)[..., 0]
    return chosen.sum(axis=-1)


LEAST = float(np.finfo(float).min)
_FILLS = {  # what programs put in the place of −∞, in words
    "−10³": -1e3,
    "−10⁴": -1e4,
    "−10⁵": -1e5,
    "−10⁶": -1e6,
    "−10⁸": -1e8,
    "−10⁹": -1e9,
    "−10¹⁰": -1e10,
    "−10¹²": -1e12,
    "−10³⁰": -1e30,
    "the least float64": LEAST,
}
_IN_PLACE = (
    "A finite number, {}, stands in the place of −∞, and visible scores lie as low: then the "
    "hidden key takes weight."
)
_ADDED = (
    "A finite number, {}, is added in the place of −∞, and a hidden score leads by as much: its "
    "key keeps weight."
)


def _caches() -> Iterator[Case]:
    yield case(
        q=np.array([[0.0]]),
        k=np.array([[0.0], [0.0]]),
        v=np.array([[2.0], [4.0]]),
        want=[[3.0]],
        why="The one new word is the last of two, and sees both.",
    )
    yield case(
        q=np.zeros((2, 1)),
        k=np.zeros((3, 1)),
        v=np.array([[3.0], [5.0], [7.0]]),
        want=[[4.0], [5.0]],
        why="The first query is word 2 of three and sees two values, the second sees all.",
    )
    for seed, (shape, n, m, d_k, d_v) in enumerate(
        [((), 3, 3, 2, 1), ((), 2, 5, 4, 3), ((), 1, 4, 1, 2), ((2,), 2, 3, 3, 2), ((), 3, 7, 2, 4)]
    ):
        q, k = integers(seed, (*shape, n, d_k)), integers(seed + 9, (*shape, m, d_k))
        yield case(q=q, k=k, v=integers(seed + 19, (*shape, m, d_v)))
    stack = integers(40, (2, 3, 2, 2)), integers(41, (2, 3, 4, 2)), integers(42, (2, 3, 4, 1))
    yield case(q=stack[0], k=stack[1], v=stack[2])
    q, k = 60 * integers(50, (2, 3)), 60 * integers(51, (4, 3))
    yield case(q=q, k=k, v=integers(52, (4, 2)))
    high = np.array([[1000.0], [999.0], [998.0]])
    yield case(q=np.array([[1.0], [-1.0]]), k=high, v=np.eye(3))
    far = np.array([[2000.0], [1.0], [0.0], [3000.0]])
    yield case(q=np.array([[1.0], [1.0]]), k=far, v=np.eye(4))
    low = np.array([[-3000.0], [-3001.0], [-2999.0]])
    yield case(q=np.array([[1.0], [1.0]]), k=low, v=np.eye(3))
    q, v = np.ones((2, 1)), np.array([[3.0], [5.0], [7.0]])
    for fill in _FILLS.values():
        size = max(3 * fill, LEAST)
        said = f"two queries of 1, three keys of {size:g}, and v = (3, 5, 7) as a column"
        alike = "All scores are equal, and very low."
        yield case(q=q, k=np.full((3, 1), size), v=v, want=[[4.0], [5.0]], why=alike, said=said)
        k = np.array([[0.0], [0.0], [-size]])
        lead = "The hidden score of the first query is far larger than the others."
        yield case(q=q, k=k, v=v, want=[[4.0], [7.0]], why=lead)
    whole = integers(60, (2, 2)), integers(61, (3, 2)), integers(62, (3, 2))
    yield case(q=whole[0], k=whole[1], v=whole[2], whole=True)


@exercise(
    "5.10",
    praise="Checked with one new word and with several, without any earlier words, on stacks, and "
    "on scores in the thousands.",
    hints=(
        "Where in the text does the last query stand, and which keys may it attend to?",
        "Query t stands at place S − T + t.",
        "The mask is a triangle in the lower right corner: np.tri takes the diagonal as its third "
        "argument.",
    ),
    cases=_caches,
    slips="""
        m - n, dtype → 0, dtype
            The triangle sits in the upper left corner: the first query was taken for the first word
            of the text.
        np.where(mask, scores, -np.inf) → scores
            No key is hidden.
        m - n, dtype → m - n - 1, dtype
            The new words cannot see themselves: the edge of the triangle is off by one.
        m - n, dtype → m - n + 1, dtype
            Each new word sees the one after it: the edge of the triangle is off by one.
        np.where(mask, scores, -np.inf) → scores ;; reference.softmax(seen) → $ * mask
            You masked after the softmax: the hidden keys still took their share of the sum.
        np.tri(n, m, m - n, dtype=bool) → ~np.tri(n, m, m - n - 1, dtype=bool)
            The mask is reversed: a new word sees itself and what comes after it.
        mask, scores → mask & (np.arange(m) >= m - n), scores
            Only the new words are seen; the earlier ones are in the cache.
        -np.inf → 0.0
            A score of 0 is not hidden: exp(0) = 1.
        reference.softmax(seen) → measured_from(seen, scores.max(axis=-1, keepdims=True))
            The maximum was taken over hidden scores too, and a large one leaves every visible
            exponential at 0.
        scaled_scores(q, k) → q @ k.mT / v.shape[-1] ** 0.5
            You divided by the root of the width of the values. The scale belongs to the queries.
    """,
    mutants=each(
        lambda weigh, q, k, v: weigh(_seen(scaled_scores(q, k))) @ v,
        SOFTMAX_MUTANTS,
    )
    | each(
        lambda scale, q, k, v: reference.softmax(_seen(scale(q, k) * (q @ k.mT))) @ v,
        SCALE_MUTANTS,
    )
    | each(
        lambda fill, q, k, v: reference.softmax(_seen(scaled_scores(q, k), fill)) @ v,
        {_IN_PLACE.format(words): fill for words, fill in _FILLS.items()},
    )
    | each(
        lambda fill, q, k, v: reference.softmax(_added(scaled_scores(q, k), fill)) @ v,
        {_ADDED.format(words): fill for words, fill in _FILLS.items()},
    ),
    otherwise="Query t stands at place S − T + t and sees the keys up to there.",
)
def newest(q: Array, k: Array, v: Array) -> Array:
    """Causal attention of the last words of a text."""
    scores = scaled_scores(q, k)
    n, m = scores.shape[-2:]
    mask = np.tri(n, m, m - n, dtype=bool)
    seen = np.where(mask, scores, -np.inf)
    return np.asarray(reference.softmax(seen) @ v)


def _seen(scores: Array, fill: float = -np.inf) -> Array:
    n, m = scores.shape[-2:]
    return np.where(np.tri(n, m, m - n, dtype=bool), scores, fill)


def _added(scores: Array, fill: float) -> Array:
    return scores + _seen(np.zeros_like(scores), fill)
