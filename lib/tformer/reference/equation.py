"""What all reference functions share, so that each body is its equation and nothing else."""

import functools
import threading
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from tformer.arguments import checked
from tformer.parameters import leaves, tree_map

__all__ = ["equation", "recurrence"]

Function = TypeVar("Function", bound=Callable[..., Any])


class _Call(threading.local):
    """Whether this thread is inside a function whose arguments have been widened."""

    wide = False


CALL = _Call()


def equation(function: Function) -> Function:
    """Check the arguments, compute float16 in float32, follow IEEE arithmetic in silence.

    Arguments are held to the docstring by `tformer.arguments.checked`. Float32 and float64 are
    computed as they are; float16 is widened to float32 and the result rounded once, at the end,
    unless it holds integers or booleans. What is called inside finds everything widened.
    An overflow gives inf and an undefined result NaN, without a warning, as in PyTorch.
    """
    return _computed(function, lambda result: tree_map(_narrow, result))


def recurrence(function: Function) -> Function:
    """As `equation`; what a function returns after its first result, to go on with, stays wide."""
    return _computed(function, lambda results: (_narrow(results[0]), *results[1:]))


def _computed(function: Function, narrowed: Callable[[Any], Any]) -> Function:
    @functools.wraps(function)
    def run(*args: Any, **kwargs: Any) -> Any:
        if CALL.wide:
            return function(*args, **kwargs)
        try:
            CALL.wide = True
            with np.errstate(all="ignore"):
                if not any(map(_is_half, leaves((args, kwargs)))):
                    return function(*args, **kwargs)
                args, kwargs = tree_map(_widen, (args, kwargs))
                return narrowed(function(*args, **kwargs))
        finally:
            CALL.wide = False

    return checked(run)  # type: ignore[return-value]


def _is_half(x: Any) -> bool:
    return isinstance(x, np.ndarray) and x.dtype == np.float16


def _widen(x: Any) -> Any:
    return x.astype(np.float32) if _is_half(x) else x


def _narrow(x: Any) -> Any:
    """Round what is floating-point to float16; integers and booleans stay."""
    return x.astype(np.float16) if x.dtype.kind == "f" else x
