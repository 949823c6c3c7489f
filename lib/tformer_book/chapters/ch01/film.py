"""The row of "it" in chapter 1: scores where there was nothing."""

import numpy as np

from tformer_book.figures import strips
from tformer_book.figures.strips import Frame, Line
from tformer_book.figures.style import QUIET, Fitting
from tformer_book.world.sentence import ENDS, LABELS, counted, on_nouns

MOST = 42.0
"""The score that is drawn in full colour."""


def strip(told: bool = True) -> Fitting:
    """Nothing, and then the scores under both endings."""
    lines = [Line("before", np.zeros(12))]
    for end in ENDS:
        lines.append(Line(f"scores, {end}", counted(end), True, QUIET, MOST, 1))
    return strips.strip(LABELS, lines, told)


def frame() -> Frame:
    """Both nouns have nearly one score, whatever the sentence ends with."""
    tired, wide = ((f"too {end}", on_nouns(counted(end))) for end in ENDS)
    return Frame("count vectors", "scores of “it”", (tired, wide), MOST, 1, weights=False)
