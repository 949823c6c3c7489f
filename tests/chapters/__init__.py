"""Tests of what belongs to one chapter, and answers to its exercises, wrong and right.

``WRONG[number]`` of a chapter's `wrong_answers` maps words of the feedback to the mistake that must
be told so. ``RIGHT[number]`` holds correct answers that differ from the book's.
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
