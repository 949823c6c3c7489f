"""Tests of what belongs to one chapter, and answers to its exercises, wrong and right.

``WRONG[number]`` of a chapter's `wrong_answers` maps words of the feedback to the mistake that must
be told so. ``RIGHT[number]`` holds correct answers that differ from the book's.

``MISTAKES`` of a chapter's `broken_library` holds mistakes in the functions that it introduces, and
``NOTICED`` which of its claims must notice which mistake, of this chapter or another.
"""

from importlib import import_module
from importlib.resources import files
from typing import Any

from tformer.chapters import numbers
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
