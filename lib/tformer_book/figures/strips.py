"""The row of "it" as a strip: what a chapter finds, what it leaves, and its frame of the film.

A strip is a line of squares for each reading of the row, a square for each word. At the head of a
chapter each line that it will earn is an empty row with a question mark. The film of the landing
page has one frame a chapter: four numbers, under both endings of the sentence.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from tformer_book.figures.style import COLUMN, INK, PHONE, QUIET, WEIGHT, Fitting
from tformer_book.figures.tables import blank, squares

__all__ = ["Frame", "Line", "Pair", "strip"]

Pair = tuple[tuple[str, float], tuple[str, float]]
"""Two names, each with its number."""
SIZE = 8.6
"""Points of the letters: a phone shows 11 pixels."""


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
) -> Fitting:
    """Draw a strip across the text, and for a phone in two halves, one below the other.

    Parameters
    ----------
    words : T names of the squares.
    lines : from top to bottom; what was there before comes first.
    told : whether the lines that are asked for are shown.
    asks : the place of the word that asks, whose name is bold; the first "it" if left out.
    """
    asks = [*words].index("it") if asks is None else asks
    folded = [replace(line, name=_folded(line.name)) for line in lines]
    narrow = _Shape(PHONE, 1.65, -(-len(words) // 2))
    return Fitting(
        _drawn(_Shape(COLUMN, 2.5, len(words)), words, lines, told, asks),
        _drawn(narrow, words, folded, told, asks),
    )


def _folded(name: str) -> str:
    """A name in two lines: parted at its comma, or at its last space if it is long."""
    head, comma, last = name.partition(", ")
    if not comma and len(name) > 11:
        head, comma, last = name.rpartition(" ")
    return f"{head}\n{last}" if comma else name


class _Shape(NamedTuple):
    """How wide a strip is, in inches, the room for its names, and how many squares are in a row."""

    width: float
    left: float
    across: int


def _drawn(
    shape: _Shape, words: Sequence[str], lines: Sequence[Line], told: bool, asks: int
) -> Figure:
    names = [word.replace(" / ", " /\n") for word in words]
    above = 1.0 if "\n" in "".join(names) else 0.65
    rows = -(-len(words) // shape.across)
    height = rows * (len(lines) + above + 0.2) - 0.2
    figure, ax = blank(shape.width, 0.36 * height)
    figure.set_layout_engine("constrained", w_pad=0.01, h_pad=0.01)
    for t, word in enumerate(names):
        bold = "bold" if t == asks else "normal"
        row, x = divmod(t, shape.across)
        top = row * (len(lines) + above + 0.2)
        name: Any = {"va": "baseline", "linespacing": 1, "fontweight": bold}
        ax.text(x + 0.5, top - 0.2, word, ha="center", fontsize=SIZE, **name)
        for i, line in enumerate(lines):
            y = top + i
            if x == 0:
                place: Any = {"va": "center", "linespacing": 1}
                ax.text(-shape.left, y + 0.5, line.name, fontsize=SIZE, **place)
            if told or not line.asked:
                _square(ax, line, t, (x, y))
            elif x == 0:
                _asked(ax, y, min(shape.across, len(words) - t))
    ax.set(aspect="auto", xlim=(-shape.left, shape.across), ylim=(height - above, -above))
    return figure


def _square(ax: Axes, line: Line, t: int, place: tuple[float, float]) -> None:
    """One word's square with its number."""
    value, (x, y) = float(line.values[t]), place
    squares(ax, line.values[None, [t]], place, line.color, most=line.most)
    color = "#FFFFFF" if line.color == QUIET and value / line.most > 0.8 else INK
    text = _short(value, line.digits)
    ax.text(x + 0.5, y + 0.5, text, color=color, ha="center", va="center", fontsize=SIZE)


def _asked(ax: Axes, y: float, across: int) -> None:
    """An empty row of this many squares, with one question mark."""
    ax.add_patch(Rectangle((0.05, y + 0.05), across - 0.1, 0.9, fc="none", ec=QUIET))
    ax.text(across / 2, y + 0.5, "?", color=INK, ha="center", va="center", fontsize=SIZE)


def _short(value: float, digits: int) -> str:
    """A number with this many digits after the point; "" if all of them are 0."""
    text = f"{abs(value):.{digits}f}"
    if not text.strip("0."):
        return ""
    sign = "−" if value < 0 else ""
    return sign + (text.removeprefix("0") if "." in text else text)
