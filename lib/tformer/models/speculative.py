"""Speculative decoding: a small model proposes words, the large one reads them (chapter 15).

What is written has exactly the distribution of the large model, whatever the small one proposes.
"""

import math
from collections.abc import Callable, Iterator
from typing import Any

from tformer.models.generate import Reader

__all__ = ["speculative_decoding"]


def speculative_decoding(
    target: Reader,
    draft: Reader,
    tokens: Any,
    n_tokens: int,
    length: int,
    uniform: Callable[[], float],
    stop: int | None = None,
) -> Iterator[list[int]]:
    """Words that `target` writes after others, several for each of its passes.

    Parameters
    ----------
    target, draft : callable
        Take (T,) new words and a cache, None at first; return (T, N) probabilities, after
        temperature and all cuts, and the extended cache: a tuple of `KVCache`. Both of the same N
        words.
    tokens : (T,) integer array
        The words before, at least one.
    n_tokens : int
        How many to write.
    length : int
        How many words the draft proposes at a time; with 0 the target writes alone.
    uniform : callable
        Gives the next uniform number, from 0 to below 1.
    stop : int, optional
        The word after which nothing is written; it is the last.

    Yields
    ------
    list of int
        The words of one pass of the target: at least 1, at most length + 1.

    Raises
    ------
    ValueError
        If there is no word to begin with, length is below 0, a number of `uniform` is not from 0
        to below 1, or a row that is used is none of probabilities: NaN, below 0, or with no finite
        sum above 0. If target and draft have different numbers of words, before any is written.

    Notes
    -----
    [leviathan2023], algorithm 1; [chen2023b], algorithm 2. A proposed word x is accepted with
    probability min(1, p(x) / q(x)); the first that is not is replaced by one from the positive part
    of p - q. If all are accepted, the row after the last gives one more.
    """
    if not len(tokens) or length < 0:
        raise ValueError(
            "speculative_decoding: tokens must have at least 1 word and length be at least 0; "
            f"got {len(tokens)} and {length}"
        )
    words, n_begin = [int(word) for word in tokens], len(tokens)
    large, small = _Reading("target", target, tokens), _Reading("draft", draft, tokens)
    while (left := n_tokens - (len(words) - n_begin)) > 0:
        proposed, q = [*words], []
        for _ in range(min(length, left - 1)):
            q += small.rows(proposed, 1)
            proposed.append(sample_probabilities(q[-1], uniform()))
        p = large.rows(proposed, len(q) + 1)
        if q and len(p[0]) != len(q[0]):
            raise ValueError(
                "speculative_decoding: target and draft must have the same words; "
                f"got {len(p[0])} and {len(q[0])}"
            )
        found = _judged(proposed[len(words) :], p, q, uniform)
        if stop in found:
            found = found[: found.index(stop) + 1]
        words += found
        yield found
        if found[-1] == stop:
            return
        large.forget(len(words) - 1)
        small.forget(len(words) - 1)


def sample_probabilities(p: Any, u: float) -> int:
    """The first word whose cumulative probability exceeds u; `sample` by probabilities."""
    if not 0 <= u < 1:
        raise ValueError(f"speculative_decoding: uniform must give numbers in [0, 1); got {u}")
    sums = p.cumsum(-1)
    return int(((sums <= u * sums[-1]) & (sums < sums[-1])).sum())


def _judged(
    proposed: list[int], p: list[Any], q: list[Any], uniform: Callable[[], float]
) -> list[int]:
    """The words that are accepted, and one that the target gives itself."""
    for i, word in enumerate(proposed):
        if not uniform() * float(q[i][word]) < float(p[i][word]):
            rest = (p[i] - q[i]).clip(0)
            rest = rest if float(rest.sum()) > 0 else p[i]  # equal but for rounding
            return [*proposed[:i], sample_probabilities(rest, uniform())]
    return [*proposed, sample_probabilities(p[len(proposed)], uniform())]


class _Reading:
    """A model, and what it has read."""

    def __init__(self, name: str, reader: Reader, tokens: Any) -> None:
        self.name, self.reader, self.tokens, self.n_read = name, reader, tokens, 0
        self.cache: Any = None

    def rows(self, words: list[int], n_rows: int) -> list[Any]:
        """Read what is new of `words`; the last rows, if they are probabilities."""
        new = self.tokens[:1].repeat(len(words) - self.n_read)
        for i, word in enumerate(words[self.n_read :]):
            new[i] = word
        rows, self.cache = self.reader(new, self.cache)
        self.n_read = len(words)
        rows = rows[-n_rows:]
        if not ((rows >= 0).all() and all(0 < float(x) < math.inf for x in rows.sum(-1))):
            raise ValueError(
                f"speculative_decoding: {self.name} must return probabilities, from 0 on and "
                f"with a finite sum above 0; got {float(rows.min())} to {float(rows.max())}"
            )
        return [*rows]

    def forget(self, n_tokens: int) -> None:
        """Keep the first `n_tokens` words at most."""
        if n_tokens < self.n_read:
            self.cache = tuple(cache.first(n_tokens) for cache in self.cache or ())
            self.n_read = n_tokens
