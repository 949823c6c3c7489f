"""Argument checks: each call of a function is checked against its docstring."""

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
"""Which dtypes of a kind are supported, for the message when another is given."""
MISSING: Any = object()


class Arrays(NamedTuple):
    """How to recognise the arrays of one library.

    Attributes
    ----------
    kind : type
        The array class.
    holds : callable
        From an object, the kind of its dtype if it is a plain array of a supported one:
        "floating-point", "integer" or "boolean"; "" otherwise.
    oddity : callable
        From an array, what it is if it is not plain, such as "a masked array"; "" if it is plain.
    traced : callable
        Whether a compiler is tracing the call, in which thread-local state is not known.
    mixed : callable
        Whether the library itself currently converts arrays to one dtype (autocast).
    """

    kind: type[Any]
    holds: Callable[[Any], str]
    oddity: Callable[[Any], str]
    traced: Callable[[], bool] = bool
    mixed: Callable[[], bool] = bool


class _Call(threading.local):
    """Whether this thread is inside a call whose arguments have been checked."""

    checked = False


CALL = _Call()


def _numpy_holds(x: Any) -> str:
    if type(x) is np.ndarray or (isinstance(x, np.ndarray) and not _numpy_oddity(x)):
        return NUMPY_HOLDS.get(x.dtype.char, "")
    return ""


NUMPY_HOLDS = {
    **dict.fromkeys("efd", FLOATING),
    **{code: "integer" for code in np.typecodes["AllInteger"] if np.iinfo(code).max < 2**63},
    "?": "boolean",
}


def _numpy_oddity(array: Any) -> str:
    if type(array) is np.ndarray:
        return ""
    odd = {np.matrix: "a numpy.matrix", np.ma.MaskedArray: "a masked array"}
    return next((name for kind, name in odd.items() if isinstance(array, kind)), "")


NUMPY = Arrays(np.ndarray, _numpy_holds, _numpy_oddity)


class ArraySpec(NamedTuple):
    """An array argument; `alike` if it must have the dtype of all other such arrays."""

    axes: Axes
    content: str
    alike: bool
    optional: bool


class TreeSpec(NamedTuple):
    """A dataclass argument, or a tuple of several: the spec of each of its fields.

    It is `optional` if every array in it is.
    """

    kind: type[Any]
    several: bool
    optional: bool
    fields: tuple[tuple[str, "ArraySpec | TreeSpec"], ...]


Found = tuple[str, ArraySpec, Any]
"""The name of an array, its spec, and the array."""


def checked(
    function: Function, arrays: Arrays = NUMPY, outermost: Callable[..., Any] | None = None
) -> Function:
    """Check every call of `function` against the shapes and ranges in its docstring.

    Arrays must be plain arrays of the given library. Those of floating-point numbers must share one
    dtype, others have the kind that the docstring states (``integer array``). Axis letters must
    bind. A number must be in its range, and is passed on as a plain int or float. An ``optional``
    argument may be None. Otherwise TypeError, ShapeError or ValueError is raised, and the docstring
    is extended to list these.

    Only the outermost call is checked; calls inside it are not. So an error names the function that
    was called, and the checks cost their microseconds once. If `outermost` is given, it makes the
    outermost call: it takes the function, its positional and keyword arguments, and the arrays
    found in them.

    The result has an attribute `unchecked`, which calls it without checks, and with `outermost` as
    if there were no arrays. It is for a loop that has made one such call and repeats it.
    """
    where, doc = function.__name__, documented(function)
    specs, ranges = _specs(function, doc, arrays), _ranges(function, doc)
    plain, holds, traced = _plain(function, doc), arrays.holds, arrays.traced

    def check(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], list[Named]]:
        """Raise, or return the positional arguments and all arrays, with numbers made plain."""
        for argument, position, kind in plain:
            x = args[position] if position < len(args) else kwargs.get(argument, MISSING)
            if x is not MISSING and not isinstance(x, kind):
                raise TypeError(_wrong_type(where, argument, f"a {kind.__name__}", x))
        given: list[Named] = []
        alike: list[tuple[str, Any]] = []
        for argument, position, spec, may_lack in specs:
            x = args[position] if position < len(args) else kwargs.get(argument, MISSING)
            if may_lack and (x is None or x is MISSING):
                continue
            if x is MISSING:
                return args, given  # Python says what is missing
            found: list[Found] = [(argument, spec, x)]  # type: ignore[list-item]
            if isinstance(spec, TreeSpec):
                found = _found(where, argument, x, spec)
            for name, (axes, content, all_alike, _), array in found:
                if holds(array) != content:
                    raise TypeError(f"{where}: {name} must {_expected(array, arrays, content)}")
                given.append((name, axes, array))
                if all_alike:
                    alike.append((name, array.dtype))
        if any(x != alike[0][1] for _, x in alike) and not arrays.mixed():
            raise TypeError(_two_dtypes(where, alike))
        sizes = bind_all(where, given)
        for name, position, require in ranges:
            if position < len(args):
                value = require(where, args[position], given, sizes)
                args = (*args[:position], value, *args[position + 1 :])
            elif name in kwargs:
                kwargs[name] = require(where, kwargs[name], given, sizes)
        return args, given

    @functools.wraps(function)
    def run(*args: Any, **kwargs: Any) -> Any:
        if traced():
            return function(*check(args, kwargs)[0], **kwargs)
        if CALL.checked:
            return function(*args, **kwargs)
        args, given = check(args, kwargs)
        return call(args, kwargs, [x for *_, x in given])

    def unchecked(*args: Any, **kwargs: Any) -> Any:
        if traced() or CALL.checked:
            return function(*args, **kwargs)
        return call(args, kwargs, [])

    def call(args: tuple[Any, ...], kwargs: dict[str, Any], given: list[Any]) -> Any:
        try:
            CALL.checked = True
            if outermost is None:
                return function(*args, **kwargs)
            return outermost(function, args, kwargs, given)
        finally:
            CALL.checked = False

    run.__doc__ = with_raises(function)
    run.unchecked = unchecked  # type: ignore[attr-defined]
    return run  # type: ignore[return-value]


def _specs(
    function: Function, doc: Documented, arrays: Arrays
) -> list[tuple[str, int, ArraySpec | TreeSpec, bool]]:
    """Return name, position, spec, and whether it may be None, of each argument with arrays."""
    hints, paths = get_type_hints(function), dict[str, Any]()
    for name, axes in zip(doc.names, axes_of(doc.spec), strict=True):
        content, optional = doc.kinds.get(name, FLOATING), name in doc.optional
        content = FLOATING if content == "real" else content
        one = ArraySpec(axes, content, name not in doc.kinds, optional)
        argument, *field = name.split(".")
        kind = hints[argument]
        if not field and arrays.kind not in (kind, *get_args(kind)):
            raise TypeError(f"{function.__name__}: {name} is not annotated as {arrays.kind}")
        *path, last = argument, *field
        inner = paths
        for part in path:
            inner = inner.setdefault(part, {})
        inner[last] = one
    return [
        (name, place, _tree(hints[name], paths[name]), type(None) in get_args(hints[name]))
        for place, name in enumerate(inspect.signature(function).parameters)
        if name in paths
    ]


def _tree(annotation: Any, what: Any) -> ArraySpec | TreeSpec:
    """Return the spec of an argument or field, from a nested dictionary of specs."""
    if isinstance(what, ArraySpec):
        return what
    kind, several = dataclass_of(annotation), "*" in what
    hints = get_type_hints(kind)
    inner = (what["*"] if several else what).items()
    fields = tuple((name, _tree(hints[name], one)) for name, one in inner)
    return TreeSpec(kind, several, all(one.optional for _, one in fields), fields)


def _found(where: str, argument: str, x: Any, tree: TreeSpec) -> list[Found]:
    """Return the arrays of a dataclass, or of a tuple of them, with names and specs."""
    if x is None:
        raise TypeError(_wrong_type(where, argument, f"a {tree.kind.__name__}", x))
    found: list[Found] = []

    def walk(name: str, x: Any, tree: TreeSpec) -> None:
        kind, several, optional, fields = tree
        if several and not isinstance(x, tuple):
            raise TypeError(_wrong_type(where, name, f"a tuple of {kind.__name__}", x))
        each = [(f"{name}[{i}]", one) for i, one in enumerate(x)] if several else [(name, x)]
        for at, one in each:
            if one is None and optional:
                continue
            if not isinstance(one, kind):
                raise TypeError(_wrong_type(where, at, f"a {kind.__name__}", one))
            for field, inner in fields:
                y = getattr(one, field)
                if isinstance(inner, TreeSpec):
                    walk(f"{at}.{field}", y, inner)
                elif y is not None or not inner.optional:
                    found.append((f"{at}.{field}", inner, y))

    walk(argument, x, tree)
    return found


def _plain(function: Function, doc: Documented) -> list[tuple[str, int, type[Any]]]:
    """Return name, position and class of each dataclass argument without arrays."""
    of_arrays = {name.split(".")[0] for name in doc.names}
    hints = get_type_hints(function)
    return [
        (name, place, hints[name])
        for place, name in enumerate(inspect.signature(function).parameters)
        if name not in of_arrays and dataclass_of(hints[name]) is hints[name]
    ]


def _wrong_type(where: str, name: str, wanted: str, x: Any) -> str:
    return f"{where}: {name} must be {wanted}; got {type(x).__name__}"


def _ranges(function: Function, doc: Documented) -> list[tuple[str, int, Callable[..., Any]]]:
    """Return name, position and range check of each number."""
    places = list(inspect.signature(function).parameters)
    return [
        (name, places.index(name), _range(name, words, name in doc.optional))
        for name, words in doc.ranges.items()
    ]


def _range(name: str, words: str, optional: bool) -> Callable[..., Any]:
    """Return the check of a number against the range that the docstring states in `words`."""
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
    """Return what an array argument must be or hold, and what was got instead."""
    full = f"{arrays.kind.__module__}.{arrays.kind.__name__}"
    if not isinstance(x, arrays.kind):
        return f"be a {full}; got {type(x).__name__}"
    if oddity := arrays.oddity(x):
        return f"be a plain {full}; got {oddity}"
    plural = "floating-point numbers" if content == FLOATING else f"{content}s"
    kind, limits = SUPPORTED.get(content, ("", ""))
    limits = limits if re.search(rf"\bu?{kind}\d", str(x.dtype)) else ""
    return f"hold {plural}{limits}; got {x.dtype}"


def _two_dtypes(where: str, alike: list[tuple[str, Any]]) -> str:
    first, one = alike[0]
    name, dtype = next(x for x in alike if x[1] != one)
    return f"{where}: {first} is {one} but {name} is {dtype}; give both the same dtype"


def require_axis(where: str, n_axes: int, axis: Any) -> int:
    """Return `axis` as a plain int; raise unless it is one of `n_axes` axes, from either end.

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

    Without `most` the bound is `LARGEST`, which docstrings need not state.

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
    """Return `value` as a plain int; an array is refused even if it holds a single integer."""
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
        If it is not a positive, finite, normal number of `dtype` (of float32 if that is narrower),
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
    """Raise ValueError unless a layout has one row and one column per block of queries and keys."""
    wanted = (-(-n_queries // block), -(-n_keys // block))
    if tuple(shape) != wanted:
        raise ValueError(
            f"{where}: layout must have shape {wanted} for {n_queries} queries and {n_keys} keys "
            f"in blocks of {block}; got {tuple(shape)}"
        )
