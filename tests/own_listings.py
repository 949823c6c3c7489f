"""Cells of pages, and which of them show lines of the book's own `my_transformer.py`."""

import ast
from pathlib import Path

from tformer_book.own.parts import definitions, of_the_book
from tformer_book.pipeline.notebook.normalise import code_cells, load

CHAPTERS = Path(__file__).resolve().parents[1] / "chapters"


def cells(page: str) -> list[str]:
    """The code of a page, a text for each cell."""
    return [cell.source for cell in code_cells(load(CHAPTERS / f"{page}.ipynb"))]


def listed(page: str) -> list[str]:
    """The parts of the file that a page defines, in its order.

    Each has the code of the file; only comments and line breaks may differ, as a page is narrower.
    """
    found = []
    for source in cells(page):
        for name, (node, _) in definitions(source).items():
            if name in of_the_book():
                assert ast.dump(node) == ast.dump(of_the_book()[name].node), f"{page}: {name}"
                found.append(name)
    return found
