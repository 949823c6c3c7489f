"""Decorators of reference functions: argument checks and precision."""

from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

import numpy as np

from tformer.arguments import checked
from tformer.parameters import tree_map

__all__ = ["equation", "recurrence"]

Function = TypeVar("Function", bound=Callable[..., Any])


def equation(function: Function) -> Function:
    """Check arguments, compute float16 in float32, and suppress floating-point warnings.

    `tformer.arguments.checked` checks the arguments against the docstring. Float32 and float64 are
    computed as they are; float16 is widened to float32 and the result is rounded once, at the end,
    unless it holds integers or booleans. Functions called inside get the widened arrays.
    Overflow gives inf and an undefined result NaN, without a warning, as in PyTorch.
    """
    return checked(function, outermost=partial(_computed, narrow=partial(tree_map, _narrow)))


def recurrence(function: Function) -> Function:
    """As `equation`, but only the first result is rounded: the recurrent state stays in float32."""
    return checked(
        function,
        outermost=partial(_computed, narrow=lambda results: (_narrow(results[0]), *results[1:])),
    )


def _computed(
    function: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    found: list[np.ndarray],
    narrow: Callable[[Any], Any],
) -> Any:
    with np.errstate(all="ignore"):
        if not any(map(_is_half, found)):
            return function(*args, **kwargs)
        args, kwargs = tree_map(_widen, (args, kwargs))
        return narrow(function(*args, **kwargs))


def _is_half(x: Any) -> bool:
    return isinstance(x, np.ndarray) and x.dtype == np.float16


def _widen(x: Any) -> Any:
    return x.astype(np.float32) if _is_half(x) else x


def _narrow(x: Any) -> Any:
    """Round a floating-point array to float16; leave integers and booleans unchanged."""
    return x.astype(np.float16) if x.dtype.kind == "f" else x
