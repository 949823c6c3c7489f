"""No class that a page gives to its elements is one that a figure to touch gives to its own.

A name that both used would let the style of one change the other.
"""

import re
from collections.abc import Iterator
from pathlib import Path

GIVEN = re.compile(r"(?<![.\w-])tf-[a-z][\w-]*")
MARKED = re.compile(r"\{\.(tf-[\w-]+)\}|:class: *(tf-[\w-]+)")
READING = re.compile(r"""\breading\(\s*["'`]([a-z][\w-]*)["'`]""")
PAGES = ("assets/*.js", "assets/templates/**/*.html", "lib/tformer_book/pipeline/site/*.py")
TEXTS = ("index.md", "chapters/*.md", "chapters/*.ipynb", "exercises/solutions/*.ipynb")
FIGURES = ("lib/tformer_book/widgets/*.js", "lib/tformer_book/chapters/ch*/*.js")


def shared(root: Path) -> list[str]:
    """The classes that pages and figures both give, each with a file of both."""
    page = dict(_of_pages(root))
    figure = dict(_of_figures(root))
    return [
        f"{name}: given by {page[name]} and by {figure[name]}"
        for name in sorted(page.keys() & figure.keys())
    ]


def _of_pages(root: Path) -> Iterator[tuple[str, str]]:
    for path in _files(root, PAGES):
        for name in GIVEN.findall(path.read_text(encoding="utf-8")):
            yield name, path.name
    for path in _files(root, TEXTS):
        for found in MARKED.findall(path.read_text(encoding="utf-8")):
            yield "".join(found), path.name


def _of_figures(root: Path) -> Iterator[tuple[str, str]]:
    for path in _files(root, FIGURES):
        text = path.read_text(encoding="utf-8")
        for name in [*GIVEN.findall(text), *(f"tf-{name}" for name in READING.findall(text))]:
            yield name, path.name


def _files(root: Path, patterns: tuple[str, ...]) -> list[Path]:
    return sorted(path for pattern in patterns for path in root.glob(pattern))
