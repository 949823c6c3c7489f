"""Docstrings as contracts: what they say of arguments and results, and what all say alike.

The shapes of a function stand in its docstring, in lines such as ``q : (..., T, d_k) array``. An
array may hold integers or booleans, may be left out, and may have an axis of size 1 where the
docstring says so: ``mask : (..., T or 1, S or 1) boolean array, optional``. A ``real array`` holds
floating-point numbers of any precision, whatever that of the other arrays. So do the ranges of
its numbers: ``axis : int, an axis of x``, ``beta : float, finite and above 0``, ``p : float, above
0 and at most 1``, ``window : int, at least 1``, ``d_model : int, from 1 to N``; and ``causal :
bool``. The arrays of a dataclass stand in
its own docstring: ``parameters : HeadParameters``, ``cache : KVCache, optional``, ``blocks : tuple
of BlockParameters``; such a class may hold others. A result may be as long as two axes together:
``(S + T, d_k) array``. What is refused because of them is not typed again under ``Raises``:
`with_raises` writes it there.
"""

import inspect
import re
import textwrap
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields, is_dataclass
from typing import Any, NamedTuple, get_args, get_type_hints

from tformer.axes import DIVIDES, LEGEND

__all__ = [
    "FLAG",
    "FLOATING",
    "LARGEST",
    "WIDTH",
    "Documented",
    "dataclass_of",
    "documented",
    "sections",
    "with_raises",
    "written",
]

FLOATING, FLAG = "floating-point", "True or False"
LARGEST = 2**31 - 1
"""What a count may be at most, where no docstring gives another end: sums and differences of two
are then exact in int64 and in float64."""
ARRAY = re.compile(
    r"^(?:([\w.*]+) : )?\(([^()]*)\) (?:(integer|boolean|real) )?array(, optional)?$", re.MULTILINE
)
NUMBER = re.compile(
    r"^(\w+) : (?:int|float), (an axis|finite and above 0|above 0 and at most 1|at least \d+"
    r"|from \d+ to \w+)"
    r"(?: of \w+)?(, optional)?$",
    re.MULTILINE,
)
BOOL = re.compile(r"^(\w+) : bool$", re.MULTILINE)
LETTER = re.compile(r"[^\W\d]\w*")
HEADING = re.compile(r"^(\w+)\n-+\n", re.MULTILINE)
ERROR = re.compile(r"^(\w+)\n((?:[ ]+.*\n?)+)", re.MULTILINE)
ORDER = ("", "Parameters", "Returns", "Raises", "Notes")
WIDTH = 96


class Documented(NamedTuple):
    """What a docstring says: names of arrays, their spec, what is special, and ranges of numbers.

    `kinds` says which arrays hold something else than floating-point numbers, `ranges` what a
    number must be, in the words of the docstring. `results` are named like `names`, or "".
    """

    names: tuple[str, ...]
    spec: str
    kinds: dict[str, str]
    optional: frozenset[str]
    ranges: dict[str, str]
    results: tuple[str, ...]


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
    ranges |= {name: FLAG for name in BOOL.findall(text) if name in parameters}
    for name in re.findall(r"^(\w+) : (?:int|float)\b", text, re.MULTILINE):
        if name in parameters and name not in ranges:
            raise ValueError(f"{where}: the docstring must give {name} a range that is known")
    return Documented(
        tuple(name for name, *_ in inputs),
        spec,
        {name: kind for name, _, kind, _ in inputs if kind},
        frozenset(name for name, *_, optional in inputs + numbers if optional),
        ranges,
        tuple(name for name, *_ in results),
    )


def _written_out(text: str, parameters: Mapping[str, inspect.Parameter]) -> str:
    """The text with each dataclass written as its arrays: cache.k : (..., G, S, d_k) array."""
    for kind in {dataclass_of(x.annotation) for x in parameters.values()} - {None}:
        text = _expanded(text, kind)
    return text


def _expanded(text: str, kind: type[Any]) -> str:
    """The text with the entries of one dataclass written as those of its arrays."""

    def arrays(entry: re.Match[str]) -> str:
        return "\n".join(_arrays_of(kind, entry[1], entry[2], entry[3]))

    return _entries_of(kind).sub(arrays, text)


def _entries_of(kind: type[Any]) -> re.Pattern[str]:
    """What a docstring says of an argument or a field that is such a dataclass, or several."""
    return re.compile(rf"^(\w+) : (tuple of )?{kind.__name__}(, optional)?$", re.MULTILINE)


def _arrays_of(kind: type[Any], name: str, several: str | None, end: str | None) -> Iterable[str]:
    """The entries of all arrays in a dataclass, in the order of its fields; `*` counts several."""
    text, hints, end = inspect.cleandoc(kind.__doc__ or ""), get_type_hints(kind), end or ""
    name = f"{name}.*" if several else name
    yield ""
    for field in fields(kind):
        inner = dataclass_of(hints[field.name])
        if inner is not None:
            for entry in _entries_of(inner).finditer(text):
                if entry[1] == field.name:
                    path = (f"{name}.{entry[1]}", entry[2], entry[3] or end)
                    yield from _arrays_of(inner, *path)
        for entry in ARRAY.finditer(text):
            if entry[1] == field.name:
                yield f"{name}.{entry[0].removesuffix(', optional')}{entry[4] or end}"


def dataclass_of(annotation: Any) -> Any:
    """The dataclass that an annotation names, alone, in a tuple, or beside None; or else None."""
    if isinstance(annotation, type) and is_dataclass(annotation):
        return annotation
    found = (dataclass_of(x) for x in get_args(annotation))
    return next((x for x in found if x is not None), None)


def _ends(words: str, letters: list[str]) -> bool:
    """Whether what a range ends with is known: "an axis", a number, or the size of an axis."""
    end = words.split()[-1]
    return end == "axis" or end.isdigit() or end in letters


def _axes(shape: str) -> str:
    """The axes of an entry as `bind` takes them: "..., T or 1, S + T" becomes "... T|1 S+T"."""
    return shape.replace(" or ", "|").replace(" + ", "+").replace(",", "")


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
    yield from (f"{x} does not divide {y}" for x, y in DIVIDES if {x, y} <= {*letters})
    yield from (
        f"{name} does not exist" for name, range_ in said.ranges.items() if "axis" in range_
    )


def _of_values(said: Documented) -> Iterable[str]:
    for name, range_ in said.ranges.items():
        if "axis" not in range_ and range_ != FLAG:
            yield f"{name} is not {range_}"
    if any("at least" in range_ for range_ in said.ranges.values()):
        yield f"a count is above {LARGEST}"


def _of_types(said: Documented) -> Iterable[str]:
    alike = [name for name in said.names if name not in said.kinds]
    floats = [name for name in said.names if said.kinds.get(name, "real") == "real"]
    if floats:
        yield f"{_or(floats)} is not an array of floating-point numbers"
    if len(alike) > 1:
        yield f"two of {'these' if alike == floats else _or(alike)} differ in dtype"
    others = {name: kind for name, kind in said.kinds.items() if kind != "real"}
    yield from (f"{name} is not an array of {kind}s" for name, kind in others.items())
    for name, range_ in said.ranges.items():
        yield f"{name} is not {_what(range_)}"


def _what(range_: str) -> str:
    if range_ == FLAG:
        return range_
    return "a number" if "above" in range_ else "an integer"


def _or(names: list[str]) -> str:
    """The names, each of the arrays of a dataclass under that of the whole."""
    *first, last = dict.fromkeys(
        f"an array of {name.split('.')[0]}" if "." in name else name for name in names
    )
    return " or ".join(filter(None, (", ".join(first), last)))


def _if(cases: list[str]) -> str:
    """One sentence: "If a, if b, or if c."."""
    *first, last = (f"if {case}" for case in cases)
    return ", ".join([*first, f"or {last}" if first else last]).replace("if", "If", 1) + "."


def _filled(sentence: str) -> str:
    return textwrap.indent(textwrap.fill(sentence, WIDTH - 4), "    ")
