"""All checks of a notebook, judged in a process of its own and before a deadline."""

from __future__ import annotations

import time
from pathlib import Path

from nbformat import NotebookNode

from tformer_book.exercises.answer import CALL_SECONDS
from tformer_course.bounded import Tell, bounded
from tformer_course.judge import Verdict
from tformer_course.notebook import asked, graded, verdicts
from tformer_course.remote import CELL_SECONDS, MEMORY, NoSandbox, Sandbox
from tformer_course.submission import unread

NOTEBOOK_SECONDS = 120.0
NOTHING = "Nothing of what was handed in could be read, so there is no answer to check."


def judged(
    notebook: NotebookNode,
    limit: float = NOTEBOOK_SECONDS,
    *,
    memory: int = MEMORY,
    cell_seconds: float = CELL_SECONDS,
    readable: list[Path] | None = None,
    seconds: float = CALL_SECONDS,
) -> list[tuple[NotebookNode, Verdict]]:
    """Return each graded cell with what is to be said of it.

    Parameters
    ----------
    notebook : NotebookNode
        What was handed in, mended.
    limit : float
        Seconds of processor time for all of it. Checks that are not reached earn nothing.
    memory, cell_seconds, readable, seconds
        See `Sandbox` and `judge`.

    Raises
    ------
    NoSandbox
        Students' code cannot be run, so nobody can be judged.
    """

    def work(tell: Tell) -> None:
        begin = time.process_time()
        try:
            with Sandbox(memory, cell_seconds, readable or ()) as sandbox:
                for place, (_, found) in enumerate(verdicts(notebook, sandbox, seconds)):
                    text = found.text.encode("utf-8", "replace").decode()
                    tell(**{str(place): [found.right, text]})
                    if sandbox.used + time.process_time() - begin > limit:
                        tell(overdue=True)
                        break
        except NoSandbox as lacking:
            tell(lacking=str(lacking))

    if unread(notebook):
        return [(cell, Verdict(False, NOTHING)) for cell in graded(notebook)]
    for cell in graded(notebook):
        asked(cell)  # loads its chapter once, for all notebooks
    told = bounded(work, limit)
    if "lacking" in told:
        raise NoSandbox(told["lacking"])
    late = f"The time for a whole notebook, {limit:g} seconds, was used up before this check."
    broken = "This notebook ended the program that marks it, before this check."
    rest = [False, late if told.get("overdue") else broken]
    return [
        (cell, Verdict(*told.get(str(place), rest))) for place, cell in enumerate(graded(notebook))
    ]
