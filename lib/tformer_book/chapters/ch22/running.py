"""Run a model of the library's form by a block that is written out."""

from __future__ import annotations

import numpy as np

from tformer import reference as ref
from tformer.layer_configuration import LayerConfiguration, LayeredConfiguration
from tformer.layers import LayeredParameters, LayerParameters
from tformer.parameters import NormParameters
from tformer.rotary import rotary_frequencies
from tformer_book.chapters.ch22.blocks import Block

__all__ = ["difference", "logits", "mask", "turns"]

Array = np.ndarray


def logits(
    tokens: Array, parameters: LayeredParameters, configuration: LayeredConfiguration, block: Block
) -> Array:
    """The logits (T, N) of a model, each layer computed by `block`."""
    p, c = parameters, configuration
    x = c.embedding_scale * p.embedding[tokens]
    for layer, choices in zip(p.layers, c.layers, strict=True):
        x = block(x, layer, choices, mask(len(x), choices), turns(len(x), layer, choices))
    norm = ref.rms_norm if c.norm == "rms" else ref.layer_norm
    x = norm(x, p.norm or NormParameters(), c.eps)
    y = c.logit_scale * x @ (p.embedding.T if p.unembedding is None else p.unembedding)
    return y if c.logit_cap is None else c.logit_cap * np.tanh(y / c.logit_cap)


def difference(got: Array, want: Array) -> float:
    """The largest difference, over the largest entry of `want`."""
    return float(abs(got - want).max() / abs(want).max())


def mask(n_tokens: int, c: LayerConfiguration) -> Array:
    """Which keys each query of a layer may attend to, (T, T)."""
    t, s = np.indices((n_tokens, n_tokens))
    seen = s <= t
    if c.window is not None:
        seen &= s > t - c.window
    if c.chunk is not None:
        seen &= s // c.chunk == t // c.chunk
    return np.asarray(seen)


def turns(n_tokens: int, p: LayerParameters, c: LayerConfiguration) -> Array | None:
    """Sines and cosines of a layer's RoPE, (T, n); None where it has no positions."""
    if c.rotary is None:
        return None
    if p.latent is not None:
        width = p.latent.w_k_shared.shape[1]
    elif p.attention is not None:
        width = c.rotary.width or p.attention.heads.w_q.shape[-1]
    else:
        return None
    angles = np.arange(n_tokens)[:, np.newaxis] * rotary_frequencies(c.rotary, width)
    factor = 1.0 if c.rotary.scaling is None else c.rotary.scaling.attention_factor
    return factor * np.stack([np.sin(angles), np.cos(angles)], axis=-1).reshape(n_tokens, width)
