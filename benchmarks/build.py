"""How long the pages take to build: from nothing, after one edit, after no change."""

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
        cold = _build(book)
        unchanged = _build(book)
        chapter = sorted(book.glob("chapters/0*.ipynb"))[-1]
        chapter.write_text(chapter.read_text(encoding="utf-8") + "\n", encoding="utf-8")
        edited = _build(book)
        pages = len(list(book.glob("_build/html/**/*.html")))
    return {
        "cold_s": cold,
        "after_one_edit_s": edited,
        "nothing_changed_s": unchanged,
        "pages": pages,
    }


def _build(book: Path) -> float:
    start = time.perf_counter()
    jupyter_book = Path(sys.executable).with_name("jupyter-book")
    command = [jupyter_book, "build", ".", "--path-output", ".", "--warningiserror", "--keep-going"]
    subprocess.run(command, cwd=book, check=True, capture_output=True)
    return round(time.perf_counter() - start, 1)
