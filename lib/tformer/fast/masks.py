"""Attention masks, and causal attention (chapter 5).

A mask is boolean; True means "may attend". Masks are combined by the operators of NumPy and
PyTorch: ``&`` if both must allow it, ``|`` if one suffices, ``~`` for the complement; they
broadcast as arrays do. ``~mask`` also converts from and to libraries in which True means "masked".

Masks that are made from sizes alone are on torch's default device.
"""

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from tformer.fast._kernels import additive, for_kernel, kernel_of
from tformer.fast.attention import attention, scale_of
from tformer.fast.checks import require_values
from tformer.fast.twins import twin

__all__ = [
    "causal_attention",
    "causal_mask",
    "count_leaks",
    "from_additive",
    "packed_mask",
    "padding_mask",
    "prefix_mask",
    "sliding_window_mask",
    "to_additive",
]


@twin
def causal_mask(n_queries: int, n_keys: int, offset: int = 0) -> Tensor:
    """`causal_attention` does not need this mask, and is faster without it."""
    return causal_mask_on(n_queries, n_keys, offset, None)


def causal_mask_on(n_queries: int, n_keys: int, offset: int, device: torch.device | None) -> Tensor:
    """Return the causal mask on any device; None is torch's default device."""
    t = torch.arange(n_queries, device=device).unsqueeze(-1) + offset
    return torch.arange(n_keys, device=device) <= t


@twin
def sliding_window_mask(n_queries: int, n_keys: int, window: int, offset: int = 0) -> Tensor:
    t, s = torch.arange(n_queries).unsqueeze(-1) + offset, torch.arange(n_keys)
    return (s <= t).logical_and_(s > t - window)


@twin
def prefix_mask(n_queries: int, n_keys: int, n_prefix: int, offset: int = 0) -> Tensor:
    t, s = torch.arange(n_queries).unsqueeze(-1) + offset, torch.arange(n_keys)
    return (s <= t).logical_or_(s < n_prefix)


@twin
def padding_mask(lengths: Tensor, n_keys: int) -> Tensor:
    """The mask is on the device of `lengths`."""
    return torch.arange(n_keys, device=lengths.device) < lengths.long()[..., None, None]


@twin
def packed_mask(documents_q: Tensor, documents_k: Tensor) -> Tensor:
    """The mask is on the device of `documents_q`."""
    t, s = documents_q.long().unsqueeze(-1), documents_k.long().unsqueeze(-2)
    return (t == s).logical_and_(t >= 0)


@twin
def to_additive(mask: Tensor) -> Tensor:
    """In torch's default dtype; both values are exact in every other."""
    return additive(mask, torch.get_default_dtype())


@twin
def from_additive(bias: Tensor) -> Tensor:
    require_values("from_additive", "bias", bias)
    if not ((bias == 0) | (bias == -torch.inf)).all():
        other = bias[(bias != 0) & (bias != -torch.inf)][0]
        raise ValueError(
            f"from_additive: every entry of bias must be 0 or -inf; got {other:.6g}; only -inf "
            "masks a key whatever the scores are"
        )
    return bias == 0


@twin
def count_leaks(influence: Tensor, mask: Tensor) -> Tensor:
    return ((influence != 0) & ~mask).sum(dim=(-2, -1))


@twin
def causal_attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    offset: int = 0,
    scale: float | None = None,
) -> Tensor:
    """Uses the fused kernel of [dao2022], which skips later keys and needs no mask.

    So an infinite or NaN entry at a later key, which the definition propagates as NaN, may have no
    effect: see decision 018. With an offset, or with few keys, the mask is built.
    """
    n_queries, n_keys, scale = q.shape[-2], k.shape[-2], scale_of(q, scale)
    if offset >= n_keys - 1:
        return attention(q, k, v, scale=scale)
    if offset or n_keys < kernel_of(q).fewest:
        mask = causal_mask_on(n_queries, n_keys, offset, q.device)
        return attention(q, k, v, mask, scale=scale)
    q, k, v, _, restored = for_kernel(q, k, v, None, None)
    return restored(scaled_dot_product_attention(q, k, v, is_causal=True, scale=scale))


def without_padding(mask: Tensor | None, valid: Tensor | None) -> Tensor | None:
    """Return the mask (..., T or 1, S) with padding hidden too, None if both are None."""
    if valid is None:
        return mask
    tokens = valid.unsqueeze(-2)
    return tokens if mask is None else mask & tokens
