"""Speculative decoding on rows that can be listed: what is accepted, and what is written."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tformer.models import speculative as library

__all__ = ["DRAFT", "TARGET", "accepted", "counts", "lengths", "mistaken", "rows_of"]

TARGET = np.array([0.5, 0.25, 0.15, 0.1])
DRAFT = np.array([0.25, 0.25, 0.1, 0.4])
"""Rows of four words: what the large model gives, and what the small one proposes."""


def rows_of(p: np.ndarray) -> Any:
    """A model that gives the same row after every text, as what `speculative` asks for."""
    return lambda tokens, cache: (np.tile(p, (len(tokens), 1)), ())


def accepted(p: Any, q: Any) -> Any:
    """How likely a proposed word is accepted: the sum of the smaller of both probabilities."""
    return sum(min(a, b) for a, b in zip(p, q, strict=True))


def counts(
    n: int, seed: int, write: Callable[..., Any] = library.speculative_decoding
) -> np.ndarray:
    """How often each word came first in n texts, by the library or in another way."""
    rng, found = np.random.default_rng(seed), np.zeros(len(TARGET), dtype=int)
    start = np.array([0])
    for _ in range(n):
        one = next(write(rows_of(TARGET), rows_of(DRAFT), start, 2, 1, rng.random))
        found[one[0]] += 1
    return found


def mistaken(rule: str) -> Callable[..., Any]:
    """Speculative decoding with a mistake, for texts of two words and one proposal."""

    def write(target: Any, draft: Any, start: Any, n: int, length: int, uniform: Any) -> Any:
        (p,), (q,) = target(start, None)[0], draft(start, None)[0]
        word = library.sample_probabilities(q, uniform())
        fits = p[word] >= q[word] if rule == "greedily" else uniform() * q[word] < p[word]
        rest = {"draft": q, "target": p}.get(rule, (p - q).clip(0))
        yield [word if fits else library.sample_probabilities(rest, uniform())]

    return write


def lengths(p: np.ndarray, q: np.ndarray, length: int, n: int, seed: int = 0) -> np.ndarray:
    """How many words each of n passes of the target writes."""
    rng, start = np.random.default_rng(seed), np.array([0])
    most = n * (length + 1)
    passes = library.speculative_decoding(rows_of(p), rows_of(q), start, most, length, rng.random)
    return np.array([len(next(passes)) for _ in range(n)])
