"""How long the book takes to build: a fresh clone, the pages alone, after an edit, after none."""

import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

LEFT_OUT = shutil.ignore_patterns("_build", ".*", "__pycache__", "*.egg-info")


def measure(root: Path) -> dict[str, Any]:
    """Seconds of each build, in a copy of the book."""
    with tempfile.TemporaryDirectory() as folder:
        book = Path(folder, "book")
        shutil.copytree(root, book, ignore=LEFT_OUT)
        clone = _timed(["make", "book"], book)
        again = _timed(["make", "book"], book)
        shutil.rmtree(book / "_build")
        cold = _build(book)
        unchanged = _build(book)
        chapter = sorted(book.glob("chapters/0*.ipynb"))[-1]
        chapter.write_text(chapter.read_text(encoding="utf-8") + "\n", encoding="utf-8")
        edited = _build(book)
        pages = len(list(book.glob("_build/html/**/*.html")))
    return {
        "make_book_fresh_clone_s": clone,
        "make_book_again_s": again,
        "cold_s": cold,
        "after_one_edit_s": edited,
        "nothing_changed_s": unchanged,
        "pages": pages,
    }


def _build(book: Path) -> float:
    jupyter_book = str(Path(sys.executable).with_name("jupyter-book"))
    return _timed(
        [jupyter_book, "build", ".", "--path-output", ".", "--warningiserror", "--keep-going"], book
    )


def _timed(command: list[str], book: Path) -> float:
    # What `make` tells the `make` that it starts would make that one wait for this one's jobs.
    surroundings = {key: value for key, value in os.environ.items() if not key.startswith("MAKE")}
    start = time.perf_counter()
    subprocess.run(
        command, cwd=book, check=True, capture_output=True, env=surroundings | {"VENV": ".venv"}
    )
    return round(time.perf_counter() - start, 1)
