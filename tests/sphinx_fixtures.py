"""Small books built by Sphinx, which is loaded once: a plugin that `conftest.py` loads."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from forks import forked

Sphinx = Callable[..., tuple[int, str]]
LOADED = [
    "sphinx.cmd.build",
    "myst_nb",
    "sphinx.builders.html",
    "sphinx_book_theme",
    "sphinx_proof",
]
LOADED += ["tformer_book.pipeline.lab.launch", "tformer_book.pipeline.site.claims_ext"]
LOADED += [f"tformer_book.pipeline.site.{name}" for name in ("formulas", "page", "search")]


@pytest.fixture(scope="session")
def sphinx() -> Iterator[Sphinx]:
    """Build the book in a folder into its folder `out`: the exit status, and the complaints."""
    with forked("main", *LOADED) as tool:

        def build(folder: Path, *options: str) -> tuple[int, str]:
            complaints = folder / "complaints.txt"
            status = tool(
                Path.cwd(), ["-q", *options, str(folder), str(folder / "out")], complaints
            )
            return status, complaints.read_text(encoding="utf-8")

        yield build
