"""The claims of chapter 3, queries, keys and values: three circuits that say who *it* is."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tformer_book.claims.registry import claim, require
from tformer_book.claims.tools import Array, near, show
from tformer_book.world import lexicon
from tformer_book.world.circuits import ANSWER, NOUNS, answer, named, veto, veto_head

PAIRS = tuple(zip(*[iter(lexicon.SENTENCES)] * 2, strict=True))


def _places(sentence: str) -> list[int]:
    """Return the places of the two nouns and of the last word."""
    tokens = lexicon.tokenise(sentence)
    return [i for i, token in enumerate(tokens) if token in NOUNS] + [len(tokens) - 1]


def _right(sentence: str) -> int:
    """Return which of the two nouns *it* stands for, 0 or 1."""
    tokens = lexicon.tokenise(sentence)
    return [tokens[i] for i in _places(sentence)].index(lexicon.SENTENCES[sentence])


@claim(
    "exm-answer-by-votes",
    "exhaustive",
    mutants={
        "the adjective does not vote": {"votes": 0.0},
        "the adjective is not looked at": {"heard": 0.0},
    },
    scope="all six sentences",
)
def answer_by_votes(votes: float = 1.0, heard: float = 1.0) -> str:
    """Beyond the statement, what carries the answer: an exchange of the adjectives' values turns
    it, an exchange of their keys does nothing.
    """
    adjective = lexicon.FEATURES.index("adjective")
    w_k, w_v = ANSWER.w_k.copy(), ANSWER.w_v.copy()
    w_k[adjective] *= heard
    w_v[[lexicon.FEATURES.index(f"says {kind}") for kind in lexicon.KINDS]] *= votes
    require({*np.unique(ANSWER.w_v)} == {0, 36}, f"votes are {show(np.unique(ANSWER.w_v))}")
    head, sure = replace(ANSWER, w_k=w_k, w_v=w_v), 1.0
    for sentence, noun in lexicon.SENTENCES.items():
        a, p = answer(sentence, head)
        row = a[_places(sentence)]
        sure = min(sure, p[NOUNS.index(noun)])
        given = f"{noun} gets {p[NOUNS.index(noun)]:.4f} in “{sentence}”"
        require(p[NOUNS.index(noun)] > 0.9999, given)
        require(near(row, 1 / 3, 1e-6), f"the weights are {show(row)} in “{sentence}”")
    for one, other in PAIRS:
        swapped = _answer_with(one, other)
        require(NOUNS[int(swapped.argmax())] == lexicon.SENTENCES[other], "values do not turn it")
    return (
        f"all six sentences, the right noun above {sure:.4f} of {len(NOUNS)}; the weights of both "
        "nouns and of the adjective 1/3 within 1e-6 in each; the other adjective's value in place "
        "of its own turns the answer"
    )


def _answer_with(sentence: str, other: str) -> Array:
    """Return the logits if the last word keeps its key and hands over the other's value."""
    a, _ = answer(sentence)
    v = named(lexicon.tokenise(sentence)) @ ANSWER.w_v
    v[-1] = (named(lexicon.tokenise(other)) @ ANSWER.w_v)[-1]
    return a @ v


@claim(
    "exm-veto",
    "exhaustive",
    mutants={
        "nobody draws the weight away": {"other": 0.0},
        "an adjective of two kinds is not held back": {"own": 0.0},
    },
    scope="all six sentences",
)
def veto_layer(other: float = 16.0, own: float = -40.0) -> str:
    """All six sentences; beyond the statement, no head changes its ratio of the two nouns."""
    heads = {kind: veto_head(kind, other=other, own=own) for kind in lexicon.KINDS}
    for sentence, noun in lexicon.SENTENCES.items():
        mean = veto(sentence, heads).mean(axis=0)[_places(sentence)]
        right = _right(sentence)
        numbers = f"mean weights {show(mean)} in “{sentence}”, where it is the {noun}"
        require(mean[right] > 10 * mean[1 - right], numbers)
    mean = [veto(sentence, heads).mean(axis=0)[_places(sentence)] for sentence in PAIRS[0]]
    require(near(mean[0], (0.166, 0.0001, 0.833), 5e-4), f"tired: {show(mean[0])}")
    require(near(mean[1], (0.015, 0.181, 0.667), 5e-4), f"wide: {show(mean[1])}")
    ratios = []
    for one, another in PAIRS:
        rows = [veto(x, heads)[:, _places(x)] for x in (one, another)]
        ratios.append([row[:, 0] / row[:, 1] for row in rows])
    for before, after in ratios:
        require(np.allclose(before, after, rtol=1e-9), "a head has changed its ratio")
    return (
        "all six sentences, the right noun more than ten times the other in the mean of six; the "
        "printed weights within 0.0005; each head's ratio of the two nouns the same in both "
        "sentences of a pair within 1e-9"
    )


@claim(
    "exm-change-of-query",
    "exhaustive",
    mutants={
        "without the first layer": {"first": 1},
        "the first layer asks less firmly": {"asks": 0.5},
    },
    scope="all six sentences",
)
def change_of_query(first: int = 0, asks: float = 1.0) -> str:
    """All six sentences; beyond the statement, layer 1 does not tell the nouns apart."""
    for sentence, noun in lexicon.SENTENCES.items():
        reading = _reading(sentence, first, asks)
        row = reading[:, lexicon.tokenise(sentence).index("it")][:, _places(sentence)]
        right = _right(sentence)
        numbers = f"weights {show(row[-1])} in “{sentence}”, where it is the {noun}"
        require(row[-1, right] > 6 * row[-1, 1 - right], numbers)
        require(row[0, 2] > 0.8, f"the adjective gets {row[0, 2]:.3f} in layer 1")
        require(near(row[0, 0], row[0, 1]), f"layer 1 prefers a noun: {show(row[0])}")
    tired, wide = (_reading(sentence, first, asks)[:, 8] for sentence in PAIRS[0])
    seen = (tired[0, 11], tired[1, 1], tired[1, 6], wide[0, 11], wide[1, 1], wide[1, 6])
    printed = (0.832, 0.764, 0.116, 0.832, 0.116, 0.764)
    require(near(seen, printed, 5e-4), f"{show(seen)}, not {show(printed)}")
    return (
        "all six sentences, the right noun more than six times the other in layer 2, both alike in "
        "layer 1; the printed weights within 0.0005"
    )


def _reading(sentence: str, first: int, asks: float) -> Array:
    """Return the weights of both layers; `first` and `asks` break the circuit."""
    gather, resolve = lexicon.LAYERS
    asking = replace(gather, w_q=asks * gather.w_q)
    both = lexicon.read(sentence, (asking, resolve)).weights
    if first:
        return np.concatenate([both[:1], lexicon.read(sentence, (resolve,)).weights])
    return both
