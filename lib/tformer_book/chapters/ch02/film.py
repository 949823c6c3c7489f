"""The row of "it" in chapter 2: scores become weights."""

import numpy as np

from tformer import reference
from tformer_book.figures import strips
from tformer_book.figures.strips import Frame, Line, Pair
from tformer_book.figures.style import QUIET, Fitting
from tformer_book.world.sentence import ENDS, IT, LABELS, counted


def strip(told: bool = True) -> Fitting:
    """The scores of chapter 1 under both endings, and the weights that they give."""
    lines = [Line(f"scores, {end}", counted(end), False, QUIET, 42.0, 1) for end in ENDS]
    for end in ENDS:
        lines.append(Line(f"weights, {end}", reference.softmax(counted(end)), True))
    return strips.strip(LABELS, lines, told)


def frame() -> Frame:
    """“It” has all of it, whatever the ending."""
    tired, wide = ((f"too {end}", _own(reference.softmax(counted(end)))) for end in ENDS)
    return Frame("count vectors", "weights of “it”", (tired, wide))


def _own(weights: np.ndarray) -> Pair:
    own = float(weights[IT])
    return ("it", own), ("the rest", 1 - own)
