"""The mixer of a layer of a released model, with its norms (chapter 22)."""

from collections.abc import Callable
from typing import Any

import numpy as np

from tformer.layer_configuration import LayerConfiguration
from tformer.layers import LayerCache, LayerParameters
from tformer.parameters import KVCache
from tformer.reference.compressed_attention import (
    cached_compressed_attention,
    compressed_attention_vjp,
)
from tformer.reference.delta_net import (
    cached_delta_net,
    cached_gated_convolution,
    delta_net_vjp,
    gated_convolution_vjp,
)
from tformer.reference.extended_attention import cached_attention, extended_attention_vjp
from tformer.reference.feeds import norm_vjp, normed
from tformer.reference.latents import cached_latent_attention, latent_attention_vjp
from tformer.reference.masks import without_padding
from tformer.reference.shared_attention import cached_shared_attention, shared_attention_vjp

Table = np.ndarray | None


def mixer_answer(
    inputs: np.ndarray,
    p: LayerParameters,
    c: LayerConfiguration,
    cache: LayerCache | None,
    mask: Table,
    valid: Table,
    positions: Table,
    offset: int = 0,
    kv: KVCache | None = None,
) -> tuple[np.ndarray, LayerCache]:
    """Return what the mixer adds for the tokens after those in the cache, and the new cache.

    `inputs` are those tokens' hidden states after the norm before the mixer. `mask`, `valid`,
    `positions` and `kv` are for all tokens, cached ones first.
    """
    name, mixer = mixer_of(p)
    seen = layer_mask(inputs, c, mask, valid, positions, offset)
    y, cache = MIXERS[name](inputs, mixer, c, cache, seen, valid, positions, kv)
    return normed(y, p.mixer_norm_after, c), cache


def mixer_answer_vjp(
    inputs: np.ndarray,
    p: LayerParameters,
    c: LayerConfiguration,
    grad: np.ndarray,
    grads: dict[str, Any],
    mask: Table,
    valid: Table,
    positions: Table,
    kv: KVCache | None = None,
) -> tuple[np.ndarray, KVCache | None]:
    """Return the gradients of inputs and of what is borrowed; keep those of the parameters."""
    name, mixer = mixer_of(p)
    options = (layer_mask(inputs, c, mask, valid, positions, 0), valid, positions, kv)
    y = MIXERS[name](inputs, mixer, c, None, *options)[0]
    dy, grads["mixer_norm_after"] = norm_vjp(y, p.mixer_norm_after, c, grad)
    dinputs, grads[name], dkv = _mixer_vjp(name, inputs, mixer, c, dy, *options)
    return dinputs, dkv


def mixer_of(p: LayerParameters) -> tuple[str, Any]:
    """Return the name and the parameters of the one mixer."""
    return next((name, x) for name in MIXERS if (x := getattr(p, name)) is not None)


MIXERS: dict[str, Callable[..., Any]] = {
    "attention": lambda x, p, c, cache, mask, valid, at, kv: cached_attention(
        x, p, c, cache, mask, at, True
    ),
    "shared": lambda x, p, c, cache, mask, valid, at, kv: cached_shared_attention(
        x, p, c, cache, mask, at, kv
    ),
    "latent": lambda x, p, c, cache, mask, valid, at, kv: cached_latent_attention(
        x, p, c, cache, mask, at, True
    ),
    "delta": lambda x, p, c, cache, mask, valid, at, kv: cached_delta_net(
        x, p, c, cache, _new(x, valid)
    ),
    "convolution": lambda x, p, c, cache, mask, valid, at, kv: cached_gated_convolution(
        x, p, cache, _new(x, valid)
    ),
    "compressed": lambda x, p, c, cache, mask, valid, at, kv: cached_compressed_attention(
        x, p, c, cache, mask, valid, at
    ),
}
"""Each mixer of new tokens, given a cache: its output, and the cache extended."""


def _mixer_vjp(
    name: str,
    x: np.ndarray,
    p: Any,
    c: LayerConfiguration,
    grad: np.ndarray,
    mask: Table,
    valid: Table,
    positions: Table,
    kv: KVCache | None,
) -> tuple[np.ndarray, Any, KVCache | None]:
    if name == "attention":
        return *extended_attention_vjp(x, p, c, grad, mask, positions, True), None
    if name == "shared":
        return shared_attention_vjp(x, p, c, grad, mask, positions, kv)
    if name == "latent":
        return *latent_attention_vjp(x, p, c, grad, mask, positions, True), None
    if name == "compressed":
        return *compressed_attention_vjp(x, p, c, grad, mask, valid, positions), None
    if name == "delta":
        return *delta_net_vjp(x, p, c, grad, valid), None
    return *gated_convolution_vjp(x, p, grad, valid), None


def _new(x: np.ndarray, valid: Table) -> Table:
    """Return which of the new tokens x are valid."""
    return None if valid is None else valid[..., valid.shape[-1] - x.shape[-2] :]


def layer_mask(
    x: np.ndarray,
    c: LayerConfiguration,
    mask: Table,
    valid: Table,
    positions: Table,
    offset: int,
) -> Table:
    """Return the mask (..., T, S) of window, chunk, padding and `mask`; None if there is none."""
    n_new, found = x.shape[-2], mask
    n_all = offset + n_new
    if c.window is not None:
        near = np.arange(n_all) > np.arange(offset, n_all)[:, np.newaxis] - c.window
        found = near if found is None else found & near
    if c.chunk is not None:
        at = (np.arange(n_all) if positions is None else positions) // c.chunk
        same = at[..., offset:, np.newaxis] == at[..., np.newaxis, :]
        found = same if found is None else found & same
    return without_padding(found, valid)
