"""Whom the loss blames in chapter 12."""

from tformer_book.chapters.ch12.row import TIRED, WIDE, row
from tformer_book.figures.strips import Frame
from tformer_book.world.sentence import on_nouns


def frame() -> Frame:
    """The gradient of the loss with respect to the scores of "it" in the second layer."""
    tired, wide = (
        (f"too {text.split()[-1]}", on_nouns(found.dscores[1, found.it]))
        for text in (TIRED, WIDE)
        for found in [row(text)]
    )
    seen = "gradient of the scores"
    return Frame("lexicon, two layers", seen, (tired, wide), 0.25, weights=False)
