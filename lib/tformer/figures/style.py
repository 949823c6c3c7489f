"""The one style of every figure, and the one way to publish it."""

import ast
import hashlib
import inspect
import io
import re
import textwrap
from collections.abc import Callable
from typing import Any

from IPython.display import SVG, Markdown, display
from matplotlib import rcParams
from matplotlib.axes import Axes
from matplotlib.figure import Figure

# Okabe & Ito's palette: told apart by the colour-blind and in a grey print.
BLUE, VERMILLION, GREEN = "#0072B2", "#D55E00", "#009E73"
ORANGE, PURPLE, SKY = "#E69F00", "#CC79A7", "#56B4E9"
INK, QUIET = "#000000", "#767676"
QUERY, KEY, VALUE = BLUE, VERMILLION, GREEN
"""One colour each for what asks, what answers to it, and what is handed over."""

STYLE: Any = {
    "axes.axisbelow": True,
    "axes.edgecolor": QUIET,
    "axes.grid": True,
    "axes.labelcolor": INK,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlelocation": "left",
    "axes.titlesize": 12,
    "font.family": "DejaVu Sans",
    "font.size": 11,
    "grid.alpha": 0.25,
    "grid.color": QUIET,
    "legend.frameon": False,
    "lines.linewidth": 2.0,
    "mathtext.fontset": "dejavusans",
    "svg.fonttype": "path",
    "svg.hashsalt": "the executable transformer",
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
}
rcParams.update(STYLE)


def panels(n: int = 1, height: float = 3.4, width: float = 6.6) -> tuple[Figure, list[Axes]]:
    """An empty figure with `n` panels side by side, sizes in inches."""
    figure = Figure(figsize=(width, height), layout="constrained")
    return figure, list(figure.subplots(1, n, squeeze=False)[0])


def svg(figure: Figure) -> str:
    """The figure as SVG text: no date, no random ids, coordinates to a hundredth of a point.

    The same figure gives the same text on every machine, so that a stored figure can be
    compared with what its code draws now.
    """
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


def show(figure: Figure) -> None:
    """Publish a figure as the output of the cell."""
    display(SVG(svg(figure)))


def source(function: Callable[..., object]) -> Markdown:
    """The code of a function as the output of the cell, without its docstring."""
    lines = textwrap.dedent(inspect.getsource(function)).splitlines()
    definition = ast.parse("\n".join(lines)).body[0]
    if ast.get_docstring(definition) is not None:  # type: ignore[arg-type]
        docstring = definition.body[0]  # type: ignore[attr-defined]
        del lines[docstring.lineno - 1 : docstring.end_lineno]
    return Markdown("```python\n" + "\n".join(lines) + "\n```")
