"""Parts of every model: embed token ids, apply a stack of blocks, unembed (chapter 10)."""

import math
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

import torch
from torch import Tensor

from tformer.configuration import Configuration, require_model
from tformer.fast._kernels import widened
from tformer.fast.blocks import apply_norm, block
from tformer.fast.positions import (
    alibi_bias_at,
    embedding,
    relative_bias_at,
    require_rows,
    sinusoids_of,
)
from tformer.fast.precision import wide
from tformer.fast.quantised import QuantisedMatrix, linear
from tformer.fast.twins import twin
from tformer.fast.vjp import vjp
from tformer.parameters import DropoutMasks, ModelParameters

__all__ = ["override_block", "unembed", "unembed_vjp"]


class PositionEncoding(NamedTuple):
    """How a position encoding uses positions (..., T), as in the definition; `like` sets the dtype.

    Attributes
    ----------
    added : callable
        What is added to the token embeddings.
    bias : callable
        The bias of the scores, from distances (..., T, S).
    sinusoids : callable
        The sinusoids that `rope` rotates by.
    """

    added: Callable[..., Tensor] | None = None
    bias: Callable[..., Tensor] | None = None
    sinusoids: Callable[..., Tensor] | None = None


def _sinusoids(width: int, c: Configuration, positions: Tensor, dtype: torch.dtype) -> Tensor:
    return sinusoids_of(positions, width, c.base, 1.0, dtype)


POSITION_ENCODINGS = {
    "none": PositionEncoding(),
    "sinusoidal": PositionEncoding(
        added=lambda p, c, at, like: _sinusoids(like.shape[-1], c, at, like.dtype)
    ),
    "learned": PositionEncoding(added=lambda p, c, at, like: embedding(at, p.positions)),
    "relative": PositionEncoding(
        bias=lambda p, distances, like: relative_bias_at(p.distances, distances)
    ),
    "alibi": PositionEncoding(
        bias=lambda p, distances, like: alibi_bias_at(
            p.blocks[0].heads.w_q.shape[0], distances, like.dtype
        )
    ),
    "rope": PositionEncoding(
        sinusoids=lambda p, c, at, like: _sinusoids(
            p.blocks[0].heads.w_q.shape[-1], c, at, wide(like).dtype
        )
    ),
}
"""What each choice of `Configuration.positions` computes."""


class _BlockOverride(threading.local):
    """What this thread calls instead of `block`; `block` itself if that is None."""

    call: Callable[..., Tensor] | None = None


BLOCK_OVERRIDE = _BlockOverride()


@twin
def unembed(x: Tensor, parameters: ModelParameters) -> Tensor:
    """On a CPU half precision is widened to float32."""
    p, dtype = parameters, x.dtype
    x, table, out = widened(x, p.embedding, p.unembedding)
    if out is None:
        out = table if type(table) is QuantisedMatrix else table.mT
    y = linear(x, out)
    return y if x.dtype == dtype else y.to(dtype)


@twin
def unembed_vjp(
    x: Tensor, parameters: ModelParameters, grad: Tensor
) -> tuple[Tensor, ModelParameters]:
    """Computed by PyTorch's autograd from `unembed`."""
    return vjp(unembed, (x, parameters), grad)


def require_tokens(
    where: str,
    tokens: Tensor,
    p: ModelParameters,
    c: Configuration,
    has_memory: bool = False,
    offset: int = 0,
    positions: Tensor | None = None,
    **per_block: tuple[object, ...] | None,
) -> None:
    """Raise unless token ids, positions, parameters and configuration fit each other."""
    n_tokens = tokens.shape[-1] + offset if positions is None else 0
    require_model(where, p, c, n_tokens, has_memory, **per_block)
    require_rows(where, tokens, p.embedding.shape[0])
    if positions is not None and c.positions == "learned":
        require_rows(where, positions, p.positions.shape[0], "positions")


def embed(
    tokens: Tensor,
    p: ModelParameters,
    c: Configuration,
    offset: int = 0,
    positions: Tensor | None = None,
) -> Tensor:
    """Return the embedding of each token, plus that of its position if positions are added."""
    x, encoding = embedding(tokens, p.embedding), POSITION_ENCODINGS[c.positions]
    x = x * math.sqrt(x.shape[-1]) if c.scale_embedding else x
    if encoding.added is None:
        return x
    at = _all_positions(tokens.shape[-1], offset, positions, x)[..., offset:]
    return x + encoding.added(p, c, at, x)


def position_inputs(
    p: ModelParameters,
    c: Configuration,
    n_queries: int,
    offset: int,
    like: Tensor,
    positions: Tensor | None = None,
) -> tuple[Tensor | None, Tensor | None]:
    """Return what every block gets for positions: a bias of the scores, and sinusoids for RoPE."""
    encoding = POSITION_ENCODINGS[c.positions]
    at = _all_positions(n_queries, offset, positions, like)
    if not p.blocks:
        return None, None
    distances = at.unsqueeze(-2) - at[..., offset:].unsqueeze(-1)
    bias = None if encoding.bias is None else encoding.bias(p, distances, like)
    if encoding.sinusoids is None:
        return bias, None
    return bias, encoding.sinusoids(p, c, at[..., offset:], like)


def _all_positions(n_new: int, offset: int, positions: Tensor | None, like: Tensor) -> Tensor:
    """Return the positions of all tokens, cached ones first: as given, or counted from 0."""
    if positions is None:
        return torch.arange(offset + n_new, device=like.device)
    return positions.long()


def stack(
    x: Tensor,
    p: ModelParameters,
    c: Configuration,
    causal: bool,
    memory: Tensor | None,
    mask: Tensor | None,
    memory_mask: Tensor | None,
    dropout_masks: tuple[DropoutMasks, ...] | None,
    positions: Tensor | None,
) -> Tensor:
    """Apply all blocks, then the last norm."""
    encoded = position_inputs(p, c, x.shape[-2], 0, x, positions)
    call = None if torch.compiler.is_compiling() else BLOCK_OVERRIDE.call
    for i, keep_masks in enumerate(dropout_masks or [None] * len(p.blocks)):
        rest = (c, memory, mask, memory_mask, *encoded, causal, keep_masks)
        x = call(i, x, p.blocks[i], *rest) if call else block(x, p.blocks[i], *rest)
    return apply_norm(x, p.norm, c)


@contextmanager
def override_block(call: Callable[..., Tensor] | None) -> Iterator[None]:
    """Make the models of this thread compute each block by `call` while the context lasts.

    It is meant for what does not change the result: activation checkpointing, which recomputes a
    block in the backward pass, or gathering its parameters first. Under `torch.compile` it has no
    effect.

    Parameters
    ----------
    call : callable or None
        Takes the index of a block and the arguments of `block`, and returns what `block` returns.
    """
    previous, BLOCK_OVERRIDE.call = BLOCK_OVERRIDE.call, call
    try:
        yield
    finally:
        BLOCK_OVERRIDE.call = previous
