"""The exercises that `check` and `hint` know: one entry each, filled by the chapter modules."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tformer.check.answer import Answer


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


EXERCISES: dict[str, Exercise] = {}


def exercise(
    number: str, praise: str, hints: tuple[str, ...]
) -> Callable[[Callable[[Answer], None]], Callable[[Answer], None]]:
    """Register the decorated function as the test of exercise `number`."""

    def register(test: Callable[[Answer], None]) -> Callable[[Answer], None]:
        EXERCISES[number] = Exercise(number, test, praise, hints)
        return test

    return register
