"""What a hidden unit does with its number: ReLU, GELU, SiLU (chapter 9)."""

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
"""The weight of the cube in the form of GELU with tanh [hendrycks2016], section 2."""


@equation
def relu(x: np.ndarray) -> np.ndarray:
    """Rectified linear unit: a positive number as it is, and 0 for every other.

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
    """Vector-Jacobian product of `relu`: the gradient where x is above 0.

    Parameters
    ----------
    x : (...) array
    grad : (...) array
        Gradient of a loss with respect to what `relu` returned.

    Returns
    -------
    (...) array
        In the shape of x. At 0, where there is no derivative, 0.

    Notes
    -----
    Equation eq-relu-vjp; the derivative of [nair2010].
    """
    return sum_to(x, np.where(x > 0, grad, 0))


@equation
def gelu(x: np.ndarray) -> np.ndarray:
    """Gaussian error linear unit: x times the chance that a standard Gaussian number is below it.

    Parameters
    ----------
    x : (...) array

    Returns
    -------
    (...) array
        NaN for -inf, where a product has no value.

    Notes
    -----
    Equation eq-gelu; [hendrycks2016], section 2.
    """
    return x * ndtr(x)


@equation
def gelu_vjp(x: np.ndarray, grad: np.ndarray) -> np.ndarray:
    """Vector-Jacobian product of `gelu`: the gradient times the slope.

    Parameters
    ----------
    x : (...) array
    grad : (...) array
        Gradient of a loss with respect to what `gelu` returned.

    Returns
    -------
    (...) array
        In the shape of x.

    Notes
    -----
    Equation eq-gelu-vjp; the derivative of [hendrycks2016].
    """
    density = np.exp(-x * x / 2) / math.sqrt(2 * math.pi)
    return sum_to(x, grad * (ndtr(x) + x * density))


@equation
def gelu_tanh(x: np.ndarray) -> np.ndarray:
    """GELU with tanh in the place of the Gaussian: what GPT-2 computes.

    Parameters
    ----------
    x : (...) array

    Returns
    -------
    (...) array
        NaN for -inf, where a product has no value.

    Notes
    -----
    Equation eq-gelu-tanh; [hendrycks2016], section 2.
    """
    return x / 2 * (1 + np.tanh(_inner(x)))


@equation
def gelu_tanh_vjp(x: np.ndarray, grad: np.ndarray) -> np.ndarray:
    """Vector-Jacobian product of `gelu_tanh`: the gradient times the slope.

    Parameters
    ----------
    x : (...) array
    grad : (...) array
        Gradient of a loss with respect to what `gelu_tanh` returned.

    Returns
    -------
    (...) array
        In the shape of x.

    Notes
    -----
    Equation eq-gelu-tanh-vjp; the derivative of [hendrycks2016].
    """
    tanh = np.tanh(_inner(x))
    inner_slope = math.sqrt(2 / math.pi) * (1 + 3 * CUBIC * x * x)
    return sum_to(x, grad * ((1 + tanh) / 2 + x / 2 * (1 - tanh * tanh) * inner_slope))


@equation
def silu(x: np.ndarray) -> np.ndarray:
    """Sigmoid linear unit, or Swish: x times its sigmoid.

    Parameters
    ----------
    x : (...) array

    Returns
    -------
    (...) array
        NaN for -inf, where a product has no value.

    Notes
    -----
    Equation eq-silu; [hendrycks2016], which named it, and [ramachandran2017], which found it again
    by search.
    """
    return x * expit(x)


@equation
def silu_vjp(x: np.ndarray, grad: np.ndarray) -> np.ndarray:
    """Vector-Jacobian product of `silu`: the gradient times the slope.

    Parameters
    ----------
    x : (...) array
    grad : (...) array
        Gradient of a loss with respect to what `silu` returned.

    Returns
    -------
    (...) array
        In the shape of x.

    Notes
    -----
    Equation eq-silu-vjp; the derivative of [ramachandran2017].
    """
    open_ = expit(x)
    return sum_to(x, grad * open_ * (1 + x * (1 - open_)))


def _inner(x: np.ndarray) -> np.ndarray:
    """What the tanh is taken of."""
    return math.sqrt(2 / math.pi) * (x + CUBIC * x * x * x)
