"""Figures of the deeper page of chapter 5."""

from typing import Any

import numpy as np
from matplotlib.figure import Figure

from tformer import reference
from tformer_book.chapters.ch05.fills import bfloat16, filled, naive_softmax
from tformer_book.chapters.ch05.paths import reach
from tformer_book.figures.style import INK, QUIET, WEIGHT, WRONG
from tformer_book.figures.tables import blank, squares

FORMATS = ("float16", "bfloat16", "float32", "float64")


def verdict(fill: float, dtype: str) -> str:
    """Say what a fill makes of a fully masked row of the scores 2, 1 and 0."""
    scores = np.array([2.0, 1.0, 0.0])
    if dtype == "bfloat16":
        got = naive_softmax(bfloat16(bfloat16(scores) + bfloat16(np.array(fill))))
    else:
        got = filled(scores, np.zeros(3, dtype=bool), dtype, fill)
    if np.isnan(got).any():
        return "nan"
    if np.allclose(got, naive_softmax(scores), atol=5e-4):
        return "unmasked"
    return "even" if np.allclose(got, 1 / 3, atol=5e-4) else "blurred"


def fills_by_format() -> Figure:
    """What each fill makes of a fully masked row in each number format."""
    rows: dict[str, float] = {"−10": -10, "−1000": -1000, "−10⁵": -1e5, "−10⁹": -1e9, "−∞": -np.inf}
    figure, ax = blank(3.6, 1.9)
    look: Any = {"ha": "center", "va": "center", "fontsize": 9}
    for i, (name, fill) in enumerate(rows.items()):
        ax.text(-0.15, i * 0.6 + 0.3, name, ha="right", va="center", fontsize=10)
        for j, dtype in enumerate(FORMATS):
            said = verdict(fill, dtype)
            shade = {"nan": 0.0, "even": 0.35, "blurred": 0.6, "unmasked": 0.85}[said]
            squares(ax, np.array([[shade]]), (1.4 * j, i * 0.6), WEIGHT, most=1, size=(1.4, 0.6))
            color = WRONG if said == "nan" else INK
            ax.text(1.4 * j + 0.7, i * 0.6 + 0.3, said, color=color, **look)
    for j, dtype in enumerate(FORMATS):
        ax.text(1.4 * j + 0.7, -0.15, dtype, ha="center", va="bottom", fontsize=9)
    ax.set(xlim=(-0.8, 5.6), ylim=(0.6 * len(rows), -0.5))
    return figure


def hole(n: int = 9, t: int = 3, s: int = 6) -> tuple[Figure, ...]:
    """Who knows whom through one, two and three layers if one cell too many is open."""
    mask = reference.causal_mask(n, n)
    mask[t, s] = True
    return tuple(_knows(layers, reach(mask, layers)) for layers in (1, 2, 3))


def _knows(layers: int, known: np.ndarray) -> Figure:
    n = len(known)
    figure, ax = blank(0.2 * n + 0.15, 0.2 * n + 0.4)
    allowed = reference.causal_mask(n, n)
    squares(ax, (known & allowed).astype(float), color=QUIET)
    for i, j in np.argwhere(known & ~allowed):
        squares(ax, np.ones((1, 1)), (j, i), WRONG)
    ax.set(xlim=(-0.2, n + 0.2), ylim=(n + 0.2, -0.2))
    title = "1 layer" if layers == 1 else f"{layers} layers"
    figure.suptitle(title, fontsize=11, fontweight="bold", x=0.04, ha="left")
    return figure
