"""Shape checks: letters are bound to sizes, and a letter has one size in a call.

The shapes of a function stand in its docstring, in lines such as ``q : (..., T, K) array``.
`checked` reads them from there and holds every call to them.
"""

import functools
import inspect
import math
import numbers
import re
import sys
from collections.abc import Callable
from itertools import zip_longest
from operator import index
from typing import Any, NamedTuple, SupportsIndex, TypeVar, get_type_hints

from tformer.axes import LEGEND

__all__ = [
    "Documented",
    "ShapeError",
    "bind",
    "checked",
    "documented",
    "require_axis",
    "require_beta",
    "require_count",
    "result_shape",
]

Function = TypeVar("Function", bound=Callable[..., Any])
Sizes = dict[str, Any]
ENTRY = re.compile(r"^(?:(\w+) : )?\(([^()]*)\) (integer )?array$", re.MULTILINE)
DOUBLE = ("float64", sys.float_info.min, sys.float_info.max)
SINGLE = ("float32", 2.0**-126, (2 - 2.0**-23) * 2.0**127)


class ShapeError(ValueError):
    """An array has an axis too few, or a size that contradicts another array."""


class Documented(NamedTuple):
    """What a docstring says about arrays: argument names, their spec, and which hold integers."""

    names: tuple[str, ...]
    spec: str
    integers: frozenset[str]


def bind(where: str, spec: str, **arrays: Any) -> Sizes:
    """Bind the letters of `spec` to the sizes of `arrays`.

    Parameters
    ----------
    where : str
        The name of the function that asks; it opens the message of an error.
    spec : str
        The axes of each array in turn, such as ``"... T K, ... S K -> ... T S"``. What follows
        the arrow describes the result and is not looked at here.
    **arrays
        Anything with a `shape`, in the order of `spec`.

    Returns
    -------
    dict
        Size of every letter, and under ``"..."`` the leading axes after broadcasting.

    Raises
    ------
    ShapeError
        If an array has too few or too many axes, a letter gets two sizes, or the leading axes do
        not broadcast.

    Examples
    --------
    >>> import numpy as np
    >>> bind("demo", "... T K, ... S K", q=np.ones((2, 3)), k=np.ones((5, 3)))
    {'...': (), 'T': 2, 'K': 3, 'S': 5}
    """
    sizes: Sizes = {"...": ()}
    first: dict[str, str] = {}
    for (name, array), axes in zip(arrays.items(), spec.split("->")[0].split(","), strict=True):
        shape, letters = tuple(array.shape), axes.replace("...", "").split()
        n_leading = _count_leading(where, name, shape, axes.strip(), len(letters))
        for letter, size in zip(letters, shape[n_leading:], strict=True):
            if sizes.setdefault(letter, size) != size:
                seen = f"in {first[letter]} but" if first[letter] != name else "and"
                raise ShapeError(
                    f"{where}: axis {letter} is {sizes[letter]} {seen} {size} in "
                    f"{name} ({axes.strip()}); got shape {shape}"
                )
            first.setdefault(letter, name)
        sizes["..."] = _broadcast(where, name, sizes["..."], shape[:n_leading])
    return sizes


def _count_leading(where: str, name: str, shape: tuple[int, ...], axes: str, n: int) -> int:
    """How many axes of `shape` the dots of `axes` stand for."""
    if len(shape) < n or ("..." not in axes and len(shape) > n):
        least = "at least " if "..." in axes else ""
        plural = "axis" if n == 1 else "axes"
        raise ShapeError(f"{where}: {name} needs {least}{n} {plural} ({axes}); got shape {shape}")
    return len(shape) - n


def _broadcast(
    where: str, name: str, before: tuple[int, ...], leading: tuple[int, ...]
) -> tuple[int, ...]:
    """The leading axes of all arrays so far, widened to hold those of one more."""
    pairs = list(zip_longest(reversed(before), reversed(leading), fillvalue=1))
    if any(one != other and 1 not in (one, other) for one, other in pairs):
        raise ShapeError(
            f"{where}: leading axes {leading} of {name} do not broadcast with "
            f"{before} of the arguments before it"
        )
    return tuple(other if one == 1 else one for one, other in reversed(pairs))


def result_shape(spec: str, sizes: Sizes) -> tuple[int, ...]:
    """Shape that the right side of `spec` has under `sizes`, which came from `bind`.

    Raises
    ------
    ShapeError
        If a letter of the result has no size.
    """
    letters = spec.split("->")[1].split()
    if missing := [letter for letter in letters if letter not in sizes]:
        raise ShapeError(f"axis {missing[0]} of the result ({spec}) has no size")
    return sum((sizes["..."] if x == "..." else (sizes[x],) for x in letters), ())


def documented(function: Callable[..., Any]) -> Documented:
    """Read the array arguments of `function`, and its result, from its docstring.

    Raises
    ------
    RuntimeError
        If there is no docstring (Python was started with ``-OO``).
    ValueError
        If no result is described, or a letter is not in the legend.
    """
    if function.__doc__ is None:
        raise RuntimeError(
            f"{function.__name__}: shapes are read from docstrings; run Python without -OO"
        )
    entries = ENTRY.findall(inspect.cleandoc(function.__doc__))
    inputs = [entry for entry in entries if entry[0]]
    results = [shape for name, shape, _ in entries if not name]
    if len(results) != 1:
        raise ValueError(f"{function.__name__}: the docstring must describe one result")
    spec = ", ".join(shape.replace(",", "") for _, shape, _ in inputs)
    spec = f"{spec} -> {results[0].replace(',', '')}"
    for letter in re.findall(r"\w+", spec):
        if letter not in LEGEND:
            raise ValueError(f"{function.__name__}: axis {letter} is not in the legend")
    return Documented(
        tuple(name for name, *_ in inputs),
        spec,
        frozenset(name for name, _, integer in inputs if integer),
    )


def checked(function: Function) -> Function:
    """Hold every call of `function` to the types in its signature and the shapes in its docstring.

    Arrays must be of the annotated type, floating-point (or integer, where the docstring says
    ``integer array``) and of one dtype; their letters must bind. Otherwise TypeError or ShapeError.
    """
    where, (names, spec, integers) = function.__name__, documented(function)
    hints = get_type_hints(function)

    @functools.wraps(function)
    def run(*args: Any, **kwargs: Any) -> Any:
        arrays: dict[str, Any] = dict(zip(names, args, strict=False))
        arrays |= {name: kwargs[name] for name in names if name in kwargs}
        if len(arrays) == len(names):
            for name, array in arrays.items():
                _require_array(where, name, array, hints[name], name in integers)
            _require_one_dtype(where, arrays)
            bind(where, spec, **arrays)
        return function(*args, **kwargs)

    return run  # type: ignore[return-value]


def _require_array(where: str, name: str, array: Any, kind: Any, integer: bool) -> None:
    if not isinstance(array, kind):
        raise TypeError(
            f"{where}: {name} must be a {kind.__module__}.{kind.__name__}; "
            f"got {type(array).__name__}"
        )
    if integer and not _is_integer(array.dtype):
        raise TypeError(f"{where}: {name} must hold integers; got {array.dtype}")
    if not integer and not _is_floating(array.dtype):
        raise TypeError(f"{where}: {name} must hold floating-point numbers; got {array.dtype}")


def _require_one_dtype(where: str, arrays: dict[str, Any]) -> None:
    first, one = next(iter(arrays.items()))
    for name, array in arrays.items():
        if array.dtype != one.dtype:
            raise TypeError(
                f"{where}: {first} is {one.dtype} but {name} is {array.dtype}; "
                "give both the same dtype"
            )


def _is_floating(dtype: Any) -> bool:
    """Whether a NumPy or torch dtype is floating-point."""
    return bool(dtype.is_floating_point if hasattr(dtype, "is_complex") else dtype.kind == "f")


def _is_integer(dtype: Any) -> bool:
    """Whether a NumPy or torch dtype is an integer, signed or not."""
    if hasattr(dtype, "is_complex"):
        return not dtype.is_floating_point and not dtype.is_complex and "int" in str(dtype)
    return bool(dtype.kind in "iu")


def require_axis(where: str, n_axes: int, axis: int) -> None:
    """Raise ShapeError unless `axis` counts one of `n_axes` axes, from either end."""
    if isinstance(axis, bool) or not hasattr(axis, "__index__"):
        raise TypeError(f"{where}: axis must be an integer; got {axis!r}")
    if not -n_axes <= axis < n_axes:
        raise ShapeError(
            f"{where}: axis must be from {-n_axes} to {n_axes - 1} for an array of "
            f"{n_axes} axes; got {axis}"
        )


def require_beta(where: str, beta: Any, dtype: Any) -> float:
    """Return `beta`, an inverse temperature, as a float.

    Raises
    ------
    TypeError
        If it is not a real number.
    ValueError
        If it is not finite and above 0, as a normal number of `dtype` (float32 for narrower ones).
    """
    if isinstance(beta, bool) or not isinstance(beta, numbers.Real):
        raise TypeError(f"{where}: beta must be a number; got {type(beta).__name__}")
    name, least, most = DOUBLE if dtype.itemsize == 8 else SINGLE
    try:
        value = float(beta)
    except OverflowError:
        value = math.inf
    if not least <= value <= most:
        raise ValueError(f"{where}: beta must be finite and above 0 in {name}; got {beta}")
    return value


def require_count(
    where: str, name: str, value: SupportsIndex, least: int = 1, most: int | None = None
) -> None:
    """Raise ValueError unless the integer `value` lies from `least` to `most`."""
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise TypeError(f"{where}: {name} must be an integer; got {value!r}")
    if index(value) < least or (most is not None and index(value) > most):
        bound = f"at least {least}" if most is None else f"from {least} to {most}"
        raise ValueError(f"{where}: {name} must be {bound}; got {value}")
