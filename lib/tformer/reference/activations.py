"""Activation functions: ReLU, GELU, SiLU (chapter 9)."""

import math

import numpy as np
from scipy.special import expit, ndtr

from tformer.reference.attention import sum_to
from tformer.reference.equation import equation

__all__ = [
    "gelu",
    "gelu_tanh",
    "gelu_tanh_vjp",
    "gelu_vjp",
    "relu",
    "relu_vjp",
    "silu",
    "silu_vjp",
]

CUBIC = 0.044715
"""The coefficient of x³ in the tanh approximation of GELU [hendrycks2016], section 2."""


@equation
def relu(x: np.ndarray) -> np.ndarray:
    """Compute the rectified linear unit, max(x, 0), elementwise.

    Parameters
    ----------
    x : (...) array

    Returns
    -------
    (...) array

    Notes
    -----
    Equation eq-relu; [nair2010].
    """
    return np.maximum(x, 0)


@equation
def relu_vjp(x: np.ndarray, grad: np.ndarray) -> np.ndarray:
    """Compute the vector-Jacobian product of `relu`: the gradient where x > 0, else 0.

    Parameters
    ----------
    x : (...) array
    grad : (...) array
        Gradient of a loss with respect to what `relu` returned.

    Returns
    -------
    (...) array
        Same shape as x. At x = 0, where the derivative does not exist, 0 is used.

    Notes
    -----
    Equation eq-relu-vjp; the derivative of [nair2010].
    """
    return sum_to(x, np.where(x > 0, grad, 0))


@equation
def gelu(x: np.ndarray) -> np.ndarray:
    """Compute the Gaussian error linear unit, x Φ(x), with the standard normal CDF Φ.

    Parameters
    ----------
    x : (...) array

    Returns
    -------
    (...) array
        NaN at -inf, where the product is -inf times 0.

    Notes
    -----
    Equation eq-gelu; [hendrycks2016], section 2.
    """
    return x * ndtr(x)


@equation
def gelu_vjp(x: np.ndarray, grad: np.ndarray) -> np.ndarray:
    """Compute the vector-Jacobian product of `gelu`: the gradient times the derivative at x.

    Parameters
    ----------
    x : (...) array
    grad : (...) array
        Gradient of a loss with respect to what `gelu` returned.

    Returns
    -------
    (...) array
        Same shape as x.

    Notes
    -----
    Equation eq-gelu-vjp; the derivative of [hendrycks2016].
    """
    density = np.exp(-x * x / 2) / math.sqrt(2 * math.pi)
    return sum_to(x, grad * (ndtr(x) + x * density))


@equation
def gelu_tanh(x: np.ndarray) -> np.ndarray:
    """Compute the tanh approximation of GELU, as GPT-2 does.

    Parameters
    ----------
    x : (...) array

    Returns
    -------
    (...) array
        NaN at -inf, where the product is -inf times 0.

    Notes
    -----
    Equation eq-gelu-tanh; [hendrycks2016], section 2.
    """
    return x / 2 * (1 + np.tanh(_inner(x)))


@equation
def gelu_tanh_vjp(x: np.ndarray, grad: np.ndarray) -> np.ndarray:
    """Compute the vector-Jacobian product of `gelu_tanh`: the gradient times the derivative.

    Parameters
    ----------
    x : (...) array
    grad : (...) array
        Gradient of a loss with respect to what `gelu_tanh` returned.

    Returns
    -------
    (...) array
        Same shape as x.

    Notes
    -----
    Equation eq-gelu-tanh-vjp; the derivative of [hendrycks2016].
    """
    tanh = np.tanh(_inner(x))
    inner_derivative = math.sqrt(2 / math.pi) * (1 + 3 * CUBIC * x * x)
    return sum_to(x, grad * ((1 + tanh) / 2 + x / 2 * (1 - tanh * tanh) * inner_derivative))


@equation
def silu(x: np.ndarray) -> np.ndarray:
    """Compute the sigmoid linear unit (SiLU, Swish): x sigmoid(x).

    Parameters
    ----------
    x : (...) array

    Returns
    -------
    (...) array
        NaN at -inf, where the product is -inf times 0.

    Notes
    -----
    Equation eq-silu; [hendrycks2016], which named it, and [ramachandran2017], which rediscovered
    it by search.
    """
    return x * expit(x)


@equation
def silu_vjp(x: np.ndarray, grad: np.ndarray) -> np.ndarray:
    """Compute the vector-Jacobian product of `silu`: the gradient times the derivative at x.

    Parameters
    ----------
    x : (...) array
    grad : (...) array
        Gradient of a loss with respect to what `silu` returned.

    Returns
    -------
    (...) array
        Same shape as x.

    Notes
    -----
    Equation eq-silu-vjp; the derivative of [ramachandran2017].
    """
    sigmoid = expit(x)
    return sum_to(x, grad * sigmoid * (1 + x * (1 - sigmoid)))


def _inner(x: np.ndarray) -> np.ndarray:
    """Return the argument of the tanh."""
    return math.sqrt(2 / math.pi) * (x + CUBIC * x * x * x)


def sigmoid_vjp(x: np.ndarray, grad: np.ndarray) -> np.ndarray:
    """Compute the vector-Jacobian product of the sigmoid."""
    y = expit(x)
    return grad * y * (1 - y)
