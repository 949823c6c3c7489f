"""The row of "it" in chapter 3: it turns."""

import numpy as np

from tformer import reference
from tformer_book.figures import strips
from tformer_book.figures.strips import Frame, Line
from tformer_book.figures.style import Fitting
from tformer_book.world import lexicon
from tformer_book.world.sentence import ENDS, IT, LABELS, counted, on_nouns, told


def turned(end: str) -> np.ndarray:
    """The weights of "it" in the second layer of the lexicon, (12,)."""
    return lexicon.read(told(end)).weights[1, IT]


def strip(told: bool = True) -> Fitting:
    """The weights of chapter 2 under both endings, and those of two layers made by hand."""
    before = [Line(f"before, {end}", reference.softmax(counted(end))) for end in ENDS]
    after = [Line(f"layer 2, {end}", turned(end), True) for end in ENDS]
    return strips.strip(LABELS, before + after, told)


def frame() -> Frame:
    """The ending decides."""
    tired, wide = ((f"too {end}", on_nouns(turned(end))) for end in ENDS)
    return Frame("lexicon, two layers", "weights of “it”", (tired, wide))
