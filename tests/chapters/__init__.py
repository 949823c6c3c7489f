"""Tests of what belongs to one chapter, and answers to its exercises, wrong and right.

``WRONG[number]`` of a chapter's `wrong_answers` maps words of the feedback to the mistake that must
be told so. ``RIGHT[number]`` holds correct answers that differ from the book's.

``MISTAKES`` of a chapter's `broken_library` holds mistakes in the functions that it introduces, and
``NOTICED`` which of its claims must notice which mistake, of this chapter or another.
"""

import re
from functools import cache
from importlib import import_module
from importlib.resources import files
from pathlib import Path
from typing import Any

from tformer.chapters import numbers
from tformer.claims import claims
from tformer.claims.registry import Claim
from tformer.widgets.base import BookWidget


def answers(kind: str) -> dict[str, Any]:
    """The answers of one kind, WRONG or RIGHT, to the exercises of all chapters."""
    modules = (import_module(f"chapters.ch{n:02d}.wrong_answers") for n in numbers())
    return {number: given for m in modules for number, given in getattr(m, kind).items()}


_BROKEN = {n: import_module(f"chapters.ch{n:02d}.broken_library") for n in numbers()}
MISTAKES = {name: case for module in _BROKEN.values() for name, case in module.MISTAKES.items()}
"""What is wrong -> the library function, and the mistaken one in its place."""
NOTICED = {n: module.NOTICED for n, module in _BROKEN.items()}
"""Chapter -> what is wrong -> labels of its claims that must fail."""


def widgets() -> list[type[BookWidget]]:
    """The widgets of all chapters: the class of each module beside which a script lies."""
    found = []
    for n in numbers():
        package = f"tformer.chapters.ch{n:02d}"
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
