"""How much a chapter's main page may hold: what a reader takes in at one sitting.

The page that opens the book has limits of its own: half an hour, and ten pictures.

What goes beyond stands on the chapter's deeper page, checked and proved alike.

Words of prose are those of sentences that the built page shows: paragraphs, lists and tables,
statements, proofs (folded ones too), captions, and what a reference is written out as. No prose
are titles, listings and what cells print, and what is there to be touched: widgets and questions.
"""

import re
from collections.abc import Iterator
from itertools import accumulate

from nbformat import NotebookNode

from tformer.book.deeper import SUFFIX
from tformer.book.myst import HEADING, claim_labels, lines, words

WORDS, IDEAS, BOXES = 3500, 6, 10
OPENING, OPENING_WORDS, OPENING_PICTURES = "00_whole_machine", 2200, 10
PICTURE_WORDS = 400
"""About two screens of text may stand before the first picture."""
TOUCH_SHARE = 1 / 3
CLOSING = {"How it goes wrong", "One screen", "Exercises and further reading"}
"""Sections that every chapter has; the others are its ideas."""


def is_main_page(name: str) -> bool:
    """Whether a notebook is the main page of a chapter: numbered, and not its deeper page."""
    return bool(re.match(r"(?!00)\d\d_", name)) and not name.endswith(SUFFIX)


def excesses(nb: NotebookNode) -> Iterator[str]:
    """What a main page has too much of, or too late, a sentence each."""
    *read, total = accumulate((_words(cell) for cell in nb.cells), initial=0)  # before each cell
    counts = (
        ("words of prose", total, WORDS),
        ("ideas (sections)", len([x for x in _sections(nb) if x not in CLOSING]), IDEAS),
        ("boxed claims", len(claim_labels(nb)), BOXES),
    )
    for what, count, most in counts:
        if count > most:
            yield f"{count} {what}; a main page has at most {most}"
    for missing in sorted(CLOSING - set(_sections(nb))):
        yield f"there is no section '{missing}'"
    pictures = [n for n, cell in zip(read, nb.cells, strict=True) if _shows(cell, "image/", WIDGET)]
    touched = [n for n, cell in zip(read, nb.cells, strict=True) if _shows(cell, WIDGET)]
    if not pictures or pictures[0] > PICTURE_WORDS:
        yield f"the first picture comes after {PICTURE_WORDS} words"
    if not touched or touched[0] > TOUCH_SHARE * total:
        yield "the first figure to touch comes after the first third"


def opening_excesses(nb: NotebookNode) -> Iterator[str]:
    """What the page that opens the book has too much of, or too little."""
    total = sum(_words(cell) for cell in nb.cells)
    if total > OPENING_WORDS:
        yield f"{total} words of prose; the first page has at most {OPENING_WORDS}"
    pictures = sum(_shows(cell, "image/") for cell in nb.cells)
    if pictures != OPENING_PICTURES:
        yield f"{pictures} pictures; the first page has {OPENING_PICTURES}"
    code = [cell for cell in nb.cells if cell.cell_type == "code"]
    if not any(_shows(cell, WIDGET) for cell in code[:2]):
        yield "the first page opens with a figure to touch"


WIDGET = "application/vnd.jupyter.widget-view+json"


def _words(cell: NotebookNode) -> int:
    """The words of a markdown cell, or of the caption below the figure of a code cell."""
    figure = cell.metadata.get("mystnb", {}).get("figure", {})
    return words(cell.source if cell.cell_type == "markdown" else figure.get("caption", ""))


def _sections(nb: NotebookNode) -> list[str]:
    return [
        heading[2].strip()
        for cell in nb.cells
        if cell.cell_type == "markdown"
        for kind, line in lines(cell.source)
        if kind == "heading" and (heading := HEADING.match(str(line))) and heading[1] == "##"
    ]


def _shows(cell: NotebookNode, *kinds: str) -> bool:
    shown = [kind for out in cell.get("outputs", []) for kind in out.get("data", {})]
    return "Quiz" not in cell.source and any(kind.startswith(kinds) for kind in shown)
