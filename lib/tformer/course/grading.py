"""Our parts of nbgrader: what reads a submission, what judges it, and what writes the feedback.

``nbgrader_config.py`` of a course names them; nbgrader does the rest.
"""

from __future__ import annotations

import re
import shutil
import sys
import time
from pathlib import Path
from typing import Any

import nbformat
from nbconvert.exporters import NotebookExporter
from nbformat import NotebookNode
from nbformat.v4 import new_output
from nbgrader.preprocessors import NbGraderPreprocessor
from traitlets import Float, Int, List, Unicode

from tformer.course import walls
from tformer.course.judge import CELL_SECONDS, MEMORY, Booth
from tformer.course.notebook import verdicts
from tformer.course.submission import chosen, mend
from tformer.exercises.answer import CALL_SECONDS
from tformer.exercises.display import wrapped


def prepare(assignment: str, student: str, notebooks: list[str]) -> None:
    """Before a submission is graded: see that it can be, and find its notebook by another name."""
    if lacking := walls.missing():
        sys.exit(lacking)
    if found := chosen(notebooks, assignment):
        named = found.with_name(f"{assignment}.ipynb")
        shutil.copyfile(found, named)
        notebooks[:] = [str(named)]


class Submission(NotebookExporter):
    """Reads what was handed in as a notebook that can be graded."""

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
        mended = mend(Path(filename).read_bytes(), nbformat.read(path, as_version=4))
        return self.from_notebook_node(mended, resources, **kw)


class Judge(NbGraderPreprocessor):
    """Takes the place of nbgrader's Execute: the checks are made from outside."""

    seconds = Float(CALL_SECONDS, help="Time limit of one call of an answer.").tag(config=True)
    cell_seconds = Float(CELL_SECONDS, help="Time limit of an answer's cells.").tag(config=True)
    memory = Int(MEMORY, help="Bytes that an answer may use.").tag(config=True)
    readable = List(Unicode(), help="Folders that answers may read.").tag(config=True)

    def preprocess(
        self, nb: NotebookNode, resources: dict[str, Any]
    ) -> tuple[NotebookNode, dict[str, Any]]:
        """Write under each check what it says."""
        begin, right, count = time.monotonic(), 0, 0
        with Booth(self.memory, self.cell_seconds, map(Path, self.readable)) as booth:
            for cell, verdict in verdicts(nb, booth, self.seconds):
                cell.outputs = [shown(cell, verdict.right, verdict.text)]
                right, count = right + verdict.right, count + 1
        took = time.monotonic() - begin
        self.log.info("Judged %d checks in %.1f s; %d are right", count, took, right)
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
