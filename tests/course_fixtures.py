"""Courses for nbgrader: a plugin that `conftest.py` loads.

The course of the page is made by the commands that a lecturer types; these are for all others.
"""

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from forks import forked

ROOT = Path(__file__).resolve().parents[1]
LOADED = ["nbgrader.apps.nbgraderapp", "tformer_course.grading", "tformer_course.feedback"]
LOADED += ["tformer_course.export"]


@pytest.fixture(scope="session")
def nbgrader() -> Iterator[Callable[..., tuple[int, str]]]:
    """Run a command of nbgrader, which is loaded once: the exit status, and what it prints."""
    from tformer_course.write import find_tools

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", os.environ["PATH"])
        find_tools()
        with forked("NbGraderApp.launch_instance", *LOADED) as tool:

            def run(course: Path, *command: str) -> tuple[int, str]:
                said = course.parent / f"{command[0]}.txt"
                said.unlink(missing_ok=True)
                return tool(course, list(command), said), said.read_text(encoding="utf-8")

            yield run


@pytest.fixture(scope="session")
def written(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Path], Path]:
    """Put a course of chapter 4 into a folder: one is written, and copied as often as asked."""
    from tformer_course.write import write

    first = tmp_path_factory.mktemp("written") / "course"
    write(ROOT, first, ["04"])
    return lambda course: shutil.copytree(first, course)
