"""Many heads: several attentions side by side, whose results are added up (chapter 6).

All heads are computed at once. Where they share keys and values, those are neither copied nor
projected more than once.
"""

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from tformer.fast._kernels import kernel_of, takes_groups
from tformer.fast.attention import attention, attention_weights
from tformer.fast.precision import wide
from tformer.fast.twins import twin
from tformer.weights import HeadWeights, looked_at

__all__ = [
    "multi_head_attention",
    "multi_head_attention_vjp",
    "multi_head_weights",
    "ov_circuit",
    "qk_circuit",
]


@twin
def multi_head_attention(
    x: Tensor,
    weights: HeadWeights,
    memory: Tensor | None = None,
    mask: Tensor | None = None,
    bias: Tensor | None = None,
    scale: float | None = None,
) -> Tensor:
    """By `attention`, so that no table of scores is stored. On a CPU half precision is widened to
    float32; on a GPU queries, keys, values and what the heads read are rounded to it.
    """
    source = looked_at("multi_head_attention", x, memory, mask, bias)
    q, k, v, weights, bias = _heads(x, weights, source, bias)
    y = _looked_up(q, k, v, mask, bias, scale)
    together = y.transpose(-3, -2).flatten(-2)
    return (together @ weights.w_o.flatten(0, 1)).to(x.dtype)


@twin
def multi_head_attention_vjp(
    x: Tensor,
    weights: HeadWeights,
    grad: Tensor,
    memory: Tensor | None = None,
    mask: Tensor | None = None,
    bias: Tensor | None = None,
    scale: float | None = None,
) -> tuple[Tensor, HeadWeights, Tensor | None, Tensor | None]:
    """By PyTorch's automatic differentiation of `multi_head_attention`."""
    looked_at("multi_head_attention_vjp", x, memory, mask, bias)  # errors name this function
    with torch.enable_grad():
        x, *matrices = (a.detach().requires_grad_() for a in (x, *vars(weights).values()))
        memory, bias = (a if a is None else a.detach().requires_grad_() for a in (memory, bias))
        y = multi_head_attention(x, HeadWeights(*matrices), memory, mask, bias, scale)
        y, grad = torch.broadcast_tensors(y, grad)
        inputs = [a for a in (x, *matrices, memory, bias) if a is not None]
        dx, *rest = torch.autograd.grad(y, inputs, grad, materialize_grads=True)
    dbias = None if bias is None else rest.pop()
    dmemory = None if memory is None else rest.pop()
    return dx, HeadWeights(*rest), dmemory, dbias


@twin
def multi_head_weights(
    x: Tensor,
    weights: HeadWeights,
    memory: Tensor | None = None,
    mask: Tensor | None = None,
    bias: Tensor | None = None,
    scale: float | None = None,
) -> Tensor:
    """Half precision as in `multi_head_attention`."""
    source = looked_at("multi_head_weights", x, memory, mask, bias)
    q, k, _, _, bias = _heads(x, weights, source, bias)
    q, mask, bias = _by_groups(q, k, mask, bias)
    return attention_weights(q, k.unsqueeze(-3), mask, bias, scale).flatten(-4, -3).to(x.dtype)


@twin
def qk_circuit(weights: HeadWeights) -> Tensor:
    w_k = weights.w_k.repeat_interleave(weights.group_size, dim=0)
    return (wide(weights.w_q) @ wide(w_k).mT).to(w_k.dtype)


@twin
def ov_circuit(weights: HeadWeights) -> Tensor:
    w_v = weights.w_v.repeat_interleave(weights.group_size, dim=0)
    return (wide(w_v) @ wide(weights.w_o)).to(w_v.dtype)


def _heads(
    x: Tensor, weights: HeadWeights, source: Tensor, bias: Tensor | None
) -> tuple[Tensor, Tensor, Tensor, HeadWeights, Tensor | None]:
    """Queries of all heads, keys and values of all groups; what else there is in their precision.

    The matrices of all heads are laid side by side, so that each projection is one product.
    """
    if x.dtype.itemsize < 4 and not kernel_of(x).half:
        x, source, bias = wide(x), wide(source), None if bias is None else wide(bias)
        weights = HeadWeights(*map(wide, vars(weights).values()))

    def projected(rows: Tensor, matrices: Tensor) -> Tensor:
        n_heads, _, width = matrices.shape
        together = rows @ matrices.transpose(0, 1).flatten(1)
        return together.unflatten(-1, (n_heads, width)).transpose(-3, -2)

    q = projected(x, weights.w_q)
    return q, projected(source, weights.w_k), projected(source, weights.w_v), weights, bias


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


def _looked_up(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    mask: Tensor | None,
    bias: Tensor | None,
    scale: float | None,
) -> Tensor:
    """What each head reads: (..., H, T, d_v).

    Of the axes for the heads of a group and for the queries, one of size 1 is dropped: a single
    query of several heads is several queries of one head.
    """
    if mask is None and bias is None and takes_groups(q, k, v):
        return scaled_dot_product_attention(q, k, v, scale=scale, enable_gqa=True)
    q, mask, bias = _by_groups(q, k, mask, bias)
    if 1 not in q.shape[-3:-1]:
        k, v = k.unsqueeze(-3), v.unsqueeze(-3)
        return attention(q, k, v, mask, bias, scale).flatten(-4, -3)
    axis = -3 if q.shape[-3] == 1 else -2
    q = q.squeeze(axis)
    mask, bias = (x if x is None else x.squeeze(axis) for x in (mask, bias))
    return attention(q, k, v, mask, bias, scale).unsqueeze(axis).flatten(-4, -3)
