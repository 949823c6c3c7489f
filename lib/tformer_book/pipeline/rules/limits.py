"""How much a chapter may hold; of its main page, what a reader takes in at one sitting.

What goes beyond stands on the chapter's deeper page, checked and proved alike.

Words of prose are those of sentences that the built page shows: paragraphs, lists and tables,
statements, proofs (folded ones too), captions, and what a reference is written out as. No prose
are titles, listings and what cells print, and what is there to be touched: widgets and questions.
"""

import re
from collections.abc import Iterator
from itertools import accumulate
from typing import NamedTuple

from nbformat import NotebookNode

from tformer_book.pipeline.notebook.myst import HEADING, claim_labels, lines, words
from tformer_book.pipeline.notebook.numbering import SUFFIX
from tformer_book.pipeline.notebook.reading import path, waiting

IDEAS = 6
OPENING, OPENING_PICTURES = "00_whole_machine", 10
"""The page that opens the book, and how many pictures it has."""
PICTURE_WORDS = 400
"""About two screens of text may stand before the first picture."""
TOUCH_SHARE = 1 / 3
FIRST_READING = 65
"""Minutes that a first reading of a main page takes at most."""
STRIP = re.compile(r"\b(?:figures|film)\.strip\(")
"""What draws the row of "it", as the chapter finds it and as it leaves it."""
CLOSING = {"How it goes wrong", "One screen", "Exercises and further reading"}
"""Sections that every chapter has; the others are its ideas."""


class Limits(NamedTuple):
    """What a chapter may hold: words and boxed claims on its main page, exercises, exam questions.

    It has as many exam questions as this says, and 8 exercises or more; the page before chapter 1
    has 6.
    """

    words: int
    boxes: int
    exercises: int
    questions: int


def limits(chapter: int) -> Limits:
    """The limits of a chapter; decision 023 says why the later ones are shorter.

    The page before chapter 1 is a page of half an hour.
    """
    if chapter == 0:
        return Limits(2200, 3, 6, 4)
    return Limits(3500, 10, 12, 6) if chapter < 8 else Limits(3000, 8, 8, 4)


def main_page(name: str) -> int:
    """The chapter whose main page a notebook is, by its name; 0 if it is no main page."""
    numbered = re.match(r"\d\d(?=_)", name)
    return int(numbered[0]) if numbered and not name.endswith(SUFFIX) else 0


def excesses(nb: NotebookNode, chapter: int) -> Iterator[str]:
    """What the main page of a chapter has too much of, or too late, a sentence each."""
    *read, total = accumulate((_words(cell) for cell in nb.cells), initial=0)  # before each cell
    counts = (
        ("words of prose", total, limits(chapter).words),
        ("ideas (sections)", len([x for x in _sections(nb) if x not in CLOSING]), IDEAS),
        ("boxed claims", len(claim_labels(nb)), limits(chapter).boxes),
    )
    for what, count, most in counts:
        if count > most:
            yield f"{count} {what}; a main page has at most {most}"
    for missing in sorted(CLOSING - set(_sections(nb))):
        yield f"there is no section '{missing}'"
    yield from _path(nb)
    strips = [cell for cell in nb.cells if cell.cell_type == "code" and STRIP.search(cell.source)]
    if len(strips) != 2:
        yield "the row's strip is drawn twice, at the head and under 'One screen'"
    pictures = [n for n, cell in zip(read, nb.cells, strict=True) if _shows(cell, "image/", WIDGET)]
    touched = [n for n, cell in zip(read, nb.cells, strict=True) if _shows(cell, WIDGET)]
    if not pictures or pictures[0] > PICTURE_WORDS:
        yield f"the first picture comes after {PICTURE_WORDS} words"
    if not touched or touched[0] > TOUCH_SHARE * total:
        yield "the first figure to touch comes after the first third"


def _path(nb: NotebookNode) -> Iterator[str]:
    """What is wrong with the path of a first reading."""
    wait = waiting(nb)
    if wait is None:
        yield "the first cell has no {first-reading}"
    for title in sorted({*(wait or ())} - {*_sections(nb)} | {*(wait or ())} & CLOSING):
        yield f"'{title}' may wait, but is no section of an idea"
    if path(nb)[0] > FIRST_READING:
        yield f"a first reading takes {path(nb)[0]} minutes; at most {FIRST_READING}"


def opening_excesses(nb: NotebookNode) -> Iterator[str]:
    """What the page that opens the book has too much of, or too little, a sentence each."""
    total, most = sum(_words(cell) for cell in nb.cells), limits(0)
    if total > most.words:
        yield f"{total} words of prose; the first page has at most {most.words}"
    if len(claim_labels(nb)) > most.boxes:
        yield f"{len(claim_labels(nb))} boxed claims; the first page has at most {most.boxes}"
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
