"""The row of "it" in chapter 22: with a learned sink, its weights sum to less than 1."""

from tformer_book.chapters.ch22 import figures
from tformer_book.figures.strips import Frame, Pair
from tformer_book.world.sentence import ENDS, IT


def frame() -> Frame:
    """What "it" and the sink get, under both endings."""
    tired, wide = ((f"too {end}", _pair(end)) for end in ENDS)
    return Frame("count vectors, with a sink", "weights of “it”", (tired, wide))


def _pair(end: str) -> Pair:
    weights = figures.readings(end)["with a sink"]
    return ("it", float(weights[IT])), ("sink", float(1 - weights.sum()))
