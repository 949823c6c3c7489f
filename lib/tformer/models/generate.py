"""Autoregressive generation: the most probable next token, or one that is sampled, repeatedly."""

from collections.abc import Callable, Iterator
from math import isfinite
from typing import Any

from tformer.configuration import Configuration
from tformer.parameters import ModelParameters

__all__ = ["Reader", "generate"]

Reader = Callable[[Any, Any], tuple[Any, Any]]
"""A model that reads a sequence in parts: takes new tokens and its cache of the tokens before, None
at first; returns a row for each new token, and the extended cache. The old cache is unchanged."""


def generate(
    cached_decoder: Callable[..., Any],
    tokens: Any,
    parameters: ModelParameters,
    configuration: Configuration,
    n_tokens: int,
    choose: Callable[[Any], int] | None = None,
    stop: int | None = None,
) -> Iterator[int]:
    """Generate tokens after a prompt, one at a time, with a KV cache.

    Arguments are checked once, with the prompt. So parameters must stay as they are until the last
    token.

    Parameters
    ----------
    cached_decoder : callable
        `reference.cached_decoder` or `fast.cached_decoder`.
    tokens : (T,) integer array
        The prompt, at least one token.
    parameters : ModelParameters
    configuration : Configuration
    n_tokens : int
        How many tokens to generate at most.
    choose : callable, optional
        Takes the (N,) logits of the next token and returns a token, such as `sample` with a
        temperature. If left out, the token with the largest logit, the first of equal ones.
    stop : int, optional
        The token that ends the sequence; it is the last that is generated.

    Yields
    ------
    int

    Raises
    ------
    ValueError
        If the prompt is empty, the largest logit is not finite, or `choose` returns no token of the
        vocabulary, such as the -1 of `sample`.
    """
    if not len(tokens):
        raise ValueError("generate: tokens must have at least one token; got none")
    caches, step = None, cached_decoder
    for _ in range(n_tokens):
        logits, caches = step(tokens, parameters, configuration, caches)
        if logits.dtype.itemsize > 2:  # half precision is looked for by the checks
            step = getattr(cached_decoder, "unchecked", cached_decoder)
        if not isfinite(largest := float(logits[-1].max())):
            raise ValueError(f"generate: the largest logit must be finite; got {largest}")
        token = int(logits[-1].argmax()) if choose is None else choose(logits[-1])
        if not 0 <= token < len(logits[-1]):
            last = len(logits[-1]) - 1
            raise ValueError(f"generate: choose must return a token from 0 to {last}; got {token}")
        yield token
        if token == stop:
            return
        tokens = 0 * tokens[-1:] + token
