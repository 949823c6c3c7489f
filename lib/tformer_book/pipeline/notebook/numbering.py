"""The number of every labelled box, figure and equation, counted in the sources.

Sphinx counts when it builds. The edition for JupyterLab is written without a build, so this counts
the same way; a test compares the two, label by label.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from nbformat import NotebookNode

from tformer_book.pipeline.notebook.myst import FENCE, HEADING, directives

EQUATION = re.compile(
    r"^(?P<indent>[ \t]*)\$\$(?P<body>.+?)\$\$[ \t]*(?:\((?P<label>[\w-]+)\))?[ \t]*$",
    re.DOTALL | re.MULTILINE,
)
SECTION = re.compile(r"^\(([\w-]+)\)=\s*\n(?:#+ +(.+)$)?", re.MULTILINE)
TITLE = re.compile(r"^# +(.+)$", re.MULTILINE)
UNNUMBERED = {"prf:proof"}
SUFFIX = "_deeper"
"""How the name of a deeper page ends: its boxes go on with the numbers of its chapter."""


@dataclass(frozen=True)
class Target:
    """What has a label.

    Attributes
    ----------
    page : str
        Where it stands, such as chapters/02_softmax.
    name : str
        How the text calls it: Theorem 2.3, Figure 2.1, (2.4), or the title of a section.
    number : str
        Its number alone; empty for a section.
    """

    page: str
    name: str
    number: str = ""


def named(page: str) -> int | None:
    """The number of the chapter that a page belongs to, by its name; None if it has none."""
    found = re.fullmatch(r"(?:chapters/)?(\d\d)_\w+", page)
    return int(found[1]) if found else None


def pages(root: Path) -> dict[str, str]:
    """The pages of the book in order, each with the number of its chapter or nothing."""
    found: dict[str, str] = {}
    count = 0
    for part in yaml.safe_load((root / "_toc.yml").read_text(encoding="utf-8"))["parts"]:
        for chapter in part["chapters"]:
            count += bool(part.get("numbered"))
            number = str(named(chapter["file"]) or count) if part.get("numbered") else ""
            found |= dict.fromkeys(files(chapter), number)
    return found


def files(entry: Mapping[str, Any]) -> Iterator[str]:
    """The page of an entry of the table of contents, and those below it."""
    yield entry["file"]
    for below in entry.get("sections", []):
        yield from files(below)


def number_headings(notebook: NotebookNode, chapter: str) -> None:
    """Number the headings of a chapter's main page as on the page, in place."""
    counts: list[int] = []
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            cell.source = _numbered(cell.source, chapter, counts)


def _numbered(source: str, chapter: str, counts: list[int]) -> str:
    fences: list[str] = []
    result = []
    for line in source.splitlines():
        fence, heading = FENCE.match(line), HEADING.match(line)
        if fence and fences and fence[1] == fences[-1] and not fence[2]:
            fences.pop()
        elif fence:
            fences.append(fence[1])
        elif heading and not fences:
            depth = len(heading[1]) - 1
            counts[:] = [*counts, 0][:depth]
            counts[depth - 1 :] = [counts[-1] + 1] if depth else []
            line = f"{heading[1]} {'.'.join([chapter, *map(str, counts)])}. {heading[2]}"
        result.append(line)
    return "\n".join(result)


def title(text: str) -> str:
    """The title of a page: its first heading of level one."""
    found = TITLE.search(text)
    return found[1] if found else ""


def targets(
    notebooks: Mapping[str, NotebookNode], chapters: Mapping[str, str]
) -> dict[str, Target]:
    """What the labels of these pages stand for.

    Parameters
    ----------
    notebooks
        Notebooks by page, in the order of the book: a chapter's pages share its counters.
    chapters
        The number of the chapter of each page, or nothing.
    """
    counts: Counter[tuple[str, str]] = Counter()
    found: dict[str, Target] = {}
    for page, notebook in notebooks.items():
        chapter = chapters[page]
        for kind, label, name in _labelled(notebook):
            if kind == "section":
                found[label] = Target(page, name)
                continue
            counts[chapter, kind] += 1
            number = f"{chapter}.{counts[chapter, kind]}".removeprefix(".")
            found[label] = Target(page, name.format(number), number)
    return found


def _labelled(notebook: NotebookNode) -> Iterator[tuple[str, str, str]]:
    """Each labelled thing of a page: its kind, its label, and its name around a number."""
    for directive in directives(notebook):
        if directive.name.startswith("prf:") and directive.name not in UNNUMBERED:
            name = directive.name.removeprefix("prf:").capitalize()
            yield "box", directive.options.get("label", ""), f"{name} {{}}"
    for cell in notebook.cells:
        if name := cell.metadata.get("mystnb", {}).get("figure", {}).get("name"):
            yield "figure", name, "Figure {}"
        if cell.cell_type == "markdown":
            for equation in EQUATION.finditer(cell.source):
                if equation["label"]:
                    yield "equation", equation["label"], "({})"
            for section in SECTION.finditer(cell.source):
                yield "section", section[1], section[2] or ""
