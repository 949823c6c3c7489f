"""Attention without the matrix: what PyTorch's kernel does of itself (chapter 16)."""

from torch import Tensor

from tformer.fast.attention import attention
from tformer.fast.masks import causal_attention, no_later
from tformer.fast.twins import twin
from tformer.fast.vjp import vjp

__all__ = ["blockwise_attention", "blockwise_attention_vjp"]


@twin
def blockwise_attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    mask: Tensor | None = None,
    bias: Tensor | None = None,
    scale: float | None = None,
    causal: bool = False,
    offset: int = 0,
    block: int = 208,
) -> Tensor:
    """By `attention`, or `causal_attention`, whose kernel has blocks of its own.

    So `block` changes nothing here. See `attention` for where PyTorch has no such kernel.
    """
    if causal and mask is None and bias is None:
        return causal_attention(q, k, v, offset, scale)
    if causal:
        later = no_later(q.shape[-2], k.shape[-2], offset, q.device)
        mask = later if mask is None else mask & later
    return attention(q, k, v, mask, bias, scale)


@twin
def blockwise_attention_vjp(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    grad: Tensor,
    mask: Tensor | None = None,
    bias: Tensor | None = None,
    scale: float | None = None,
    causal: bool = False,
    offset: int = 0,
    block: int = 208,
) -> tuple[Tensor, Tensor, Tensor, Tensor | None]:
    """By PyTorch's automatic differentiation of `blockwise_attention`."""

    def look(q: Tensor, k: Tensor, v: Tensor, bias: Tensor | None) -> Tensor:
        return blockwise_attention(q, k, v, mask, bias, scale, causal, offset, block)

    return vjp(look, (q, k, v, bias), grad)
