"""The feed-forward layer, applied to each position separately, and dropout (chapter 9)."""

import math

import numpy as np

from tformer.configuration import Configuration
from tformer.parameters import FeedForwardParameters
from tformer.reference import activations
from tformer.reference.attention import sum_to
from tformer.reference.equation import equation

__all__ = ["dropout", "dropout_vjp", "feed_forward", "feed_forward_vjp"]


@equation
def feed_forward(
    x: np.ndarray,
    parameters: FeedForwardParameters,
    configuration: Configuration,
) -> np.ndarray:
    """Apply two linear maps with an activation between them, gated if there is w_gate.

    Parameters
    ----------
    x : (..., d_model) array
        Hidden states.
    parameters : FeedForwardParameters
        With w_gate, the activation of x W_gate + b_gate multiplies x W_in + b_in.
    configuration : Configuration
        Its activation.

    Returns
    -------
    (..., d_model) array

    Notes
    -----
    Equation eq-feed-forward; [vaswani2017], section 3.3; gated (GLU variants), [shazeer2020].
    """
    p, active = parameters, getattr(activations, configuration.activation)
    inner = _linear(x, p.w_in, p.b_in)
    gate = None if p.w_gate is None else _linear(x, p.w_gate, p.b_gate)
    hidden = active(inner) if gate is None else active(gate) * inner
    return _linear(hidden, p.w_out, p.b_out)


@equation
def feed_forward_vjp(
    x: np.ndarray,
    parameters: FeedForwardParameters,
    configuration: Configuration,
    grad: np.ndarray,
) -> tuple[np.ndarray, FeedForwardParameters]:
    """Compute the vector-Jacobian product of `feed_forward` with respect to its arguments.

    Parameters
    ----------
    x : (..., d_model) array
        Hidden states.
    parameters : FeedForwardParameters
        With w_gate, the activation of x W_gate + b_gate multiplies x W_in + b_in.
    configuration : Configuration
        Its activation.
    grad : (..., d_model) array
        Gradient of a loss with respect to what `feed_forward` returned.

    Returns
    -------
    dx : (..., d_model) array
        Each gradient has the shape of its argument: broadcast axes are summed over.
    dparameters : FeedForwardParameters

    Notes
    -----
    Equation eq-feed-forward-vjp; the derivatives of [vaswani2017], section 3.3.
    """
    p, active = parameters, getattr(activations, configuration.activation)
    active_vjp = getattr(activations, f"{configuration.activation}_vjp")
    inner = _linear(x, p.w_in, p.b_in)
    gate = None if p.w_gate is None else _linear(x, p.w_gate, p.b_gate)
    hidden = active(inner) if gate is None else active(gate) * inner
    dhidden, dw_out, db_out = linear_vjp(hidden, p.w_out, p.b_out, grad)
    dinner = active_vjp(inner, dhidden) if gate is None else dhidden * active(gate)
    dx, dw_in, db_in = linear_vjp(x, p.w_in, p.b_in, dinner)
    if gate is None:
        db_gate = None if p.b_gate is None else np.zeros_like(p.b_gate)
        return dx, FeedForwardParameters(dw_in, dw_out, db_in, db_out, None, db_gate)
    dgate = active_vjp(gate, dhidden * inner)
    dx_gate, dw_gate, db_gate = linear_vjp(x, p.w_gate, p.b_gate, dgate)
    return dx + dx_gate, FeedForwardParameters(dw_in, dw_out, db_in, db_out, dw_gate, db_gate)


@equation
def dropout(x: np.ndarray, keep_mask: np.ndarray, configuration: Configuration) -> np.ndarray:
    """Apply inverted dropout: kept entries are divided by 1 - p, dropped entries become 0.

    Parameters
    ----------
    x : (..., d_model) array
    keep_mask : (..., d_model) boolean array
        Dropout keep mask: True with probability 1 - p, sampled anew at every training step.
    configuration : Configuration
        Its dropout is the rate p.

    Returns
    -------
    (..., d_model) array
        Its expectation over keep masks is x.

    Notes
    -----
    Equation eq-dropout; [srivastava2014], which rescales at test time instead of during training.
    """
    return np.where(keep_mask, x / (1 - configuration.dropout), 0)


@equation
def dropout_vjp(
    x: np.ndarray, keep_mask: np.ndarray, configuration: Configuration, grad: np.ndarray
) -> np.ndarray:
    """Compute the vector-Jacobian product of `dropout`.

    Parameters
    ----------
    x : (..., d_model) array
    keep_mask : (..., d_model) boolean array
        Dropout keep mask.
    configuration : Configuration
        Its dropout is the rate p.
    grad : (..., d_model) array
        Gradient of a loss with respect to what `dropout` returned.

    Returns
    -------
    (..., d_model) array
        Same shape as x: the gradient over 1 - p where kept, 0 elsewhere.

    Notes
    -----
    Equation eq-dropout-vjp; the derivative of [srivastava2014].
    """
    return sum_to(x, np.where(keep_mask, grad / (1 - configuration.dropout), 0))


def _linear(x: np.ndarray, w: np.ndarray, b: np.ndarray | None) -> np.ndarray:
    """Apply a linear map with bias to each row of x."""
    return x @ w if b is None else x @ w + b


def linear_vjp(
    x: np.ndarray, w: np.ndarray, b: np.ndarray | None, grad: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """Compute the vector-Jacobian product of `_linear`: gradients of x, w and b."""
    leading = np.broadcast_shapes(grad.shape[:-1], x.shape[:-1])
    grad = np.broadcast_to(grad, (*leading, grad.shape[-1]))
    rows, n_rows = np.broadcast_to(x, (*leading, x.shape[-1])), math.prod(leading)
    dw = rows.reshape(n_rows, x.shape[-1]).T @ grad.reshape(n_rows, grad.shape[-1])
    return sum_to(x, grad @ w.T), dw, None if b is None else sum_to(b, grad)
