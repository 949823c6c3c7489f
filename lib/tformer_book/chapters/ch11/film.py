"""Who knows in chapter 11: the encoder, at "it"."""

from tformer_book.chapters.ch11.figures import answers
from tformer_book.figures.strips import Frame, Pair
from tformer_book.world.sentence import ENDS


def frame() -> Frame:
    """An encoder knows at "it"."""
    tired, wide = ((f"too {end}", _nouns(story)) for story, end in enumerate(ENDS))
    return Frame("trained encoder", "its answer at “it”", (tired, wide), weights=False)


def _nouns(story: int) -> Pair:
    animal, street = answers(story)["encoder, at “it”"]
    return ("animal", animal), ("street", street)
