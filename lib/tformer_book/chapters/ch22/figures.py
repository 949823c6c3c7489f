"""Figures of chapter 22."""

from __future__ import annotations

import numpy as np

from tformer import reference
from tformer_book.figures import strips
from tformer_book.figures.style import Fitting
from tformer_book.world.sentence import IT, LABELS


def strip(told: bool = True) -> Fitting:
    """The weights of *it* where all its scores are equal; only if `told`."""
    weights = reference.softmax(np.zeros(len(LABELS)))
    return strips.strip(LABELS, [strips.Line("weights", weights, asked=True, most=0.4)], told, IT)
