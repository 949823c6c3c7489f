"""Beam search: an approximate search for the most probable sequence (chapter 15)."""

import heapq
import math
from typing import Any, NamedTuple

from tformer.models.generate import Reader

__all__ = ["Hypothesis", "beam_search"]


class Hypothesis(NamedTuple):
    """Generated tokens, and the logarithm of their probability."""

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
    """The most probable continuations that beam search finds, best first.

    Each step extends each of `width` hypotheses by every token of the vocabulary and keeps the best
    `width` of the results; of equal ones, those that were reached first. With `width` 1 this is
    greedy decoding. With N tokens in the vocabulary, a width of N^(n_tokens - 1) or more prunes
    nothing, so the first hypothesis is then the most probable of all.

    Parameters
    ----------
    reader : callable
        Takes (T,) new tokens and a KV cache, None at first; returns (T, N) log-probabilities and
        the extended cache.
    tokens : (T,) integer array
        The prompt, at least one token.
    n_tokens : int
        How many tokens to generate at most.
    width : int
        The beam width: how many hypotheses are kept.
    stop : int, optional
        The token that ends a sequence; a hypothesis that has it is not extended, and competes with
        the others.
    power : float, finite
        Hypotheses are compared by log-probability / length^power. 0 compares probabilities, 1 the
        average log-probability of a token.

    Returns
    -------
    list of Hypothesis
        At most `width`, none of probability 0.

    Raises
    ------
    ValueError
        If the prompt is empty, width or n_tokens is not at least 1, power is not finite, or a
        log-probability is NaN or +inf.
    """
    if not len(tokens) or width < 1 or n_tokens < 1:
        raise ValueError(
            "beam_search: tokens, width and n_tokens must be at least 1; "
            f"got {len(tokens)} tokens, width {width}, n_tokens {n_tokens}"
        )
    if not math.isfinite(power):
        raise ValueError(f"beam_search: power must be finite; got {power}")

    def score(hypothesis: Hypothesis) -> float:
        return hypothesis.log_probability / len(hypothesis.tokens) ** power

    live: dict[Hypothesis, Any] = {Hypothesis(0.0, ()): (tokens, None)}
    finished: list[Hypothesis] = []
    for _ in range(n_tokens):
        extended: dict[Hypothesis, Any] = {}
        for hypothesis, (new, cache) in live.items():
            rows, cache = reader(new, cache)
            for token, log in enumerate(rows[-1].tolist()):
                if not log < math.inf:
                    raise ValueError(f"beam_search: log-probabilities must be below inf; got {log}")
                if log > -math.inf:
                    longer = (*hypothesis.tokens, token)
                    found = Hypothesis(hypothesis.log_probability + log, longer)
                    extended[found] = (0 * tokens[-1:] + token, cache)
        best = heapq.nlargest(width, [*finished, *extended], key=score)
        finished = [x for x in best if x.tokens[-1] == stop]
        live = {x: extended[x] for x in best if x.tokens[-1] != stop}
        if not live:
            break
    return best
