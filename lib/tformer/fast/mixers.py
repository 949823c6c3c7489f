"""The mixer of a layer of a released model, with its norms (chapter 22)."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from tformer.fast.compressed_attention import cached_compressed_attention
from tformer.fast.delta_net import cached_delta_net, cached_gated_convolution
from tformer.fast.extended_attention import cached_attention
from tformer.fast.feeds import normed
from tformer.fast.latents import cached_latent_attention
from tformer.fast.masks import without_padding
from tformer.fast.shared_attention import cached_shared_attention
from tformer.layer_configuration import LayerConfiguration
from tformer.layers import LayerCache, LayerParameters
from tformer.parameters import KVCache

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


def mixer_of(p: LayerParameters) -> tuple[str, Any]:
    """Return the name and the parameters of the one mixer."""
    return next((name, x) for name in MIXERS if (x := getattr(p, name)) is not None)


def mixer_answer(
    inputs: Tensor,
    p: LayerParameters,
    c: LayerConfiguration,
    cache: LayerCache | None,
    mask: Tensor | None,
    valid: Tensor | None,
    positions: Tensor | None,
    offset: int = 0,
    kv: KVCache | None = None,
) -> tuple[Tensor, LayerCache]:
    """Return what the mixer adds for the tokens after those in the cache, and the new cache.

    `inputs` are those tokens' hidden states after the norm before the mixer. `mask`, `valid`,
    `positions` and `kv` are for all tokens, cached ones first.
    """
    name, mixer = mixer_of(p)
    seen = layer_mask(inputs, c, mask, valid, positions, offset)
    y, cache = MIXERS[name](inputs, mixer, c, cache, seen, valid, positions, kv)
    return normed(y, p.mixer_norm_after, c), cache


def _new(x: Tensor, valid: Tensor | None) -> Tensor | None:
    """Return which of the new tokens x are valid."""
    return None if valid is None else valid[..., valid.shape[-1] - x.shape[-2] :]


def layer_mask(
    x: Tensor,
    c: LayerConfiguration,
    mask: Tensor | None,
    valid: Tensor | None,
    positions: Tensor | None,
    offset: int,
) -> Tensor | None:
    """Return the mask (..., T, S) of window, chunk, padding and `mask`; None if there is none."""
    found, n_all = mask, offset + x.shape[-2]
    every = torch.arange(n_all, device=x.device)
    if c.window is not None:
        near = every > every[offset:, None] - c.window
        found = near if found is None else found & near
    if c.chunk is not None:
        at = (every if positions is None else positions) // c.chunk
        same = at[..., offset:, None] == at[..., None, :]
        found = same if found is None else found & same
    return without_padding(found, valid)
