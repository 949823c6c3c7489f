"""Projections: hidden states to queries, keys and values, and head outputs back (chapter 6).

The matrices of all heads are concatenated, so that each projection is one matrix product. On a CPU
half precision is widened to float32; on a GPU queries, keys, values and outputs are rounded to it.
"""

from typing import Any

import torch
from torch import Tensor

from tformer.fast._kernels import kernel_of
from tformer.fast.precision import wide
from tformer.fast.quantised import QuantisedMatrix, linear, linears
from tformer.fast.twins import twin
from tformer.fast.vjp import vjp
from tformer.parameters import HeadParameters, KVCache, require_keys

__all__ = ["extend_cache", "merge", "merge_vjp", "project", "project_vjp"]

Three = tuple[Tensor, Tensor, Tensor]


@twin
def project(x: Tensor, parameters: HeadParameters, memory: Tensor | None = None) -> Three:
    """Copies nothing but the matrices, where concatenating them needs a copy."""
    p, source = parameters, x if memory is None else memory
    if type(p.w_q) is QuantisedMatrix and memory is None:
        ws, bs = (p.w_q, p.w_k, p.w_v), (p.b_q, p.b_k, p.b_v)
        ys = linears(x, ws, tuple(b if b is None else b.flatten() for b in bs))
        q, k, v = (_by_head(y, w) for y, w in zip(ys, ws, strict=True))
        return q, k, v
    return _rows(x, p.w_q, p.b_q), _rows(source, p.w_k, p.b_k), _rows(source, p.w_v, p.b_v)


@twin
def project_vjp(
    x: Tensor,
    parameters: HeadParameters,
    dq: Tensor,
    dk: Tensor,
    dv: Tensor,
    memory: Tensor | None = None,
) -> tuple[Tensor, HeadParameters, Tensor | None]:
    """Computed by PyTorch's autograd from `project`."""
    require_keys("project_vjp", x, memory, axis=-2, dk=dk, dv=dv)
    return vjp(project, (x, parameters, memory), (dq, dk, dv))


@twin
def merge(y: Tensor, parameters: HeadParameters) -> Tensor:
    """As one matrix product of the concatenated outputs of the heads."""
    concatenated = y.transpose(-3, -2).flatten(-2)
    return _product(concatenated, _joined(parameters.w_o, 0), parameters.b_o)


@twin
def merge_vjp(y: Tensor, parameters: HeadParameters, grad: Tensor) -> tuple[Tensor, HeadParameters]:
    """Computed by PyTorch's autograd from `merge`."""
    return vjp(merge, (y, parameters), grad)


@twin
def extend_cache(cache: KVCache | None, k: Tensor, v: Tensor) -> KVCache:
    """Each call copies all keys and values once."""
    if cache is None:
        return KVCache(k, v)
    return KVCache(_concatenate(cache.k, k), _concatenate(cache.v, v))


def _rows(x: Tensor, w: Tensor, b: Tensor | None) -> Tensor:
    """Apply the linear map of each head to each token: (..., heads, T, width)."""
    concatenated = _product(x, _joined(w, 1), None if b is None else b.flatten())
    return _by_head(concatenated, w)


def _by_head(y: Tensor, w: Any) -> Tensor:
    """Split the last axis by head: (..., heads, T, width)."""
    return y.view(*y.shape[:-1], w.shape[0], w.shape[2]).transpose(-3, -2)


def _joined(w: Any, axis: int) -> Any:
    """Return the matrices of all heads in one, side by side (axis 1) or one below the other (0)."""
    if type(w) is QuantisedMatrix:
        return w
    return w.flatten(0, 1) if axis == 0 else w.transpose(0, 1).flatten(1)


def _product(x: Tensor, w: Any, b: Tensor | None) -> Tensor:
    """Apply a linear map with bias, in float32 where half precision is widened."""
    if x.dtype.itemsize >= 4 or kernel_of(x).half:
        return linear(x, w, b)
    return linear(wide(x), wide(w), None if b is None else wide(b)).to(x.dtype)


def _concatenate(first: Tensor, second: Tensor) -> Tensor:
    """Concatenate two tensors along the token axis; leading axes broadcast."""
    if first.shape[:-2] == second.shape[:-2]:
        return torch.cat([first, second], dim=-2)
    leading = torch.broadcast_shapes(first.shape[:-2], second.shape[:-2])
    return torch.cat([x.expand(*leading, *x.shape[-2:]) for x in (first, second)], dim=-2)
