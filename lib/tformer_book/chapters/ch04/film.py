"""The row of "it" in chapter 4: behind random matrices, at two widths, with and without a scale."""

import math

import numpy as np

from tformer import reference
from tformer_book.chapters.ch04 import row
from tformer_book.figures import strips
from tformer_book.figures.strips import Frame, Line
from tformer_book.figures.style import Fitting
from tformer_book.world.sentence import on_nouns

WIDTHS = (16, 1024)


def weights(d: int, scale: float, n_draws: int = 1) -> np.ndarray:
    """The mean weights of "it" over some draws of a head of width d, (12,)."""
    drawn = row.through_random_matrices(np.random.default_rng(0), d, n_draws)
    return reference.softmax(scale * drawn).mean(axis=0)


def strip(told: bool = True) -> Fitting:
    """One draw at each width: without a scale, and if `told` with 1 over the root of the width."""
    lines = [Line(f"scale 1, d = {d}", weights(d, 1.0)) for d in WIDTHS]
    if told:
        lines += [Line(f"1/√d, d = {d}", weights(d, 1 / math.sqrt(d))) for d in WIDTHS]
    return strips.strip(row.WORDS, lines)


def frame() -> Frame:
    """At every width, on average a twelfth or so for each noun: nothing has been learnt."""
    ends = [(f"width {d}", on_nouns(weights(d, 1 / math.sqrt(d), n_draws=100))) for d in WIDTHS]
    return Frame("random head, mean of 100", "weights of “it”, scaled", (ends[0], ends[1]))
