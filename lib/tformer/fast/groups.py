"""Grouped-query attention: several query heads may share one key/value head (chapter 6).

All heads are computed at once; on a CPU shared keys and values are not copied.
"""

from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from tformer.fast._kernels import kernel_of, takes_folded, takes_groups
from tformer.fast.attention import attention, attention_weights
from tformer.fast.masks import causal_attention, causal_mask_on
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
    """Calls `attention` or `causal_attention`, so the T × S scores are not stored.

    A query that comes after all keys needs no mask: a decoding step with a KV cache is one call of
    the kernel.
    """
    causal = causal and offset < k.shape[-2] - 1
    if causal and not _kernel_is_causal(q, k, mask, bias, offset):
        mask, causal = _with_causal(q, k, mask, offset), False
    if q.shape[-3] == k.shape[-3]:
        mask = None if mask is None else mask.unsqueeze(-3)
        return (
            causal_attention(q, k, v, scale=scale)
            if causal
            else attention(q, k, v, mask, bias, scale)
        )
    if mask is None and bias is None and takes_groups(q, k, v):
        return scaled_dot_product_attention(q, k, v, is_causal=causal, scale=scale, enable_gqa=True)
    if mask is None and bias is None and takes_folded(q, k, v):
        # One query in each head of a group is several queries of one head.
        folded = q.view(1, k.shape[0], q.shape[0] // k.shape[0], q.shape[2])
        y = scaled_dot_product_attention(folded, k.unsqueeze(0), v.unsqueeze(0), scale=scale)
        return y.view(q.shape[0], 1, v.shape[2])
    q, mask, bias = _split_heads(q, k, mask, bias)
    if causal:
        y = causal_attention(q, k.unsqueeze(-3), v.unsqueeze(-3), scale=scale)
        return y.flatten(-4, -3)
    if q.shape[-2] != 1:
        k, v = k.unsqueeze(-3), v.unsqueeze(-3)
        return attention(q, k, v, mask, bias, scale).flatten(-4, -3)
    # One query in each head of a group is several queries of one head.
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
    """Calls `attention_weights` for all heads at once."""
    mask = _with_causal(q, k, mask, offset) if causal else mask
    q, mask, bias = _split_heads(q, k, mask, bias)
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
    """Computed by PyTorch's autograd from `grouped_attention`."""

    def attend(q: Tensor, k: Tensor, v: Tensor, bias: Tensor | None) -> Tensor:
        return grouped_attention(q, k, v, mask, bias, scale, causal, offset)

    return vjp(attend, (q, k, v, bias), grad)


def _kernel_is_causal(
    q: Tensor, k: Tensor, mask: Tensor | None, bias: Tensor | None, offset: int
) -> bool:
    """Return whether the kernel can apply the causal mask itself."""
    plain = mask is None and bias is None and offset == 0
    return plain and q.shape[-2] > 1 and k.shape[-2] >= kernel_of(q).fewest


def _with_causal(q: Tensor, k: Tensor, mask: Tensor | None, offset: int) -> Tensor:
    """Combine the mask with the causal mask."""
    past = causal_mask_on(q.shape[-2], k.shape[-2], offset, q.device)
    return past if mask is None else mask & past


def _split_heads(
    q: Tensor, k: Tensor, mask: Tensor | None, bias: Tensor | None
) -> tuple[Tensor, Tensor | None, Tensor | None]:
    """Split the head axis of queries, mask and bias in two: groups, and heads of a group."""
    groups = (k.shape[-3], q.shape[-3] // k.shape[-3])
    if mask is not None:
        mask = mask.unsqueeze(-3).unsqueeze(-3)
    if bias is not None:
        bias = bias.unsqueeze(-3) if bias.shape[-3] == 1 else bias.unflatten(-3, groups)
    return q.unflatten(-3, groups), mask, bias
