"""Attention with sinks and soft caps: where weight goes that no value shall get (chapter 22)."""

import torch
from torch import Tensor
from torch.nn.functional import pad

from tformer.fast.attention import attention, scale_of
from tformer.fast.groups import grouped_attention
from tformer.fast.masks import causal_mask_on
from tformer.fast.precision import wide
from tformer.fast.softmax import softmax
from tformer.fast.twins import twin
from tformer.fast.vjp import vjp

__all__ = ["sink_attention", "sink_attention_vjp", "soft_cap", "soft_cap_vjp"]


@twin
def soft_cap(x: Tensor, cap: float) -> Tensor:
    """Half precision is computed in float32."""
    return (cap * torch.tanh(wide(x) / cap)).to(x.dtype)


@twin
def soft_cap_vjp(x: Tensor, cap: float, grad: Tensor) -> Tensor:
    """Computed by PyTorch's autograd from `soft_cap`."""
    return vjp(lambda x: soft_cap(x, cap), (x,), grad)[0]


@twin
def sink_attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    sinks: Tensor | None = None,
    mask: Tensor | None = None,
    scale: float | None = None,
    cap: float | None = None,
    causal: bool = False,
    offset: int = 0,
) -> Tensor:
    """Without a cap the sink is a key of zeros with a bias and a value of zeros, in the kernel."""
    if sinks is None and cap is None:
        return grouped_attention(q, k, v, mask, None, scale, causal, offset)
    if causal:
        past = causal_mask_on(q.shape[-2], k.shape[-2], offset, q.device)
        mask = past if mask is None else mask & past
    mask = None if mask is None else mask.unsqueeze(-3)
    size = q.shape[-3] // k.shape[-3]
    k, v = (x.repeat_interleave(size, dim=-3) for x in (k, v))
    if cap is None:
        return _with_zero_key(q, k, v, sinks, mask, scale)
    scores = scale_of(q, scale) * (wide(q) @ wide(k).mT)
    scores = cap * torch.tanh(scores / cap)
    if mask is not None:
        scores = scores.masked_fill(~mask, -torch.inf)
    if sinks is not None:
        column = wide(sinks)[:, None, None].expand(*scores.shape[:-1], 1)
        scores = torch.cat([scores, column], dim=-1)
    return (softmax(scores)[..., : k.shape[-2]] @ wide(v)).to(q.dtype)


@twin
def sink_attention_vjp(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    grad: Tensor,
    sinks: Tensor | None = None,
    mask: Tensor | None = None,
    scale: float | None = None,
    cap: float | None = None,
    causal: bool = False,
    offset: int = 0,
) -> tuple[Tensor, Tensor, Tensor, Tensor | None]:
    """Computed by PyTorch's autograd from `sink_attention`."""

    def attend(q: Tensor, k: Tensor, v: Tensor, sinks: Tensor | None) -> Tensor:
        return sink_attention(q, k, v, sinks, mask, scale, cap, causal, offset)

    return vjp(attend, (q, k, v, sinks), grad)


def _with_zero_key(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    sinks: Tensor | None,
    mask: Tensor | None,
    scale: float | None,
) -> Tensor:
    """Attend with one more key, of zeros, whose bias is the sink and whose value is zero."""
    n_keys = k.shape[-2]
    column = sinks[:, None, None]  # type: ignore[index]
    bias = torch.cat([column.new_zeros(len(column), 1, n_keys), column], dim=-1)
    if mask is not None:
        mask = pad(mask.expand(*mask.shape[:-1], n_keys), (0, 1), value=True)
    k, v = (pad(x, (0, 0, 0, 1)) for x in (k, v))
    return attention(q, k, v, mask, bias, scale_of(q, scale))
