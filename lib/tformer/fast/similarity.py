"""How alike two vectors are: dot product, cosine, distance, projection (chapter 1)."""

import torch
from torch import Tensor

from tformer.fast.checks import checked

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
    Equation eq-dot. Products and sum are kept in the dtype of q.
    """
    return torch.linalg.vecdot(q, k)


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
    return torch.linalg.vector_norm(x, dim=-1)


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
    return torch.linalg.vecdot(_unit(q), _unit(k))


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
    return (q - k).square().sum(dim=-1)


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
    return torch.linalg.vecdot(q, direction).unsqueeze(-1) * direction


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
    return _unit(q) @ _unit(k).mT


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
    squared_q = q.square().sum(dim=-1).unsqueeze(-1)
    squared_k = k.square().sum(dim=-1).unsqueeze(-2)
    return (squared_q + squared_k - 2 * (q @ k.mT)).clamp_min(0)


def _unit(x: Tensor) -> Tensor:
    """Scale each vector to length one; zero vectors stay zero and pass no gradient."""
    length = torch.linalg.vector_norm(x, dim=-1, keepdim=True)
    zero = length == 0
    return x.masked_fill(zero, 0.0) / length.masked_fill(zero, 1.0)
