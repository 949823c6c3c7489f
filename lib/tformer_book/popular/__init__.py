"""Five explanations of transformers in circulation, run line by line (appendix A).

`documents/` has a file a document, which lists its lines and names the function that tries each.
`lines` says what a line is and how it is judged. The functions stand in a module a document, or in
`tried`, `tried_models` and `tried_costs` if several documents say the same. `page` writes the
tables of the page.

The documents are not in this repository: of each, `printed.json` keeps the numbers that it prints,
and how often, so that a test can say whether one was left out. It was made once from their texts:
decimals with how often they stand there, and integers of two digits or more, without the numbers
that listings have at the head of their lines. Programs are written afresh.
"""

from tformer_book.popular.lines import Document, read

__all__ = ["NAMES", "documents"]

NAMES = ("seminar", "notes", "theory", "collection", "post")


def documents() -> list[Document]:
    """Return the five, in the order of the page."""
    return [read(name) for name in NAMES]
