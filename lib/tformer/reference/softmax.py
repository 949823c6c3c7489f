"""From scores to weights: softmax and its relatives (chapter 2).

A score of -inf means that the key is masked. Every function here takes the scores as they are and
subtracts the largest before it exponentiates, so that no exponent exceeds zero.
"""

import numpy as np

from tformer.reference.equation import equation

__all__ = ["entropy", "log_softmax", "logsumexp", "softmax", "softmax_jacobian", "softmax_vjp"]


@equation
def softmax(x: np.ndarray, axis: int = -1, beta: float = 1.0) -> np.ndarray:
    """Weights in proportion to exp(beta x), summing to one along an axis.

    Parameters
    ----------
    x : (..., S) array
        Scores.
    axis : int, an axis of x
        The axis along which the weights sum to one.
    beta : float, finite and above 0
        Inverse temperature.

    Returns
    -------
    (..., S) array

    Notes
    -----
    Equation eq-softmax; [bridle1990], computed with the shift of [blanchard2021]. Departures: a
    row of nothing but -inf gives zeros; a row with +inf or NaN gives NaN throughout; an empty row
    stays empty.
    """
    terms = np.exp(beta * (x - _shift(x, axis)))
    total = terms.sum(axis=axis, keepdims=True)
    return terms / np.maximum(total, 1)  # below 1 only where all is masked


@equation
def log_softmax(x: np.ndarray, axis: int = -1, beta: float = 1.0) -> np.ndarray:
    """Logarithm of the softmax, computed without forming the softmax.

    Parameters
    ----------
    x : (..., S) array
        Scores.
    axis : int, an axis of x
        The axis along which the weights sum to one.
    beta : float, finite and above 0
        Inverse temperature.

    Returns
    -------
    (..., S) array

    Notes
    -----
    Equation eq-log-softmax; [blanchard2021]. A row of nothing but -inf gives -inf; a row with +inf
    or NaN gives NaN throughout.
    """
    exponent = beta * (x - _shift(x, axis))
    total = np.exp(exponent).sum(axis=axis, keepdims=True)
    return exponent - np.log(np.maximum(total, 1))


@equation
def logsumexp(x: np.ndarray, axis: int = -1, beta: float = 1.0) -> np.ndarray:
    """Smooth maximum: log of the sum of exp(beta x), divided by beta.

    Parameters
    ----------
    x : (..., S) array
        Scores.
    axis : int, an axis of x
        The axis that is summed away.
    beta : float, finite and above 0
        Inverse temperature.

    Returns
    -------
    (...) array

    Notes
    -----
    Equation eq-logsumexp; [boyd2004], section 3.1.5, computed as in [blanchard2021]. A row of
    nothing but -inf, or an empty one, gives -inf; a row with +inf gives +inf; with NaN, NaN.
    """
    shift = _shift(x, axis)
    shift = np.where(shift == np.inf, 0, shift)
    total = np.exp(beta * (x - shift)).sum(axis=axis)
    return shift.squeeze(axis) + np.log(total) / beta


@equation
def entropy(p: np.ndarray, axis: int = -1) -> np.ndarray:
    """Entropy of the weights along an axis, in nats, with 0 log 0 = 0.

    Parameters
    ----------
    p : (..., S) array
        Weights, at least 0 and summing to one; neither is checked.
    axis : int, an axis of p
        The axis that is summed away.

    Returns
    -------
    (...) array

    Notes
    -----
    Equation eq-entropy; [boyd2004], section 3.1.5. A weight of exactly 0 counts as absent: it adds
    nothing to the value or the gradient. An empty row gives 0.
    """
    return 0 - (p * np.log(np.where(p == 0, 1, p))).sum(axis=axis)


@equation
def softmax_vjp(
    p: np.ndarray,
    grad: np.ndarray,
    axis: int = -1,
    beta: float = 1.0,
) -> np.ndarray:
    """Vector-Jacobian product of the softmax: the gradient passed back to the scores.

    Parameters
    ----------
    p : (..., S) array
        Weights that `softmax` returned.
    grad : (..., S) array
        Gradient of a loss with respect to those weights.
    axis : int, an axis of p
        The axis along which the weights sum to one.
    beta : float, finite and above 0
        The inverse temperature that made the weights.

    Returns
    -------
    (..., S) array
        Gradient of the loss with respect to the scores.

    Notes
    -----
    Equation eq-softmax-vjp; [bridle1990]. It needs S products where the Jacobian needs S².
    """
    mean = (p * grad).sum(axis=axis, keepdims=True)
    return beta * p * (grad - mean)


@equation
def softmax_jacobian(p: np.ndarray, beta: float = 1.0) -> np.ndarray:
    """Jacobian of the softmax: row i, column j holds how weight i changes with score j.

    Parameters
    ----------
    p : (..., S) array
        Weights that `softmax` returned.
    beta : float, finite and above 0
        The inverse temperature that made the weights.

    Returns
    -------
    (..., S, S) array

    Notes
    -----
    Equation eq-softmax-jacobian; [bridle1990].
    """
    column, row = p[..., :, np.newaxis], p[..., np.newaxis, :]
    diagonal = np.eye(p.shape[-1], dtype=p.dtype) * row
    return beta * (diagonal - column * row)


def _shift(x: np.ndarray, axis: int) -> np.ndarray:
    """Largest score along `axis`, or the least finite number where all are -inf."""
    return x.max(axis=axis, keepdims=True, initial=np.finfo(x.dtype).min)
