"""What all reference functions share, so that each body is its equation and nothing else."""

import functools
from collections.abc import Callable
from dataclasses import is_dataclass
from typing import Any, TypeVar

import numpy as np

from tformer.arguments import checked

__all__ = ["equation"]

Function = TypeVar("Function", bound=Callable[..., Any])


def equation(function: Function) -> Function:
    """Check the arguments, compute float16 in float32, follow IEEE arithmetic in silence.

    Arguments are held to the docstring by `tformer.arguments.checked`. Float32 and float64 are
    computed as they are; float16 is widened to float32 and the result rounded once, at the end,
    unless it holds integers or booleans.
    An overflow gives inf and an undefined result NaN, without a warning, as in PyTorch.
    """

    @functools.wraps(function)
    def run(*args: Any, **kwargs: Any) -> Any:
        with np.errstate(all="ignore"):
            if not any(_is_half(x) for x in (*args, *kwargs.values())):
                return function(*args, **kwargs)
            wide = {name: _widen(x) for name, x in kwargs.items()}
            return _narrow(function(*map(_widen, args), **wide))

    return checked(run)  # type: ignore[return-value]


def _is_parameters(x: Any) -> bool:
    return is_dataclass(x)


def _is_half(x: Any) -> bool:
    if _is_parameters(x):
        return any(map(_is_half, vars(x).values()))
    return isinstance(x, np.ndarray) and x.dtype == np.float16


def _widen(x: Any) -> Any:
    if _is_parameters(x):
        return type(x)(*map(_widen, vars(x).values()))
    return x.astype(np.float32) if _is_half(x) else x


def _narrow(result: Any) -> Any:
    """Round a result, or each of several, to float16; integers, booleans and None stay."""
    if isinstance(result, tuple):
        return tuple(map(_narrow, result))
    if _is_parameters(result):
        return type(result)(*map(_narrow, vars(result).values()))
    floating = result is not None and result.dtype.kind == "f"
    return result.astype(np.float16) if floating else result
