"""Our parts of nbgrader: what reads a submission, what judges it, and what writes the feedback.

``nbgrader_config.py`` of a course names them; nbgrader does the rest.
"""

from __future__ import annotations

import glob
import re
import sys
import time
from pathlib import Path
from typing import Any

import nbformat
from nbconvert.exporters import NotebookExporter
from nbformat import NotebookNode
from nbformat.v4 import new_output
from nbgrader.converters import Autograde
from nbgrader.preprocessors import NbGraderPreprocessor
from traitlets import Float, Int, List, Unicode

from tformer_book.exercises.answer import CALL_SECONDS
from tformer_book.exercises.display import wrapped
from tformer_course import confinement, intake
from tformer_course.intake import Collect
from tformer_course.judged import NOTEBOOK_SECONDS, judged
from tformer_course.remote import CELL_SECONDS, MEMORY
from tformer_course.submission import read

__all__ = ["Collect", "Judge", "Submission", "prepare"]


def prepare(assignment: str, student: str, notebooks: list[str]) -> None:
    """Before a submission is graded: see that it can be."""
    if lacking := confinement.missing():
        sys.exit(lacking)


class Submission(NotebookExporter):
    """Reads what was handed in as a notebook that can be graded."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        if isinstance(self.parent, Autograde):
            take_in(self.parent)

    def from_filename(
        self, filename: str, resources: dict[str, Any] | None = None, **kw: Any
    ) -> Any:
        """Read a notebook; one that a student handed in is mended first."""
        converter: Any = self.parent
        if not converter._sanitizing:
            return super().from_filename(filename, resources, **kw)
        course, about = converter.coursedir, (resources or {})["nbgrader"]
        released = course.format_path(course.release_directory, ".", about["assignment"])
        path = Path(released, f"{about['notebook']}.ipynb")
        mended = read(Path(filename), nbformat.read(path, as_version=4))
        return self.from_notebook_node(mended, resources, **kw)


def take_in(converter: Autograde) -> None:
    """Before anything is opened: leave out who is refused, and find one notebook of each other."""
    course, ours = converter.coursedir, intake.lecturers(converter.coursedir)
    for place in glob.glob(converter._format_source(course.assignment_id, course.student_id)):
        folder = Path(place)
        if why := intake.refused(folder, ours):
            converter.log.error("Refused: %s. %s. It was not marked.", folder.parent.name, why)
            converter.assignments.pop(place, None)
            continue
        intake.own(folder)
        if note := intake.stamp(folder):
            converter.log.warning("%s: %s.", folder.parent.name, note)
        found = converter.assignments.get(place, [])
        converter.assignments[place] = intake.notebooks(folder, found, course.assignment_id)


class Judge(NbGraderPreprocessor):
    """Takes the place of nbgrader's Execute: the checks are made from outside."""

    seconds = Float(CALL_SECONDS, help="Seconds of computing: a call.").tag(config=True)
    cell_seconds = Float(CELL_SECONDS, help="The same: the cells of an answer.").tag(config=True)
    notebook_seconds = Float(NOTEBOOK_SECONDS, help="The same: a notebook.").tag(config=True)
    memory = Int(MEMORY, help="Bytes that an answer may use.").tag(config=True)
    readable = List(Unicode(), help="Folders that answers may read.").tag(config=True)

    def preprocess(
        self, nb: NotebookNode, resources: dict[str, Any]
    ) -> tuple[NotebookNode, dict[str, Any]]:
        """Write under each check what it says."""
        begin = time.monotonic()
        found = judged(
            nb,
            self.notebook_seconds,
            memory=self.memory,
            cell_seconds=self.cell_seconds,
            readable=list(map(Path, self.readable)),
            seconds=self.seconds,
        )
        for cell, verdict in found:
            cell.outputs = [shown(cell, verdict.right, verdict.text)]
        took, right = time.monotonic() - begin, sum(verdict.right for _, verdict in found)
        self.log.info("Judged %d checks in %.1f s; %d are right", len(found), took, right)
        return nb, resources


def shown(cell: NotebookNode, right: bool, text: str) -> NotebookNode:
    """Return the output that says a verdict, in the way that nbgrader counts: an error or none."""
    number = cell.metadata.nbgrader.grade_id.removeprefix("check-").replace("-", ".")
    text = re.sub("^your function", "Your function", text)
    whole = f"Exercise {number}, {'correct' if right else 'not yet'}. {text}"
    if right:
        return new_output("stream", name="stdout", text=f"{wrapped(whole)}\n")
    lines = wrapped(whole).splitlines()
    return new_output("error", ename="CheckFailed", evalue=whole, traceback=lines)
