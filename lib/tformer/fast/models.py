"""Whole models, decoder and encoder: token ids to logits or hidden states (chapters 10, 11).

On a CPU half precision is widened to float32; on a GPU hidden states are rounded to it between the
sublayers.
"""

from typing import Any

import torch
from torch import Tensor

from tformer.configuration import Configuration
from tformer.fast._kernels import widened
from tformer.fast.blocks import apply_norm, block_turns, cached_block
from tformer.fast.stacks import embed, position_inputs, require_tokens, stack, unembed
from tformer.fast.twins import twin
from tformer.fast.vjp import vjp
from tformer.parameters import DropoutMasks, KVCache, ModelParameters, tree_map

__all__ = [
    "cached_decoder",
    "decoder",
    "decoder_vjp",
    "encoder",
    "encoder_vjp",
]

Masks = tuple[DropoutMasks, ...] | None


@twin
def decoder(
    tokens: Tensor,
    parameters: ModelParameters,
    configuration: Configuration,
    memory: Tensor | None = None,
    mask: Tensor | None = None,
    memory_mask: Tensor | None = None,
    dropout_masks: Masks = None,
    positions: Tensor | None = None,
) -> Tensor:
    """The T × T scores are not stored, unless positions are encoded as a bias of the scores."""
    c, dtype = configuration, parameters.embedding.dtype
    require_tokens(
        "decoder",
        tokens,
        parameters,
        c,
        memory is not None,
        0,
        positions,
        dropout_masks=dropout_masks,
    )
    _, p, memory = widened(parameters.embedding, parameters, memory)
    x = embed(tokens, p, c, 0, positions)
    hidden = stack(x, p, c, True, memory, mask, memory_mask, dropout_masks, positions)
    return narrowed(unembed(hidden, p), p, dtype)


@twin
def decoder_vjp(
    tokens: Tensor,
    parameters: ModelParameters,
    configuration: Configuration,
    grad: Tensor,
    memory: Tensor | None = None,
    mask: Tensor | None = None,
    memory_mask: Tensor | None = None,
    dropout_masks: Masks = None,
    positions: Tensor | None = None,
) -> tuple[ModelParameters, Tensor | None]:
    """Computed by PyTorch's autograd from `decoder`."""
    has_memory, c = memory is not None, configuration
    require_tokens(
        "decoder_vjp", tokens, parameters, c, has_memory, 0, positions, dropout_masks=dropout_masks
    )

    def forward(p: ModelParameters, memory: Tensor | None) -> Tensor:
        return decoder(tokens, p, c, memory, mask, memory_mask, dropout_masks, positions)

    return vjp(forward, (parameters, memory), grad)


@twin
def cached_decoder(
    tokens: Tensor,
    parameters: ModelParameters,
    configuration: Configuration,
    caches: tuple[KVCache, ...] | None = None,
    mask: Tensor | None = None,
    positions: Tensor | None = None,
) -> tuple[Tensor, tuple[KVCache, ...]]:
    """Half precision as in `decoder`."""
    c, dtype = configuration, parameters.embedding.dtype
    offset = caches[0].length if caches else 0
    require_tokens("cached_decoder", tokens, parameters, c, False, offset, positions, caches=caches)
    _, p, caches = widened(parameters.embedding, parameters, caches)
    x, extended = embed(tokens, p, c, offset, positions), []
    bias, sinusoids = position_inputs(p, c, tokens.shape[-1], offset, x, positions)
    turns = block_turns(x, sinusoids, c)
    for layer, cache in zip(p.blocks, caches or [None] * len(p.blocks), strict=True):
        x, cache = cached_block(x, layer, c, cache, None, mask, None, bias, turns, True, None)
        extended.append(cache)
    return narrowed((unembed(apply_norm(x, p.norm, c), p), (*extended,)), p, dtype)


@twin
def encoder(
    tokens: Tensor,
    parameters: ModelParameters,
    configuration: Configuration,
    mask: Tensor | None = None,
    dropout_masks: Masks = None,
    positions: Tensor | None = None,
) -> Tensor:
    """Half precision as in `decoder`."""
    c, dtype = configuration, parameters.embedding.dtype
    require_tokens(
        "encoder", tokens, parameters, c, False, 0, positions, dropout_masks=dropout_masks
    )
    _, p = widened(parameters.embedding, parameters)
    x = embed(tokens, p, c, 0, positions)
    return narrowed(stack(x, p, c, False, None, mask, None, dropout_masks, positions), p, dtype)


@twin
def encoder_vjp(
    tokens: Tensor,
    parameters: ModelParameters,
    configuration: Configuration,
    grad: Tensor,
    mask: Tensor | None = None,
    dropout_masks: Masks = None,
    positions: Tensor | None = None,
) -> ModelParameters:
    """Computed by PyTorch's autograd from `encoder`."""
    c = configuration
    require_tokens(
        "encoder_vjp", tokens, parameters, c, False, 0, positions, dropout_masks=dropout_masks
    )
    return vjp(
        lambda p: encoder(tokens, p, c, mask, dropout_masks, positions), (parameters,), grad
    )[0]


def narrowed(result: Any, p: ModelParameters, dtype: torch.dtype) -> Any:
    """Return the result in `dtype`, that of the parameters before they were widened to `p`."""
    if p.embedding.dtype == dtype:
        return result
    return tree_map(lambda x: x.to(dtype), result)
