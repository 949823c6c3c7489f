"""The row of "it" in chapter 8: after six layers, with a norm before each."""

from tformer_book.chapters.ch08 import rows
from tformer_book.figures.strips import Frame
from tformer_book.world.sentence import ENDS, on_nouns, told


def frame() -> Frame:
    """The vector is in range again, and knows nothing yet."""
    weights = [rows.run(words=(*told(end).split(),)).weights[-1, rows.IT] for end in ENDS]
    tired, wide = ((f"too {end}", on_nouns(x)) for end, x in zip(ENDS, weights, strict=True))
    return Frame("count vectors, six layers, RMSNorm", "weights of “it”", (tired, wide))
