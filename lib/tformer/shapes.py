"""Shape checks: letters are bound to sizes, and a letter has one size in a call.

The shapes of a function stand in its docstring, in lines such as ``q : (..., T, K) array``.
`checked` reads them from there and holds every call to them. An array may hold integers or
booleans, may be left out, and may have an axis of size 1 where the docstring says so:
``mask : (..., T or 1, S or 1) boolean array, optional``.
"""

import functools
import inspect
import math
import numbers
import re
import sys
from collections.abc import Callable, Iterable
from itertools import zip_longest
from operator import index
from typing import Any, NamedTuple, SupportsIndex, TypeVar, get_args, get_type_hints

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
    "require_scale",
    "result_shape",
]

Function = TypeVar("Function", bound=Callable[..., Any])
Sizes = dict[str, Any]
ENTRY = re.compile(
    r"^(?:(\w+) : )?\(([^()]*)\) (?:(integer|boolean) )?array(, optional)?$", re.MULTILINE
)
FLOATING = "floating-point"
REMEMBERED = 256
"""How many kinds of call to a function are remembered as passed, at most."""
DOUBLE = ("float64", sys.float_info.min, sys.float_info.max)
SINGLE = ("float32", 2.0**-126, (2 - 2.0**-23) * 2.0**127)


class ShapeError(ValueError):
    """An array has an axis too few, or a size that contradicts another array."""


class Documented(NamedTuple):
    """What a docstring says about arrays: argument names, their spec, and what is special.

    `kinds` says which arguments hold something else than floating-point numbers.
    """

    names: tuple[str, ...]
    spec: str
    kinds: dict[str, str]
    optional: frozenset[str]


def bind(where: str, spec: str, **arrays: Any) -> Sizes:
    """Bind the letters of `spec` to the sizes of `arrays`.

    Parameters
    ----------
    where : str
        The name of the function that asks; it opens the message of an error.
    spec : str
        The axes of each array in turn, such as ``"... T K, ... S K -> ... T S"``; ``T|1`` is an
        axis that may also have size 1, and then says nothing of T. What follows the arrow
        describes the result and is not looked at here.
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
    parsed = map(_parsed, spec.split("->")[0].split(","))
    return _bind(where, zip(arrays.items(), parsed, strict=True))


class Axes(NamedTuple):
    """The axes of one array: as written, whether they begin with dots, and the letters.

    With each letter stands whether its axis may also have size 1.
    """

    text: str
    dots: bool
    letters: tuple[tuple[str, bool], ...]


def _parsed(axes: str) -> Axes:
    letters = (letter.partition("|") for letter in axes.replace("...", "").split())
    return Axes(axes.strip(), "..." in axes, tuple((x, bool(one)) for x, _, one in letters))


def _bind(where: str, arrays: Iterable[tuple[tuple[str, Any], Axes]]) -> Sizes:
    sizes: Sizes = {"...": ()}
    first: dict[str, str] = {}
    for (name, array), axes in arrays:
        shape = tuple(array.shape)
        n_leading = _count_leading(where, name, shape, axes)
        for (letter, or_1), size in zip(axes.letters, shape[n_leading:], strict=True):
            if or_1 and size == 1:
                continue
            if sizes.setdefault(letter, size) != size:
                seen = f"in {first[letter]} but" if first[letter] != name else "and"
                raise ShapeError(
                    f"{where}: axis {letter} is {sizes[letter]} {seen} {size} in "
                    f"{name} ({axes.text}); got shape {shape}"
                )
            first.setdefault(letter, name)
        sizes["..."] = _broadcast(where, name, sizes["..."], shape[:n_leading])
    return sizes


def _count_leading(where: str, name: str, shape: tuple[int, ...], axes: Axes) -> int:
    """How many axes of `shape` the dots of `axes` stand for."""
    n = len(axes.letters)
    if len(shape) < n or (not axes.dots and len(shape) > n):
        least = "at least " if axes.dots else ""
        plural = "axis" if n == 1 else "axes"
        raise ShapeError(
            f"{where}: {name} needs {least}{n} {plural} ({axes.text}); got shape {shape}"
        )
    return len(shape) - n


def _broadcast(
    where: str, name: str, before: tuple[int, ...], leading: tuple[int, ...]
) -> tuple[int, ...]:
    """The leading axes of all arrays so far, widened to hold those of one more."""
    if not before or before == leading:
        return leading
    pairs = list(zip_longest(reversed(before), reversed(leading), fillvalue=1))
    if any(one != other and 1 not in (one, other) for one, other in pairs):
        raise ShapeError(
            f"{where}: leading axes {leading} of {name} do not broadcast with "
            f"{before} of the arguments before it"
        )
    return tuple(other if one == 1 else one for one, other in reversed(pairs))


def result_shape(spec: str, sizes: Sizes, position: int = 0) -> tuple[int, ...]:
    """Shape that the right side of `spec` has under `sizes`, which came from `bind`.

    `position` picks one of several results.

    Raises
    ------
    ShapeError
        If a letter of the result has no size.
    """
    letters = re.sub(r"\|1", "", spec.split("->")[1].split(",")[position]).split()
    if missing := [letter for letter in letters if letter not in sizes]:
        raise ShapeError(f"axis {missing[0]} of the result ({spec}) has no size")
    return sum((sizes["..."] if x == "..." else (sizes[x],) for x in letters), ())


def documented(function: Callable[..., Any]) -> Documented:
    """Read the array arguments of `function`, and its results, from its docstring.

    What is named like a parameter describes an argument, everything else a result.

    Raises
    ------
    RuntimeError
        If there is no docstring (Python was started with ``-OO``).
    ValueError
        If no result is described, several without names, or a letter is not in the legend.
    """
    where = function.__name__
    if function.__doc__ is None:
        raise RuntimeError(f"{where}: shapes are read from docstrings; run Python without -OO")
    entries = ENTRY.findall(inspect.cleandoc(function.__doc__))
    parameters = inspect.signature(function).parameters
    inputs = [entry for entry in entries if entry[0] in parameters]
    results = [entry for entry in entries if entry[0] not in parameters]
    if not results or (len(results) > 1 and not all(name for name, *_ in results)):
        raise ValueError(f"{where}: the docstring must describe one result, or several by name")
    spec = " -> ".join(", ".join(_axes(entry[1]) for entry in side) for side in (inputs, results))
    for letter in re.findall(r"[^\W\d]+", spec):
        if letter not in LEGEND:
            raise ValueError(f"{where}: axis {letter} is not in the legend")
    return Documented(
        tuple(name for name, *_ in inputs),
        spec,
        {name: kind for name, _, kind, _ in inputs if kind},
        frozenset(name for name, *_, optional in inputs if optional),
    )


def _axes(shape: str) -> str:
    """The axes of an entry as `bind` takes them: "..., T or 1, K" becomes "... T|1 K"."""
    return shape.replace(" or ", "|").replace(",", "")


def checked(function: Function, tracing: Callable[[], bool] = lambda: False) -> Function:
    """Hold every call of `function` to the types in its signature and the shapes in its docstring.

    Arrays must be of the annotated type; those of floating-point numbers must have one dtype, the
    others hold what the docstring says (``integer array``, ``boolean array``); their letters must
    bind. Otherwise TypeError or ShapeError. An array that is ``optional`` may be None. Only the
    type, dtype and shape of an array are looked at, so a call is let through at once if its
    arguments have those of a call that passed before. No memory is kept while `tracing` is true.
    """
    where, (names, spec, kinds, optional) = function.__name__, documented(function)
    required = set(names) - optional
    axes = dict(zip(names, map(_parsed, spec.split("->")[0].split(",")), strict=True))
    hints = get_type_hints(function)
    types = {x: get_args(hints[x])[0] if x in optional else hints[x] for x in names}

    def check(*args: Any, **kwargs: Any) -> None:
        given = dict(zip(names, args, strict=False)) | kwargs
        arrays = {x: given[x] for x in names if x in given}
        arrays = {x: a for x, a in arrays.items() if a is not None or x not in optional}
        if required <= arrays.keys():
            for name, array in arrays.items():
                _require_array(where, name, array, types[name], kinds.get(name, FLOATING))
            _require_one_dtype(where, {x: a for x, a in arrays.items() if x not in kinds})
            _bind(where, ((item, axes[item[0]]) for item in arrays.items()))

    return _with_memory(check, function, tracing)


def _with_memory(
    check: Callable[..., None], function: Function, tracing: Callable[[], bool]
) -> Function:
    """Call `check`, then `function`; but `function` alone for a call like one that passed."""
    passed: set[tuple[Any, ...]] = set()

    def careful(*args: Any, **kwargs: Any) -> Any:
        check(*args, **kwargs)
        return function(*args, **kwargs)

    @functools.wraps(function)
    def run(*args: Any, **kwargs: Any) -> Any:
        if tracing():
            return careful(*args, **kwargs)
        call: list[Any] = [*kwargs]
        for x in (*args, *kwargs.values()):
            call += type(x), getattr(x, "dtype", None), getattr(x, "shape", None)
        try:
            known = (key := tuple(call)) in passed
        except TypeError:  # something without a hash, such as a size that is a symbol
            return careful(*args, **kwargs)
        if not known:
            check(*args, **kwargs)
            if len(passed) >= REMEMBERED:
                passed.clear()
            passed.add(key)
        return function(*args, **kwargs)

    return run  # type: ignore[return-value]


def _require_array(where: str, name: str, array: Any, kind: Any, wanted: str) -> None:
    if not isinstance(array, kind):
        raise TypeError(
            f"{where}: {name} must be a {kind.__module__}.{kind.__name__}; "
            f"got {type(array).__name__}"
        )
    if _holds(array.dtype) != wanted:
        content = "floating-point numbers" if wanted == FLOATING else f"{wanted}s"
        raise TypeError(f"{where}: {name} must hold {content}; got {array.dtype}")


def _require_one_dtype(where: str, arrays: dict[str, Any]) -> None:
    for name, array in arrays.items():
        first, one = next(iter(arrays.items()))
        if array.dtype != one.dtype:
            raise TypeError(
                f"{where}: {first} is {one.dtype} but {name} is {array.dtype}; "
                "give both the same dtype"
            )


def _holds(dtype: Any) -> str:
    """What an array of a NumPy or torch dtype holds."""
    if hasattr(dtype, "kind"):
        return {"f": FLOATING, "i": "integer", "u": "integer", "b": "boolean"}.get(dtype.kind, "")
    if dtype.is_floating_point:
        return FLOATING
    return "boolean" if str(dtype) == "torch.bool" else "integer" if "int" in str(dtype) else ""


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
    return _positive(where, "beta", beta, dtype)


def require_scale(where: str, scale: Any, q: Any) -> float:
    """Return `scale`, which multiplies the scores of the queries `q`, as a float.

    None stands for the usual scale, one over the square root of the width of `q`.

    Raises
    ------
    TypeError
        If it is not a real number.
    ValueError
        If it is not finite and above 0, as a normal number of the dtype of `q` (float32 for
        narrower ones).
    """
    if scale is None:
        return 1 / math.sqrt(max(q.shape[-1], 1))
    return _positive(where, "scale", scale, q.dtype)


def _positive(where: str, what: str, number: Any, dtype: Any) -> float:
    if isinstance(number, bool) or not isinstance(number, numbers.Real):
        raise TypeError(f"{where}: {what} must be a number; got {type(number).__name__}")
    name, least, most = DOUBLE if dtype.itemsize == 8 else SINGLE
    try:
        value = float(number)
    except OverflowError:
        value = math.inf
    if not least <= value <= most:
        raise ValueError(f"{where}: {what} must be finite and above 0 in {name}; got {number}")
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
