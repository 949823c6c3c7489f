"""Tests of what belongs to one chapter, and answers to its exercises, wrong and right.

``WRONG[number]`` of a chapter's `wrong_answers` maps words of the feedback to the mistake that must
be told so. ``RIGHT[number]`` holds correct answers that differ from the book's.
"""

from importlib import import_module
from typing import Any

from tformer.chapters import numbers


def answers(kind: str) -> dict[str, Any]:
    """The answers of one kind, WRONG or RIGHT, to the exercises of all chapters."""
    modules = (import_module(f"chapters.ch{n:02d}.wrong_answers") for n in numbers())
    return {number: given for m in modules for number, given in getattr(m, kind).items()}
