"""Sparse attention: a sliding window, or blocks given by a layout (chapter 16)."""

import torch
from torch import Tensor

from tformer.arguments import require_layout
from tformer.fast.attention import attention, scale_of
from tformer.fast.checks import require_values
from tformer.fast.twins import twin

__all__ = ["block_sparse_attention", "window_attention"]


@twin
def window_attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    window: int,
    offset: int = 0,
    scale: float | None = None,
    block: int = 208,
) -> Tensor:
    """Calls `attention` for one block of queries at a time."""
    n_keys, parts, scale = k.shape[-2], [], scale_of(q, scale)
    for start in range(0, max(q.shape[-2], 1), block):
        rows = q[..., start : start + block, :]
        first, last = start + offset, start + offset + rows.shape[-2]
        least = min(max(first - window + 1, 0), n_keys)
        keys = slice(least, max(min(last, n_keys), least))
        t = torch.arange(first, last, device=q.device).unsqueeze(-1)
        s = torch.arange(least, keys.stop, device=q.device)
        near = (s <= t).logical_and_(s > t - window)
        parts.append(attention(rows, k[..., keys, :], v[..., keys, :], near, scale=scale))
    return torch.cat(parts, dim=-2)


@twin
def block_sparse_attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    layout: Tensor,
    block: int,
    causal: bool = False,
    offset: int = 0,
    scale: float | None = None,
) -> Tensor:
    """Calls `attention` for one block of queries at a time, with copies of its keys and values."""
    require_values("block_sparse_attention", "layout", layout)
    require_layout("block_sparse_attention", layout.shape, q.shape[-2], k.shape[-2], block)
    parts, scale = [attention(q[..., :0, :], k, v, scale=scale)], scale_of(q, scale)
    for row, start in zip(layout, range(0, q.shape[-2], block), strict=True):
        rows = q[..., start : start + block, :]
        keys = row.repeat_interleave(block)[: k.shape[-2]].nonzero().squeeze(-1)
        t = torch.arange(rows.shape[-2], device=q.device).unsqueeze(-1) + start + offset
        mask = keys <= t if causal else None
        parts.append(attention(rows, k[..., keys, :], v[..., keys, :], mask, scale=scale))
    return torch.cat(parts, dim=-2)
