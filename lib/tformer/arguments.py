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


class Wanted(NamedTuple):
    """An array that a function takes, as its docstring says: `alike` if all such have one dtype."""

    axes: Axes
    content: str
    alike: bool
    optional: bool


class Tree(NamedTuple):
    """A dataclass that a function takes, or a tuple of several: what lies at each of its fields.

    It is `optional` if each array in it is.
    """

    kind: type[Any]
    several: bool
    optional: bool
    fields: tuple[tuple[str, "Wanted | Tree"], ...]


Found = tuple[str, Wanted, Any]
"""The name of an array, what it must be, and the array."""


def checked(
    function: Function, arrays: Arrays = NUMPY, outermost: Callable[..., Any] | None = None
) -> Function:
    """Hold every call of `function` to the shapes and ranges in its docstring.

    Arrays must be plain ones of the library that is named; those of floating-point numbers must
    have one dtype, the others hold what the docstring says (``integer array``); their letters must
    bind. A number must lie in its range, and is handed on as a plain int or float. What is
    ``optional`` may be None. Otherwise TypeError, ShapeError or ValueError, and the docstring comes
    to say so.

    The outermost call is checked, and what it calls in its turn trusts it: so an error names the
    function that was called, and a check costs its microseconds once. Where `outermost` is given,
    it makes that call: it takes the function, its arguments by place and by name, and the arrays
    that were found in them.
    """
    where, said = function.__name__, documented(function)
    wanted, ranges = _wanted(function, said, arrays), _ranges(function, said)
    plain, holds, traced = _plain(function, said), arrays.holds, arrays.traced

    def hold(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], list[Named]]:
        """Raise, or return the positional arguments and all arrays; numbers become plain ones."""
        for argument, position, kind in plain:
            x = args[position] if position < len(args) else kwargs.get(argument, MISSING)
            if x is not MISSING and not isinstance(x, kind):
                raise TypeError(_no_such(where, argument, f"a {kind.__name__}", x))
        given: list[Named] = []
        alike: list[tuple[str, Any]] = []
        for argument, position, what, may_lack in wanted:
            x = args[position] if position < len(args) else kwargs.get(argument, MISSING)
            if may_lack and (x is None or x is MISSING):
                continue
            if x is MISSING:
                return args, given  # Python says what is missing
            found: list[Found] = [(argument, what, x)]  # type: ignore[list-item]
            if isinstance(what, Tree):
                found = _found(where, argument, x, what)
            for name, (axes, content, all_alike, _), array in found:
                if holds(array) != content:
                    raise TypeError(f"{where}: {name} must {_expected(array, arrays, content)}")
                given.append((name, axes, array))
                if all_alike:
                    alike.append((name, array.dtype))
        if any(x != alike[0][1] for _, x in alike) and not arrays.mixed():
            raise TypeError(_of_two_dtypes(where, alike))
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
            return function(*hold(args, kwargs)[0], **kwargs)
        if CALL.held:
            return function(*args, **kwargs)
        args, given = hold(args, kwargs)
        try:
            CALL.held = True
            if outermost is None:
                return function(*args, **kwargs)
            return outermost(function, args, kwargs, [x for *_, x in given])
        finally:
            CALL.held = False

    run.__doc__ = with_raises(function)
    return run  # type: ignore[return-value]


def _wanted(
    function: Function, said: Documented, arrays: Arrays
) -> list[tuple[str, int, Wanted | Tree, bool]]:
    """For each argument that is or holds arrays its name, its place, what it is, if it may lack."""
    hints, paths = get_type_hints(function), dict[str, Any]()
    for name, axes in zip(said.names, axes_of(said.spec), strict=True):
        content, optional = said.kinds.get(name, FLOATING), name in said.optional
        content = FLOATING if content == "real" else content
        one = Wanted(axes, content, name not in said.kinds, optional)
        argument, *field = name.split(".")
        kind = hints[argument]
        if not field and arrays.kind not in (kind, *get_args(kind)):
            raise TypeError(f"{function.__name__}: {name} is not annotated as {arrays.kind}")
        *way, last = argument, *field
        inner = paths
        for part in way:
            inner = inner.setdefault(part, {})
        inner[last] = one
    return [
        (name, place, _tree(hints[name], paths[name]), type(None) in get_args(hints[name]))
        for place, name in enumerate(inspect.signature(function).parameters)
        if name in paths
    ]


def _tree(annotation: Any, what: Any) -> Wanted | Tree:
    """What is at an argument or a field, from a dictionary of what is at each of its fields."""
    if isinstance(what, Wanted):
        return what
    kind, several = dataclass_of(annotation), "*" in what
    hints = get_type_hints(kind)
    inner = (what["*"] if several else what).items()
    fields = tuple((name, _tree(hints[name], one)) for name, one in inner)
    return Tree(kind, several, all(one.optional for _, one in fields), fields)


def _found(where: str, argument: str, x: Any, tree: Tree) -> list[Found]:
    """The arrays of a dataclass, or of several, with their names."""
    if x is None:
        raise TypeError(_no_such(where, argument, f"a {tree.kind.__name__}", x))
    found: list[Found] = []

    def walk(name: str, x: Any, tree: Tree) -> None:
        kind, several, optional, fields = tree
        if several and not isinstance(x, tuple):
            raise TypeError(_no_such(where, name, f"a tuple of {kind.__name__}", x))
        each = [(f"{name}[{i}]", one) for i, one in enumerate(x)] if several else [(name, x)]
        for at, one in each:
            if one is None and optional:
                continue
            if not isinstance(one, kind):
                raise TypeError(_no_such(where, at, f"a {kind.__name__}", one))
            for field, inner in fields:
                y = getattr(one, field)
                if isinstance(inner, Tree):
                    walk(f"{at}.{field}", y, inner)
                elif y is not None or not inner.optional:
                    found.append((f"{at}.{field}", inner, y))

    walk(argument, x, tree)
    return found


def _plain(function: Function, said: Documented) -> list[tuple[str, int, type[Any]]]:
    """The dataclasses that a function takes in which there are no arrays: name, place and class."""
    of_arrays = {name.split(".")[0] for name in said.names}
    hints = get_type_hints(function)
    return [
        (name, place, hints[name])
        for place, name in enumerate(inspect.signature(function).parameters)
        if name not in of_arrays and dataclass_of(hints[name]) is hints[name]
    ]


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


def _of_two_dtypes(where: str, alike: list[tuple[str, Any]]) -> str:
    first, one = alike[0]
    name, dtype = next(x for x in alike if x[1] != one)
    return f"{where}: {first} is {one} but {name} is {dtype}; give both the same dtype"


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
