"""Encoder, prefix decoder, decoder, and a pair of both: one stack, and who can know whom in it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from tformer import reference as ref
from tformer.configuration import Configuration
from tformer.models.sizes import Sizes, initialise
from tformer.parameters import EncoderDecoderParameters, ModelParameters, tree_map

__all__ = [
    "FORMS",
    "PLAIN",
    "SIZES",
    "closed",
    "exchanged",
    "influence",
    "influence_of_pair",
    "known",
    "model",
    "one_head",
    "outputs",
    "pair",
]

Array = np.ndarray
FORMS = ("encoder", "prefix", "decoder", "pair")
PLAIN = Configuration(positions="sinusoidal")
SIZES = Sizes(12, 6, 2, 2, 8)


def known(form: str, n_tokens: int, n_prefix: int = 0) -> Array:
    """Which word may know which, (T, T): True where the vector of word t may depend on word s.

    Of a prefix decoder the first `n_prefix` words are the prefix; of a pair they are the source,
    and the others the target.
    """
    if form == "encoder":
        return np.ones((n_tokens, n_tokens), dtype=bool)
    return ref.prefix_mask(n_tokens, n_tokens, n_prefix if form in ("prefix", "pair") else 0)


def closed(mask: Array) -> bool:
    """Whether each word sees itself, and all that is seen by a word that it sees."""
    steps = (mask.astype(int) @ mask.astype(int)) > 0
    return bool(mask.diagonal().all() and (steps <= mask).all())


def model(
    seed: int = 0, n_layers: int = 2, tied: bool = False, crossed: bool = False, n_vocab: int = 12
) -> ModelParameters:
    """A small model with random matrices, with biases and feed-forward layers."""
    sizes = replace(
        SIZES, n_vocab=n_vocab, n_layers=n_layers, tied=tied, has_cross_attention=crossed
    )
    p = initialise(sizes, PLAIN, np.random.default_rng(seed), std=0.6)
    return replace(p, embedding=2 * p.embedding)


def one_head(norm: str = "layer") -> tuple[ModelParameters, Configuration]:
    """Three blocks of which one head alone adds anything: equal weights, W_V W_O of rank one."""
    rng, c = np.random.default_rng(0), replace(PLAIN, norm=norm)
    p = initialise(replace(SIZES, n_layers=3), c, rng, std=0.6)
    silent = [
        replace(one, heads=tree_map(np.zeros_like, one.heads), feed_forward=None)
        for one in p.blocks
    ]
    heads = silent[1].heads
    heads.w_v[0, :, 0], heads.w_o[0, 0] = rng.standard_normal((2, len(heads.w_v[0])))
    return replace(p, blocks=tuple(silent)), c


def pair(seed: int = 0, n_layers: int = 1) -> EncoderDecoderParameters:
    """A small encoder and a small decoder that looks at it."""
    return EncoderDecoderParameters(
        model(seed, n_layers), model(seed + 100, n_layers, crossed=True)
    )


def outputs(tokens: Array, p: ModelParameters, mask: Array) -> Array:
    """Scores of all words, (..., T, N), at each place of a stack with this mask."""
    return ref.unembed(ref.encoder(tokens, p, PLAIN, mask), p)


def influence(p: ModelParameters, mask: Array, c: Configuration = PLAIN) -> Array:
    """How far the final vector of word t moves with that of word s: (..., T, T), as the masks are.

    The words of a text differ, so the gradient of a word's vector is that of its place; each row is
    the gradient of one random combination of the coordinates of vector t. Every row is asked in a
    text of its own, whose vectors are the same numbers under other names.
    """
    n, d = mask.shape[-1], p.embedding.shape[1]
    vectors = np.tile(p.embedding[:n], (mask.size // n, 1))
    named = replace(p, embedding=vectors, unembedding=None)
    tokens = np.arange(mask.size).reshape(mask.shape)
    asked = np.eye(n)[..., None] * np.random.default_rng(1).standard_normal((n, 1, d))
    grad = np.broadcast_to(asked, (*tokens.shape, d))
    moved = ref.encoder_vjp(tokens, named, c, grad, mask[..., None, :, :]).embedding
    return np.asarray(ref.norm(moved).reshape(mask.shape))


def influence_of_pair(p: EncoderDecoderParameters, n_source: int, n_target: int) -> Array:
    """The same for the target's vectors of a pair: (T, S + T), source words first."""
    rng, source, target = np.random.default_rng(1), np.arange(n_source), np.arange(n_target)
    table = np.zeros((n_target, n_source + n_target))
    for t in range(n_target):
        grad = np.zeros((n_target, p.decoder.embedding.shape[0]))
        grad[t] = rng.standard_normal(grad.shape[1])
        moved = ref.encoder_decoder_vjp(source, target, p, PLAIN, grad)
        both = [moved.encoder.embedding[:n_source], moved.decoder.embedding[:n_target]]
        table[t] = ref.norm(np.concatenate(both))
    return table


def exchanged(run: Callable[[Array], Any], tokens: Array, other: int) -> Array:
    """How far each vector moves when a word is exchanged for `other`: (T, S), exact zeros kept."""
    before, columns = run(tokens), []
    for s in range(tokens.shape[-1]):
        changed = tokens.copy()
        changed[..., s] = other
        off = np.abs(run(changed) - before).max(axis=-1)
        columns.append(off.reshape(-1, off.shape[-1]).max(axis=0))
    return np.stack(columns, axis=1)
