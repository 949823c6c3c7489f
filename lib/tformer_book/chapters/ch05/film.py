"""The row of "it" in chapter 5: it may not look ahead, and the last word answers."""

import numpy as np

from tformer.reference import causal_mask
from tformer_book.chapters.ch05.figures import read_masked
from tformer_book.figures import strips
from tformer_book.figures.strips import Frame, Line
from tformer_book.figures.style import Fitting
from tformer_book.world import lexicon
from tformer_book.world.sentence import ENDS, IT, LABELS, on_nouns, told

LAST = 11


def weights(asks: int, end: str, causal: bool = True) -> np.ndarray:
    """The weights of a word in the lexicon's second layer, (12,).

    "It" asks after the first layer, as in chapter 3; the last word without it.
    """
    layers = lexicon.LAYERS if asks == IT else lexicon.LAYERS[1:]
    mask = causal_mask(12, 12) if causal else np.ones((12, 12), dtype=bool)
    return read_masked(told(end), mask, layers)[-1, asks]


def strip(told: bool = True) -> Fitting:
    """The row of chapter 3; behind the mask, that of "it", the same twice, and the last word's."""
    lines = [Line(f"“it” sees all, {end}", weights(IT, end, causal=False)) for end in ENDS]
    lines.append(Line("“it”, causal", weights(IT, ENDS[0]), True))
    lines += [Line(f"last word, {end}", weights(LAST, end), True) for end in ENDS]
    return strips.strip(LABELS, lines, told)


def frame() -> Frame:
    """Behind the mask the last word answers."""
    tired, wide = ((f"too {end}", on_nouns(weights(LAST, end))) for end in ENDS)
    return Frame("lexicon, one layer, causal", "weights of the last word", (tired, wide))
