"""Writing: the word that a model thinks likeliest, again and again."""

from collections.abc import Callable, Iterator
from math import isfinite
from typing import Any

from tformer.configuration import Configuration
from tformer.parameters import ModelParameters

__all__ = ["Reader", "generate"]

Reader = Callable[[Any, Any], tuple[Any, Any]]
"""What goes on with a text: takes new words and what it keeps of those before, None at first;
returns a row for each new word, and what it keeps now. The old keeping stays what it is."""


def generate(
    cached_decoder: Callable[..., Any],
    tokens: Any,
    parameters: ModelParameters,
    configuration: Configuration,
    n_tokens: int,
    choose: Callable[[Any], int] | None = None,
    stop: int | None = None,
) -> Iterator[int]:
    """Words that a model writes after others, one by one as they come.

    Parameters
    ----------
    cached_decoder : callable
        `reference.cached_decoder` or `fast.cached_decoder`.
    tokens : (T,) integer array
        The words before, at least one.
    parameters : ModelParameters
    configuration : Configuration
    n_tokens : int
        How many to write at most.
    choose : callable, optional
        Takes the (N,) logits of the next word and returns its number; the likeliest if left out,
        the first of several.
    stop : int, optional
        The word after which nothing is written; it is the last.

    Yields
    ------
    int

    Raises
    ------
    ValueError
        If there is no word to begin with, the largest logit of the next word is not finite, or
        `choose` returns the number of no word, such as the -1 of `draw`.
    """
    if not len(tokens):
        raise ValueError("generate: tokens must have at least one word; got none")
    caches = None
    for _ in range(n_tokens):
        logits, caches = cached_decoder(tokens, parameters, configuration, caches)
        if not isfinite(largest := float(logits[-1].max())):
            raise ValueError(f"generate: the largest logit must be finite; got {largest}")
        word = int(logits[-1].argmax()) if choose is None else choose(logits[-1])
        if not 0 <= word < len(logits[-1]):
            n = len(logits[-1])
            raise ValueError(f"generate: choose must return a word from 0 to {n - 1}; got {word}")
        yield word
        if word == stop:
            return
        tokens = 0 * tokens[-1:] + word
