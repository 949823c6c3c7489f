"""Values as JSON, on the way to a student's function and back: what is read is data, never code.

A value is a pair: a letter for its kind, and what it is made of. Arrays keep their type and shape.
What an answer cannot be made of comes through as an object that has nothing but a type's name, and
whether float() would take it.
What can only be asked for, a function, an iterator or the next draw of a generator, is handed over
as a number, and asked for one thing at a time.
"""

from __future__ import annotations

import base64
import builtins
import re
from collections.abc import Callable, Collection, Iterator
from fractions import Fraction
from typing import Any

import numpy as np

from tformer_book.exercises.answer import Wrong, would_be_numbers
from tformer_book.exercises.habits import TRIED

KINDS: dict[str, type[np.ndarray]] = {habit.__name__: habit for habit in TRIED}
NUMBERS = re.compile(r"[<>|][biufc]\d{1,2}")
LONGEST = 1024  # bits of a whole number that is sent
Coded = list[Any]
Lend = Callable[[Any], int]
Borrow = Callable[[str, int], Any]


def encode(value: Any, lend: Lend | None = None) -> Coded:
    """Return a value as JSON can hold it.

    Parameters
    ----------
    value : object
        Anything.
    lend : callable or None
        Keeps what can only be asked for, and returns its number; None where nothing is lent.

    Raises
    ------
    TypeError
        Where things are lent, a value that would not arrive as it is.
    """
    try:
        return _encode(value, lend)
    except Exception:  # a value of a student's own making may raise anything, or have no end
        if lend:
            raise
        return ["other", _name(type(value))]


def _encode(value: Any, lend: Lend | None) -> Coded:
    if value is None or type(value) in (bool, float):
        return ["is", value]
    if isinstance(value, str):
        return ["is", str(value)]
    if type(value) is int and value.bit_length() <= LONGEST:
        return ["is", value]
    if type(value) is complex:
        return ["complex", value.real, value.imag]
    if type(value) is Fraction and max(map(int.bit_length, value.as_integer_ratio())) <= LONGEST:
        return ["fraction", *value.as_integer_ratio()]
    if isinstance(value, list | tuple):
        kind = "tuple" if isinstance(value, tuple) else "list"
        return [kind, [_encode(part, lend) for part in value]]
    if isinstance(value, np.random.Generator):
        return ["draws", value.bit_generator.state]
    if lend and (callable(value) or isinstance(value, Iterator)):
        return ["calls" if callable(value) else "items", lend(value)]
    if isinstance(value, dict | set):
        pairs = value.items() if isinstance(value, dict) else value
        kind = "dict" if isinstance(value, dict) else "set"
        return [kind, [_encode(pair, lend) for pair in pairs]]
    array = np.asarray(value)
    if not NUMBERS.fullmatch(array.dtype.str):
        if lend:
            raise TypeError(f"a {_name(type(value))} cannot be handed to an answer")
        return ["other", _name(type(value)), would_be_numbers(array)]
    scalar = isinstance(value, np.generic)
    data = base64.b64encode(np.ascontiguousarray(array).tobytes()).decode()
    kind = type(value).__name__ if type(value) in TRIED else ""
    return ["number" if scalar else "array", array.dtype.str, list(array.shape), data, kind]


def decode(coded: Any, borrow: Borrow | None = None) -> Any:
    """Return the value that was encoded.

    Parameters
    ----------
    coded : object
        What JSON held; anything at all, since a student's process sent it.
    borrow : callable or None
        Makes a stand-in for what has been lent, from its kind and number.

    Raises
    ------
    ValueError, TypeError, IndexError, KeyError
        It is no value that `encode` makes.
    """
    letter, *parts = coded
    if letter == "is" and isinstance(parts[0], str | int | float | None):
        return parts[0]
    if letter in ("list", "tuple"):
        inside = [decode(part, borrow) for part in parts[0]]
        return inside if letter == "list" else tuple(inside)
    if letter in ("array", "number"):
        array = _array(*parts)
        return array if letter == "array" else array[()]
    if letter == "complex":
        return complex(*parts)
    if letter == "fraction" and all(type(part) is int for part in parts) and parts[1] > 0:
        return Fraction(*parts)
    if letter in ("dict", "set"):
        inside = [decode(part, borrow) for part in parts[0]]
        return dict(inside) if letter == "dict" else set(inside)
    if letter == "other":
        known = {"__float__": lambda self: 0.0} if parts[1:] == [True] else {}
        return type(str(parts[0])[:80] or "object", (), known)()
    if letter == "draws" and borrow:
        generator = np.random.default_rng()
        generator.bit_generator.state = parts[0]
        return generator
    if letter in ("calls", "items") and borrow:
        return borrow(letter, parts[0])
    raise ValueError(f"no value: {str(letter)[:80]}")


def _array(dtype: str, shape: list[int], data: str, kind: str) -> np.ndarray:
    if not NUMBERS.fullmatch(dtype):
        raise ValueError("an array of something else than numbers")
    flat = np.frombuffer(base64.b64decode(data), dtype=dtype)
    array = flat.reshape([int(size) for size in shape]).copy()
    return array.view(KINDS[kind]) if kind else array


def containers(value: Any) -> Iterator[Any]:
    """Yield the lists, dicts and sets that a value is or holds, in their order."""
    if isinstance(value, list | dict | set):
        yield value
    if isinstance(value, list | tuple | dict):
        for part in value.values() if isinstance(value, dict) else value:
            yield from containers(part)


def refill(container: Any, value: Any) -> None:
    """Make a list, dict or set hold what another of its type holds.

    Raises
    ------
    ValueError
        The other is of another type.
    """
    if type(value) is not type(container):
        raise ValueError(f"no {_name(type(container))}")
    container.clear()
    container.extend(value) if isinstance(container, list) else container.update(value)


def encode_error(error: BaseException, at: str = "") -> dict[str, str]:
    """Return the name and the words of an error, and the line of an answer that raised it."""
    try:
        text = str(error)
    except Exception:
        text = ""
    known = next((kind for kind in _JUDGED if isinstance(error, kind)), Exception)
    return {"name": _name(type(error)), "text": text[:2000], "as": known.__name__, "at": at}


_JUDGED = (Wrong, NotImplementedError, FloatingPointError, np.exceptions.AxisError)


def decode_error(told: Any, complaints: Collection[str] = ()) -> Exception:
    """Return an error of that name, which says these words and holds the line as `at`.

    What our own functions complained of is one of the `complaints`. Where a student raises the
    class of such a complaint, its words are theirs: they are put in quotation marks.
    """
    name, text, at = str(told["name"])[:80], str(told["text"])[:2000], str(told["at"])[:200]
    base = next((kind for kind in _JUDGED if kind.__name__ == told["as"]), Exception)
    if base is Wrong:
        if text in complaints:
            return Wrong(text)
        base, text = Exception, f"“{text}”"
    kind = type(name, (base,), {"__str__": lambda self: text, "at": at})
    return BaseException.__new__(kind)


def raised_again(told: dict[str, str]) -> Exception:
    """Return an error for a student's code to meet: Python's own of that name, if there is one."""
    kind = getattr(builtins, told["name"], Exception)
    if told["as"] == "Wrong":
        return Wrong(told["text"])
    try:
        return kind(told["text"])
    except Exception:
        return Exception(told["text"])


def _name(kind: type) -> str:
    return str(getattr(kind, "__name__", "object"))[:80]
