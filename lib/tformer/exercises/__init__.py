"""Feedback on exercises: `check` says what is wrong, `hint` helps without telling."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable
from typing import Any

import numpy as np

from tformer.exercises import guard, process
from tformer.exercises import say as _say
from tformer.exercises.answer import CALL_SECONDS, Answer, Wrong, died, overdue
from tformer.exercises.habits import because
from tformer.exercises.registry import Exercise, exercises, find
from tformer.exercises.unchanged import changed

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
    if names := changed():
        return (
            f"Something that the check relies on has been replaced: {', '.join(names[:3])}. Give "
            "your function a name of its own, restart the kernel, and run your cells again."
        )
    told = _told(entry, function, seconds)
    if "praise" in told:
        note = " (What it printed was left out: return is enough.)" if told["printed"] else ""
        print(_wrapped(f"Exercise {entry.number}, correct. {told['praise']}{note}"))  # noqa: T201
        return ""
    if "complaint" in told:
        return str(told["complaint"])
    call = told["call"]
    if not call:
        return f"The check itself stopped. {_OUR_FAULT}"
    if told.get("overdue"):
        return overdue(**call)
    return died(call["name"], call["said"], told["died"])


_OUR_FAULT = "That is a fault of the book: please report it with your code."


def _told(entry: Exercise, function: Any, seconds: float) -> dict[str, Any]:
    """Test an answer, in a process that can be ended if there is one; return what is reported."""
    if process.CAN_FORK:
        return process.run(
            lambda report: examine(
                entry, Answer(function, seconds, report=report, call=guard.in_place), report
            )
        )
    told: dict[str, Any] = {}

    def note(**more: Any) -> None:
        told.update(more)

    examine(entry, Answer(function, seconds), note)
    return told


def examine(entry: Exercise, answer: Answer, report: Callable[..., None]) -> None:
    """Report praise, or a complaint, which a better one may replace."""
    with np.errstate(all="ignore"):
        try:
            entry.test(answer)
            report(praise=entry.praise, printed=answer.printed)
        except Wrong as wrong:
            plain, progress = str(wrong), answer.progress
            report(complaint=plain)
            explained, named = wrong.explain() if wrong.explain else (plain, False)
            report(complaint=explained)
            if not named and (habit := because(entry.test, answer, progress)):
                report(complaint=f"{plain} {habit}")
        except Exception as error:
            report(
                complaint=f"The check itself stopped with {type(error).__name__} on what "
                f"{answer.name} returned. {_OUR_FAULT}"
            )


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
