"""Figures of the deeper page of chapter 21."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from tformer_book.chapters.ch21 import series
from tformer_book.figures.style import BLUE, COLUMN, QUIET, panel


def sea() -> Figure:
    """The anomaly of the sea in the years of the test, and a linear fit one month ahead."""
    asked, found = series.linear(1)
    year = 2011 - len(asked) / 12 + np.arange(len(asked)) / 12
    figure, ax = panel(COLUMN, 2.8)
    ax.plot(year, asked, color=QUIET, label="measured")
    ax.plot(year, found, color=BLUE, linewidth=1.2, label="linear fit")
    ax.set(ylabel="anomaly, degrees")
    ax.legend(loc="upper right")
    return figure
