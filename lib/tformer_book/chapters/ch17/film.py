"""Where a trained model looks in chapter 17, if it shows the famous picture."""

from tformer_book.chapters.ch17 import circuits, votes
from tformer_book.figures.strips import Frame
from tformer_book.world.sentence import ENDS, IT, on_nouns, told


def frame() -> Frame:
    """One of eight encoders that are all right, and the one that shows the picture."""
    task, _ = circuits.SHOWN["picture"]
    last = f"blocks.{circuits.TASKS[task].layers - 1}.weights"
    rows = [votes.read(told(end), "picture")[last][0, IT] for end in ENDS]
    tired, wide = ((f"too {end}", on_nouns(x)) for end, x in zip(ENDS, rows, strict=True))
    return Frame("trained encoder, one of eight", "weights of “it”", (tired, wide))
