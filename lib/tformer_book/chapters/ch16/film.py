"""The row of "it" in chapter 16: in blocks, and the same."""

from tformer import reference
from tformer_book.chapters.ch16 import row
from tformer_book.figures.strips import Frame, Pair
from tformer_book.world.sentence import ENDS, IT


def frame() -> Frame:
    """What three blocks give is the row of the whole table."""
    tired, wide = ((f"too {end}", _pair(end)) for end in ENDS)
    return Frame("count vectors, in three blocks", "weights of “it”", (tired, wide))


def _pair(end: str) -> Pair:
    weights = reference.softmax(row.scores(end))
    return ("it", float(weights[IT])), ("the rest", float(1 - weights[IT]))
