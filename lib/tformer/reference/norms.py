"""LayerNorm and RMSNorm (chapter 8)."""

import numpy as np

from tformer.parameters import NormParameters
from tformer.reference.attention import sum_to
from tformer.reference.equation import equation

__all__ = ["layer_norm", "layer_norm_vjp", "rms_norm", "rms_norm_vjp"]


@equation
def layer_norm(x: np.ndarray, parameters: NormParameters, eps: float = 1e-5) -> np.ndarray:
    """Apply LayerNorm: standardise each row to mean 0 and variance 1, then apply gain and bias.

    Parameters
    ----------
    x : (..., d_model) array
        Its squares must be in the range of its dtype, or of float32 if x is in half precision.
    parameters : NormParameters
    eps : float, finite and above 0
        Added to the variance.

    Returns
    -------
    (..., d_model) array
        A row of equal entries becomes the bias (zeros without one).

    Notes
    -----
    Equation eq-layer-norm; [ba2016], section 3, with the variance over all d_model coordinates.
    """
    return _scaled(_standard(x, eps)[0], parameters)


@equation
def layer_norm_vjp(
    x: np.ndarray, parameters: NormParameters, grad: np.ndarray, eps: float = 1e-5
) -> tuple[np.ndarray, NormParameters]:
    """Compute the vector-Jacobian product of `layer_norm`.

    Parameters
    ----------
    x : (..., d_model) array
    parameters : NormParameters
    grad : (..., d_model) array
        Gradient of a loss with respect to what `layer_norm` returned.
    eps : float, finite and above 0
        Added to the variance.

    Returns
    -------
    dx : (..., d_model) array
        Each gradient has the shape of its argument: broadcast axes are summed over.
    dparameters : NormParameters

    Notes
    -----
    Equation eq-layer-norm-vjp; the derivatives of [ba2016]. dx is orthogonal to the constant row
    and, up to eps, to the standardised one.
    """
    y, size = _standard(x, eps)
    dy, dparameters = _scaled_vjp(y, parameters, grad)
    dy = dy - _mean(dy)
    return sum_to(x, (dy - y * _mean(dy * y)) / size), dparameters


@equation
def rms_norm(x: np.ndarray, parameters: NormParameters, eps: float = 1e-5) -> np.ndarray:
    """Apply RMSNorm: divide each row by its root mean square, then apply gain and bias, if any.

    Parameters
    ----------
    x : (..., d_model) array
        Its squares must be in the range of its dtype, or of float32 if x is in half precision.
    parameters : NormParameters
    eps : float, finite and above 0
        Added to the mean square.

    Returns
    -------
    (..., d_model) array
        A row of zeros becomes the bias (zeros without one).

    Notes
    -----
    Equation eq-rms-norm; [zhang2019], section 4, where eps is 0.
    """
    return _scaled(_over_size(x, eps)[0], parameters)


@equation
def rms_norm_vjp(
    x: np.ndarray, parameters: NormParameters, grad: np.ndarray, eps: float = 1e-5
) -> tuple[np.ndarray, NormParameters]:
    """Compute the vector-Jacobian product of `rms_norm`.

    Parameters
    ----------
    x : (..., d_model) array
    parameters : NormParameters
    grad : (..., d_model) array
        Gradient of a loss with respect to what `rms_norm` returned.
    eps : float, finite and above 0
        Added to the mean square.

    Returns
    -------
    dx : (..., d_model) array
        Each gradient has the shape of its argument: broadcast axes are summed over.
    dparameters : NormParameters

    Notes
    -----
    Equation eq-rms-norm-vjp; the derivatives of [zhang2019]. Up to eps, dx is orthogonal to x.
    """
    y, size = _over_size(x, eps)
    dy, dparameters = _scaled_vjp(y, parameters, grad)
    return sum_to(x, (dy - y * _mean(dy * y)) / size), dparameters


def _mean(x: np.ndarray) -> np.ndarray:
    """Return the mean over the last axis, which is kept with size 1; 0 for an empty row."""
    return x.sum(axis=-1, keepdims=True) / max(x.shape[-1], 1)


def _over_size(x: np.ndarray, eps: float) -> tuple[np.ndarray, np.ndarray]:
    """Return each row divided by its root mean square, and the root mean square."""
    size = np.sqrt(_mean(x * x) + eps)
    return x / size, size


def _standard(x: np.ndarray, eps: float) -> tuple[np.ndarray, np.ndarray]:
    """Return each row with mean 0 and variance 1, and its standard deviation."""
    return _over_size(x - _mean(x), eps)


def _scaled(x: np.ndarray, parameters: NormParameters) -> np.ndarray:
    """Apply gain and bias."""
    y = x if parameters.gain is None else x * parameters.gain
    return y if parameters.bias is None else y + parameters.bias


def _scaled_vjp(
    x: np.ndarray, parameters: NormParameters, grad: np.ndarray
) -> tuple[np.ndarray, NormParameters]:
    """Compute the vector-Jacobian product of `_scaled`: gradients of x and of the parameters."""
    gain, bias = parameters.gain, parameters.bias
    grad = np.broadcast_to(grad, np.broadcast_shapes(grad.shape, x.shape))
    dgain = None if gain is None else sum_to(gain, grad * x)
    dbias = None if bias is None else sum_to(bias, grad)
    return grad if gain is None else grad * gain, NormParameters(dgain, dbias)
