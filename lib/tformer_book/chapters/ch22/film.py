"""The row of "it" in chapter 22: its weights where all its scores are equal."""

import numpy as np

from tformer import reference
from tformer_book.figures.strips import Frame
from tformer_book.world.sentence import ENDS, on_nouns, told


def frame() -> Frame:
    """Every token has the same weight, under both endings."""
    weights = [reference.softmax(np.zeros(len(told(end).split()))) for end in ENDS]
    tired, wide = ((f"too {end}", on_nouns(x)) for end, x in zip(ENDS, weights, strict=True))
    return Frame("equal scores", "weights of “it”", (tired, wide))
