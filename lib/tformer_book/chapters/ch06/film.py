"""The row of "it" in chapter 6: one head keeps its preference, the mean of six turns."""

import numpy as np

from tformer_book.figures import strips
from tformer_book.figures.strips import Frame, Line
from tformer_book.figures.style import Fitting
from tformer_book.world.circuits import answer, veto
from tformer_book.world.sentence import ENDS, LABELS, on_nouns, told


def turned(end: str) -> np.ndarray:
    """The mean weights of "it" over the six heads that veto, (12,)."""
    return np.asarray(veto(told(end)).mean(axis=0))


def strip(told: bool = True) -> Fitting:
    """The head of chapter 3 that answers without turning; if `told`, the mean of six that turns."""
    lines = [Line(f"one head, {end}", _alone(end)) for end in ENDS]
    if told:
        lines += [Line(f"mean of six, {end}", turned(end)) for end in ENDS]
    return strips.strip(LABELS, lines)


def _alone(end: str) -> np.ndarray:
    return answer(told(end))[0]


def frame() -> Frame:
    """The ending decides, in one layer."""
    tired, wide = ((f"too {end}", on_nouns(turned(end))) for end in ENDS)
    return Frame("lexicon, mean of six heads", "weights of “it”", (tired, wide))
