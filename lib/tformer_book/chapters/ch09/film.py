"""What "it" is in chapter 9: the kind that is said and there."""

from tformer_book.chapters.ch09 import rows
from tformer_book.figures.strips import Frame, Pair
from tformer_book.world.lexicon import KINDS
from tformer_book.world.sentence import IT


def frame() -> Frame:
    """Of two kinds, the one that the ending says."""
    return Frame(
        "lexicon, two heads, feed-forward",
        "what “it” is",
        (("too tired", _kinds(rows.TIRED)), ("too wide", _kinds(rows.WIDE))),
        weights=False,
    )


def _kinds(sentence: str) -> Pair:
    x = rows.heard(sentence)[IT][rows.features("is")] + rows.kinds(sentence)
    animate, place = (float(x[KINDS.index(kind)]) for kind in ("animate", "place"))
    return ("animate", animate), ("place", place)
