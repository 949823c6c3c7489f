"""What all models are made of: words to rows, a stack of blocks, rows to scores (chapter 10)."""

import math
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import linear

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
from tformer.fast.twins import twin
from tformer.fast.vjp import vjp
from tformer.parameters import DropoutMasks, ModelParameters

__all__ = ["override_block", "unembed", "unembed_vjp"]


class PositionEncoding(NamedTuple):
    """What a scheme does with positions (..., T), as in the definition; `like` has the dtype.

    Attributes
    ----------
    added : callable
        The rows that are added to the words.
    bias : callable
        The bias of the scores for distances (..., T, S).
    turns : callable
        The sinusoids by which pairs are turned.
    """

    added: Callable[..., Tensor] | None = None
    bias: Callable[..., Tensor] | None = None
    turns: Callable[..., Tensor] | None = None


def _waves(width: int, c: Configuration, positions: Tensor, dtype: torch.dtype) -> Tensor:
    return sinusoids_of(positions, width, c.base, 1.0, dtype)


POSITION_ENCODINGS = {
    "none": PositionEncoding(),
    "sinusoidal": PositionEncoding(
        added=lambda p, c, at, like: _waves(like.shape[-1], c, at, like.dtype)
    ),
    "learned": PositionEncoding(added=lambda p, c, at, like: embedding(at, p.positions)),
    "relative": PositionEncoding(bias=lambda p, apart, like: relative_bias_at(p.distances, apart)),
    "alibi": PositionEncoding(
        bias=lambda p, apart, like: alibi_bias_at(p.blocks[0].heads.w_q.shape[0], apart, like.dtype)
    ),
    "rope": PositionEncoding(
        turns=lambda p, c, at, like: _waves(
            p.blocks[0].heads.w_q.shape[-1], c, at, wide(like).dtype
        )
    ),
}
"""What each choice of `Configuration.positions` does; one without an entry fails."""


class _Way(threading.local):
    """How this thread calls a block; as it is, if that is None."""

    call: Callable[..., Tensor] | None = None


WAY = _Way()


@twin
def unembed(x: Tensor, parameters: ModelParameters) -> Tensor:
    """On a CPU half precision is widened to float32."""
    p, dtype = parameters, x.dtype
    x, table = widened(x, p.embedding if p.unembedding is None else p.unembedding.mT)
    y = linear(x, table)
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
    **several: tuple[object, ...] | None,
) -> None:
    """Hold tokens, positions and parameters to each other and to the configuration."""
    n_tokens = tokens.shape[-1] + offset if positions is None else 0
    require_model(where, p, c, n_tokens, has_memory, **several)
    require_rows(where, tokens, p.embedding)
    if positions is not None and c.positions == "learned":
        require_rows(where, positions, p.positions, "positions")


def embed(
    tokens: Tensor,
    p: ModelParameters,
    c: Configuration,
    offset: int = 0,
    positions: Tensor | None = None,
) -> Tensor:
    """The row of each word, with its position if that is added."""
    x, scheme = embedding(tokens, p.embedding), POSITION_ENCODINGS[c.positions]
    x = x * math.sqrt(x.shape[-1]) if c.scale_embedding else x
    if scheme.added is None:
        return x
    at = _counted(tokens.shape[-1], offset, positions, x)[..., offset:]
    return x + scheme.added(p, c, at, x)


def position_inputs(
    p: ModelParameters,
    c: Configuration,
    n_queries: int,
    offset: int,
    like: Tensor,
    positions: Tensor | None = None,
) -> tuple[Tensor | None, Tensor | None]:
    """What every block is told of positions: a bias of its scores, and sinusoids to turn by."""
    scheme, at = POSITION_ENCODINGS[c.positions], _counted(n_queries, offset, positions, like)
    if not p.blocks:
        return None, None
    apart = at.unsqueeze(-2) - at[..., offset:].unsqueeze(-1)
    bias = None if scheme.bias is None else scheme.bias(p, apart, like)
    return bias, None if scheme.turns is None else scheme.turns(p, c, at[..., offset:], like)


def _counted(n_new: int, offset: int, positions: Tensor | None, like: Tensor) -> Tensor:
    """The positions of all words, those in a cache first: as given, or counted from 0."""
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
    """Rows through all blocks, and through the last norm."""
    places = position_inputs(p, c, x.shape[-2], 0, x, positions)
    call = None if torch.compiler.is_compiling() else WAY.call
    for i, keeps in enumerate(dropout_masks or [None] * len(p.blocks)):
        rest = (c, memory, mask, memory_mask, *places, causal, keeps)
        x = call(i, x, p.blocks[i], *rest) if call else block(x, p.blocks[i], *rest)
    return apply_norm(x, p.norm, c)


@contextmanager
def override_block(call: Callable[..., Tensor] | None) -> Iterator[None]:
    """While it lasts the models of this thread go through each of their blocks by `call`.

    It is for what changes no number: to compute a block again in the backward pass, or to fetch its
    parameters first. A compiler that reads along passes it by.

    Parameters
    ----------
    call : callable or None
        Takes the number of a block and the arguments of `block`, and returns what `block` does.
    """
    before, WAY.call = WAY.call, call
    try:
        yield
    finally:
        WAY.call = before
