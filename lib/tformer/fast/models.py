"""Whole models: from tokens through a stack of blocks to the scores of words (chapters 10, 11).

On a CPU half precision is widened to float32; on a GPU the words between the sublayers are rounded.
"""

from typing import Any

import torch
from torch import Tensor

from tformer.configuration import Configuration
from tformer.fast._kernels import widened
from tformer.fast.blocks import cached_block, normed
from tformer.fast.stacks import embedded, places_of, require_words, stack, unembed
from tformer.fast.twins import twin
from tformer.fast.vjp import vjp
from tformer.parameters import (
    EncoderDecoderParameters,
    Kept,
    KVCache,
    ModelParameters,
    tree_map,
)

__all__ = [
    "cached_decoder",
    "decoder",
    "decoder_vjp",
    "encoder",
    "encoder_decoder",
    "encoder_decoder_vjp",
    "encoder_vjp",
]

Several = tuple[Kept, ...] | None


@twin
def decoder(
    tokens: Tensor,
    parameters: ModelParameters,
    configuration: Configuration,
    memory: Tensor | None = None,
    mask: Tensor | None = None,
    memory_mask: Tensor | None = None,
    kept: Several = None,
) -> Tensor:
    """No table of scores is stored, unless positions are said in the scores."""
    c, dtype = configuration, parameters.embedding.dtype
    require_words("decoder", tokens, parameters, c, memory is not None, kept=kept)
    _, p, memory = widened(parameters.embedding, parameters, memory)
    rows = stack(embedded(tokens, p, c), p, c, True, memory, mask, memory_mask, kept)
    return _narrowed(unembed(rows, p), p, dtype)


@twin
def decoder_vjp(
    tokens: Tensor,
    parameters: ModelParameters,
    configuration: Configuration,
    grad: Tensor,
    memory: Tensor | None = None,
    mask: Tensor | None = None,
    memory_mask: Tensor | None = None,
    kept: Several = None,
) -> tuple[ModelParameters, Tensor | None]:
    """By PyTorch's automatic differentiation of `decoder`."""
    require_words("decoder_vjp", tokens, parameters, configuration, memory is not None, kept=kept)

    def through(p: ModelParameters, memory: Tensor | None) -> Tensor:
        return decoder(tokens, p, configuration, memory, mask, memory_mask, kept)

    return vjp(through, (parameters, memory), grad)


@twin
def cached_decoder(
    tokens: Tensor,
    parameters: ModelParameters,
    configuration: Configuration,
    caches: tuple[KVCache, ...] | None = None,
) -> tuple[Tensor, tuple[KVCache, ...]]:
    """Half precision as in `decoder`."""
    c, dtype = configuration, parameters.embedding.dtype
    offset = caches[0].length if caches else 0
    require_words("cached_decoder", tokens, parameters, c, offset=offset, caches=caches)
    _, p, caches = widened(parameters.embedding, parameters, caches)
    x, extended = embedded(tokens, p, c, offset), []
    places = places_of(p, c, tokens.shape[-1], offset, x)
    for one, cache in zip(p.blocks, caches or [None] * len(p.blocks), strict=True):
        x, cache = cached_block(x, one, c, cache, None, None, None, *places, True, None)
        extended.append(cache)
    return _narrowed((unembed(normed(x, p.norm, c), p), (*extended,)), p, dtype)


@twin
def encoder(
    tokens: Tensor,
    parameters: ModelParameters,
    configuration: Configuration,
    mask: Tensor | None = None,
    kept: Several = None,
) -> Tensor:
    """Half precision as in `decoder`."""
    c, dtype = configuration, parameters.embedding.dtype
    require_words("encoder", tokens, parameters, c, kept=kept)
    _, p = widened(parameters.embedding, parameters)
    return _narrowed(stack(embedded(tokens, p, c), p, c, False, None, mask, None, kept), p, dtype)


@twin
def encoder_vjp(
    tokens: Tensor,
    parameters: ModelParameters,
    configuration: Configuration,
    grad: Tensor,
    mask: Tensor | None = None,
    kept: Several = None,
) -> ModelParameters:
    """By PyTorch's automatic differentiation of `encoder`."""
    require_words("encoder_vjp", tokens, parameters, configuration, kept=kept)
    return vjp(lambda p: encoder(tokens, p, configuration, mask, kept), (parameters,), grad)[0]


@twin
def encoder_decoder(
    source: Tensor,
    target: Tensor,
    parameters: EncoderDecoderParameters,
    configuration: Configuration,
    source_mask: Tensor | None = None,
) -> Tensor:
    """Half precision as in `decoder`."""
    c, mask = configuration, None if source_mask is None else source_mask.unsqueeze(-2)
    require_words("encoder_decoder", source, parameters.encoder, c)
    dtype = parameters.encoder.embedding.dtype
    _, p = widened(parameters.encoder.embedding, parameters)
    memory = encoder(source, p.encoder, c, mask)
    require_words("encoder_decoder", target, p.decoder, c, crossed=True)
    return _narrowed(decoder(target, p.decoder, c, memory, None, mask), p.encoder, dtype)


@twin
def encoder_decoder_vjp(
    source: Tensor,
    target: Tensor,
    parameters: EncoderDecoderParameters,
    configuration: Configuration,
    grad: Tensor,
    source_mask: Tensor | None = None,
) -> EncoderDecoderParameters:
    """By PyTorch's automatic differentiation of `encoder_decoder`."""
    require_words("encoder_decoder_vjp", source, parameters.encoder, configuration)
    require_words("encoder_decoder_vjp", target, parameters.decoder, configuration, crossed=True)
    return vjp(
        lambda p: encoder_decoder(source, target, p, configuration, source_mask),
        (parameters,),
        grad,
    )[0]


def _narrowed(result: Any, p: ModelParameters, dtype: torch.dtype) -> Any:
    """The result in the precision of the parameters that were given."""
    if p.embedding.dtype == dtype:
        return result
    return tree_map(lambda x: x.to(dtype), result)
