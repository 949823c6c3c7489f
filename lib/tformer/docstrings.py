"""Docstrings as contracts: the shapes, dtypes and ranges of arguments are read from them.

The shape of an array is stated as in ``q : (..., T, d_k) array``. An array may hold integers or
booleans, may be optional, and may have an axis of size 1, where the docstring says so: ``mask :
(..., T or 1, S or 1) boolean array, optional``. A ``real array`` holds floating-point numbers of
any precision, which may differ from that of the other arrays. The range of a number is stated as in
``axis : int, an axis of x``, ``beta : float, finite and above 0``, ``p : float, above 0 and at most
1``, ``window : int, at least 1``, ``d_model : int, from 1 to N``; a flag as ``causal : bool``. The
arrays of a dataclass are described in its own docstring: ``parameters : HeadParameters``, ``cache :
KVCache, optional``, ``blocks : tuple of BlockParameters``; such a class may contain others. An axis
may be the sum of two: ``(S + T, d_k) array``. The errors that follow from all this are not written
under ``Raises`` by hand: `with_raises` adds them.
"""

import inspect
import re
import textwrap
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields, is_dataclass
from functools import cache
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
"""The largest count where the docstring gives no other upper bound: sums and differences of two
counts are then exact in int64 and in float64."""
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
    """What a docstring states of arguments and results.

    `names` are the arrays and `spec` their axes, as `bind` takes them. `kinds` gives the kind of
    each array that has one ("integer", "boolean", "real"), `optional` the arguments that may be
    None, `ranges` the range of each number, as written. `results` are names of results, or "".
    """

    names: tuple[str, ...]
    spec: str
    kinds: dict[str, str]
    optional: frozenset[str]
    ranges: dict[str, str]
    results: tuple[str, ...]


def documented(function: Callable[..., Any]) -> Documented:
    """Read the arguments and results of `function` from its docstring.

    An entry with the name of a parameter describes an argument, any other a result.

    Raises
    ------
    RuntimeError
        If there is no docstring (Python was started with ``-OO``).
    ValueError
        If no result is described, or several without names, if a letter is not in the legend, or a
        number has no range or an unknown one.
    """
    where = function.__name__
    if function.__doc__ is None:
        raise RuntimeError(f"{where}: shapes are read from docstrings; run Python without -OO")
    parameters = inspect.signature(function).parameters
    text = _expand_dataclasses(inspect.cleandoc(function.__doc__), parameters)
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
    ranges = {name: words for name, words, _ in numbers if _has_known_end(words, letters)}
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


def _expand_dataclasses(text: str, parameters: Mapping[str, inspect.Parameter]) -> str:
    """Replace the entry of each dataclass by entries of its arrays, such as cache.k."""
    for kind in {dataclass_of(x.annotation) for x in parameters.values()} - {None}:
        text = _expand(text, kind)
    return text


def _expand(text: str, kind: Any) -> str:
    """Replace the entries of one dataclass by entries of its arrays."""

    def arrays(entry: re.Match[str]) -> str:
        return "\n".join(_arrays_of(kind, entry[1], entry[2], entry[3]))

    return _entries_of(kind).sub(arrays, text)


def _entries_of(kind: type[Any]) -> re.Pattern[str]:
    """Return the pattern of an entry for a dataclass, or for a tuple of them."""
    return re.compile(rf"^(\w+) : (tuple of )?{kind.__name__}(, optional)?$", re.MULTILINE)


@cache
def _arrays_of(kind: type[Any], name: str, several: str | None, end: str | None) -> list[str]:
    """Return the entries of all arrays in a dataclass, by field; `*` is the index in a tuple."""
    text, hints, end = inspect.cleandoc(kind.__doc__ or ""), get_type_hints(kind), end or ""
    name = f"{name}.*" if several else name
    entries = [""]
    for field in fields(kind):
        inner = dataclass_of(hints[field.name])
        if inner is not None:
            for entry in _entries_of(inner).finditer(text):
                if entry[1] == field.name:
                    path = (f"{name}.{entry[1]}", entry[2], entry[3] or end)
                    entries += _arrays_of(inner, *path)
        for entry in ARRAY.finditer(text):
            if entry[1] == field.name:
                entries.append(f"{name}.{entry[0].removesuffix(', optional')}{entry[4] or end}")
    return entries


def dataclass_of(annotation: Any) -> Any:
    """Return the dataclass in an annotation, alone, in a tuple or optional; else None."""
    if isinstance(annotation, type) and is_dataclass(annotation):
        return annotation
    found = (dataclass_of(x) for x in get_args(annotation))
    return next((x for x in found if x is not None), None)


def _has_known_end(words: str, letters: list[str]) -> bool:
    """Return whether the end of a range is known: "an axis", a number, or the size of an axis."""
    end = words.split()[-1]
    return end == "axis" or end.isdigit() or end in letters


def _axes(shape: str) -> str:
    """Return the axes of an entry as `bind` takes them: "..., T or 1, S + T" is "... T|1 S+T"."""
    return shape.replace(" or ", "|").replace(" + ", "+").replace(",", "")


def sections(text: str) -> dict[str, str]:
    """Split a numpydoc docstring into its sections by heading; the summary has the heading ""."""
    summary, *rest = HEADING.split(inspect.cleandoc(text))
    parts = {"": summary} | dict(zip(rest[::2], rest[1::2], strict=True))
    return {heading: part.strip("\n") for heading, part in parts.items()}


def written(parts: Mapping[str, str]) -> str:
    """Join sections to a docstring, in the order of numpydoc."""
    known = [heading for heading in ORDER if parts.get(heading)]
    return "\n\n".join(
        f"{heading}\n{'-' * len(heading)}\n{parts[heading]}" if heading else parts[heading]
        for heading in known + [heading for heading in parts if heading not in ORDER]
    )


def with_raises(function: Callable[..., Any]) -> str:
    """Return the docstring of `function` with the errors of argument checks under ``Raises``."""
    doc = documented(function)
    parts = sections(function.__doc__ or "")
    cases = {
        "ShapeError": [*_shape_errors(doc)],
        "ValueError": [*_value_errors(doc)],
        "TypeError": [*_type_errors(doc)],
    }
    for name, words in ERROR.findall(parts.get("Raises", "")):
        own = " ".join(words.split()).removeprefix("If ").removesuffix(".")
        cases.setdefault(name, []).append(own)
    entries = [f"{name}\n{_indent(_sentence(found))}" for name, found in cases.items() if found]
    return written(parts | {"Raises": "\n".join(entries)})


def _shape_errors(doc: Documented) -> Iterable[str]:
    inputs = doc.spec.split(" -> ")[0]
    letters = LETTER.findall(inputs)
    if letters:
        yield f"{doc.names[0] if len(doc.names) == 1 else 'an array'} has too few axes"
    if len(set(letters)) < len(letters):
        yield "an axis letter has two sizes"
    if inputs.count("...") > 1:
        yield "leading axes do not broadcast"
    yield from (f"{x} does not divide {y}" for x, y in DIVIDES if {x, y} <= {*letters})
    yield from (f"{name} does not exist" for name, range_ in doc.ranges.items() if "axis" in range_)


def _value_errors(doc: Documented) -> Iterable[str]:
    for name, range_ in doc.ranges.items():
        if "axis" not in range_ and range_ != FLAG:
            yield f"{name} is not {range_}"
    if any("at least" in range_ for range_ in doc.ranges.values()):
        yield f"a count is above {LARGEST}"


def _type_errors(doc: Documented) -> Iterable[str]:
    alike = [name for name in doc.names if name not in doc.kinds]
    floats = [name for name in doc.names if doc.kinds.get(name, "real") == "real"]
    if floats:
        yield f"{_any_of(floats)} is not an array of floating-point numbers"
    if len(alike) > 1:
        yield f"two of {'these' if alike == floats else _any_of(alike)} differ in dtype"
    others = {name: kind for name, kind in doc.kinds.items() if kind != "real"}
    yield from (f"{name} is not an array of {kind}s" for name, kind in others.items())
    for name, range_ in doc.ranges.items():
        yield f"{name} is not {_type_of(range_)}"


def _type_of(range_: str) -> str:
    if range_ == FLAG:
        return range_
    return "a number" if "above" in range_ else "an integer"


def _any_of(names: list[str]) -> str:
    """Join names by "or"; the arrays of a dataclass are named once, by its name."""
    *first, last = dict.fromkeys(
        f"an array of {name.split('.')[0]}" if "." in name else name for name in names
    )
    return " or ".join(filter(None, (", ".join(first), last)))


def _sentence(cases: list[str]) -> str:
    """Join cases to one sentence: "If a, if b, or if c."."""
    *first, last = (f"if {case}" for case in cases)
    return ", ".join([*first, f"or {last}" if first else last]).replace("if", "If", 1) + "."


def _indent(sentence: str) -> str:
    return textwrap.indent(textwrap.fill(sentence, WIDTH - 4), "    ")
