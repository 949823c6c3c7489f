"""The one style of every figure, and the one way to publish it."""

import ast
import hashlib
import inspect
import io
import re
import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from IPython.display import SVG, Markdown, display
from matplotlib import rcParams
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.font_manager import fontManager

# Okabe & Ito's palette: told apart by the colour-blind and in a grey print.
BLUE, VERMILLION, GREEN = "#0072B2", "#D55E00", "#009E73"
ORANGE, PURPLE, SKY = "#E69F00", "#CC79A7", "#56B4E9"
INK, QUIET = "#000000", "#767676"
QUERY, KEY, VALUE = BLUE, VERMILLION, GREEN
"""One colour each for what asks, what answers to it, and what is handed over."""
WEIGHT = "#B87400"
"""The colour of the weights of a softmax."""
WRONG = "#C0173F"
"""The colour of what is wrong, and of nothing else; a page lightens it in the dark."""

FONTS = Path(__file__).with_name("fonts")
TYPEFACE = "Book Serif"
"""The typeface of the text; vendor/refresh.py says how it was cut. Two others lend rare signs."""

PANEL_WIDTH = 3.3
"""Inches: two stand side by side in the text, one fills a phone."""
WIDE = 1000 / 72
"""Inches of a picture across the whole page."""
COLUMN, PHONE = 492 / 72, 268 / 72
"""Inches of a picture that fills the column of the text, and of one that fills a phone."""
PANEL_GAP = 12
"""Points between panels."""

STYLE: Any = {
    "axes.axisbelow": True,
    "axes.edgecolor": QUIET,
    "axes.grid": True,
    "axes.labelcolor": INK,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlelocation": "left",
    "axes.titlesize": 12,
    "font.family": [TYPEFACE, "STIXGeneral", "DejaVu Sans"],
    "font.size": 11,
    "grid.alpha": 0.25,
    "grid.color": QUIET,
    "legend.frameon": False,
    "lines.linewidth": 2.0,
    "mathtext.bf": f"{TYPEFACE}:bold",
    "mathtext.cal": f"{TYPEFACE}:italic",
    "mathtext.fallback": "stix",
    "mathtext.fontset": "custom",
    "mathtext.it": f"{TYPEFACE}:italic",
    "mathtext.rm": TYPEFACE,
    "svg.fonttype": "path",
    "svg.hashsalt": "the executable transformer",
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
}
for _font in sorted(FONTS.glob("*.otf")):
    fontManager.addfont(_font)
rcParams.update(STYLE)


@dataclass(frozen=True, eq=False)
class Fitting:
    """One figure in two shapes; a page shows the one for which it has room."""

    broad: Figure
    narrow: Figure


def panel(width: float = PANEL_WIDTH, height: float = 2.6) -> tuple[Figure, Axes]:
    """An empty panel, sizes in inches: a figure of its own with one set of axes."""
    figure = Figure(figsize=(width, height), layout="constrained")
    return figure, figure.subplots()


def label_ends(ax: Axes, gap: float = 12) -> None:
    """Write each line's label at its right end, in its colour, instead of a legend.

    Call it last, when the limits stand. Labels that would fall on each other move apart, up and
    down, until their middles are `gap` points apart; none goes below the axes.
    """
    figure = ax.get_figure(root=True)
    if figure is None:
        raise ValueError("label_ends: the axes belong to no figure")
    lines = [line for line in ax.lines if not str(line.get_label()).startswith("_")]
    notes = []
    for line in lines:
        end = (line.get_xdata()[-1], line.get_ydata()[-1])  # type: ignore[index]
        place: Any = {"xytext": (5, 0), "textcoords": "offset points", "va": "center"}
        note = ax.annotate(str(line.get_label()), end, color=line.get_color(), **place)
        note.set_annotation_clip(False)
        notes.append(note)
    figure.draw_without_rendering()
    point = figure.dpi / 72
    heights = [ax.transData.transform(note.xy)[1] / point for note in notes]
    lowest = ax.bbox.y0 / point + gap / 3
    for note, old, new in zip(notes, heights, _apart(heights, gap, lowest), strict=True):
        note.set_position((5, round(new - old, 1)))


def _apart(places: list[float], gap: float, lowest: float) -> list[float]:
    """The nearest places, in the same order, none closer to the next than `gap`."""

    def bottom(group: list[int]) -> float:
        middle = sum(places[index] for index in group) / len(group)
        return max(middle - (len(group) - 1) * gap / 2, lowest)

    order = sorted(range(len(places)), key=places.__getitem__)
    groups: list[list[int]] = []
    for index in order:
        groups.append([index])
        while len(groups) > 1 and bottom(groups[-1]) < bottom(groups[-2]) + len(groups[-2]) * gap:
            last = groups.pop()
            groups[-1] += last
    moved = list(places)
    for group in groups:
        for step, index in enumerate(group):
            moved[index] = bottom(group) + step * gap
    return moved


def svg(*figures: Figure | Fitting) -> str:
    """The figures as one SVG text: no date, no random ids, coordinates to a hundredth of a point.

    The same figures give the same text on every machine, so that what is stored can be compared
    with what its code draws now. Several become panels from left to right; a page stacks them
    where it is narrow. The narrow shape of one that has two lies hidden in the broad one.
    """
    if len(figures) == 1 and isinstance(figures[0], Fitting):
        broad, narrow = _drawn(figures[0].broad), figures[0].narrow
        inside = _inside(_drawn(narrow), 'class="narrow" display="none"', narrow)
        return f"{broad.rstrip().removesuffix('</svg>')}{inside.rstrip()}\n</svg>\n"
    panels = [figure.broad if isinstance(figure, Fitting) else figure for figure in figures]
    drawings = [_drawn(figure) for figure in panels]
    if len(drawings) == 1:
        return drawings[0]
    sizes = [72 * figure.get_size_inches() for figure in panels]
    width = sum(size[0] for size in sizes) + PANEL_GAP * (len(sizes) - 1)
    height = max(size[1] for size in sizes)
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" {_box(width, height, "pt")}>\n']
    left = 0.0
    for drawing, figure in zip(drawings, panels, strict=True):
        parts.append(_inside(drawing, f'class="panel" x="{left:g}"', figure))
        left += 72 * figure.get_size_inches()[0] + PANEL_GAP
    return "".join([*parts, "</svg>\n"])


def _inside(drawing: str, place: str, figure: Figure) -> str:
    """A drawing as a part of another."""
    box = _box(*(72 * figure.get_size_inches()))
    return re.sub(r"(?s)\A.*?<svg( xmlns:xlink=\S+)[^>]*", rf"<svg {place} {box}\1", drawing)


def _box(width: float, height: float, unit: str = "") -> str:
    return f'width="{width:g}{unit}" height="{height:g}{unit}" viewBox="0 0 {width:g} {height:g}"'


def _drawn(figure: Figure) -> str:
    buffer = io.StringIO()
    figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
    return _own_ids(re.sub(r"-?\d+\.\d{3,}", _rounded, buffer.getvalue()))


def _rounded(match: re.Match[str]) -> str:
    # Numbers below one are scale factors of glyphs: they keep their digits.
    number = float(match[0])
    return match[0] if abs(number) < 1 else f"{number:.2f}".rstrip("0").rstrip(".")


def _own_ids(text: str) -> str:
    """Name clip paths and markers by what is drawn: matplotlib does, but before it is rounded."""
    for i, name in enumerate(dict.fromkeys(re.findall(r'id="([mp][0-9a-f]{10})"', text))):
        text = text.replace(name, f"\0-{i}")
    return text.replace("\0", f"f{hashlib.sha256(text.encode()).hexdigest()[:8]}")


def show(*figures: Figure | Fitting) -> None:
    """Publish a figure, or several as panels of one, as the output of the cell."""
    display(SVG(svg(*figures)))


def source(function: Callable[..., object]) -> Markdown:
    """The code of a function as the output of the cell, without its docstring."""
    lines = textwrap.dedent(inspect.getsource(function)).splitlines()
    definition = ast.parse("\n".join(lines)).body[0]
    if ast.get_docstring(definition) is not None:  # type: ignore[arg-type]
        docstring = definition.body[0]  # type: ignore[attr-defined]
        del lines[docstring.lineno - 1 : docstring.end_lineno]
    return Markdown("```python\n" + "\n".join(lines) + "\n```")
