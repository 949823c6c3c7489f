"""The row of "it" in chapter 7: two orders of the same words, without positions and with them."""

import numpy as np

from tformer_book.chapters.ch07 import places
from tformer_book.figures import strips
from tformer_book.figures.strips import Frame, Line
from tformer_book.figures.style import Fitting

ORDERS = {"box … bag": places.FIT, "bag … box": places.SWAPPED}


def strip(told: bool = True) -> Fitting:
    """Both orders, without positions and with them; a square stands for a place."""
    both = zip(*(text.split() for text in ORDERS.values()), strict=True)
    words = [one if one == other else f"{one} / {other}" for one, other in both]
    before = [Line(f"before, {name}", places.read(text, None)) for name, text in ORDERS.items()]
    after = [Line(f"after, {name}", places.read(text), True) for name, text in ORDERS.items()]
    return strips.strip(words, before + after, told)


def frame() -> Frame:
    """The order decides."""
    one, other = ((name, _pair(text)) for name, text in ORDERS.items())
    return Frame("lexicon, with positions", "weights of “it”, … too small", (one, other))


def _pair(text: str) -> tuple[tuple[str, float], tuple[str, float]]:
    weights, words = places.read(text), text.split()
    bag, box = (float(np.sum(weights[words.index(noun)])) for noun in ("bag", "box"))
    return ("bag", bag), ("box", box)
