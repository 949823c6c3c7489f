"""Arguments: every call of a function is held to what its docstring says of them."""

import functools
import inspect
import math
import numbers
import re
import sys
import threading
from collections.abc import Callable
from operator import index
from typing import Any, NamedTuple, TypeVar, get_args, get_type_hints

import numpy as np

from tformer.docstrings import (
    FLAG,
    FLOATING,
    LARGEST,
    Documented,
    dataclass_of,
    documented,
    with_raises,
)
from tformer.shapes import Axes, Named, ShapeError, Sizes, axes_of, bind_all

__all__ = [
    "NUMPY",
    "Arrays",
    "checked",
    "require_axis",
    "require_count",
    "require_flag",
    "require_layout",
    "require_positive",
]

Function = TypeVar("Function", bound=Callable[..., Any])
DOUBLE = ("float64", sys.float_info.min, sys.float_info.max)
SINGLE = ("float32", 2.0**-126, (2 - 2.0**-23) * 2.0**127)
SUPPORTED = {
    FLOATING: ("float", " of 16, 32 or 64 bits"),
    "integer": ("int", " within the range of int64"),
}
"""Which dtypes of a name are supported, to be said where one of the others is given."""
MISSING: Any = object()


class Arrays(NamedTuple):
    """The arrays of one library.

    Attributes
    ----------
    kind : type
        What they are.
    holds : callable
        What an object holds, if it is a plain array of a supported dtype: "floating-point",
        "integer" or "boolean"; "" otherwise.
    oddity : callable
        What an array is instead of a plain one, such as "a masked array"; "" if it is plain.
    traced : callable
        Whether a compiler reads along, which knows no state of a thread.
    mixed : callable
        Whether the library itself brings arrays to one dtype at the moment.
    """

    kind: type[Any]
    holds: Callable[[Any], str]
    oddity: Callable[[Any], str]
    traced: Callable[[], bool] = bool
    mixed: Callable[[], bool] = bool


class _Call(threading.local):
    """Whether this thread is inside a function that has been held to its docstring."""

    held = False


CALL = _Call()


def _numpy_holds(x: Any) -> str:
    if not isinstance(x, np.ndarray) or _numpy_oddity(x):
        return ""
    return NUMPY_HOLDS.get((x.dtype.kind, x.dtype.itemsize), "")


NUMPY_HOLDS = {
    **{("f", size): FLOATING for size in (2, 4, 8)},
    **{("i", size): "integer" for size in (1, 2, 4, 8)},
    **{("u", size): "integer" for size in (1, 2, 4)},
    ("b", 1): "boolean",
}


def _numpy_oddity(array: Any) -> str:
    if type(array) is np.ndarray:
        return ""
    odd = {np.matrix: "a numpy.matrix", np.ma.MaskedArray: "a masked array"}
    return next((name for kind, name in odd.items() if isinstance(array, kind)), "")


NUMPY = Arrays(np.ndarray, _numpy_holds, _numpy_oddity)


class Wanted(NamedTuple):
    """An array that a function takes: what `documented` says of it, ready for every call.

    If it lies in a dataclass, `argument` is that, and `field` leads to it: names of fields, and `*`
    for each of several. `kinds` are the classes on the way, `argument`'s first. It may be None if
    it is `optional`, the whole argument if it `may_lack`.
    """

    name: str
    argument: str
    position: int
    kinds: tuple[type[Any], ...]
    field: tuple[str, ...]
    axes: Axes
    content: str
    optional: bool
    may_lack: bool


def checked(function: Function, arrays: Arrays = NUMPY) -> Function:
    """Hold every call of `function` to the shapes and ranges in its docstring.

    Arrays must be plain ones of the library that is named; those of floating-point numbers must
    have one dtype, the others hold what the docstring says (``integer array``); their letters must
    bind. A number must lie in its range, and is handed on as a plain int or float. What is
    ``optional`` may be None. Otherwise TypeError, ShapeError or ValueError, and the docstring comes
    to say so.

    The outermost call is checked, and what it calls in its turn trusts it: so an error names the
    function that was called, and a check costs its microseconds once.
    """
    where, said = function.__name__, documented(function)
    wanted, ranges = _wanted(function, said, arrays), _ranges(function, said)
    plain = _plain(function, said)

    def hold(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
        """Raise, or return the positional arguments; numbers become plain ones."""
        for argument, position, kind in plain:
            x = args[position] if position < len(args) else kwargs.get(argument, MISSING)
            if x is not MISSING and not isinstance(x, kind):
                raise TypeError(_no_such(where, argument, f"a {kind.__name__}", x))
        given, alike = [], []
        walked: dict[Any, list[tuple[str, Any]]] = {}
        for known, argument, position, kinds, field, axes, content, optional, lacks in wanted:
            x = args[position] if position < len(args) else kwargs.get(argument, MISSING)
            if lacks and (x is None or x is MISSING):
                continue
            if x is MISSING:
                return args  # Python says what is missing
            if field and x is None:
                raise TypeError(_no_such(where, argument, f"a {kinds[0].__name__}", x))
            found = [(argument, x)]
            if field:
                found = _found(where, found, kinds, field, optional, walked)
            for name, x in found:
                if optional and x is None:
                    continue
                if arrays.holds(x) != content:
                    raise TypeError(f"{where}: {name} must {_expected(x, arrays, content)}")
                given.append((name, axes, x))
                if known not in said.kinds:
                    alike.append((name, x.dtype))
        if not arrays.mixed():
            _require_one_dtype(where, alike)
        sizes = bind_all(where, given)
        for name, position, require in ranges:
            if position < len(args):
                value = require(where, args[position], given, sizes)
                args = (*args[:position], value, *args[position + 1 :])
            elif name in kwargs:
                kwargs[name] = require(where, kwargs[name], given, sizes)
        return args

    @functools.wraps(function)
    def run(*args: Any, **kwargs: Any) -> Any:
        if arrays.traced():
            return function(*hold(args, kwargs), **kwargs)
        if CALL.held:
            return function(*args, **kwargs)
        args = hold(args, kwargs)
        try:
            CALL.held = True
            return function(*args, **kwargs)
        finally:
            CALL.held = False

    run.__doc__ = with_raises(function)
    return run  # type: ignore[return-value]


def _wanted(function: Function, said: Documented, arrays: Arrays) -> list[Wanted]:
    hints, places = get_type_hints(function), list(inspect.signature(function).parameters)
    wanted = []
    for name, axes in zip(said.names, axes_of(said.spec), strict=True):
        argument, *field = name.split(".")
        kind = hints[argument]
        if not field and arrays.kind not in (kind, *get_args(kind)):
            raise TypeError(f"{function.__name__}: {name} is not annotated as {arrays.kind}")
        content, optional = said.kinds.get(name, FLOATING), name in said.optional
        content = FLOATING if content == "real" else content
        kinds, place = _classes(kind, field), places.index(argument)
        lacks = type(None) in get_args(hints[argument])
        found = Wanted(name, argument, place, kinds, (*field,), axes, content, optional, lacks)
        wanted.append(found)
    return wanted


def _plain(function: Function, said: Documented) -> list[tuple[str, int, type[Any]]]:
    """The dataclasses that a function takes in which there are no arrays: name, place and class."""
    of_arrays = {name.split(".")[0] for name in said.names}
    hints = get_type_hints(function)
    return [
        (name, place, hints[name])
        for place, name in enumerate(inspect.signature(function).parameters)
        if name not in of_arrays and dataclass_of(hints[name]) is hints[name]
    ]


def _classes(annotation: Any, field: list[str]) -> tuple[type[Any], ...]:
    """The dataclasses on the way to a field, one for each of its parts."""
    found = []
    for part in field:
        found.append(kind := dataclass_of(annotation))
        annotation = kind if part == "*" else get_type_hints(kind)[part]
    return tuple(found)


def _found(
    where: str,
    found: list[tuple[str, Any]],
    kinds: tuple[Any, ...],
    field: tuple[str, ...],
    optional: bool,
    walked: dict[Any, list[tuple[str, Any]]],
) -> list[tuple[str, Any]]:
    """What lies at a field of a dataclass, or at the fields of several, with its name.

    `walked` holds what was found on the way to other fields, and comes to hold this way.
    """
    if not field:
        return found
    *way, part = field
    key = (found[0][0], optional, *way)
    if key not in walked:
        found = _found(where, found, kinds[:-1], (*way,), optional, walked)
        walked[key] = [(at, y) for at, y in found if y is not None] if optional else found
    found, kind = walked[key], kinds[-1]
    wanted = tuple if part == "*" else kind
    for at, y in found:
        if not isinstance(y, wanted):
            what = f"a tuple of {kind.__name__}" if part == "*" else f"a {kind.__name__}"
            raise TypeError(_no_such(where, at, what, y))
    if part == "*":
        return [(f"{at}[{i}]", z) for at, y in found for i, z in enumerate(y)]
    return [(f"{at}.{part}", getattr(y, part)) for at, y in found]


def _no_such(where: str, name: str, wanted: str, x: Any) -> str:
    return f"{where}: {name} must be {wanted}; got {type(x).__name__}"


def _ranges(function: Function, said: Documented) -> list[tuple[str, int, Callable[..., Any]]]:
    """For each number its name, its place, and what holds it to its range."""
    places = list(inspect.signature(function).parameters)
    return [
        (name, places.index(name), _range(name, words, name in said.optional))
        for name, words in said.ranges.items()
    ]


def _range(name: str, words: str, optional: bool) -> Callable[..., Any]:
    """What holds a number to the range that the docstring gives in `words`."""
    bounds = re.fullmatch(r"(?:at least|from) (\d+)(?: to (\w+))?", words)
    least, most = bounds.groups() if bounds else (0, None)
    last: Any = int(most) if most and most.isdigit() else most

    def require(where: str, value: Any, given: list[Named], sizes: Sizes) -> Any:
        if value is None and optional:
            return None
        if words == FLAG:
            return require_flag(where, name, value)
        if words == "an axis":
            return require_axis(where, max(len(x.shape) for *_, x in given), value)
        if not bounds:
            largest = 1.0 if "at most 1" in words else math.inf
            return require_positive(where, name, value, given[0][2].dtype, largest)
        return require_count(where, name, value, int(least), sizes.get(last, last))

    return require


def _expected(x: Any, arrays: Arrays, content: str) -> str:
    """What an argument must be or hold, and what was got instead."""
    full = f"{arrays.kind.__module__}.{arrays.kind.__name__}"
    if not isinstance(x, arrays.kind):
        return f"be a {full}; got {type(x).__name__}"
    if oddity := arrays.oddity(x):
        return f"be a plain {full}; got {oddity}"
    plural = "floating-point numbers" if content == FLOATING else f"{content}s"
    kind, limits = SUPPORTED.get(content, ("", ""))
    limits = limits if re.search(rf"\bu?{kind}\d", str(x.dtype)) else ""
    return f"hold {plural}{limits}; got {x.dtype}"


def _require_one_dtype(where: str, alike: list[tuple[str, Any]]) -> None:
    for name, dtype in alike:
        first, one = alike[0]
        if dtype != one:
            raise TypeError(
                f"{where}: {first} is {one} but {name} is {dtype}; give both the same dtype"
            )


def require_axis(where: str, n_axes: int, axis: Any) -> int:
    """Return `axis` as a plain int; raise unless it counts one of `n_axes` axes, from either end.

    Raises
    ------
    TypeError
        If it is not an integer.
    ShapeError
        If there is no such axis.
    """
    axis = _integer(where, "axis", axis)
    if not -n_axes <= axis < n_axes:
        raise ShapeError(
            f"{where}: axis must be from {-n_axes} to {n_axes - 1} for an array of "
            f"{n_axes} axes; got {axis}"
        )
    return axis


def require_flag(where: str, name: str, value: Any) -> bool:
    """Return `value`; raise TypeError unless it is True or False."""
    if value is not True and value is not False:
        raise TypeError(f"{where}: {name} must be True or False; got {type(value).__name__}")
    return value


def require_count(
    where: str, name: str, value: Any, least: int = 1, most: int | None = None
) -> int:
    """Return `value` as a plain int; raise unless it lies from `least` to `most`.

    Without `most` it may be `LARGEST`, of which the docstring of a function need not speak.

    Raises
    ------
    TypeError
        If it is not an integer.
    ValueError
        If it is out of range.
    """
    value = _integer(where, name, value)
    if not least <= value <= (LARGEST if most is None else most):
        missed = f"at least {least}" if value < least else f"at most {LARGEST}"
        bound = missed if most is None else f"from {least} to {most}"
        raise ValueError(f"{where}: {name} must be {bound}; got {value}")
    return value


def _integer(where: str, name: str, value: Any) -> Any:
    """`value` as a plain int. An array is refused even if it holds a single integer."""
    is_array = hasattr(value, "dtype") and not isinstance(value, numbers.Integral)
    if not (isinstance(value, bool | type) or is_array) and hasattr(value, "__index__"):
        return index(value)
    raise TypeError(f"{where}: {name} must be an integer; got {value!r}")


def require_positive(
    where: str, name: str, value: Any, dtype: Any, largest: float = math.inf
) -> float:
    """Return `value` as a plain float.

    Raises
    ------
    TypeError
        If it is not a real number.
    ValueError
        If it is not finite and above 0, as a normal number of `dtype` (float32 for narrower ones),
        or is above `largest`.
    """
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise TypeError(f"{where}: {name} must be a number; got {type(value).__name__}")
    format_, least, most = DOUBLE if dtype.itemsize == 8 else SINGLE
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not least <= number <= most:
        raise ValueError(f"{where}: {name} must be finite and above 0 in {format_}; got {value}")
    if number > largest:
        raise ValueError(f"{where}: {name} must be at most {largest:g}; got {value}")
    return number


def require_layout(
    where: str, shape: tuple[int, ...], n_queries: int, n_keys: int, block: int
) -> None:
    """Raise ValueError unless a layout of this shape has a row, and a column, for each block."""
    wanted = (-(-n_queries // block), -(-n_keys // block))
    if tuple(shape) != wanted:
        raise ValueError(
            f"{where}: layout must have shape {wanted} for {n_queries} queries and {n_keys} keys "
            f"in blocks of {block}; got {tuple(shape)}"
        )
