"""Feedback on exercises: `check` says what is wrong, `hint` helps without telling."""

from __future__ import annotations

import re
import textwrap
from typing import Any

import numpy as np

from tformer.exercises import say as _say
from tformer.exercises.answer import CALL_SECONDS, Answer, Wrong
from tformer.exercises.habits import because
from tformer.exercises.registry import Exercise, exercises, find

__all__ = ["CheckFailed", "check", "hint"]

WIDTH = 64


class CheckFailed(AssertionError):  # noqa: N818  (a student reads it)
    """An answer is not right yet. In a notebook it shows as its sentence, without a traceback."""

    def _render_traceback_(self) -> list[str]:
        return str(self).splitlines()


def check(number: str, function: Any, *, seconds: float = CALL_SECONDS) -> None:
    """Test an answer to an exercise; print what was verified, or raise what is wrong first.

    Parameters
    ----------
    number : str
        The exercise, such as ``"1.2"``.
    function : callable
        The answer: the function itself, not its result.
    seconds : float
        Time limit of one call of the function.

    Raises
    ------
    CheckFailed
        The answer is not right; the message says why, with the smallest example that shows it.
    """
    entry = _find(number)
    complaint = _complaint(entry, function, seconds)
    if complaint:
        complaint = re.sub("^your function", "Your function", complaint)
        text = _wrapped(f"Exercise {number}, not yet. {complaint}")
        raise CheckFailed(f'{text}\nFor a hint: hint("{number}")') from None


def _complaint(entry: Exercise, function: Any, seconds: float) -> str:
    """Return what is wrong with an answer; print the praise and return "" when nothing is."""
    if not callable(function):
        return (
            f"The check needs your function itself, by its name and without brackets; "
            f"it was given {_say.kind(function)}."
        )
    answer = Answer(function, seconds)
    with np.errstate(all="ignore"):
        try:
            entry.test(answer)
        except Wrong as wrong:
            return f"{wrong} {because(entry.test, answer)}".strip()
        except Exception as error:
            return (
                f"The check itself stopped with {type(error).__name__} on what {answer.name} "
                "returned. That is a fault of the book: please report it with your code."
            )
    note = " (What it printed was left out: return is enough.)" if answer.printed else ""
    print(_wrapped(f"Exercise {entry.number}, correct. {entry.praise}{note}"))  # noqa: T201
    return ""


def hint(number: str, tier: int = 1) -> None:
    """Print one hint for an exercise; a higher tier tells more.

    Parameters
    ----------
    number : str
        The exercise, such as ``"1.2"``.
    tier : int
        1 for a nudge, up to the number of hints that the exercise has.
    """
    hints = _find(number).hints
    if not isinstance(tier, int) or not 1 <= tier <= len(hints):
        print(f"Exercise {number} has hints 1 to {len(hints)}.")  # noqa: T201
        return
    last = tier == len(hints)
    more = "This was the last." if last else f'The next one: hint("{number}", {tier + 1})'
    print(_wrapped(f"Hint {tier} of {len(hints)}. {hints[tier - 1]}"), more, sep="\n")  # noqa: T201


def _wrapped(text: str) -> str:
    """Break text into lines that fit a narrow notebook, not inside numbers or short code."""
    joined = re.sub(r"(?<=[\d∞n]), (?=[\d−∞n])", ",\0", text)
    joined = re.sub(r"`[^`]{1,40}`", lambda code: code[0].replace(" ", "\0"), joined)
    lines = textwrap.fill(joined, WIDTH, break_long_words=False, break_on_hyphens=False)
    return lines.replace("\0", " ")


def _find(number: Any) -> Exercise:
    if not isinstance(number, str):
        raise CheckFailed('Put the number of the exercise in quotation marks, as in "1.2".')
    entry = find(number)
    if entry is None:
        known = ", ".join(exercises())
        raise CheckFailed(f"There is no exercise {number}. The exercises are {known}.")
    return entry
