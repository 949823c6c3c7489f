"""What all models are made of: words to rows, a stack of blocks, rows to scores (chapter 10)."""

import math
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch
from torch import Tensor
from torch.nn.functional import linear

from tformer.configuration import Configuration, require_model
from tformer.fast._kernels import widened
from tformer.fast.blocks import block, normed
from tformer.fast.positions import (
    bias_of,
    embedding,
    relative_bias,
    require_rows,
    sinusoids_of,
)
from tformer.fast.precision import wide
from tformer.fast.twins import twin
from tformer.fast.vjp import vjp
from tformer.parameters import Kept, ModelParameters

__all__ = ["going_through", "unembed", "unembed_vjp"]


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
    """By PyTorch's automatic differentiation of `unembed`."""
    return vjp(unembed, (x, parameters), grad)


def require_words(
    where: str,
    tokens: Tensor,
    p: ModelParameters,
    c: Configuration,
    crossed: bool = False,
    offset: int = 0,
    **several: tuple[object, ...] | None,
) -> None:
    """Hold tokens and parameters to each other and to the configuration."""
    require_model(where, p, c, tokens.shape[-1] + offset, crossed, **several)
    require_rows(where, tokens, p.embedding)


def embedded(tokens: Tensor, p: ModelParameters, c: Configuration, offset: int = 0) -> Tensor:
    """The row of each word, with its position if that is added."""
    x = embedding(tokens, p.embedding)
    x = x * math.sqrt(x.shape[-1]) if c.scale_embedding else x
    places = torch.arange(offset, offset + tokens.shape[-1], device=tokens.device)
    if c.positions == "learned":
        return x + embedding(places, p.positions)
    if c.positions == "sinusoidal":
        return x + sinusoids_of(places, x.shape[-1], c.base, 1.0, x.dtype)
    return x


def places_of(
    p: ModelParameters, c: Configuration, n_queries: int, offset: int, like: Tensor
) -> tuple[Tensor | None, Tensor | None]:
    """What every block is told of positions: a bias of its scores, and sinusoids to turn by."""
    n_keys = n_queries + offset
    if p.blocks and c.positions == "rope":
        places = torch.arange(offset, n_keys, device=like.device)
        d_k = p.blocks[0].heads.w_q.shape[-1]
        return None, sinusoids_of(places, d_k, c.base, 1.0, wide(like).dtype)
    if p.blocks and c.positions == "alibi":
        n_heads = p.blocks[0].heads.w_q.shape[0]
        return bias_of(n_heads, n_queries, n_keys, offset, like.dtype, like.device), None
    if c.positions == "relative":
        return relative_bias(p.distances, n_queries, n_keys, offset), None
    return None, None


def stack(
    x: Tensor,
    p: ModelParameters,
    c: Configuration,
    causal: bool,
    memory: Tensor | None,
    mask: Tensor | None,
    memory_mask: Tensor | None,
    kept: tuple[Kept, ...] | None,
) -> Tensor:
    """Rows through all blocks, and through the last norm."""
    places = places_of(p, c, x.shape[-2], 0, x)
    call = None if torch.compiler.is_compiling() else WAY.call
    for i, keeps in enumerate(kept or [None] * len(p.blocks)):
        rest = (c, memory, mask, memory_mask, *places, causal, keeps)
        x = call(i, x, p.blocks[i], *rest) if call else block(x, p.blocks[i], *rest)
    return normed(x, p.norm, c)


@contextmanager
def going_through(call: Callable[..., Tensor] | None) -> Iterator[None]:
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
