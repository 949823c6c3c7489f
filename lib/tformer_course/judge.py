"""The judge: tries a student's function on the cases of an exercise, and looks at what comes back.

The function runs in the sandbox; the tests, the right answers and the verdict stay here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tformer_book.exercises import examine
from tformer_book.exercises.answer import CALL_SECONDS, Answer
from tformer_book.exercises.display import with_name
from tformer_book.exercises.registry import Exercise
from tformer_course.remote import Child, Gone, Sandbox


@dataclass(frozen=True)
class Verdict:
    """What was found out about an answer: whether it is right, and the sentence for its author."""

    right: bool
    text: str
    unnamed: bool = False


def judge(
    entry: Exercise,
    sandbox: Sandbox,
    cells: list[tuple[str, str]],
    name: str,
    seconds: float = CALL_SECONDS,
) -> Verdict:
    """Judge an answer to one exercise.

    Parameters
    ----------
    entry : Exercise
        The exercise.
    sandbox : Sandbox
        Where the answer runs.
    cells : list of (name, source)
        The cells that define the answer, in order.
    name : str
        The name of the function.
    seconds : float
        Seconds of processor time for one call.
    """
    verdict, late = _judged_once(entry, sandbox, cells, name, seconds)
    return _judged_once(entry, sandbox, cells, name, seconds)[0] if late else verdict


def _judged_once(
    entry: Exercise, sandbox: Sandbox, cells: list[tuple[str, str]], name: str, seconds: float
) -> tuple[Verdict, bool]:
    """Judge an answer, and say whether all that is wrong with it is that a call took too long."""
    told: dict[str, Any] = {}

    def note(**more: Any) -> None:
        told.update(more)

    try:
        with sandbox.child(cells, name) as child:
            if complaint := _unfit(child, name):
                return Verdict(False, complaint, child.missing), False
            examine(entry, Answer(child, seconds, report=note, call=child.call), note)
    except Gone as gone:
        limit = f"The cells were still running after {sandbox.cell_seconds:g} seconds of computing"
        how = f"Python ended ({gone}) while the cells were running" if str(gone) else limit
        return Verdict(False, f"{how}, before {name} could be called."), False
    if "praise" in told:
        return Verdict(True, MEASURED if child.measured else told["praise"]), False
    late = bool(told.get("late"))
    return Verdict(False, with_name(told["complaint"], child), child.unnamed), late


MEASURED = (
    "The numbers are right. That it is not wasteful was measured within the answer's own process, "
    "which could hide it, so this is not vouched for."
)


def _unfit(child: Child, name: str) -> str:
    """Say why a name cannot be called; "" if it can."""
    if child.missing and child.failed:
        return f"There is no {name}: a cell stopped with {_said(child.failed)}."
    if child.missing:
        return f"No cell above the check makes {name}. Was its cell deleted, or its name changed?"
    if child.kind:
        return f"The check needs a function called {name}; the notebook has {child.kind} there."
    return ""


def _said(error: Exception) -> str:
    line = getattr(error, "at", "")
    return f"{type(error).__name__}: {error}" + (f" (at `{line}`)" if line else "")
