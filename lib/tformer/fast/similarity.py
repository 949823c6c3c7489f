"""How alike two vectors are: dot product, cosine, distance, projection (chapter 1)."""

import torch
from torch import Tensor

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
    """Products and sum are kept in the dtype of q."""
    return torch.linalg.vecdot(q, k)


@twin
def norm(x: Tensor) -> Tensor:
    """The gradient at the zero vector is 0."""
    return torch.linalg.vector_norm(x, dim=-1)


@twin
def cosine_similarity(q: Tensor, k: Tensor) -> Tensor:
    """A zero vector has gradient 0."""
    return torch.linalg.vecdot(_unit(q), _unit(k))


@twin
def squared_distance(q: Tensor, k: Tensor) -> Tensor:
    return (q - k).square().sum(dim=-1)


@twin
def projection(q: Tensor, k: Tensor) -> Tensor:
    """k is scaled to length one first, which cannot overflow. The zero vector has gradient 0."""
    direction = _unit(k)
    return torch.linalg.vecdot(q, direction).unsqueeze(-1) * direction


@twin
def pairwise_dot(q: Tensor, k: Tensor) -> Tensor:
    """One matrix product, accumulated in float32 or better."""
    return q @ k.mT


@twin
def pairwise_cosine(q: Tensor, k: Tensor) -> Tensor:
    """Zero vectors as in `cosine_similarity`."""
    return _unit(q) @ _unit(k).mT


@twin
def pairwise_squared_distance(q: Tensor, k: Tensor) -> Tensor:
    """By the law of cosines: one matrix product and T S memory. The price is digits: the error
    is a few eps (|q|² + |k|²), however near q is to k.
    """
    squared_q = q.square().sum(dim=-1).unsqueeze(-1)
    squared_k = k.square().sum(dim=-1).unsqueeze(-2)
    return (squared_q + squared_k - 2 * (q @ k.mT)).clamp_min(0)


def _unit(x: Tensor) -> Tensor:
    """Scale each vector to length one; zero vectors stay zero and pass no gradient."""
    length = torch.linalg.vector_norm(x, dim=-1, keepdim=True)
    zero = length == 0
    return x.masked_fill(zero, 0.0) / length.masked_fill(zero, 1.0)
