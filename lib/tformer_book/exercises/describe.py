"""Put numbers, arrays and errors into words that a reader can redo on paper."""

from __future__ import annotations

import linecache
import math
import re
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

FEW = 16  # an array with more numbers than this is described, not written out
LARGE = 1e6  # from here on a number is written as 1.5e+06
PLAIN = {  # what NumPy or PyTorch says, and what a reader is told
    r"matmul: .* core dimension 0.*\(size (\d+) is different from (\d+)\)": (
        r"the two sides of @ do not fit; columns on the left: \2, rows on the right: \1"
    ),
    r"operands could not be broadcast together with remapped shapes .*": (
        "the axes in front of the two sides of @ do not fit: each has to be equal, or 1"
    ),
    r"matmul: Input operand ([01]) does not have enough dimensions.*": (
        "one side of @ is a single number; it multiplies vectors and tables"
    ),
    r"The truth value of an array with more than one element is ambiguous.*": (
        "one True or False is needed, and this is a whole table of them"
    ),
    r"setting an array element with a sequence.*inhomogeneous.*": (
        "the parts of an array need one shape, and these differ"
    ),
    r"boolean index did not match .*": (
        "a mask that serves as an index needs the shape of its array; it is not broadcast"
    ),
    r"Cannot interpret '\d+' as a data type": "a shape is one argument, a pair in brackets",
    r"index (-?\d+) is out of bounds for axis \d+ with size 0": (
        r"entry \1 is asked of an array that is empty"
    ),
    r"math domain error|expected a positive input.*": (
        "the logarithm of 0, or the root of a number below 0, is asked for; what is very small may "
        "have been rounded to 0"
    ),
    r"math range error": "a number is larger than a float holds, as exp is of more than 709",
    r"(?:0\.0|zero) (?:cannot be raised )?to a negative power": (
        "one over 0 is asked for; what is very small has been rounded to 0"
    ),
    r"f\(a\) and f\(b\) must have different signs": (
        "both ends of the search lie on one side of what is sought, or one of them gives nan"
    ),
    r"The function value at x=(\S+) is NaN; solver cannot continue\.": (
        r"in the search the function gives nan at \1, as ∞ − ∞, 0 · ∞ and 0 · log 0 do"
    ),
    r"cannot convert float (?:infinity|NaN) to integer": (
        "∞ or nan is to become a whole number, and neither can"
    ),
    r"zero-size array to reduction operation (\w+) .*": r"the \1 of no numbers is asked for",
    r"unsupported operand .*'torch\.return_types\.(max|min)'.*": (
        r"\1 along an axis returns two things, values and indices; a\1 returns the values alone"
    ),
    r"expected m1 and m2 to have the same dtype, but got: (\w+) != (\w+)": (
        r"a \1 tensor and a \2 tensor are multiplied; make new tensors of the dtype of the input"
    ),
    r"mat1 and mat2 shapes cannot be multiplied \(\d+x(\d+) and (\d+)x\d+\)": (
        r"the two sides of @ do not fit; columns on the left: \1, rows on the right: \2"
    ),
}


def show(value: Any, digits: int = 4) -> str:
    """Write a number, a vector as (3, 4), a small matrix as [[1, 0], [1, 1]]."""
    if isinstance(value, str):
        return repr(value if len(value) < 40 else value[:37] + "...")
    if isinstance(value, tuple) and value and all(isinstance(v, np.ndarray) for v in value):
        return " and ".join(show(v, digits) for v in value)
    try:
        array = np.asarray(value)
    except (TypeError, ValueError):
        return kind(value)
    if array.dtype.kind not in "biufc":
        return kind(value)
    if array.size > FEW or not array.size:
        return f"an array of shape {array.shape}"
    if array.ndim == 0:
        return _number(array.item(), digits)
    if array.ndim == 1:
        inside = ", ".join(_number(v, digits) for v in array.tolist())
        return f"({inside},)" if array.size == 1 else f"({inside})"
    return "[" + ", ".join(_rows(row, digits) for row in array) + "]"


def _rows(array: np.ndarray, digits: int) -> str:
    if array.ndim == 0:
        return _number(array.item(), digits)
    return "[" + ", ".join(_rows(row, digits) for row in array) + "]"


def _number(value: Any, digits: int) -> str:
    if isinstance(value, bool):
        return str(value)
    if isinstance(value, complex):
        return str(value)
    if math.isinf(value):
        return "−∞" if value < 0 else "∞"
    if isinstance(value, int) and digits > 12:  # a float may not hold its last digits
        return str(value).replace("-", "−")
    if 1 <= abs(value) < LARGE:
        digits = max(digits, len(str(int(value))) + 2)
    return f"{value + 0.0:.{digits}g}".replace("-", "−")


def pair(got: Any, want: Any, digits: int = 4) -> tuple[str, str]:
    """Write two values with enough digits to tell them apart."""
    for precision in (digits, 8, 12, 17):
        texts = show(got, precision), show(want, precision)
        if texts[0] != texts[1]:
            break
    return texts


def inputs(values: Mapping[str, Any]) -> str:
    """Write the inputs of a call: ``q = (3, 4) and k = (4, 3)``; functions and generators not."""
    parts = [
        f"{name} = {show(value)}"
        for name, value in values.items()
        if not callable(value) and not isinstance(value, np.random.Generator)
    ]
    if len(parts) < 2:
        return "".join(parts)
    return ", ".join(parts[:-1]) + " and " + parts[-1]


def count(number: int) -> str:
    """Write a small number as a word."""
    words = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
    return words[number] if number < len(words) else str(number)


def kind(value: Any) -> str:
    """Name the type of a value for a reader: ``a string``, ``None``, ``a number``."""
    if value is None:
        return "None"
    names = {str: "a string", dict: "a dict", set: "a set", bool: "True or False"}
    if type(value) in names:
        return names[type(value)]
    if isinstance(value, int | float):
        return "a number"
    name = type(value).__name__
    return f"an {name}" if name[0].lower() in "aeiou" else f"a {name}"


def error(raised: BaseException, function: Callable[..., Any]) -> str:
    """Name what the reader's function raised, and its own line that did so.

    An error that comes from another process holds that line as `at`.
    """
    text = f"{type(raised).__name__}"
    if str(raised):
        text += f": {_clip(_plainly(str(raised)))}"
    return text + at(raised, function)


def at(raised: BaseException, function: Callable[..., Any]) -> str:
    """Quote the line of the reader's function that raised an error, in brackets; "" if unknown."""
    code = getattr(function, "__code__", None)
    line = raised.at if hasattr(raised, "at") else own_line(raised, code and code.co_filename)
    return f" (at `{line}`)" if line else ""


def _plainly(text: str) -> str:
    for pattern, words in PLAIN.items():
        text = re.sub(pattern, words, text, flags=re.DOTALL)
    return text


def own_line(raised: BaseException, place: str | None) -> str:
    """Return the source line of the last frame that lies in the file `place`."""
    found = ""
    trace = raised.__traceback__
    while trace and place:
        if trace.tb_frame.f_code.co_filename == place:
            found = linecache.getline(place, trace.tb_lineno).strip()
        trace = trace.tb_next
    return _clip(found)


def _clip(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 160 else line[:157] + "..."
