"""How alike two vectors are: dot product, cosine, distance, projection (chapter 1)."""

import torch
from torch import Tensor

from tformer.fast.checks import checked
from tformer.fast.precision import magnitude, wide

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


@checked
def dot(q: Tensor, k: Tensor) -> Tensor:
    """Dot product: the sum of the products of matching coordinates.

    Parameters
    ----------
    q : (..., K) array
    k : (..., K) array

    Returns
    -------
    (...) array

    Raises
    ------
    ShapeError
        If q and k differ in width or their leading axes do not broadcast.

    Notes
    -----
    Equation eq-dot.
    """
    return torch.linalg.vecdot(wide(q), wide(k)).to(q.dtype)


@checked
def norm(x: Tensor) -> Tensor:
    """Euclidean length of a vector.

    Parameters
    ----------
    x : (..., K) array

    Returns
    -------
    (...) array

    Notes
    -----
    Equation eq-norm. The gradient at the zero vector is 0.
    """
    scale = magnitude(wide(x))
    return (torch.linalg.vector_norm(wide(x) / scale, dim=-1) * scale.squeeze(-1)).to(x.dtype)


@checked
def cosine_similarity(q: Tensor, k: Tensor) -> Tensor:
    """Cosine of the angle between q and k; 0 if either is the zero vector.

    Parameters
    ----------
    q : (..., K) array
    k : (..., K) array

    Returns
    -------
    (...) array

    Raises
    ------
    ShapeError
        If q and k differ in width or their leading axes do not broadcast.

    Notes
    -----
    Equation eq-cosine-similarity. A zero vector has cosine 0, with gradient 0. Rounding can carry
    the result past ±1 by a few units in the last place.
    """
    return torch.linalg.vecdot(_unit(q), _unit(k)).to(q.dtype)


@checked
def squared_distance(q: Tensor, k: Tensor) -> Tensor:
    """Squared Euclidean distance from q to k.

    Parameters
    ----------
    q : (..., K) array
    k : (..., K) array

    Returns
    -------
    (...) array

    Raises
    ------
    ShapeError
        If q and k differ in width or their leading axes do not broadcast.

    Notes
    -----
    Equation eq-squared-distance.
    """
    return (wide(q) - wide(k)).square().sum(dim=-1).to(q.dtype)


@checked
def projection(q: Tensor, k: Tensor) -> Tensor:
    """Projection of q onto the line through k: the point of that line nearest to q.

    Parameters
    ----------
    q : (..., K) array
    k : (..., K) array

    Returns
    -------
    (..., K) array

    Raises
    ------
    ShapeError
        If q and k differ in width or their leading axes do not broadcast.

    Notes
    -----
    Equation eq-projection, with k scaled to length one first, which cannot overflow. Onto the zero
    vector the projection is zero, with gradient 0.
    """
    direction = _unit(k)
    scale = magnitude(wide(q)).clamp_min(1)
    length = torch.linalg.vecdot(wide(q) / scale, direction).unsqueeze(-1)
    return (length * direction * scale).to(q.dtype)


@checked
def pairwise_dot(q: Tensor, k: Tensor) -> Tensor:
    """Table of dot products: row t, column s holds the dot product of query t and key s.

    Parameters
    ----------
    q : (..., T, K) array
    k : (..., S, K) array

    Returns
    -------
    (..., T, S) array

    Raises
    ------
    ShapeError
        If q and k differ in width or their leading axes do not broadcast.

    Notes
    -----
    Equation eq-pairwise-dot. One matrix product, accumulated in float32 or better.
    """
    return q @ k.mT


@checked
def pairwise_cosine(q: Tensor, k: Tensor) -> Tensor:
    """Table of cosines: row t, column s holds the cosine of query t and key s.

    Parameters
    ----------
    q : (..., T, K) array
    k : (..., S, K) array

    Returns
    -------
    (..., T, S) array

    Raises
    ------
    ShapeError
        If q and k differ in width or their leading axes do not broadcast.

    Notes
    -----
    Equation eq-pairwise-cosine. Zero vectors as in `cosine_similarity`.
    """
    return _unit(q).to(q.dtype) @ _unit(k).to(k.dtype).mT


@checked
def pairwise_squared_distance(q: Tensor, k: Tensor) -> Tensor:
    """Table of squared distances: row t, column s holds that from query t to key s.

    Parameters
    ----------
    q : (..., T, K) array
    k : (..., S, K) array

    Returns
    -------
    (..., T, S) array

    Raises
    ------
    ShapeError
        If q and k differ in width or their leading axes do not broadcast.

    Notes
    -----
    Equation eq-pairwise-squared-distance, by the law of cosines: one matrix product and T S
    memory. The price is digits: the error is a few eps (|q|² + |k|²), however near q is to k.
    """
    dtype, q, k = q.dtype, wide(q), wide(k)
    scale = torch.maximum(_room(q), _room(k))
    q, k = q / scale, k / scale
    squared_q = q.square().sum(dim=-1).unsqueeze(-1)
    squared_k = k.square().sum(dim=-1).unsqueeze(-2)
    squared = torch.sub(squared_q + squared_k, q @ k.mT, alpha=2).clamp_min(0)
    return (squared * scale * scale).to(dtype)


def _unit(x: Tensor) -> Tensor:
    """Scale each vector to length one; zero vectors stay zero and pass no gradient."""
    x = wide(x)
    x = x / magnitude(x)
    length = torch.linalg.vector_norm(x, dim=-1, keepdim=True)
    zero = length == 0
    return x.masked_fill(zero, 0.0) / length.masked_fill(zero, 1.0)


def _room(x: Tensor) -> Tensor:
    """Power of two to divide all vectors by, lest their squares overflow; 1 where none would."""
    finite = x.nan_to_num(0, 0, 0) / torch.finfo(x.dtype).max ** 0.375
    return magnitude(finite, dim=(-2, -1)).clamp_min(1)
