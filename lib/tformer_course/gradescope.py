"""Mark for Gradescope: python -m tformer_course.gradescope NAME SUBMISSION RESULTS."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import nbformat
from nbformat import NotebookNode

from tformer_book.pipeline import find_root
from tformer_course import confinement, intake
from tformer_course.judged import judged
from tformer_course.submission import NOTE, read, unread


class NotMarked(Exception):  # noqa: N818  (nobody's error)
    """There is nothing that can be marked; the message says why."""


def handed_out(name: str) -> NotebookNode:
    """Return the notebook that students got; end if their code cannot be run here."""
    if lacking := confinement.missing():
        sys.exit(lacking)
    return nbformat.read(find_root() / "exercises" / f"{name}.ipynb", as_version=4)


def results(released: NotebookNode, name: str, folder: Path) -> dict[str, Any]:
    """Return what stands in ``results.json``: a test for each check.

    Parameters
    ----------
    released : NotebookNode
        The notebook that students got.
    name : str
        Its name.
    folder : Path
        What one student handed in.

    Raises
    ------
    NotMarked
        It was refused, or nothing of it could be read.
    """
    if why := intake.refused(folder):
        raise NotMarked(f"Refused: {why}.")
    [path] = intake.notebooks(folder, sorted(map(str, folder.glob("*.ipynb"))), name)
    notebook = read(Path(path), released)
    first = notebook.cells[0]
    if unread(notebook):
        raise NotMarked(first.source)
    tests = []
    for cell, verdict in judged(notebook):
        about = cell.metadata.nbgrader
        tests.append(
            {
                "name": "Exercise " + about.grade_id.removeprefix("check-").replace("-", "."),
                "score": about.points * verdict.right,
                "max_score": about.points,
                "status": "passed" if verdict.right else "failed",
                "output": verdict.text,
            }
        )
    return {"tests": tests, "output": first.source if first.id == NOTE else ""}


def main(arguments: list[str]) -> None:
    """Write the results, or end with a sentence where nothing can be marked.

    Gradescope asks for a score in what it reads, and 0 is one. So where there is none no file is
    written: the mark stays empty there, and its lecturer finds the sentence beside it.
    """
    name, folder, to = arguments
    released = handed_out(name)
    try:
        text = json.dumps(results(released, name, Path(folder)), indent=1)
    except NotMarked as why:
        Path(to).unlink(missing_ok=True)
        sys.exit(f"Not marked. {why}")
    Path(to).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
