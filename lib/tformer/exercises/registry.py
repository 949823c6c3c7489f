"""The exercises that `check` and `hint` know: one entry each, filled by the chapters."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from tformer.chapters import load
from tformer.exercises.answer import Answer
from tformer.exercises.diagnosis import check_by_table
from tformer.exercises.kinds import Array
from tformer.exercises.table import Case, Function, Table

Test = Callable[[Answer], None]
Decorated = TypeVar("Decorated", bound=Callable[..., Any])
ARRAY = Array()


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
    table : Table or None
        What the test is made from, if it is made from a table.
    """

    number: str
    test: Test
    praise: str
    hints: tuple[str, ...]
    table: Table | None = None


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
    number: str,
    praise: str,
    hints: tuple[str, ...],
    *,
    cases: Callable[[], Iterable[Case | Test]] | None = None,
    mutants: Mapping[Any, Function] | None = None,
    kind: Array = ARRAY,
    otherwise: str = "",
) -> Callable[[Decorated], Decorated]:
    """Register the decorated function for exercise `number`.

    With `cases` it is the right answer, and the check is a `Table`. Without, it is itself the test
    of an `Answer`, written by hand.
    """

    def register(function: Decorated) -> Decorated:
        table = Table(function, cases, mutants or {}, kind, otherwise) if cases else None
        test = partial(check_by_table, table) if table else function
        _exercises[number] = Exercise(number, test, praise, hints, table)
        return function

    return register
