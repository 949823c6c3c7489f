"""The sentence of the book, with its two endings, and the places of its words."""

import numpy as np

from tformer import reference
from tformer_book.world import corpus

__all__ = ["ENDS", "IT", "LABELS", "NOUNS", "counted", "on_nouns", "told"]

BEGINNING = "the animal did not cross the street because it was too"
ENDS = ("tired", "wide")
NOUNS, IT = (1, 6), 8
"""Where *animal* and *street* stand, and where "it" does."""
LABELS = (*BEGINNING.split(), " / ".join(ENDS))
"""Names of the twelve places, for pictures that show both endings."""


def told(end: str = ENDS[0]) -> str:
    """The sentence with this last word."""
    return f"{BEGINNING} {end}"


def counted(end: str = ENDS[0]) -> np.ndarray:
    """The scores of "it" against the twelve words, by the count vectors of chapter 1, (12,)."""
    x = corpus.vectors(told(end).split(), 16)
    return reference.dot(x[IT], x)


def on_nouns(row: np.ndarray) -> tuple[tuple[str, float], tuple[str, float]]:
    """What a row of twelve numbers gives to *animal* and to *street*, with their names."""
    animal, street = (float(row[place]) for place in NOUNS)
    return ("animal", animal), ("street", street)
