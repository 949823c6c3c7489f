"""Tests of what belongs to one chapter, and answers to its exercises, wrong and right.

``MUTANTS[number]`` of a chapter's `planted_answers` maps words of the feedback to the wrong answer,
or answers, that must be told so. ``RIGHT[number]`` holds correct answers unlike the book's.

``MUTANTS`` of a chapter's `library_mutants` holds mutants of the functions that it introduces, and
``KILLED_BY`` which of its claims must fail under which mutant, of this chapter or another.
"""

import re
from functools import cache
from importlib import import_module
from importlib.resources import files
from pathlib import Path
from typing import Any

from tformer_book.chapters import numbers
from tformer_book.claims import claims
from tformer_book.claims.registry import Claim
from tformer_book.widgets.base import BookWidget


def answers(kind: str) -> dict[str, Any]:
    """The answers of one kind, MUTANTS or RIGHT, to the exercises of all chapters."""
    modules = (import_module(f"chapters.ch{n:02d}.planted_answers") for n in numbers())
    return {number: given for m in modules for number, given in getattr(m, kind).items()}


@cache
def killed_by() -> dict[int, dict[str, list[str]]]:
    """Chapter -> what is wrong -> labels of its claims that must fail."""
    return {n: module.KILLED_BY for n, module in _library().items()}


@cache
def library_mutants() -> dict[str, Any]:
    """What is wrong -> the library function, and the mutant in its place."""
    return {name: one for m in _library().values() for name, one in m.MUTANTS.items()}


@cache
def _library() -> dict[int, Any]:
    """Load them when asked: the process that sends the tests about needs no PyTorch."""
    return {n: import_module(f"chapters.ch{n:02d}.library_mutants") for n in numbers()}


def widgets() -> list[type[BookWidget]]:
    """The widgets of all chapters: the class of each module beside which a script lies."""
    found = []
    for n in numbers():
        package = f"tformer_book.chapters.ch{n:02d}"
        names = sorted(path.name for path in files(package).iterdir())
        for name in (name.removesuffix(".js") for name in names if name.endswith(".js")):
            module = import_module(f"{package}.{name}")
            (widget,) = (
                thing
                for thing in vars(module).values()
                if isinstance(thing, type) and issubclass(thing, BookWidget)
                if thing.__module__ == module.__name__
            )
            found.append(widget)
    return found


def of(value: object) -> int | None:
    """The chapter that a value belongs to, which some test is called with; None if it has none.

    A claim or its label, an exercise or its number, a page or notebook or its name, a class or
    function that stands in the folder of a chapter.
    """
    if isinstance(value, Claim):
        return value.chapter
    name = value.name if isinstance(value, Path) else getattr(value, "number", value)
    if not isinstance(name, str):
        home = re.search(r"\bchapters\.ch(\d\d)\b", getattr(value, "__module__", None) or "")
        return int(home[1]) if home else None
    page = re.fullmatch(r"(?:.*/)?(\d\d)_\w+(?:\.\w+)?", name)
    exercise = re.fullmatch(r"(\d+)\.\d+", name)
    if page or exercise:
        return int((page or exercise)[1])
    return _labels().get(name)


@cache
def _labels() -> dict[str, int]:
    return {claim.label: claim.chapter for claim in claims()}
