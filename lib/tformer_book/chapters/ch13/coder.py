"""A text as a file: arithmetic coding with exact fractions, by any model of the next token.

A model gives the tokens that may come next, in a fixed order, their probabilities. Each token takes
its piece of the interval that the tokens before it have left. The file names a binary interval in
what is left at the end.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from functools import cache
from operator import itemgetter

__all__ = ["Model", "again", "bits", "counted", "decoded", "encoded", "laid", "narrowed"]

Pieces = dict[int, tuple[Fraction, Fraction]]
"""For each token that may come, where its piece of the interval begins and how long it is."""
Model = Callable[[Sequence[int]], Pieces]
"""From the tokens before to the pieces of what may come next."""


def laid(shares: Mapping[int, Fraction]) -> Pieces:
    """The pieces of tokens with these probabilities, one after another."""
    found, low = {}, Fraction(0)
    for token in sorted(shares):
        found[token] = (low, shares[token])
        low += shares[token]
    return found


def narrowed(tokens: Sequence[int], model: Model) -> tuple[Fraction, Fraction]:
    """Where the interval of a text begins, and how long it is: the probability of the text."""
    low, length = Fraction(0), Fraction(1)
    for t, token in enumerate(tokens):
        start, share = model(tokens[:t])[token]
        low, length = low + length * start, length * share
    return low, length


def bits(length: Fraction, spare: int = 1) -> int:
    """How many bits name an interval inside one of this length, wherever that one begins."""
    n = 0
    while length * 2**n < 1:
        n += 1
    return n + spare


def encoded(tokens: Sequence[int], model: Model, spare: int = 1) -> str:
    """The file of a text: the first binary interval of its size that begins in the text's."""
    low, length = narrowed(tokens, model)
    n = bits(length, spare)
    return f"{-(-low.numerator * 2**n // low.denominator):0{n}b}" if n else ""


def decoded(file: str, model: Model, n: int) -> list[int]:
    """The first n tokens of the text of a file."""
    point = Fraction(int(file or "0", 2), 2 ** len(file))
    found: list[int] = []
    for _ in range(n):
        pieces = model(found)
        token = [*pieces][bisect_right([*pieces.values()], point, key=itemgetter(0)) - 1]
        found.append(token)
        point = (point - pieces[token][0]) / pieces[token][1]
    return found


def counted(texts: Iterable[Sequence[int]], k: int) -> Model:
    """A model that has counted what follows the last k tokens of a text."""
    after: defaultdict[tuple[int, ...], Counter[int]] = defaultdict(Counter)
    for tokens in texts:
        for t, token in enumerate(tokens):
            after[tuple(tokens[max(t - k, 0) : t])][token] += 1

    @cache
    def pieces(seen: tuple[int, ...]) -> Pieces:
        whole = after[seen].total()
        return laid({token: Fraction(n, whole) for token, n in after[seen].items()})

    return lambda before: pieces(tuple(before[max(len(before) - k, 0) :]))


def again(model: Model, n: int) -> Model:
    """A model of many texts of n tokens, one after another: it forgets those before."""
    return lambda before: model(before[len(before) // n * n :])
