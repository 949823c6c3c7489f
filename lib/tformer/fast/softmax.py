"""From scores to weights: softmax and its relatives (chapter 2).

A score of -inf means "may not be looked at". Every function here takes the scores as they are and
subtracts the largest before it exponentiates, so that no exponent exceeds zero.
"""

import torch
from torch import Tensor

from tformer.fast.checks import checked
from tformer.fast.precision import wide
from tformer.shapes import require_axis, require_beta

__all__ = ["entropy", "log_softmax", "logsumexp", "softmax", "softmax_jacobian", "softmax_vjp"]


@checked
def softmax(x: Tensor, axis: int = -1, beta: float = 1.0) -> Tensor:
    """Weights in proportion to exp(beta x), summing to one along an axis.

    Parameters
    ----------
    x : (..., S) array
        Scores.
    axis : int
        The axis along which the weights sum to one.
    beta : float
        Inverse temperature, finite and above 0.

    Returns
    -------
    (..., S) array

    Raises
    ------
    ValueError
        If beta is not finite and above 0, or axis does not exist.
    TypeError
        If x does not hold floating-point numbers.

    Notes
    -----
    Equation eq-softmax; [bridle1990], computed with the shift of [blanchard2021]. Departures: a
    row of nothing but -inf gives zeros; a row with +inf or NaN gives NaN throughout; an empty row
    stays empty.
    """
    require_axis("softmax", x.ndim, axis)
    beta = require_beta("softmax", beta, x.dtype)
    hidden = _all_hidden(x, axis)
    scores = _scaled(x.masked_fill(hidden, 0.0), axis, beta)
    return torch.softmax(scores, axis).masked_fill(hidden, 0.0)


@checked
def log_softmax(x: Tensor, axis: int = -1, beta: float = 1.0) -> Tensor:
    """Logarithm of the softmax, computed without forming the softmax.

    Parameters
    ----------
    x : (..., S) array
        Scores.
    axis : int
        The axis along which the weights sum to one.
    beta : float
        Inverse temperature, finite and above 0.

    Returns
    -------
    (..., S) array

    Raises
    ------
    ValueError
        If beta is not finite and above 0, or axis does not exist.
    TypeError
        If x does not hold floating-point numbers.

    Notes
    -----
    Equation eq-log-softmax; [blanchard2021]. A row of nothing but -inf gives -inf; a row with +inf
    or NaN gives NaN throughout.
    """
    require_axis("log_softmax", x.ndim, axis)
    beta = require_beta("log_softmax", beta, x.dtype)
    hidden = _all_hidden(x, axis)
    scores = _scaled(x.masked_fill(hidden, 0.0), axis, beta)
    return torch.log_softmax(scores, axis).masked_fill(hidden, -torch.inf)


@checked
def logsumexp(x: Tensor, axis: int = -1, beta: float = 1.0) -> Tensor:
    """Smooth maximum: log of the sum of exp(beta x), divided by beta.

    Parameters
    ----------
    x : (..., S) array
        Scores.
    axis : int
        The axis that is summed away.
    beta : float
        Inverse temperature, finite and above 0.

    Returns
    -------
    (...) array

    Raises
    ------
    ValueError
        If beta is not finite and above 0, or axis does not exist.
    TypeError
        If x does not hold floating-point numbers.

    Notes
    -----
    Equation eq-logsumexp; [boyd2004], section 3.1.5, computed as in [blanchard2021]. A row of
    nothing but -inf, or an empty one, gives -inf; a row with +inf gives +inf; with NaN, NaN.
    """
    require_axis("logsumexp", x.ndim, axis)
    beta = require_beta("logsumexp", beta, x.dtype)
    hidden = _all_hidden(x, axis)
    scores = x.masked_fill(hidden, 0.0)
    shift = _largest(scores, axis)
    shift = shift.masked_fill(shift == torch.inf, 0.0)
    result = shift + torch.logsumexp(beta * (scores - shift), axis, keepdim=True) / beta
    return result.masked_fill(hidden, -torch.inf).squeeze(axis)


@checked
def entropy(p: Tensor, axis: int = -1) -> Tensor:
    """Entropy of the weights along an axis, in nats, with 0 log 0 = 0.

    Parameters
    ----------
    p : (..., S) array
        Weights, at least 0 and summing to one; neither is checked.
    axis : int
        The axis that is summed away.

    Returns
    -------
    (...) array

    Raises
    ------
    ValueError
        If axis does not exist.
    TypeError
        If p does not hold floating-point numbers.

    Notes
    -----
    Equation eq-entropy; [boyd2004], section 3.1.5. A weight of exactly 0 counts as absent: it adds
    nothing to the value or the gradient. An empty row gives 0.
    """
    require_axis("entropy", p.ndim, axis)
    return 0 - (p * p.masked_fill(p == 0, 1.0).log()).sum(dim=axis)


@checked
def softmax_vjp(p: Tensor, grad: Tensor, axis: int = -1, beta: float = 1.0) -> Tensor:
    """Vector-Jacobian product of the softmax: the gradient passed back to the scores.

    Parameters
    ----------
    p : (..., S) array
        Weights that `softmax` returned.
    grad : (..., S) array
        Gradient of a loss with respect to those weights.
    axis : int
        The axis along which the weights sum to one.
    beta : float
        The inverse temperature that made the weights.

    Returns
    -------
    (..., S) array
        Gradient of the loss with respect to the scores.

    Raises
    ------
    ValueError
        If beta is not finite and above 0, axis does not exist, or the shapes disagree.
    TypeError
        If p or grad does not hold floating-point numbers.

    Notes
    -----
    Equation eq-softmax-vjp; [bridle1990]. It needs S products where the Jacobian needs S².
    """
    require_axis("softmax_vjp", max(p.ndim, grad.ndim), axis)
    beta = require_beta("softmax_vjp", beta, p.dtype)
    dtype, p, grad = p.dtype, wide(p), wide(grad)
    mean = (p * grad).sum(dim=axis, keepdim=True)
    return (beta * p * (grad - mean)).to(dtype)


@checked
def softmax_jacobian(p: Tensor, beta: float = 1.0) -> Tensor:
    """Jacobian of the softmax: row i, column j holds how weight i changes with score j.

    Parameters
    ----------
    p : (..., S) array
        Weights that `softmax` returned.
    beta : float
        The inverse temperature that made the weights.

    Returns
    -------
    (..., S, S) array

    Raises
    ------
    ValueError
        If beta is not finite and above 0.
    TypeError
        If p does not hold floating-point numbers.

    Notes
    -----
    Equation eq-softmax-jacobian; [bridle1990].
    """
    beta = require_beta("softmax_jacobian", beta, p.dtype)
    dtype, p = p.dtype, wide(p)
    return (beta * (torch.diag_embed(p) - p.unsqueeze(-1) * p.unsqueeze(-2))).to(dtype)


def _all_hidden(x: Tensor, axis: int) -> Tensor:
    """Mark the rows that hold nothing but -inf; their gradient must not become NaN."""
    return (x == -torch.inf).all(dim=axis, keepdim=True)


def _scaled(x: Tensor, axis: int, beta: float) -> Tensor:
    """Scores times beta, shifted first so that the product cannot overflow upwards."""
    return x if beta == 1 else (beta * (wide(x) - _largest(x, axis))).to(x.dtype)


def _largest(x: Tensor, axis: int) -> Tensor:
    """Largest score along `axis`, as a constant; 0 for an empty row."""
    if x.shape[axis] == 0:
        return x.sum(dim=axis, keepdim=True)
    return x.detach().amax(dim=axis, keepdim=True)
