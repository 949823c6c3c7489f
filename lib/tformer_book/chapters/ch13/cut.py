"""Texts cut into tokens: the corpus by merges that are learnt, the small world in several ways."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache
from typing import NamedTuple

import numpy as np

from tformer.tokens import BPE, ByteTokenizer, CharacterTokenizer, Merge, Tokenizer, train_bpe
from tformer_book.chapters.ch13.known import contexts, uncertainties, world
from tformer_book.world import corpus

__all__ = [
    *("GREEDY", "MERGES", "Words", "corpus_text", "floor", "merges", "pieces", "saved"),
    *("Told", "by_counting", "cuts", "lists_of_two"),
]

MERGES = 400
GREEDY = "abc\nabc\nbcd\nbcd\nab\nab\ncd\ncd\nbc"
"""A text on which the commonest pair is not the best to begin with."""
Encode = Callable[[str], list[int]]


class Words:
    """The words of some texts, parted by spaces; `decode` puts one space between two.

    Parameters
    ----------
    texts : iterable of str
    """

    def __init__(self, texts: Iterable[str]) -> None:
        self.tokens = tuple(sorted({word for text in texts for word in text.split()}))
        self._numbers = {word: number for number, word in enumerate(self.tokens)}

    @property
    def n_vocab(self) -> int:
        """How many words there are."""
        return len(self.tokens)

    def encode(self, text: str) -> list[int]:
        """The numbers of the words of a text."""
        return [self._numbers[word] for word in text.split()]

    def decode(self, numbers: Iterable[int]) -> str:
        """The words, parted by spaces."""
        return " ".join(self.tokens[number] for number in numbers)


def corpus_text() -> str:
    """The corpus, a sentence a line."""
    return "\n".join(corpus.sentences()) + "\n"


@cache
def merges(n: int = MERGES) -> tuple[Merge, ...]:
    """The first merges that are learnt from the corpus."""
    return tuple(train_bpe(corpus_text(), n))


def pieces(tokenizer: Tokenizer, text: str) -> list[str]:
    """The tokens of a text, each decoded by itself."""
    return [tokenizer.decode([number]) for number in tokenizer.encode(text)]


def saved(text: str, n: int) -> list[tuple[Merge, int]]:
    """The merges learnt from a text, and by how many tokens each makes that text shorter."""
    found = list(train_bpe(text, n))
    lengths = [
        len(BPE.from_merges([str(m) for m in found[:i]]).encode(text))
        for i in range(len(found) + 1)
    ]
    return [(m, a - b) for m, a, b in zip(found, lengths, lengths[1:], strict=False)]


def lists_of_two(text: str) -> dict[tuple[str, str], int]:
    """How many tokens a text has under every list of two merges of its letters."""
    letters = sorted({*text} - {"\n"})
    found = {}
    for a in letters:
        for b in letters:
            tokens = [*letters, a + b]
            for pair in ((c, d) for c in tokens for d in tokens if (c, d) != (a, b)):
                both = (f"{a} {b}", " ".join(pair))
                found[both] = len(BPE.from_merges(both).encode(text))
    return found


@cache
def cuts() -> dict[str, Tokenizer]:
    """Four ways to cut the stories of the small world, coarse to fine; each can be decoded."""
    texts = list(world())
    learnt = [str(merge) for merge in train_bpe("\n".join(texts), 40)]
    return {
        "words": Words(texts),
        "BPE, 40 merges": BPE.from_merges(learnt),
        "characters": CharacterTokenizer("".join(texts)),
        "bytes": ByteTokenizer(),
    }


@cache
def floor(encode: Encode) -> np.ndarray:
    """The exact uncertainty of each token of a story given those before it; the end is a token."""
    return np.diff(uncertainties(_table(encode), world().p))


class Told(NamedTuple):
    """What a model says of the stories, on average.

    Attributes
    ----------
    nats : float
        Loss a story.
    tokens, bytes : float
        Tokens and bytes a story.
    """

    nats: float
    tokens: float
    bytes: float

    @property
    def perplexity(self) -> float:
        """Of a token."""
        return float(np.exp(self.nats / self.tokens))

    @property
    def bits_a_byte(self) -> float:
        """The same whatever the tokens, if the probability of the story is."""
        return float(self.nats / self.bytes / np.log(2))


@cache
def by_counting(encode: Encode, k: int) -> Told:
    """A model that has counted, in all stories, what follows the last k tokens of a story."""
    rows = _table(encode)
    told, seen = rows >= 0, contexts(rows, k)
    _, windows = np.unique((seen * (rows.max() + 2) + rows + 1)[told], return_inverse=True)
    followed, often = np.bincount(seen[told]), np.bincount(windows)
    nats = -float(np.log(often[windows] / followed[seen[told]]).sum())
    size = sum(len(text.encode()) for text in world())
    n = len(world())
    return Told(nats / n, int(told.sum()) / n, size / n)


@cache
def _table(encode: Encode) -> np.ndarray:
    rows = [encode(text) for text in world()]
    longest = max(map(len, rows))
    return np.array([[*row, *[-1] * (longest - len(row))] for row in rows])
