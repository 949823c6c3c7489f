"""Searching for a likely text, instead of taking the likeliest word each time (chapter 15)."""

import heapq
import math
from typing import Any, NamedTuple

from tformer.models.generate import Reader

__all__ = ["Text", "beam"]


class Text(NamedTuple):
    """Words that were written, and the logarithm of their probability."""

    log_probability: float
    words: tuple[int, ...]


def beam(
    reader: Reader,
    tokens: Any,
    n_words: int,
    width: int,
    stop: int | None = None,
    power: float = 0.0,
) -> list[Text]:
    """The likeliest texts that beam search finds, best first.

    It goes on with `width` texts at a time: each is tried with every next word, and the best
    `width` of all these are kept; of equals, those that were reached first. With `width` 1 this is
    greedy generation. With N words, a width of N^(n_words - 1) or more leaves nothing out, so the
    first text is then the likeliest of all.

    Parameters
    ----------
    reader : callable
        Takes (T,) new words and a cache, None at first; returns (T, N) logarithms of
        probabilities and the extended cache.
    tokens : (T,) integer array
        The words before, at least one.
    n_words : int
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
        If there is no word to begin with, width or n_words is not at least 1, power is not finite,
        or a logarithm is NaN or +inf.
    """
    if not len(tokens) or width < 1 or n_words < 1:
        raise ValueError(
            "beam: tokens, width and n_words must be at least 1; "
            f"got {len(tokens)} tokens, width {width}, n_words {n_words}"
        )
    if not math.isfinite(power):
        raise ValueError(f"beam: power must be finite; got {power}")

    def merit(text: Text) -> float:
        return text.log_probability / len(text.words) ** power

    live: dict[Text, Any] = {Text(0.0, ()): (tokens, None)}
    ended: list[Text] = []
    for _ in range(n_words):
        follow: dict[Text, Any] = {}
        for text, (new, cache) in live.items():
            rows, cache = reader(new, cache)
            for word, log in enumerate(rows[-1].tolist()):
                if not log < math.inf:
                    raise ValueError(f"beam: logarithms must be below inf; got {log}")
                if log > -math.inf:
                    longer = Text(text.log_probability + log, (*text.words, word))
                    follow[longer] = (0 * tokens[-1:] + word, cache)
        best = heapq.nlargest(width, [*ended, *follow], key=merit)
        ended = [text for text in best if text.words[-1] == stop]
        live = {text: follow[text] for text in best if text.words[-1] != stop}
        if not live:
            break
    return best
