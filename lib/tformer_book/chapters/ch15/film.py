"""What is chosen in chapter 15: a trouble, by chance or greedily."""

import numpy as np

from tformer import reference
from tformer_book.chapters.ch15 import writing
from tformer_book.figures.strips import Frame, Pair


def frame() -> Frame:
    """The same row of probabilities, and two ways of choosing."""
    row = writing.logits()
    ends = (("drawn", _whose(row)), ("greedy", _whose(reference.top_k(row, 1))))
    return Frame("storyteller, … it was too", "whose trouble comes next", ends, weights=False)


def _whose(row: np.ndarray) -> Pair:
    p = writing.shares(row)
    animal = writing.of_animal(p)
    return ("animal", animal), ("street", float(p.sum()) - animal)
