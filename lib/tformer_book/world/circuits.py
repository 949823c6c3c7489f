"""Heads made by hand that tell what *it* stands for, each in its own way.

One head *answers*: it looks at both nouns and at the adjective, always alike, and their values
vote. Six heads of one layer *veto*: each prefers nouns of one kind, and is silenced by an adjective
that speaks of others. Two layers change the query; they are `tformer_book.world.lexicon.LAYERS`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from tformer import reference as ref
from tformer_book.world.lexicon import FEATURES, KINDS, WORDS, embed, tokenise

__all__ = ["ANSWER", "NOUNS", "VETO", "Head", "answer", "kinds_of", "named", "veto", "veto_head"]

NOUNS = tuple(word for word, features in WORDS.items() if "noun" in features)
"""The nouns of the lexicon: what an answer may be."""

ROWS = FEATURES + NOUNS
"""The rows of the matrices of `ANSWER`: features, then a column of its own for each noun."""


@dataclass(frozen=True, eq=False)
class Head:
    """The three matrices of a head, of shapes (d_model, d_k), (d_model, d_k), (d_model, d_v)."""

    w_q: np.ndarray
    w_k: np.ndarray
    w_v: np.ndarray


def kinds_of(word: str, verb: str = "is") -> tuple[str, ...]:
    """Return the kinds that a noun *is*, or that an adjective *says*."""
    return tuple(kind for kind in KINDS if f"{verb} {kind}" in WORDS[word])


def named(tokens: tuple[str, ...]) -> np.ndarray:
    """Return the (T, d_model) embeddings of some words with a further column for each noun."""
    names = np.array([[token == noun for noun in NOUNS] for token in tokens], dtype=float)
    return np.concatenate([embed(tokens), names], axis=-1)


def _column(entries: Mapping[str, float], rows: tuple[str, ...] = FEATURES) -> np.ndarray:
    """Return a matrix of one column with these entries."""
    return np.array([[entries.get(row, 0.0)] for row in rows])


def _votes(strength: float = 36.0) -> np.ndarray:
    """Return who votes for whom: a noun for itself, "says kind" for every noun of that kind."""
    table = np.zeros((len(ROWS), len(NOUNS)))
    for column, noun in enumerate(NOUNS):
        voters = [noun, *(f"says {kind}" for kind in kinds_of(noun))]
        table[[ROWS.index(voter) for voter in voters], column] = strength
    return table


ANSWER = Head(  # A pronoun asks for nouns and adjectives alike; each hands over its votes.
    w_q=_column({"pronoun": 20.0}, ROWS),
    w_k=_column({"noun": 1.0, "adjective": 1.0}, ROWS),
    w_v=_votes(),
)


def veto_head(kind: str, here: float = 8.0, other: float = 16.0, own: float = -40.0) -> Head:
    """Return the head that prefers nouns of one kind; its keys have width 1.

    Parameters
    ----------
    kind : one of `lexicon.KINDS`.
    here : the key of a noun of that kind.
    other : what an adjective adds to its key for each other kind that it speaks of.
    own : what it adds if it speaks of that kind.
    """
    keys = {f"says {one}": other for one in KINDS} | {f"is {kind}": here, f"says {kind}": own}
    w_v = np.zeros((len(FEATURES), len(KINDS)))
    for column, one in enumerate(KINDS):
        w_v[FEATURES.index(f"is {one}"), column] = 1.0
    return Head(w_q=_column({"pronoun": 1.0}), w_k=_column(keys), w_v=w_v)


VETO: Mapping[str, Head] = MappingProxyType({kind: veto_head(kind) for kind in KINDS})
"""Six heads of one layer, one a kind. An adjective of another kind draws all weight to itself."""


def answer(sentence: str, head: Head = ANSWER) -> tuple[np.ndarray, np.ndarray]:
    """Let *it* ask once, and read its output as logits of the nouns.

    Returns
    -------
    weights : (T,) array, the weights of *it*.
    p : array of one probability for each of `NOUNS`.
    """
    tokens = tokenise(sentence)
    x = named(tokens)
    q = x[[tokens.index("it")]] @ head.w_q
    k, v = x @ head.w_k, x @ head.w_v
    return ref.attention_weights(q, k)[0], ref.softmax(ref.attention(q, k, v))[0]


def veto(sentence: str, heads: Mapping[str, Head] = VETO) -> np.ndarray:
    """Return the weights of *it* in each of several heads, of shape (H, T)."""
    tokens = tokenise(sentence)
    x, it = embed(tokens), tokens.index("it")
    rows = [ref.attention_weights(x[[it]] @ one.w_q, x @ one.w_k)[0] for one in heads.values()]
    return np.array(rows)
