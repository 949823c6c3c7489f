"""Norms: each row brought to one size, and then given a gain of its own (chapter 8)."""

import numpy as np

from tformer.parameters import NormParameters
from tformer.reference.attention import sum_to
from tformer.reference.equation import equation

__all__ = ["layer_norm", "layer_norm_vjp", "rms_norm", "rms_norm_vjp"]


@equation
def layer_norm(x: np.ndarray, parameters: NormParameters, eps: float = 1e-5) -> np.ndarray:
    """Each row less its mean, over its standard deviation; then gain and bias.

    Parameters
    ----------
    x : (..., d_model) array
        Its squares must be in the range of its format, or in that of float32 if it is a half one.
    parameters : NormParameters
    eps : float, finite and above 0
        Added to the variance.

    Returns
    -------
    (..., d_model) array
        A row of equal numbers becomes the bias.

    Notes
    -----
    Equation eq-layer-norm; [ba2016], section 3, with the variance over all d_model coordinates.
    """
    return _scaled(_standard(x, eps)[0], parameters)


@equation
def layer_norm_vjp(
    x: np.ndarray, parameters: NormParameters, grad: np.ndarray, eps: float = 1e-5
) -> tuple[np.ndarray, NormParameters]:
    """Vector-Jacobian product of `layer_norm`: what is left across the row and the constant one.

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
        Each gradient has the shape of its argument: axes along which that was repeated are summed.
    dparameters : NormParameters

    Notes
    -----
    Equation eq-layer-norm-vjp; the derivatives of [ba2016].
    """
    y, size = _standard(x, eps)
    dy, dparameters = _scaled_vjp(y, parameters, grad)
    dy = dy - _mean(dy)
    return sum_to(x, (dy - y * _mean(dy * y)) / size), dparameters


@equation
def rms_norm(x: np.ndarray, parameters: NormParameters, eps: float = 1e-5) -> np.ndarray:
    """Each row over the root of the mean of its squares; then the gain, and the bias if any.

    Parameters
    ----------
    x : (..., d_model) array
        Its squares must be in the range of its format, or in that of float32 if it is a half one.
    parameters : NormParameters
    eps : float, finite and above 0
        Added to the mean square.

    Returns
    -------
    (..., d_model) array
        A row of zeros becomes the bias.

    Notes
    -----
    Equation eq-rms-norm; [zhang2019], section 4, where eps is 0.
    """
    return _scaled(_over_size(x, eps)[0], parameters)


@equation
def rms_norm_vjp(
    x: np.ndarray, parameters: NormParameters, grad: np.ndarray, eps: float = 1e-5
) -> tuple[np.ndarray, NormParameters]:
    """Vector-Jacobian product of `rms_norm`: what is left across the row.

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
        Each gradient has the shape of its argument: axes along which that was repeated are summed.
    dparameters : NormParameters

    Notes
    -----
    Equation eq-rms-norm-vjp; the derivatives of [zhang2019].
    """
    y, size = _over_size(x, eps)
    dy, dparameters = _scaled_vjp(y, parameters, grad)
    return sum_to(x, (dy - y * _mean(dy * y)) / size), dparameters


def _mean(x: np.ndarray) -> np.ndarray:
    """The mean of each row, along an axis that stays; a row without numbers has 0."""
    return x.sum(axis=-1, keepdims=True) / max(x.shape[-1], 1)


def _over_size(x: np.ndarray, eps: float) -> tuple[np.ndarray, np.ndarray]:
    """Each row over its root mean square, and that."""
    size = np.sqrt(_mean(x * x) + eps)
    return x / size, size


def _standard(x: np.ndarray, eps: float) -> tuple[np.ndarray, np.ndarray]:
    """Each row with mean 0 and variance 1, and its standard deviation."""
    return _over_size(x - _mean(x), eps)


def _scaled(x: np.ndarray, parameters: NormParameters) -> np.ndarray:
    """Gain and bias."""
    y = x if parameters.gain is None else x * parameters.gain
    return y if parameters.bias is None else y + parameters.bias


def _scaled_vjp(
    x: np.ndarray, parameters: NormParameters, grad: np.ndarray
) -> tuple[np.ndarray, NormParameters]:
    """Gradients from that of `_scaled`."""
    gain, bias = parameters.gain, parameters.bias
    grad = np.broadcast_to(grad, np.broadcast_shapes(grad.shape, x.shape))
    dgain = None if gain is None else sum_to(gain, grad * x)
    dbias = None if bias is None else sum_to(bias, grad)
    return grad if gain is None else grad * gain, NormParameters(dgain, dbias)
