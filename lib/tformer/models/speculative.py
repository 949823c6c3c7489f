"""Speculative decoding: a draft model proposes tokens, the target model verifies them (chapter 15).

The output has exactly the distribution of the target, whatever the draft proposes.
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
    """Sample tokens from `target` after a prompt, several for each of its forward passes.

    Parameters
    ----------
    target, draft : callable
        Take (T,) new tokens and a KV cache, None at first; return (T, N) probabilities, after
        temperature and truncation, and the extended cache: a tuple of `KVCache`. Both have the same
        vocabulary of N tokens.
    tokens : (T,) integer array
        The prompt, at least one token.
    n_tokens : int
        How many tokens to generate.
    length : int
        How many tokens the draft proposes at a time; with 0 the target generates alone.
    uniform : callable
        Returns the next uniform random number, from 0 to below 1.
    stop : int, optional
        The token that ends the sequence; it is the last that is generated.

    Yields
    ------
    list of int
        The tokens of one forward pass of the target: at least 1, at most length + 1.

    Raises
    ------
    ValueError
        If the prompt is empty, length is below 0, a number of `uniform` is not from 0 to below 1,
        or a row that is used holds no probabilities: NaN, below 0, or with no finite sum above 0.
        If the vocabularies differ in size, before any token is generated.

    Notes
    -----
    [leviathan2023], algorithm 1; [chen2023b], algorithm 2. A proposed token x is accepted with
    probability min(1, p(x) / q(x)); the first rejected one is replaced by a sample from the
    positive part of p - q. If all are accepted, one more is sampled from the row after the last.
    """
    if not len(tokens) or length < 0:
        raise ValueError(
            "speculative_decoding: tokens must have at least 1 token and length be at least 0; "
            f"got {len(tokens)} and {length}"
        )
    sequence, n_prompt = [int(token) for token in tokens], len(tokens)
    large, small = _CachedReader("target", target, tokens), _CachedReader("draft", draft, tokens)
    while (left := n_tokens - (len(sequence) - n_prompt)) > 0:
        proposed, q = [*sequence], []
        for _ in range(min(length, left - 1)):
            q += small.rows(proposed, 1)
            proposed.append(sample_probabilities(q[-1], uniform()))
        p = large.rows(proposed, len(q) + 1)
        if q and len(p[0]) != len(q[0]):
            raise ValueError(
                "speculative_decoding: target and draft must have one vocabulary; "
                f"got {len(p[0])} and {len(q[0])}"
            )
        accepted = _accept(proposed[len(sequence) :], p, q, uniform)
        if stop in accepted:
            accepted = accepted[: accepted.index(stop) + 1]
        sequence += accepted
        yield accepted
        if accepted[-1] == stop:
            return
        large.truncate(len(sequence) - 1)
        small.truncate(len(sequence) - 1)


def sample_probabilities(p: Any, u: float) -> int:
    """The first token whose cumulative probability exceeds u: `sample`, from probabilities."""
    if not 0 <= u < 1:
        raise ValueError(f"speculative_decoding: uniform must give numbers in [0, 1); got {u}")
    sums = p.cumsum(-1)
    return int(((sums <= u * sums[-1]) & (sums < sums[-1])).sum())


def _accept(
    proposed: list[int], p: list[Any], q: list[Any], uniform: Callable[[], float]
) -> list[int]:
    """The accepted tokens, and one that is sampled from the target."""
    for i, token in enumerate(proposed):
        if not uniform() * float(q[i][token]) < float(p[i][token]):
            rest = (p[i] - q[i]).clip(0)
            rest = rest if float(rest.sum()) > 0 else p[i]  # equal but for rounding
            return [*proposed[:i], sample_probabilities(rest, uniform())]
    return [*proposed, sample_probabilities(p[len(proposed)], uniform())]


class _CachedReader:
    """A model with its cache, and the number of tokens in it."""

    def __init__(self, name: str, reader: Reader, tokens: Any) -> None:
        self.name, self.reader, self.tokens, self.n_read = name, reader, tokens, 0
        self.cache: Any = None

    def rows(self, sequence: list[int], n_rows: int) -> list[Any]:
        """Read the new tokens of a sequence; return the last rows, if they are probabilities."""
        new = self.tokens[:1].repeat(len(sequence) - self.n_read)
        for i, token in enumerate(sequence[self.n_read :]):
            new[i] = token
        rows, self.cache = self.reader(new, self.cache)
        self.n_read = len(sequence)
        rows = rows[-n_rows:]
        if not ((rows >= 0).all() and all(0 < float(x) < math.inf for x in rows.sum(-1))):
            raise ValueError(
                f"speculative_decoding: {self.name} must return probabilities, from 0 on and "
                f"with a finite sum above 0; got {float(rows.min())} to {float(rows.max())}"
            )
        return [*rows]

    def truncate(self, n_tokens: int) -> None:
        """Keep the first `n_tokens` tokens of the cache at most."""
        if n_tokens < self.n_read:
            self.cache = tuple(cache.first(n_tokens) for cache in self.cache or ())
            self.n_read = n_tokens
