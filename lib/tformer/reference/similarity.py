"""Similarity of vectors: dot product, cosine, distance, projection (chapter 1)."""

import numpy as np

from tformer.reference.equation import equation
from tformer.reference.magnitude import magnitude

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


@equation
def dot(q: np.ndarray, k: np.ndarray) -> np.ndarray:
    """Compute the dot product: the sum of products of matching coordinates.

    Parameters
    ----------
    q : (..., d_k) array
    k : (..., d_k) array

    Returns
    -------
    (...) array

    Notes
    -----
    Equation eq-dot; [horn2012]. A width of 0 gives 0. The rounding error is at most about
    d_k eps |q|·|k| ([higham2002], section 3.1).
    """
    return (q * k).sum(axis=-1)


@equation
def norm(x: np.ndarray) -> np.ndarray:
    """Compute the Euclidean norm of each vector.

    Parameters
    ----------
    x : (..., d_k) array

    Returns
    -------
    (...) array

    Notes
    -----
    Equation eq-norm; [horn2012]. A power of two is divided out before the entries are squared, so
    that the squares neither overflow nor vanish.
    """
    scale = magnitude(x)
    return np.sqrt(((x / scale) ** 2).sum(axis=-1)) * scale[..., 0]


@equation
def cosine_similarity(q: np.ndarray, k: np.ndarray) -> np.ndarray:
    """Compute the cosine of the angle between q and k; 0 if either is the zero vector.

    Parameters
    ----------
    q : (..., d_k) array
    k : (..., d_k) array

    Returns
    -------
    (...) array

    Notes
    -----
    Equation eq-cosine-similarity; [horn2012]. Departure: the zero vector has no direction, and the
    book sets its cosine, and the gradient of it, to 0. Rounding can carry the result past ±1 by a
    few units in the last place.
    """
    return (_unit(q) * _unit(k)).sum(axis=-1)


@equation
def squared_distance(q: np.ndarray, k: np.ndarray) -> np.ndarray:
    """Compute the squared Euclidean distance from q to k.

    Parameters
    ----------
    q : (..., d_k) array
    k : (..., d_k) array

    Returns
    -------
    (...) array

    Notes
    -----
    Equation eq-squared-distance; [horn2012].
    """
    return ((q - k) ** 2).sum(axis=-1)


@equation
def projection(q: np.ndarray, k: np.ndarray) -> np.ndarray:
    """Project q onto the line through k: the point of that line nearest to q.

    Parameters
    ----------
    q : (..., d_k) array
    k : (..., d_k) array

    Returns
    -------
    (..., d_k) array

    Notes
    -----
    Equation eq-projection; [horn2012]. If k is the zero vector, the line is a point and the
    projection is zero.
    """
    scale = magnitude(q)
    q, k = q / scale, k / magnitude(k)
    squared_length = (k * k).sum(axis=-1, keepdims=True)
    coefficient = (q * k).sum(axis=-1, keepdims=True) / _one_for_zero(squared_length)
    return coefficient * k * scale


@equation
def pairwise_dot(q: np.ndarray, k: np.ndarray) -> np.ndarray:
    """Compute all dot products: entry (t, s) is that of query t and key s.

    Parameters
    ----------
    q : (..., T, d_k) array
    k : (..., S, d_k) array

    Returns
    -------
    (..., T, S) array

    Notes
    -----
    Equation eq-pairwise-dot; [horn2012]. One matrix product: q times the transpose of k.
    """
    return q @ k.mT


@equation
def pairwise_cosine(q: np.ndarray, k: np.ndarray) -> np.ndarray:
    """Compute all cosines: entry (t, s) is the cosine of query t and key s.

    Parameters
    ----------
    q : (..., T, d_k) array
    k : (..., S, d_k) array

    Returns
    -------
    (..., T, S) array

    Notes
    -----
    Equation eq-pairwise-cosine; [horn2012]. Zero vectors as in `cosine_similarity`.
    """
    return _unit(q) @ _unit(k).mT


@equation
def pairwise_squared_distance(q: np.ndarray, k: np.ndarray) -> np.ndarray:
    """Compute all squared distances: entry (t, s) is that from query t to key s.

    Parameters
    ----------
    q : (..., T, d_k) array
    k : (..., S, d_k) array

    Returns
    -------
    (..., T, S) array

    Notes
    -----
    Equation eq-pairwise-squared-distance; [horn2012]. All differences are formed, so memory grows
    as T S d_k.
    """
    difference = q[..., :, np.newaxis, :] - k[..., np.newaxis, :, :]
    return (difference**2).sum(axis=-1)


def _unit(x: np.ndarray) -> np.ndarray:
    """Scale each vector to norm 1; zero vectors stay zero."""
    x = x / magnitude(x)
    return x / _one_for_zero(np.sqrt((x * x).sum(axis=-1, keepdims=True)))


def _one_for_zero(x: np.ndarray) -> np.ndarray:
    """Replace each 0 by 1, to divide by."""
    return np.where(x == 0, 1, x)
