"""What is counted: right guesses and surprise in the small world, what writing takes."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from tformer import reference as ref
from tformer.configuration import Configuration
from tformer.models.generate import generate
from tformer.models.sizes import Sizes, count_flops
from tformer.parameters import EncoderDecoderParameters, KVCache, ModelParameters
from tformer.reference.blocks import apply_norm, cached_block
from tformer.reference.stacks import embed, position_inputs
from tformer_book.chapters.ch11.tasks import READ
from tformer_book.world.stories import Stories, patient

__all__ = ["best_guess", "flops_to_write", "knowing", "rows_to_write", "writing"]


def knowing(world: Stories, form: str, place: int) -> dict[tuple[str, ...], Counter[str]]:
    """Who is meant, counted by what the vector at a place of a story can know.

    An encoder knows the words up to the adjective, a decoder those up to the place. All stories of
    the world are equally likely.
    """
    found: dict[tuple[str, ...], Counter[str]] = defaultdict(Counter)
    for story in world:
        words = f". {story}".split()[:READ]
        found[tuple(words if form == "encoder" else words[: place + 1])][patient(story)] += 1
    return found


def best_guess(world: Stories, form: str, place: int) -> tuple[Fraction, float]:
    """The largest share of right answers at a place, and the least mean loss, in nats.

    Counted for a world whose stories are equally likely.
    """
    found, n = knowing(world, form, place), len(world)
    right = Fraction(sum(max(who.values()) for who in found.values()), n)
    surprise = 0.0
    for who in found.values():
        counts = np.array(list(who.values()))
        surprise -= float((counts * np.log(counts / counts.sum())).sum()) / n
    return right, surprise


def rows_to_write(form: str, n_source: int, n_tokens: int) -> int:
    """How many vectors go through a stack when `n_tokens` are written after `n_source` words.

    An encoder reads all words so far and a blank, anew for each word. A decoder has a cache. A pair
    reads the source once, and its decoder has a cache and begins with a sign for the start.
    """
    if form == "encoder":
        return n_tokens * n_source + n_tokens * (n_tokens + 1) // 2
    return n_source + n_tokens - (0 if form == "pair" else 1)


def flops_to_write(form: str, sizes: Sizes, n_source: int, n_tokens: int) -> int:
    """Operations of matrix products when a single stack writes; "encoder" or "decoder".

    The given words are one at least. Of each pass the one vector that is read is unembedded.
    """
    blocks = replace(sizes, n_vocab=0)
    texts = range(n_source, n_source + n_tokens)
    if form == "encoder":
        passes = sum(count_flops(blocks, n + 1) for n in texts)
    else:
        passes = count_flops(blocks, n_source)
        passes += sum(count_flops(blocks, n + 1) // (n + 1) for n in texts[:-1])
    return passes + n_tokens * 2 * sizes.d_model * sizes.n_vocab


def writing(
    p: ModelParameters | EncoderDecoderParameters,
    c: Configuration,
    words: np.ndarray,
    n_tokens: int,
    cached: bool = False,
    blank: int | None = None,
) -> Iterator[tuple[int, int]]:
    """Write: word by word the likeliest, and how many vectors went through a stack for it.

    A decoder, or a pair whose source is given and whose target begins with word 0, with a cache or
    with all vectors anew for each word. With a `blank` an encoder, which is asked there.
    """
    if isinstance(p, EncoderDecoderParameters):
        yield from (_pair_writing if cached else _pair_anew)(p, c, words, n_tokens)
    elif cached:
        yield from _writing(p, c, words, n_tokens)
    else:
        for _ in range(n_tokens):
            if blank is None:
                scores, took = ref.decoder(words, p, c), len(words)
            else:
                rows = ref.encoder(np.append(words, blank), p, c)
                scores, took = ref.unembed(rows, p)[:, :blank], len(rows)
            word = int(scores[-1].argmax())
            yield word, took
            words = np.append(words, word)


def _writing(
    p: ModelParameters, c: Configuration, words: np.ndarray, n_tokens: int
) -> Iterator[tuple[int, int]]:
    took: list[int] = []

    def run(tokens: np.ndarray, *given: Any) -> tuple[np.ndarray, object]:
        took.append(tokens.shape[-1])
        return ref.cached_decoder(tokens, *given)

    for word in generate(run, words, p, c, n_tokens):
        yield word, took[-1]


def _pair_anew(
    p: EncoderDecoderParameters, c: Configuration, source: np.ndarray, n_tokens: int
) -> Iterator[tuple[int, int]]:
    target = np.zeros(1, dtype=int)
    for _ in range(n_tokens):
        word = int(ref.encoder_decoder(source, target, p, c)[-1].argmax())
        yield word, len(source) + len(target)
        target = np.append(target, word)


def _pair_writing(
    p: EncoderDecoderParameters, c: Configuration, source: np.ndarray, n_tokens: int
) -> Iterator[tuple[int, int]]:
    """The source once; of the decoder, block by block, a vector for each word and a cache."""
    memory, q = ref.encoder(source, p.encoder, c), p.decoder
    caches: list[KVCache | None] = [None] * len(q.blocks)
    word, took = 0, len(memory)
    for i in range(n_tokens):
        x = embed(np.array([word]), q, c, i)
        for k, one in enumerate(q.blocks):
            options = (memory, None, None, *position_inputs(q, c, 1, i, x), True, None)
            x, caches[k] = cached_block(x, one, c, caches[k], *options)
        took, word = took + len(x), int(ref.unembed(apply_norm(x, q.norm, c), q)[-1].argmax())
        yield word, took
        took = 0
