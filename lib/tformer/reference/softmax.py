"""Softmax, log-softmax, logsumexp and entropy (chapter 2).

A score of -inf means that the key is masked. Each function of scores subtracts the largest score
before exponentiating, so that no exponent exceeds zero.
"""

import numpy as np

from tformer.reference.equation import equation

__all__ = ["entropy", "log_softmax", "logsumexp", "softmax", "softmax_jacobian", "softmax_vjp"]


@equation
def softmax(x: np.ndarray, axis: int = -1, beta: float = 1.0) -> np.ndarray:
    """Compute the softmax: weights proportional to exp(beta x) that sum to one along an axis.

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
        Softmax weights.

    Notes
    -----
    Equation eq-softmax; [bridle1990], computed with the shift of [blanchard2021]. Departures: a
    row of -inf only gives zeros; a row with +inf or NaN gives NaN throughout; an empty row stays
    empty.
    """
    terms = np.exp(beta * (x - _shift(x, axis)))
    total = terms.sum(axis=axis, keepdims=True)
    return terms / np.maximum(total, 1)  # below 1 only if all are masked


@equation
def log_softmax(x: np.ndarray, axis: int = -1, beta: float = 1.0) -> np.ndarray:
    """Compute the logarithm of the softmax without computing the softmax.

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
    Equation eq-log-softmax; [blanchard2021]. A row of -inf only gives -inf; a row with +inf
    or NaN gives NaN throughout.
    """
    exponent = beta * (x - _shift(x, axis))
    total = np.exp(exponent).sum(axis=axis, keepdims=True)
    return exponent - np.log(np.maximum(total, 1))


@equation
def logsumexp(x: np.ndarray, axis: int = -1, beta: float = 1.0) -> np.ndarray:
    """Compute the smooth maximum log(Σ exp(beta x)) / beta along an axis.

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
    -inf only, or an empty one, gives -inf; a row with +inf gives +inf; with NaN, NaN.
    """
    shift = _shift(x, axis)
    shift = np.where(shift == np.inf, 0, shift)
    total = np.exp(beta * (x - shift)).sum(axis=axis)
    return shift.squeeze(axis) + np.log(total) / beta


@equation
def entropy(p: np.ndarray, axis: int = -1) -> np.ndarray:
    """Compute the entropy of weights along an axis, in nats, with 0 log 0 = 0.

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
    Equation eq-entropy; [boyd2004], section 3.1.5. A weight of exactly 0 contributes
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
    """Compute the vector-Jacobian product of `softmax`: the gradient with respect to the scores.

    Parameters
    ----------
    p : (..., S) array
        Weights that `softmax` returned.
    grad : (..., S) array
        Gradient of a loss with respect to those weights.
    axis : int, an axis of p
        The axis along which the weights sum to one.
    beta : float, finite and above 0
        The inverse temperature that `softmax` was given.

    Returns
    -------
    (..., S) array
        Gradient of the loss with respect to the scores.

    Notes
    -----
    Equation eq-softmax-vjp; [bridle1990]. It costs O(S) where the Jacobian has S²
    entries.
    """
    mean = (p * grad).sum(axis=axis, keepdims=True)
    return beta * p * (grad - mean)


@equation
def softmax_jacobian(p: np.ndarray, beta: float = 1.0) -> np.ndarray:
    """Compute the Jacobian of the softmax: entry (i, j) is the derivative of weight i by score j.

    Parameters
    ----------
    p : (..., S) array
        Weights that `softmax` returned.
    beta : float, finite and above 0
        The inverse temperature that `softmax` was given.

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
    """Return the largest score along `axis`, or the lowest finite number where all are -inf."""
    return x.max(axis=axis, keepdims=True, initial=np.finfo(x.dtype).min)
