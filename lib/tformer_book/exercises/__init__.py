"""Feedback on exercises: `check` says what is wrong, `hint` helps, `progress` says what is done."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from typing import Any

import numpy as np

from tformer_book.exercises import describe, guard, process
from tformer_book.exercises.answer import (
    CALL_SECONDS,
    Answer,
    Overdue,
    Untouched,
    Wrong,
    died,
    overdue,
)
from tformer_book.exercises.clock import load_imports
from tformer_book.exercises.compare import few
from tformer_book.exercises.display import boxed, in_notebook, tell, with_name, wrapped
from tformer_book.exercises.done import SIGNS, progress, remember
from tformer_book.exercises.habits import because
from tformer_book.exercises.registry import Exercise, exercises, find
from tformer_book.exercises.tampering import replaced

__all__ = ["CheckFailed", "check", "hint", "progress", "verdict"]


class CheckFailed(AssertionError):  # noqa: N818  (a student reads it)
    """An answer is not right yet. Where a notebook shows it, it is its sentence, no traceback."""

    def _render_traceback_(self) -> list[str]:
        return str(self).splitlines()


def check(number: str, function: Any, *, seconds: float = CALL_SECONDS) -> None:
    """Test an answer to an exercise; say what was verified, or what is wrong first.

    In a notebook a wrong answer raises nothing, so that *Run All* goes on to the next exercise.
    Elsewhere, and where nbgrader runs the notebook, it raises.

    Parameters
    ----------
    number : str
        The exercise, such as ``"1.2"``.
    function : callable
        The answer: the function itself, not its result.
    seconds : float
        Time limit of one call of the function, in seconds of computing.

    Raises
    ------
    CheckFailed
        The answer is not right; the message says why, with the smallest example that shows it.
        Or there is no such exercise.
    """
    correct, text = verdict(_find(number), function, seconds)
    remember(number, correct)
    head = f"Exercise {number}, {'correct' if correct else 'not yet'}."
    html_head = f"{SIGNS[correct][0]} {head}"
    if correct:
        html = boxed(html_head, text, correct=True)
        tell(wrapped(f"{html_head} {text}"), html, exercise=number, correct=True)
        return
    text, more = re.sub("^your function", "Your function", text), f'For a hint: hint("{number}")'
    plain = f"{wrapped(f'{head} {text}')}\n{more}"
    if "NBGRADER_EXECUTION" in os.environ or not in_notebook():
        raise CheckFailed(plain) from None
    html = boxed(html_head, with_name(text, function), more, correct)
    tell(plain, html, exercise=number, correct=correct)


def verdict(entry: Exercise, function: Any, seconds: float) -> tuple[bool | None, str]:
    """Return whether an answer is right (None: not begun), and the praise or what is wrong."""
    if not callable(function):
        return False, (
            f"The check needs your function itself, by its name and without brackets; "
            f"it was given {describe.kind(function)}."
        )
    if names := replaced():
        return False, (
            f"Something that the check relies on has been replaced: {', '.join(names[:3])}. Give "
            "your function a name of its own, restart the kernel, and run your cells again."
        )
    told = _told(entry, function, seconds)
    if "praise" in told:
        left_out = " (What it printed was left out: return is enough.)" * bool(told["printed"])
        return True, f"{told['praise']}{left_out}"
    if "complaint" in told:
        return (None if told["untouched"] else False), str(told["complaint"])
    call = told["call"]
    if not call:
        return False, f"The check itself stopped. {_OUR_FAULT}"
    if told.get("overdue"):
        return False, overdue(**call)
    return False, died(call["name"], call["said"], told["died"])


_OUR_FAULT = "That is a fault of the book: please report it with your code."


def _told(entry: Exercise, function: Any, seconds: float) -> dict[str, Any]:
    """Test an answer; return what is reported. What took too long gets a second chance."""
    load_imports(function)
    told = _told_once(entry, function, seconds)
    late = told.get("late") or (told.get("overdue") and "complaint" not in told)
    return _told_once(entry, function, seconds) if late else told


def _told_once(entry: Exercise, function: Any, seconds: float) -> dict[str, Any]:
    """Test an answer, in a process that can be ended if there is one."""
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
            plain, progress, coarse = str(wrong), answer.progress, answer.coarse
            late = isinstance(wrong, Overdue)
            report(complaint=plain, untouched=isinstance(wrong, Untouched), late=late)
            explained, named = wrong.explain() if wrong.explain else (plain, False)
            report(complaint=explained)
            if not named and (habit := because(entry.test, answer, progress)):
                report(complaint=f"{plain} {habit}")
            elif not named and coarse and str(coarse) not in explained:
                report(complaint=f"{explained} {few(coarse)}")
        except Exception as error:
            report(
                complaint=f"The check itself stopped with {type(error).__name__} on what "
                f"{answer.name} returned. {_OUR_FAULT}",
                untouched=False,
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
    show_hint(f"Exercise {number}", _find(number).hints, tier, f'hint("{number}", {{}})')


def show_hint(name: str, hints: tuple[str, ...], tier: int, call: str) -> None:
    """Print one of the hints for what has this `name`; `call`, with a number, asks for another."""
    if not isinstance(tier, int) or not 1 <= tier <= len(hints):
        print(f"{name} has hints 1 to {len(hints)}." if hints else f"{name} has no hints.")  # noqa: T201
        return
    last = tier == len(hints)
    more = "This was the last." if last else f"The next one: {call.format(tier + 1)}"
    head, text = f"Hint {tier} of {len(hints)}.", hints[tier - 1]
    tell(wrapped(f"{head} {text}") + f"\n{more}", boxed(head, text, more))


def _find(number: Any) -> Exercise:
    if not isinstance(number, str):
        raise CheckFailed('Put the number of the exercise in quotation marks, as in "1.2".')
    entry = find(number)
    if entry is None:
        known = ", ".join(exercises())
        raise CheckFailed(f"There is no exercise {number}. The exercises are {known}.")
    return entry
