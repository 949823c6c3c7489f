"""What a machine can see of plain English, on the main pages of the plain edition.

A page has few cells that print: what only formats stored numbers is folded, by the tag `hide-cell`.
A paragraph has few numbers, a sentence few words, and each idea ends with what to do in practice.
"""

import re
from collections.abc import Iterator
from statistics import median

from nbformat import NotebookNode

from tformer_book.pipeline.notebook.myst import lines, plain
from tformer_book.pipeline.notebook.normalise import code_cells, tags
from tformer_book.pipeline.rules.limits import CLOSING

EDITED = {*range(1, 23)}
"""The chapters that have been rewritten so; the others follow."""
PRINTS, NUMBERS, MEDIAN_WORDS, MOST_WORDS = 3, 2, 17, 40
FOLDED = "hide-cell"
PRACTICE = "**In practice.**"
DIALECT = ("in the mean", "who reads this", "lost are", "the dice", "in the place of")
NUMBER = re.compile(r"(?<![\w.$\\{])[−-]?\d*\.\d+\b|(?<![\w.])\d{1,2}(?:\.\d+)?\s?%")
SENTENCE = re.compile(r"(?<=[.!?:])[”\"*)]*\s+(?=[“\"*(`$]*[A-Z0-9])")
SETTING = re.compile(r"\$[^$]*=[^$]*\$")
FORMULA = re.compile(r"\$[^$]*\$|`[^`]*`")
HEADING = re.compile(r"^## (.+)$", re.MULTILINE)


def faults(nb: NotebookNode) -> Iterator[str]:
    """What the page does against plain English, a sentence each."""
    prints = [x for x in code_cells(nb) if "print(" in x.source and FOLDED not in tags(x)]
    if len(prints) > PRINTS:
        yield f"{len(prints)} cells that print are seen; at most {PRINTS} are, fold the others"
    lengths = []
    for paragraph in paragraphs(nb):
        found = NUMBER.findall(SETTING.sub("", plain(paragraph)))
        if len(found) > NUMBERS:
            yield f"a paragraph has at most {NUMBERS} numbers; this has {', '.join(found)}"
        for phrase in DIALECT:
            if phrase in paragraph.lower():
                yield f"'{phrase}' is not plain English"
        for sentence in SENTENCE.split(FORMULA.sub("x", plain(paragraph))):
            lengths.append(len(sentence.split()))
            if lengths[-1] > MOST_WORDS:
                yield f"a sentence has at most {MOST_WORDS} words; this has more: {sentence[:60]}"
    if lengths and median(lengths) > MEDIAN_WORDS:
        yield f"half of the sentences have more than {MEDIAN_WORDS} words"
    for title, text in sections(nb):
        if title not in CLOSING and PRACTICE not in text:
            yield f"'{title}' does not end with what to do, after {PRACTICE}"


def paragraphs(nb: NotebookNode) -> Iterator[str]:
    """The paragraphs of text outside boxes: no statements, proofs, tables, formulas or listings."""
    for cell in nb.cells:
        if cell.cell_type != "markdown":
            continue
        text, inside = [], 0
        for line in cell.source.splitlines():
            if re.match(r"^\s*(:{3,}|`{3,})\{", line):
                inside += 1
            elif inside and re.match(r"^\s*(:{3,}|`{3,})\s*$", line):
                inside -= 1
            elif not inside:
                text.append(line)
        outside = re.sub(r"\$\$.*?\$\$[^\n]*", "", "\n".join(text), flags=re.DOTALL)
        prose = "\n".join(str(x) for kind, x in lines(outside) if kind == "prose")
        for paragraph in re.split(r"\n\s*\n", prose):
            if paragraph.strip() and not paragraph.lstrip().startswith("|"):
                yield " ".join(paragraph.split())


def sections(nb: NotebookNode) -> Iterator[tuple[str, str]]:
    """The sections of level two, each with its Markdown."""
    whole = "\n\n".join(cell.source for cell in nb.cells if cell.cell_type == "markdown")
    parts = HEADING.split(whole)
    yield from zip(parts[1::2], parts[2::2], strict=True)
