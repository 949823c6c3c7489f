"""Searching for a likely text, instead of taking the likeliest word each time (chapter 15)."""

import heapq
import math
from typing import Any, NamedTuple

from tformer.models.generate import Reader

__all__ = ["Hypothesis", "beam_search"]


class Hypothesis(NamedTuple):
    """Words that were written, and the logarithm of their probability."""

    log_probability: float
    tokens: tuple[int, ...]


def beam_search(
    reader: Reader,
    tokens: Any,
    n_tokens: int,
    width: int,
    stop: int | None = None,
    power: float = 0.0,
) -> list[Hypothesis]:
    """The likeliest texts that beam search finds, best first.

    It goes on with `width` texts at a time: each is tried with every next word, and the best
    `width` of all these are kept; of equals, those that were reached first. With `width` 1 this is
    greedy generation. With N words, a width of N^(n_tokens - 1) or more leaves nothing out, so the
    first text is then the likeliest of all.

    Parameters
    ----------
    reader : callable
        Takes (T,) new words and a cache, None at first; returns (T, N) logarithms of
        probabilities and the extended cache.
    tokens : (T,) integer array
        The words before, at least one.
    n_tokens : int
        How many words to write at most.
    width : int
        How many texts to keep.
    stop : int, optional
        The word that ends a text; a text that has it is kept as it is and competes with the others.
    power : float, finite
        Texts are compared by their logarithm over (number of words)^power. 0 compares
        probabilities, 1 the mean surprise of a word.

    Returns
    -------
    list of Text
        At most `width`; none impossible.

    Raises
    ------
    ValueError
        If there is no word to begin with, width or n_tokens is not at least 1, power is not finite,
        or a logarithm is NaN or +inf.
    """
    if not len(tokens) or width < 1 or n_tokens < 1:
        raise ValueError(
            "beam_search: tokens, width and n_tokens must be at least 1; "
            f"got {len(tokens)} tokens, width {width}, n_tokens {n_tokens}"
        )
    if not math.isfinite(power):
        raise ValueError(f"beam_search: power must be finite; got {power}")

    def merit(text: Hypothesis) -> float:
        return text.log_probability / len(text.tokens) ** power

    live: dict[Hypothesis, Any] = {Hypothesis(0.0, ()): (tokens, None)}
    ended: list[Hypothesis] = []
    for _ in range(n_tokens):
        follow: dict[Hypothesis, Any] = {}
        for text, (new, cache) in live.items():
            rows, cache = reader(new, cache)
            for word, log in enumerate(rows[-1].tolist()):
                if not log < math.inf:
                    raise ValueError(f"beam_search: logarithms must be below inf; got {log}")
                if log > -math.inf:
                    longer = Hypothesis(text.log_probability + log, (*text.tokens, word))
                    follow[longer] = (0 * tokens[-1:] + word, cache)
        best = heapq.nlargest(width, [*ended, *follow], key=merit)
        ended = [text for text in best if text.tokens[-1] == stop]
        live = {text: follow[text] for text in best if text.tokens[-1] != stop}
        if not live:
            break
    return best
