"""The tables of the page: every line with its verdict, and how many lines have which."""

from __future__ import annotations

import re
import textwrap
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

from IPython.display import Markdown

from tformer_book.popular import documents
from tformer_book.popular.lines import VERDICTS, Document, Line

__all__ = ["counts", "document", "summary", "table"]

CHAPTERS = Path(__file__).resolve().parents[3] / "chapters"
WIDTH = 74
LISTLIKE = re.compile(r" (?=(?:[-+*>#]|\d+[.)])(?:\s|$))")
"""A space before what would begin a list, a quotation or a heading on a new line."""
ROLES = {"eq": "equation {eq}", "sec": "{ref}"}


def document(title: str) -> Document:
    """Return a document by its title.

    Raises
    ------
    LookupError
        If none has this title.
    """
    for found in documents():
        if found.title == title:
            return found
    raise LookupError(f"document: none is called {title!r}")


def table(title: str) -> Markdown:
    """Return all lines of a document, as one table a section."""
    parts = []
    for heading, lines in document(title).sections.items():
        rows = "\n".join(_row(line) for line in lines)
        head = ":header-rows: 1\n:class: book-lines\n:widths: 38 12 50\n\n"
        names = "* - Printed, and what it says\n  - Verdict\n  - What comes out, and where\n"
        parts.append(f"**{heading}**\n\n:::{{list-table}}\n{head}{names}{rows}\n:::")
    return Markdown("\n\n".join(parts))


def counts() -> dict[str, Counter[str]]:
    """Return how many lines of each document have each verdict, and under "numbers" those of all
    numbers compared."""
    found = {d.title: Counter(line.verdict for line in d.lines) for d in documents()}
    numbers = (number.verdict for d in documents() for line in d.lines for number in line.numbers)
    return found | {"numbers": Counter(numbers)}


def summary() -> Markdown:
    """Return the table of verdicts by document."""
    found = counts()
    numbers = found.pop("numbers")
    total = sum(found.values(), Counter[str]())
    rows = [
        ("", *(f"[{verdict}]{{.book-{verdict}}}" for verdict in VERDICTS), "all"),
        *(_counted(f"*{title.partition(':')[0]}*", one) for title, one in found.items()),
        _counted("all lines", total),
        _counted("all numbers that were compared", numbers),
    ]
    cells = "\n".join("\n".join(_marked(row)) for row in rows)
    return Markdown(f":::{{list-table}}\n:header-rows: 1\n:class: book-verdicts\n\n{cells}\n:::")


def _marked(row: Iterable[str]) -> Iterator[str]:
    for number, cell in enumerate(row):
        yield f"{'  - ' if number else '* - '}{cell}".rstrip()


def _counted(name: str, found: Counter[str]) -> tuple[str, ...]:
    judged = [found[verdict] for verdict in VERDICTS]
    return (name, *map(str, judged), str(sum(judged)))


def _row(line: Line) -> str:
    verdict = line.verdict
    cells = (
        f"`{line.found}` {line.says}",
        f"[{verdict}]{{.book-{verdict}}}",
        " ".join(_right(line)),
    )
    marks = ("* - ", "  - ", "  - ")
    return "\n".join(_wrapped(mark, cell) for mark, cell in zip(marks, cells, strict=True))


def _right(line: Line) -> Iterator[str]:
    """What comes out, why, and where the book shows it."""
    if line.numbers and line.verdict != "agrees":
        yield ", ".join(f"{n}" if n.verdict == "agrees" else f"**{n}**" for n in line.numbers) + "."
    if line.tried:
        yield from _cases(line)
    if line.why:
        yield line.why
    if line.see:
        yield "→ " + ", ".join(_places(line.see.split())) + "."


def _cases(line: Line) -> Iterator[str]:
    held = [name for name, held in line.tried.items() if held]
    failed = [name for name, held in line.tried.items() if not held]
    if held:
        yield f"*Holds:* {'; '.join(held)}."
    if failed:
        yield f"*Fails:* {'; '.join(failed)}."


def _places(labels: Iterable[str]) -> Iterator[str]:
    for label in labels:
        role = ROLES.get(label.partition("-")[0], "{prf:ref}")
        yield _chapter(label) if label.isdigit() else f"{role}`{label}`"


def _chapter(number: str) -> str:
    """A link to a chapter's main page."""
    pages = (page.stem for page in CHAPTERS.glob(f"{number:0>2}_*.ipynb"))
    page = min(pages, key=len)  # the deeper page has the longer name
    return f"{{doc}}`chapter {number} <{page}>`"


def _wrapped(mark: str, text: str) -> str:
    glued = LISTLIKE.sub("\u00a0", text)
    lines = textwrap.wrap(
        glued,
        WIDTH,
        initial_indent=mark,
        subsequent_indent="    ",
        break_long_words=False,
        break_on_hyphens=False,
    )
    return "\n".join(lines) if text else mark.rstrip()
