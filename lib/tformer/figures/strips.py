"""The row of "it" as a strip: what a chapter finds, what it leaves, and its frame of the film.

A strip is a line of squares for each reading of the row, a square for each word. At the head of a
chapter the lines that it will earn hold question marks. The film of the landing page has one frame
a chapter: four numbers, under both endings of the sentence.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from tformer.figures.style import INK, QUIET, WEIGHT, WIDE
from tformer.figures.tables import blank, squares

__all__ = ["Frame", "Line", "Pair", "strip"]

Pair = tuple[tuple[str, float], tuple[str, float]]
"""Two names, each with its number."""


@dataclass(frozen=True, eq=False)
class Line:
    """A line of a strip.

    Parameters
    ----------
    name : what stands to the left of it.
    values : (T,) array
        A number for each word; nothing is written where it would be written as 0.
    asked : bool
        Whether the chapter earns it, so that its head does not show it yet.
    color : of the squares; weights are amber.
    most : the number that is drawn in full colour.
    digits : how many are written after the point.
    """

    name: str
    values: np.ndarray
    asked: bool = False
    color: str = WEIGHT
    most: float = 1.0
    digits: int = 2


@dataclass(frozen=True)
class Frame:
    """What a chapter has made of the sentence, in four numbers.

    Parameters
    ----------
    model : whose numbers they are.
    seen : what they are, such as "weight of “it”".
    ends : two pairs of a short name of the ending, and two named numbers.
    most : the number that is drawn in full colour.
    digits : how many are written after the point.
    weights : bool
        Whether they are weights of attention, which are amber.
    """

    model: str
    seen: str
    ends: tuple[tuple[str, Pair], tuple[str, Pair]]
    most: float = 1.0
    digits: int = 2
    weights: bool = True

    def written(self, value: float) -> str:
        """A number as the film shows it."""
        return _short(value, self.digits) or "0"


def strip(
    words: Sequence[str], lines: Sequence[Line], told: bool = True, asks: int | None = None
) -> Figure:
    """Draw a strip across the page.

    Parameters
    ----------
    words : T names of the squares.
    lines : from top to bottom; what was there before comes first.
    told : whether the lines that are asked for are shown.
    asks : the place of the word that asks, whose name is bold; the first "it" if left out.
    """
    figure, ax = blank(WIDE, 0.55 * len(lines) + 0.5)
    ax.set_aspect("auto")
    asks = [*words].index("it") if asks is None else asks
    for t, word in enumerate(words):
        bold = "bold" if t == asks else "normal"
        ax.text(t + 0.5, -0.1, word, ha="center", va="bottom", fontsize=11, fontweight=bold)
    for y, line in enumerate(lines):
        ax.text(-0.1, y + 0.5, line.name, ha="right", va="center", fontsize=11)
        if told or not line.asked:
            _numbers(ax, line, y)
        else:
            _question_marks(ax, len(words), y)
    ax.set(xlim=(-2.3, len(words)), ylim=(len(lines), -0.6))
    return figure


def _numbers(ax: Axes, line: Line, y: int) -> None:
    squares(ax, line.values[None], (0, y), line.color, most=line.most)
    look: Any = {"ha": "center", "va": "center", "fontsize": 11}
    for t, value in enumerate(line.values):
        ink = "#FFFFFF" if line.color == QUIET and value / line.most > 0.8 else INK
        ax.text(t + 0.5, y + 0.5, _short(value, line.digits), color=ink, **look)


def _question_marks(ax: Axes, n: int, y: int) -> None:
    for t in range(n):
        ax.add_patch(Rectangle((t + 0.05, y + 0.05), 0.9, 0.9, fc="none", ec=QUIET))
        ax.text(t + 0.5, y + 0.5, "?", ha="center", va="center", fontsize=11, color=INK)


def _short(value: float, digits: int) -> str:
    """A number with this many digits after the point; "" if all of them are 0."""
    text = f"{abs(value):.{digits}f}"
    if not text.strip("0."):
        return ""
    sign = "−" if value < 0 else ""
    return sign + (text.removeprefix("0") if "." in text else text)
