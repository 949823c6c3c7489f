"""Blockwise attention: what PyTorch's fused kernel computes anyway (chapter 16)."""

from torch import Tensor

from tformer.fast.attention import attention
from tformer.fast.masks import causal_attention, causal_mask_on
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
    """Calls `attention` or `causal_attention`, whose kernel chooses its own blocks.

    So `block` has no effect here. `attention` says where PyTorch has no such kernel.
    """
    if causal and mask is None and bias is None:
        return causal_attention(q, k, v, offset, scale)
    if causal:
        past = causal_mask_on(q.shape[-2], k.shape[-2], offset, q.device)
        mask = past if mask is None else mask & past
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
    """Computed by PyTorch's autograd from `blockwise_attention`."""

    def attend(q: Tensor, k: Tensor, v: Tensor, bias: Tensor | None) -> Tensor:
        return blockwise_attention(q, k, v, mask, bias, scale, causal, offset, block)

    return vjp(attend, (q, k, v, bias), grad)
