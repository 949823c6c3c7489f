"""Five explanations of transformers in circulation, run line by line (appendix A).

A module a document lists its lines; `lines` says what a line is and how it is judged, `tried` and
`tried_models` try what several documents say, `page` writes the tables of the page. The documents
are not in this repository: of each, `printed.json` keeps the numbers that it prints, and how often,
so that a test can say whether one was left out. It was made once from their texts: decimals with
how often they stand there, and integers of two digits or more, without the numbers that listings
have at the head of their lines. Programs are written afresh.
"""

from importlib import import_module

from tformer_book.popular.lines import Document

__all__ = ["documents"]

MODULES = ("seminar", "notes", "theory", "collection", "post")


def documents() -> list[Document]:
    """Return the five, in the order of the page."""
    return [import_module(f"{__name__}.{name}").DOCUMENT for name in MODULES]
