"""The book's corpus: a few hundred plain sentences, written for it, to count words in."""

import functools
import re
from collections import Counter
from collections.abc import Sequence
from importlib.resources import files

import numpy as np

from tformer import reference

__all__ = ["ids", "sentences", "tokens", "vectors", "vocabulary"]


@functools.cache
def sentences() -> tuple[str, ...]:
    """Every sentence, in the order of the text."""
    text = (files(__package__) / "corpus.txt").read_text(encoding="utf-8")
    return tuple(line for line in text.splitlines() if line)


@functools.cache
def tokens() -> tuple[tuple[str, ...], ...]:
    """The words of every sentence, in lower case and without punctuation."""
    return tuple(tuple(re.findall(r"[a-z]+", line.lower())) for line in sentences())


def vocabulary(least: int = 1) -> tuple[str, ...]:
    """Every word that occurs at least `least` times, in alphabetical order.

    A word's number is its place here.
    """
    counts = Counter(word for sentence in tokens() for word in sentence)
    return tuple(sorted(word for word, count in counts.items() if count >= least))


def ids(least: int = 1) -> np.ndarray:
    """The text as word numbers, one row a sentence.

    Parameters
    ----------
    least : int
        Words that occur less often have no number.

    Returns
    -------
    (B, T) integer array
        B sentences of at most T words, as `cooccurrence` takes them; -1 stands for a word without
        a number and fills up the rows.
    """
    number = {word: i for i, word in enumerate(vocabulary(least))}
    table_BT = np.full((len(tokens()), max(map(len, tokens()))), -1)
    for row, sentence in zip(table_BT, tokens(), strict=True):
        row[: len(sentence)] = [number.get(word, -1) for word in sentence]
    return table_BT


def vectors(words: Sequence[str], d_model: int = 16) -> np.ndarray:
    """The vectors of some words, (T, d_model), as chapter 1 counts them in the corpus."""
    names = vocabulary(least=3)
    found: np.ndarray = _table(d_model)[[names.index(word) for word in words]]
    return found


@functools.cache
def _table(d_model: int) -> np.ndarray:
    """The vectors of all words that occur at least three times."""
    ids_BT, n_tokens = ids(least=3), len(vocabulary(least=3))
    counts = reference.cooccurrence(ids_BT, n_tokens, window=5)
    return reference.svd_embeddings(reference.ppmi(counts), d_model=d_model)
