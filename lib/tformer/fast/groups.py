"""Attention of every head, where several heads may share keys and values (chapter 6).

All heads are computed at once, and what they share is not copied on a CPU.
"""

from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from tformer.fast._kernels import kernel_of, takes_groups
from tformer.fast.attention import attention, attention_weights
from tformer.fast.masks import causal_attention, no_later
from tformer.fast.twins import twin
from tformer.fast.vjp import vjp

__all__ = ["grouped_attention", "grouped_attention_vjp", "grouped_attention_weights"]


@twin
def grouped_attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    mask: Tensor | None = None,
    bias: Tensor | None = None,
    scale: float | None = None,
    causal: bool = False,
    offset: int = 0,
) -> Tensor:
    """By `attention` or `causal_attention`, so that no table of scores is stored.

    A query after all keys needs no mask: a cached step is the bare kernel.
    """
    causal = causal and offset < k.shape[-2] - 1
    if causal and not _kernel_hides(q, k, mask, bias, offset):
        mask, causal = _no_later(q, k, mask, offset), False
    if q.shape[-3] == k.shape[-3]:
        mask = None if mask is None else mask.unsqueeze(-3)
        return (
            causal_attention(q, k, v, scale=scale)
            if causal
            else attention(q, k, v, mask, bias, scale)
        )
    if mask is None and bias is None and takes_groups(q, k, v):
        return scaled_dot_product_attention(q, k, v, is_causal=causal, scale=scale, enable_gqa=True)
    q, mask, bias = _by_groups(q, k, mask, bias)
    if causal:
        y = causal_attention(q, k.unsqueeze(-3), v.unsqueeze(-3), scale=scale)
        return y.flatten(-4, -3)
    if q.shape[-2] != 1:
        k, v = k.unsqueeze(-3), v.unsqueeze(-3)
        return attention(q, k, v, mask, bias, scale).flatten(-4, -3)
    # A single query of several heads is several queries of one head.
    mask, bias = (x if x is None else x.squeeze(-2) for x in (mask, bias))
    y = attention(q.squeeze(-2), k, v, mask, bias, scale)
    return y.unsqueeze(-2).flatten(-4, -3)


@twin
def grouped_attention_weights(
    q: Tensor,
    k: Tensor,
    mask: Tensor | None = None,
    bias: Tensor | None = None,
    scale: float | None = None,
    causal: bool = False,
    offset: int = 0,
) -> Tensor:
    """By `attention_weights`, for all heads at once."""
    mask = _no_later(q, k, mask, offset) if causal else mask
    q, mask, bias = _by_groups(q, k, mask, bias)
    return attention_weights(q, k.unsqueeze(-3), mask, bias, scale).flatten(-4, -3)


@twin
def grouped_attention_vjp(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    grad: Tensor,
    mask: Tensor | None = None,
    bias: Tensor | None = None,
    scale: float | None = None,
    causal: bool = False,
    offset: int = 0,
) -> tuple[Tensor, Tensor, Tensor, Tensor | None]:
    """By PyTorch's automatic differentiation of `grouped_attention`."""

    def look(q: Tensor, k: Tensor, v: Tensor, bias: Tensor | None) -> Tensor:
        return grouped_attention(q, k, v, mask, bias, scale, causal, offset)

    return vjp(look, (q, k, v, bias), grad)


def _kernel_hides(
    q: Tensor, k: Tensor, mask: Tensor | None, bias: Tensor | None, offset: int
) -> bool:
    """Whether the kernel can leave later keys out by itself."""
    alone = mask is None and bias is None and offset == 0
    return alone and q.shape[-2] > 1 and k.shape[-2] >= kernel_of(q).fewest


def _no_later(q: Tensor, k: Tensor, mask: Tensor | None, offset: int) -> Tensor:
    """The mask, and no key after a query's position."""
    seen = no_later(q.shape[-2], k.shape[-2], offset, q.device)
    return seen if mask is None else mask & seen


def _by_groups(
    q: Tensor, k: Tensor, mask: Tensor | None, bias: Tensor | None
) -> tuple[Tensor, Tensor | None, Tensor | None]:
    """Queries, mask and bias with an axis for the groups and one for the heads of a group."""
    groups = (k.shape[-3], q.shape[-3] // k.shape[-3])
    if mask is not None:
        mask = mask.unsqueeze(-3).unsqueeze(-3)
    if bias is not None:
        bias = bias.unsqueeze(-3) if bias.shape[-3] == 1 else bias.unflatten(-3, groups)
    return q.unflatten(-3, groups), mask, bias
