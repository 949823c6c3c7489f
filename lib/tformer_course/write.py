"""Write a course for nbgrader: its settings, an assignment a chapter, and what is handed out."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Collection
from importlib.resources import files
from pathlib import Path

from nbformat import NotebookNode

from tformer_book.pipeline.generators.exercises import instructor, sources
from tformer_book.pipeline.lab.edition import ROLE, Book, written_out
from tformer_book.pipeline.notebook.normalise import dump

SETTINGS = "nbgrader_config.py"
STATEMENT = re.compile(r"```\{exercise\} (.*)\n(?::.*\n)*\n?((?:.*\n)*?)```")
LINK = re.compile(r"\[([^\]]+)\]\((?!https?:)[^)]*\)")  # to a page that a student may not have
CONFIG = files("tformer_course") / "nbgrader_config.txt"


class CourseError(Exception):
    """A course cannot be written; the message says why."""


def write(
    root: Path, course: Path, chapters: Collection[str] = (), name: str = "transformers"
) -> list[str]:
    """Write a course into a new or empty folder, or add chapters to one; return what was written.

    Assignments that are there stay as they are, with all that was done and marked in them.

    Parameters
    ----------
    root : Path
        The book.
    course : Path
        The folder.
    chapters : collection of str
        Chapters by their two digits; all of them when empty.
    name : str
        The name of a new course.

    Raises
    ------
    CourseError
        The folder is neither empty nor a course, or there is no such chapter, or it is all there.
    """
    there = sources(root)
    numbers = [path.name[:2] for path in there]
    if unknown := [chapter for chapter in chapters if chapter not in numbers]:
        raise CourseError(
            f"There is no chapter {unknown[0]} with exercises; there are {', '.join(numbers)}."
        )
    if not (course / SETTINGS).is_file():
        _begin(course, name)
    new = [path for path in there if not (course / "source" / path.stem).exists()]
    chosen = [path for path in new if not chapters or path.name[:2] in chapters]
    if not chosen:
        raise CourseError(f"All of this is in {course} already. Nothing was written.")
    for path in chosen:
        target = course / "source" / path.stem / f"{path.stem}.ipynb"
        target.parent.mkdir(parents=True)
        target.write_text(dump(assignment(root, path)), encoding="utf-8", newline="\n")
    names = [path.stem for path in chosen]
    _release(course, names)
    return names


def _begin(course: Path, name: str) -> None:
    """Make the folder of a course, with its settings."""
    if course.exists() and (not course.is_dir() or any(course.iterdir())):
        raise CourseError(
            f"{course} exists, is not empty, and is no course: it has no {SETTINGS}. "
            "Nothing was written."
        )
    (course / "exchange").mkdir(parents=True)
    (course / "exchange").chmod(0o777)
    settings = CONFIG.read_text(encoding="utf-8").replace("{name}", name)
    (course / SETTINGS).write_text(settings, encoding="utf-8")


def assignment(root: Path, path: Path) -> NotebookNode:
    """Return the exercises of a source as an assignment, its statements in plain Markdown."""
    notebook, book = instructor(path), Book(root)
    for cell in notebook.cells:
        if cell.cell_type == "markdown" and ROLE.search(cell.source):
            named = written_out(cell.source, book, f"exercises/solutions/{path.stem}")
            cell.source = LINK.sub(r"\1", named)
        if cell.cell_type == "markdown":
            cell.source = STATEMENT.sub(r"*\1*\n\n\2", cell.source).rstrip()
    return notebook


def find_tools() -> None:
    """Let nbgrader find the tool of its database, which it calls by name."""
    tools = os.path.dirname(sys.executable)
    os.environ["PATH"] = os.pathsep.join([tools, os.environ.get("PATH", "")])


def _release(course: Path, names: list[str]) -> None:
    """Have nbgrader make what is handed out, and enter the assignments in its gradebook."""
    from nbgrader.apps import NbGraderAPI
    from nbgrader.coursedir import CourseDirectory
    from traitlets.config.loader import PyFileConfigLoader

    find_tools()
    config = PyFileConfigLoader(SETTINGS, str(course)).load_config()
    api = NbGraderAPI(CourseDirectory(config=config), config=config)
    for name in names:
        done = api.generate_assignment(name)
        if not done["success"]:
            raise CourseError(f"nbgrader could not make {name}: {done['log']}")
