"""Similarity of vectors: dot product, cosine, distance, projection (chapter 1)."""

import torch
from torch import Tensor

from tformer.fast.precision import magnitude, wide
from tformer.fast.twins import twin

__all__ = [
    "cosine_similarity",
    "dot",
    "norm",
    "pairwise_cosine",
    "pairwise_dot",
    "pairwise_squared_distance",
    "projection",
    "squared_distance",
]


@twin
def dot(q: Tensor, k: Tensor) -> Tensor:
    """Half precision is computed in float32."""
    return torch.linalg.vecdot(wide(q), wide(k)).to(q.dtype)


@twin
def norm(x: Tensor) -> Tensor:
    """The gradient at the zero vector is 0."""
    scale = magnitude(wide(x))
    return (torch.linalg.vector_norm(wide(x) / scale, dim=-1) * scale.squeeze(-1)).to(x.dtype)


@twin
def cosine_similarity(q: Tensor, k: Tensor) -> Tensor:
    """A zero vector has gradient 0."""
    return torch.linalg.vecdot(_unit(q), _unit(k)).to(q.dtype)


@twin
def squared_distance(q: Tensor, k: Tensor) -> Tensor:
    return (wide(q) - wide(k)).square().sum(dim=-1).to(q.dtype)


@twin
def projection(q: Tensor, k: Tensor) -> Tensor:
    """k is scaled to norm 1 first, which cannot overflow. The zero vector has gradient 0."""
    direction = _unit(k)
    scale = magnitude(wide(q)).clamp_min(1)
    length = torch.linalg.vecdot(wide(q) / scale, direction).unsqueeze(-1)
    return (length * direction * scale).to(q.dtype)


@twin
def pairwise_dot(q: Tensor, k: Tensor) -> Tensor:
    """One matrix product, accumulated in float32 or better."""
    return q @ k.mT


@twin
def pairwise_cosine(q: Tensor, k: Tensor) -> Tensor:
    """Zero vectors as in `cosine_similarity`."""
    return _unit(q).to(q.dtype) @ _unit(k).to(k.dtype).mT


@twin
def pairwise_squared_distance(q: Tensor, k: Tensor) -> Tensor:
    """Computed as |q|² + |k|² - 2 q·k: one matrix product and T S memory. The cost is accuracy: the
    error is a few eps (|q|² + |k|²), however close q is to k.
    """
    dtype, q, k = q.dtype, wide(q), wide(k)
    scale = _overflow_scale(q, k)
    q, k = q / scale, k / scale
    squared_q = q.square().sum(dim=-1).unsqueeze(-1)
    squared_k = k.square().sum(dim=-1).unsqueeze(-2)
    squared = torch.sub(squared_q + squared_k, q @ k.mT, alpha=2).clamp_min_(0)
    return squared.mul_(scale).mul_(scale).to(dtype)


def _unit(x: Tensor) -> Tensor:
    """Scale each vector to norm 1; zero vectors stay zero and have gradient 0."""
    x = wide(x)
    x = x / magnitude(x)
    length = torch.linalg.vector_norm(x, dim=-1, keepdim=True)
    zero = length == 0
    return x.masked_fill(zero, 0.0) / length.masked_fill(zero, 1.0)


def _overflow_scale(q: Tensor, k: Tensor) -> Tensor:
    """Return a power of two to divide by so that no square overflows; 1 if none would."""
    limits = torch.finfo(q.dtype)
    sizes = [x.detach().nan_to_num(0, 0, 0).abs_() for x in (q, k)]
    largest = [(x.amax if x.numel() else x.sum)((-2, -1), keepdim=True) for x in sizes]
    scale = torch.maximum(*largest) / limits.max**0.375
    return scale.clamp_(1, limits.max / 2).log2_().floor_().exp2_()
