"""Exercises 5.9 and 5.10: a thousand questions in one pass, the newest words ask."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from tformer import reference
from tformer.exercises.registry import exercise
from tformer.exercises.samples import integers
from tformer.exercises.scales import SCALE_MUTANTS
from tformer.exercises.softmaxes import SOFTMAX_MUTANTS, measured_from, scaled_scores
from tformer.exercises.table import Case, case, each

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
    for shape, n_words in (((3,), 3), ((5,), 2), ((2, 4), 3), ((2, 3, 2), 5), ((3, 6), 6)):
        yield case(
            logits=rng.normal(size=(*shape, n_words)).round(1),
            words=rng.integers(n_words, size=shape),
        )
    yield case(logits=integers(7, (4, 3)), words=np.array([2, 0, 1, 1]), whole=True)
    yield case(logits=1000 * integers(8, (4, 3)), words=np.array([0, 2, 2, 1]))
    yield case(
        logits=np.array([[0.0, -5000], [3000, 0]]),
        words=np.array([0, 1]),
        want=-5000.0,
        why="The weight of word 1 is too small for a float64, but its logarithm is not.",
    )


def _log_p(logits: Array) -> Array:
    return reference.log_softmax(logits)


def _at(rows: Array, words: Array) -> Array:
    return np.take_along_axis(rows, words[..., None], axis=-1)[..., 0]


def _scored(
    weigh: Callable[[Array], Array] = _log_p, total: Callable[..., Any] = np.sum
) -> Callable[[Array, Array], Any]:
    return lambda logits, words: total(_at(weigh(logits[..., :-1, :]), words[..., 1:]), axis=-1)


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
    mutants={
        "Row t was asked for word t, which it has seen: it speaks of word t + 1.": (
            lambda logits, words: _at(_log_p(logits), words).sum(axis=-1)
        ),
        "Row t + 1 was asked for word t. It has seen that word, and the next one as well.": (
            lambda logits, words: _at(_log_p(logits[..., 1:, :]), words[..., :-1]).sum(axis=-1)
        ),
        "That is the probability; its logarithm is asked for.": lambda logits, words: np.exp(
            _scored()(logits, words)
        ),
        "Logarithms of chances are added up, not averaged.": _scored(total=np.mean),
        "That is minus the logarithm.": lambda logits, words: -_scored()(logits, words),
        "The logits were added up; a softmax makes chances of them first.": _scored(lambda z: z),
        "The logarithm of a softmax that underflows is −∞: take the logarithm on paper.": _scored(
            lambda z: np.log(measured_from(z))
        ),
        "exp of a logit in the thousands is more than a float64 can hold.": _scored(
            lambda z: z - np.log(np.exp(z).sum(axis=-1, keepdims=True))
        ),
        "The softmax runs over the words of the vocabulary, along the last axis.": _scored(
            lambda z: z - reference.logsumexp(z.mT)[..., None, :]
        ),
        "All texts were added up; each has its own logarithm.": lambda logits, words: _scored()(
            logits, words
        ).sum(),
        "The first text word is given; the first factor belongs to word 1.": (
            lambda logits, words: _at(_log_p(logits), np.roll(words, -1, axis=-1)).sum(axis=-1)
        ),
    },
    otherwise="Row t speaks of word t + 1.",
)
def log_probability(logits: Array, words: Array) -> Any:
    """Log-probability of each text given its first word."""
    return _scored()(logits, words)


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
    far = np.array([[2000.0], [1.0], [0.0], [3000.0]])
    yield case(q=np.array([[1.0], [1.0]]), k=far, v=np.eye(4))
    low = np.array([[-3000.0], [-3001.0], [-2999.0]])
    yield case(q=np.array([[1.0], [1.0]]), k=low, v=np.eye(3))
    whole = integers(60, (2, 2)), integers(61, (3, 2)), integers(62, (3, 2))
    yield case(q=whole[0], k=whole[1], v=whole[2], whole=True)


def _hidden(scores: Array, offset: int | None = None, fill: float = -np.inf) -> Array:
    n, m = scores.shape[-2:]
    return np.where(np.tri(n, m, m - n if offset is None else offset, dtype=bool), scores, fill)


def _with(weigh: Callable[[Array], Array]) -> Callable[[Array, Array, Array], Array]:
    return lambda q, k, v: weigh(scaled_scores(q, k)) @ v


def _late(scores: Array) -> Array:
    return reference.softmax(scores) * (_hidden(scores) > -np.inf)


@exercise(
    "5.10",
    praise="Checked with one new word and with several, without any earlier words, on stacks, and "
    "on scores in the thousands.",
    hints=(
        "Where in the text does the last query stand, and which keys may it look at?",
        "Query t stands at place S − T + t.",
        "The mask is a triangle in the lower right corner: np.tri takes the diagonal as its third "
        "argument.",
    ),
    cases=_caches,
    mutants={
        "The triangle sits in the upper left corner: the first query was taken for the first word "
        "of the text.": _with(lambda s: reference.softmax(_hidden(s, 0))),
        "No key is hidden.": _with(reference.softmax),
        "The new words cannot see themselves: the edge of the triangle is off by one.": _with(
            lambda s: reference.softmax(_hidden(s, s.shape[-1] - s.shape[-2] - 1))
        ),
        "Each new word sees the one after it: the edge of the triangle is off by one.": _with(
            lambda s: reference.softmax(_hidden(s, s.shape[-1] - s.shape[-2] + 1))
        ),
        "You masked after the softmax: the hidden keys still took their share of the sum.": _with(
            _late
        ),
        "Only the new words are seen; the earlier ones are in the cache.": _with(
            lambda s: reference.softmax(
                np.where(np.arange(s.shape[-1]) >= s.shape[-1] - s.shape[-2], _hidden(s), -np.inf)
            )
        ),
        "A finite number stands in the place of −∞, and visible scores lie below it: then the "
        "hidden key takes the weight.": _with(
            lambda s: reference.softmax(_hidden(s, fill=-1000.0))
        ),
        "A finite number is added in the place of −∞, and a hidden score leads by as much: its key "
        "keeps weight.": _with(
            lambda s: reference.softmax(s + np.where(_hidden(s) > -np.inf, 0, -1000.0))
        ),
        "A score of 0 is not hidden: exp(0) = 1.": _with(
            lambda s: reference.softmax(_hidden(s, fill=0.0))
        ),
    }
    | each(lambda weigh, q, k, v: weigh(_hidden(scaled_scores(q, k))) @ v, SOFTMAX_MUTANTS)
    | each(
        lambda scale, q, k, v: reference.softmax(_hidden(scale(q, k) * (q @ k.mT))) @ v,
        SCALE_MUTANTS,
    ),
    otherwise="Query t stands at place S − T + t and sees the keys up to there.",
)
def newest(q: Array, k: Array, v: Array) -> Array:
    """Causal attention of the last words of a text."""
    return reference.causal_attention(q, k, v, offset=k.shape[-2] - q.shape[-2])
