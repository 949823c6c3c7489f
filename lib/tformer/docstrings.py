"""Docstrings as contracts: what they say of arguments and results, and what all say alike.

The shapes of a function stand in its docstring, in lines such as ``q : (..., T, d_k) array``. An
array may hold integers or booleans, may be left out, and may have an axis of size 1 where the
docstring says so: ``mask : (..., T or 1, S or 1) boolean array, optional``. So do the ranges of
its numbers: ``axis : int, an axis of x``, ``beta : float, finite and above 0``, ``window : int, at
least 1``, ``d_model : int, from 1 to N``. The arrays of a dataclass of parameters stand in its own
docstring: ``weights : HeadWeights``. What is refused because of them is not typed again under
``Raises``: `with_raises` writes it there.
"""

import inspect
import re
import textwrap
from collections.abc import Callable, Iterable, Mapping
from dataclasses import is_dataclass
from typing import Any, NamedTuple

from tformer.axes import LEGEND

__all__ = [
    "FLOATING",
    "LARGEST",
    "WIDTH",
    "Documented",
    "documented",
    "sections",
    "with_raises",
    "written",
]

FLOATING = "floating-point"
LARGEST = 2**31 - 1
"""What a count may be at most, where no docstring gives another end: sums and differences of two
are then exact in int64 and in float64."""
ARRAY = re.compile(
    r"^(?:([\w.]+) : )?\(([^()]*)\) (?:(integer|boolean) )?array(, optional)?$", re.MULTILINE
)
NUMBER = re.compile(
    r"^(\w+) : (?:int|float), (an axis|finite and above 0|at least \d+|from \d+ to \w+)"
    r"(?: of \w+)?(, optional)?$",
    re.MULTILINE,
)
LETTER = re.compile(r"[^\W\d]\w*")
HEADING = re.compile(r"^(\w+)\n-+\n", re.MULTILINE)
ERROR = re.compile(r"^(\w+)\n((?:[ ]+.*\n?)+)", re.MULTILINE)
ORDER = ("", "Parameters", "Returns", "Raises", "Notes")
WIDTH = 96


class Documented(NamedTuple):
    """What a docstring says: names of arrays, their spec, what is special, and ranges of numbers.

    `kinds` says which arrays hold something else than floating-point numbers, `ranges` what a
    number must be, in the words of the docstring.
    """

    names: tuple[str, ...]
    spec: str
    kinds: dict[str, str]
    optional: frozenset[str]
    ranges: dict[str, str]


def documented(function: Callable[..., Any]) -> Documented:
    """Read the arguments of `function`, and its results, from its docstring.

    What is named like a parameter describes an argument, everything else a result.

    Raises
    ------
    RuntimeError
        If there is no docstring (Python was started with ``-OO``).
    ValueError
        If no result is described, several without names, a letter is not in the legend, or a number
        has no range or an unknown one.
    """
    where = function.__name__
    if function.__doc__ is None:
        raise RuntimeError(f"{where}: shapes are read from docstrings; run Python without -OO")
    parameters = inspect.signature(function).parameters
    text = _written_out(inspect.cleandoc(function.__doc__), parameters)
    entries = ARRAY.findall(text)
    inputs = [entry for entry in entries if entry[0].split(".")[0] in parameters]
    numbers = [entry for entry in NUMBER.findall(text) if entry[0] in parameters]
    results = [entry for entry in entries if entry not in inputs]
    if not results or (len(results) > 1 and not all(name for name, *_ in results)):
        raise ValueError(f"{where}: the docstring must describe one result, or several by name")
    spec = " -> ".join(", ".join(_axes(entry[1]) for entry in side) for side in (inputs, results))
    for letter in LETTER.findall(spec):
        if letter not in LEGEND:
            raise ValueError(f"{where}: axis {letter} is not in the legend")
    letters = LETTER.findall(spec.split(" -> ")[0])
    ranges = {name: words for name, words, _ in numbers if _ends(words, letters)}
    for name in re.findall(r"^(\w+) : (?:int|float)\b", text, re.MULTILINE):
        if name in parameters and name not in ranges:
            raise ValueError(f"{where}: the docstring must give {name} a range that is known")
    return Documented(
        tuple(name for name, *_ in inputs),
        spec,
        {name: kind for name, _, kind, _ in inputs if kind},
        frozenset(name for name, *_, optional in inputs + numbers if optional),
        ranges,
    )


def _written_out(text: str, parameters: Mapping[str, inspect.Parameter]) -> str:
    """The text with each dataclass written as its arrays: weights.w_q : (H, d_model, d_k) array."""
    for kind in {x.annotation for x in parameters.values()}:
        if not (isinstance(kind, type) and is_dataclass(kind)):
            continue
        fields = ARRAY.finditer(inspect.cleandoc(kind.__doc__ or ""))
        arrays = "".join(rf"\n\1.{field[0]}" for field in fields)
        text = re.sub(rf"^(\w+) : {kind.__name__}$", arrays, text, flags=re.MULTILINE)
    return text


def _ends(words: str, letters: list[str]) -> bool:
    """Whether what a range ends with is known: "an axis", a number, or the size of an axis."""
    end = words.split()[-1]
    return end == "axis" or end.isdigit() or end in letters


def _axes(shape: str) -> str:
    """The axes of an entry as `bind` takes them: "..., T or 1, d_k" becomes "... T|1 d_k"."""
    return shape.replace(" or ", "|").replace(",", "")


def sections(text: str) -> dict[str, str]:
    """The parts of a NumPy-doc docstring by their headings, the summary under ""."""
    summary, *rest = HEADING.split(inspect.cleandoc(text))
    parts = {"": summary} | dict(zip(rest[::2], rest[1::2], strict=True))
    return {heading: part.strip("\n") for heading, part in parts.items()}


def written(parts: Mapping[str, str]) -> str:
    """The docstring that has these parts, in the order that NumPy-doc asks for."""
    known = [heading for heading in ORDER if parts.get(heading)]
    return "\n\n".join(
        f"{heading}\n{'-' * len(heading)}\n{parts[heading]}" if heading else parts[heading]
        for heading in known + [heading for heading in parts if heading not in ORDER]
    )


def with_raises(function: Callable[..., Any]) -> str:
    """The docstring of `function`, with the errors that are common to all added to its own."""
    said = documented(function)
    parts = sections(function.__doc__ or "")
    cases = {
        "ShapeError": [*_of_shapes(said)],
        "ValueError": [*_of_values(said)],
        "TypeError": [*_of_types(said)],
    }
    for name, words in ERROR.findall(parts.get("Raises", "")):
        own = " ".join(words.split()).removeprefix("If ").removesuffix(".")
        cases.setdefault(name, []).append(own)
    entries = [f"{name}\n{_filled(_if(found))}" for name, found in cases.items() if found]
    return written(parts | {"Raises": "\n".join(entries)})


def _of_shapes(said: Documented) -> Iterable[str]:
    inputs = said.spec.split(" -> ")[0]
    letters = LETTER.findall(inputs)
    if letters:
        yield f"{said.names[0] if len(said.names) == 1 else 'an array'} has too few axes"
    if len(set(letters)) < len(letters):
        yield "a letter stands for two sizes"
    if inputs.count("...") > 1:
        yield "leading axes do not broadcast"
    yield from (
        f"{name} does not exist" for name, range_ in said.ranges.items() if "axis" in range_
    )


def _of_values(said: Documented) -> Iterable[str]:
    for name, range_ in said.ranges.items():
        if "axis" not in range_:
            yield f"{name} is not {range_}"
    if any("at least" in range_ for range_ in said.ranges.values()):
        yield f"a count is above {LARGEST}"


def _of_types(said: Documented) -> Iterable[str]:
    floats = [name for name in said.names if name not in said.kinds]
    if floats:
        yield f"{_or(floats)} is not an array of floating-point numbers"
    if len(floats) > 1:
        yield "two of these differ in dtype"
    yield from (f"{name} is not an array of {kind}s" for name, kind in said.kinds.items())
    for name, range_ in said.ranges.items():
        yield f"{name} is not {'a number' if 'finite' in range_ else 'an integer'}"


def _or(names: list[str]) -> str:
    return " or ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def _if(cases: list[str]) -> str:
    """One sentence: "If a, if b, or if c."."""
    *first, last = (f"if {case}" for case in cases)
    return ", ".join([*first, f"or {last}" if first else last]).replace("if", "If", 1) + "."


def _filled(sentence: str) -> str:
    return textwrap.indent(textwrap.fill(sentence, WIDTH - 4), "    ")
