"""The row of chapter 18: what a small decoder answers of a wug and a dax that it has just met."""

from tformer_book.chapters.ch18 import figures
from tformer_book.figures.strips import Frame, Pair
from tformer_book.world.sentence import ENDS


def frame() -> Frame:
    """After *there was a hungry wug . there was a deep dax*, under both endings."""
    tired, wide = ((f"too {end}", _pair(end)) for end in ENDS)
    return Frame(
        "small decoder, both words introduced", "chance of the noun", (tired, wide), weights=False
    )


def _pair(end: str) -> Pair:
    wug, dax = figures.chances(figures.BOTH, end)
    return ("wug", wug), ("dax", dax)
