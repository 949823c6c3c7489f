"""Sinkhorn's iteration: rows and columns of a matrix that sum to 1 (chapter 22)."""

import numpy as np

from tformer.reference.attention import sum_to
from tformer.reference.equation import equation
from tformer.reference.softmax import softmax, softmax_vjp

__all__ = ["sinkhorn", "sinkhorn_vjp"]


@equation
def sinkhorn(logits: np.ndarray, n_rounds: int = 20, eps: float = 1e-6) -> np.ndarray:
    """Make matrices nearly doubly stochastic: rows and columns of numbers above 0 sum to about 1.

    Parameters
    ----------
    logits : (..., n_streams, n_streams) array
    n_rounds : int, at least 1
        How often the columns are divided by their sums; between two times the rows are.
    eps : float, finite and above 0
        Added to these sums, and to the softmax of the rows that all begins with.

    Returns
    -------
    (..., n_streams, n_streams) array
        Columns come last, so they sum to 1, but for eps; rows do in the limit.

    Notes
    -----
    Equation eq-sinkhorn; [sinkhorn1967], for a softmax of the rows as in [xie2025].
    """
    return _rounds(logits, n_rounds, eps)[-1]


@equation
def sinkhorn_vjp(
    logits: np.ndarray, grad: np.ndarray, n_rounds: int = 20, eps: float = 1e-6
) -> np.ndarray:
    """Compute the vector-Jacobian product of `sinkhorn`.

    Parameters
    ----------
    logits : (..., n_streams, n_streams) array
    grad : (..., n_streams, n_streams) array
        Gradient of a loss with respect to what `sinkhorn` returned.
    n_rounds : int, at least 1
        How often the columns are divided by their sums; between two times the rows are.
    eps : float, finite and above 0
        Added to these sums, and to the softmax of the rows that all begins with.

    Returns
    -------
    (..., n_streams, n_streams) array
        Through all rounds, from the last one to the first.

    Notes
    -----
    Equation eq-sinkhorn-vjp; the derivative of [sinkhorn1967].
    """
    weights, *found = _rounds(logits, n_rounds, eps)
    rounds = zip(_axes(n_rounds), found[:-1], found[1:], strict=True)
    for axis, before, after in reversed([*rounds]):
        total = before.sum(axis=axis, keepdims=True) + eps
        grad = (grad - np.sum(grad * after, axis=axis, keepdims=True)) / total
    return sum_to(logits, softmax_vjp(weights, grad))


def _rounds(logits: np.ndarray, n_rounds: int, eps: float) -> list[np.ndarray]:
    """Return the softmax of the rows, this plus eps, and the matrices after each division."""
    weights = softmax(logits)
    found = [weights, weights + eps]
    for axis in _axes(n_rounds):
        found.append(found[-1] / (found[-1].sum(axis=axis, keepdims=True) + eps))
    return found


def _axes(n_rounds: int) -> list[int]:
    """Return the axes along which matrices are divided by their sums, in turn."""
    return ([-2, -1] * n_rounds)[:-1]
