"""The exercises that `check` and `hint` know: one entry each, filled by the chapters."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tformer.chapters import load
from tformer.exercises.answer import Answer


@dataclass(frozen=True)
class Exercise:
    """What stands behind one exercise number.

    Attributes
    ----------
    number : str
        Chapter and place, such as ``"1.2"``.
    test : callable
        Raises `Wrong` at the first thing that an answer gets wrong.
    praise : str
        What was verified, said to a right answer.
    hints : tuple of str
        From a nudge to nearly the answer.
    """

    number: str
    test: Callable[[Answer], None]
    praise: str
    hints: tuple[str, ...]


_exercises: dict[str, Exercise] = {}


def exercises() -> dict[str, Exercise]:
    """Return all exercises of the book by their numbers, in order."""
    load("checks")
    in_order = sorted(_exercises, key=lambda number: [int(part) for part in number.split(".")])
    return {number: _exercises[number] for number in in_order}


def find(number: str) -> Exercise | None:
    """Return the exercise of that number, if there is one; loads its chapter alone."""
    chapter = number.partition(".")[0]
    if chapter.isdecimal():
        load("checks", int(chapter))
    return _exercises.get(number)


def exercise(
    number: str, praise: str, hints: tuple[str, ...]
) -> Callable[[Callable[[Answer], None]], Callable[[Answer], None]]:
    """Register the decorated function as the test of exercise `number`."""

    def register(test: Callable[[Answer], None]) -> Callable[[Answer], None]:
        _exercises[number] = Exercise(number, test, praise, hints)
        return test

    return register
