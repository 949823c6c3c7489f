"""A path for a first reading: which sections of a page may wait, and how long it takes.

The directive `{first-reading}` in the first cell of a page names the sections that may wait, a
title a line. Minutes are an estimate: of words at the speed of a text that is worked through, of
statements and formulas, and of what is looked at, touched and answered. Folded proofs
are left to a second reading.
"""

import math
import re
from dataclasses import dataclass

from nbformat import NotebookNode

from tformer_book.pipeline.notebook.myst import CLAIM_TYPES, HEADING, lines, words

WORDS_A_MINUTE = 120
STATEMENT, FORMULA, PICTURE, TOUCHED, QUESTION = 2.0, 0.5, 1.0, 3.0, 1.0
"""Minutes, beside its words, for a boxed claim, a formula that is set apart, a picture, a figure to
touch, and a question that is answered before one reads on."""
DIRECTIVE = re.compile(
    r"^(?P<fence>:{3,})\{first-reading\}[ \t]*\n(?P<body>.*?)^(?P=fence)[ \t]*\n?",
    re.DOTALL | re.MULTILINE,
)
FOLDED = re.compile(
    r"^(?P<fence>:{3,}|`{3,})\{prf:proof\}[^\n]*\n(?:[ \t]*:[\w-]+:[^\n]*\n)*?"
    r"[ \t]*:class:[^\n]*\bdropdown\b.*?^(?P=fence)[ \t]*$",
    re.DOTALL | re.MULTILINE,
)
CLAIM = re.compile(rf"^(?::{{3,}}|`{{3,}})\{{prf:(?:{'|'.join(CLAIM_TYPES)})\}}", re.MULTILINE)
CLOSING = "Exercises and further reading"


@dataclass(frozen=True)
class Part:
    """A section of a page: its title, how many minutes it takes, and whether it may wait."""

    title: str
    minutes: float
    waits: bool = False


def waiting(nb: NotebookNode) -> list[str] | None:
    """The titles that the page lets wait; None if it has no path."""
    found = DIRECTIVE.search(nb.cells[0].source)
    return None if found is None else [x.strip() for x in found["body"].splitlines() if x.strip()]


def parts(nb: NotebookNode) -> list[Part]:
    """The sections in order, the opening first, which has no title."""
    wait = waiting(nb) or []
    found: list[tuple[str, float]] = [("", 0.0)]
    for cell in nb.cells:
        if cell.cell_type == "code":
            title, minutes = found[-1]
            found[-1] = title, minutes + _seen(cell)
            continue
        for heading, text in _split(FOLDED.sub("", cell.source)):
            if heading is not None:
                found.append((heading, 0.0))
            found[-1] = found[-1][0], found[-1][1] + _read(text)
    return [Part(title, minutes, title in wait) for title, minutes in found]


def _split(source: str) -> list[tuple[str | None, str]]:
    """The text of a cell by the headings of level two in it; what comes first has no title."""
    titles = [str(line) for kind, line in lines(source) if kind == "heading"]
    chunks: list[tuple[str | None, str]] = []
    title: str | None = None
    text = ""
    for line in source.splitlines(keepends=True):
        heading = HEADING.match(line.rstrip("\n"))
        if heading and heading[1] == "##" and line.rstrip("\n") in titles:
            chunks.append((title, text))
            title, text = heading[2].strip(), ""
        else:
            text += line
    return [*chunks, (title, text)]


def _read(text: str) -> float:
    """Minutes for some text."""
    boxes, formulas = len(CLAIM.findall(text)), text.count("$$") / 2
    return words(text) / WORDS_A_MINUTE + STATEMENT * boxes + FORMULA * formulas


def _seen(cell: NotebookNode) -> float:
    """Minutes for what a code cell shows, and for its caption."""
    shown = [kind for out in cell.get("outputs", []) for kind in out.get("data", {})]
    caption = cell.metadata.get("mystnb", {}).get("figure", {}).get("caption", "")
    minutes = words(caption) / WORDS_A_MINUTE
    if any(kind.startswith("application/vnd.jupyter.widget-view") for kind in shown):
        return minutes + (QUESTION if "Quiz" in cell.source else TOUCHED)
    return minutes + (PICTURE if any(kind.startswith("image/") for kind in shown) else 0)


def rounded(minutes: float) -> int:
    """Minutes as one says them: in fives, and at least five."""
    return max(5, 5 * math.ceil(minutes / 5 - 0.3))


def path(nb: NotebookNode) -> tuple[int, int, list[Part]]:
    """Minutes of a first reading, minutes of what may wait, and the sections between."""
    found = parts(nb)
    core = sum(part.minutes for part in found if not part.waits)
    rest = sum(part.minutes for part in found if part.waits)
    return rounded(core), rounded(rest) if rest else 0, found[1:]


def in_words(nb: NotebookNode) -> str:
    """The path as a paragraph of Markdown, for where there are no links."""
    core, rest, found = path(nb)
    late = [f"*{part.title}*" for part in found if part.waits]
    text = f"**A first reading takes about {core} minutes.**"
    if late:
        text += f" What may wait, {rest} minutes more: {', '.join(late)}."
    return text
