"""What is counted: right guesses and surprise in the small world, rows and operations to write."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from fractions import Fraction

import numpy as np

from tformer import reference as ref
from tformer.chapters.ch11.tasks import READ
from tformer.configuration import Configuration
from tformer.models.generate import generate
from tformer.models.sizes import Sizes, count_flops
from tformer.parameters import ModelParameters
from tformer.world.stories import Stories, patient

__all__ = ["best_guess", "flops_to_write", "knowing", "rows_to_write", "writing"]


def knowing(world: Stories, form: str, place: int) -> dict[tuple[str, ...], Counter[str]]:
    """Who is meant, counted by what the row at a place of a story can know.

    An encoder knows the words up to the adjective, a decoder those up to the place. All stories of
    the world are alike.
    """
    found: dict[tuple[str, ...], Counter[str]] = defaultdict(Counter)
    for story in world:
        words = f". {story}".split()[:READ]
        found[tuple(words if form == "encoder" else words[: place + 1])][patient(story)] += 1
    return found


def best_guess(world: Stories, form: str, place: int) -> tuple[Fraction, float]:
    """The largest share of right answers at a place, and the least mean loss, in nats.

    Counted for a world whose stories are alike.
    """
    found, n = knowing(world, form, place), len(world)
    right = Fraction(sum(max(who.values()) for who in found.values()), n)
    surprise = 0.0
    for who in found.values():
        counts = np.array(list(who.values()))
        surprise -= float((counts * np.log(counts / counts.sum())).sum()) / n
    return right, surprise


def rows_to_write(form: str, n_source: int, n_words: int) -> int:
    """How many rows go through a stack when `n_words` are written behind `n_source` words.

    An encoder reads all words so far and a blank, anew for each word. A decoder has a cache. A pair
    reads the source once, and its decoder has a cache and begins with a sign for the start.
    """
    if form == "encoder":
        return n_words * n_source + n_words * (n_words + 1) // 2
    return n_source + n_words - (0 if form == "pair" else 1)


def flops_to_write(form: str, sizes: Sizes, n_source: int, n_words: int) -> int:
    """Operations of matrix products when a single stack writes; "encoder" or "decoder"."""
    if form == "encoder":
        return sum(count_flops(sizes, n_source + i) for i in range(1, n_words + 1))
    read = count_flops(sizes, n_source) if n_source else 0
    return read + sum(count_flops(sizes, n_source + i) // (n_source + i) for i in range(1, n_words))


def writing(
    p: ModelParameters, c: Configuration, words: np.ndarray, n_words: int, cached: bool
) -> Iterator[tuple[int, int]]:
    """Write with a decoder, with its cache or anew for each word: a word, and the rows it took."""
    took: list[int] = []

    def run(tokens: np.ndarray, *given: object) -> tuple[np.ndarray, object]:
        took.append(tokens.shape[-1])
        return ref.cached_decoder(tokens, *given)  # type: ignore[arg-type]

    if cached:
        for word in generate(run, words, p, c, n_words):
            yield word, took[-1]
        return
    for _ in range(n_words):
        word = int(ref.decoder(words, p, c)[-1].argmax())
        yield word, len(words)
        words = np.append(words, word)
