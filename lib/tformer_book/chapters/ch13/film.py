"""What can be known in chapter 13: everything, of a story that is read whole."""

from tformer_book.chapters.ch13.last_words import MOST, TALES, chances
from tformer_book.figures.strips import Frame, Pair
from tformer_book.world.sentence import ENDS


def frame() -> Frame:
    """Of all stories that share its words, how many end with each noun."""
    tired, wide = ((f"too {end}", _nouns(text)) for end, text in zip(ENDS, TALES, strict=True))
    return Frame("all stories, counted", "chances of the last noun", (tired, wide), weights=False)


def _nouns(text: str) -> Pair:
    found = chances(text, MOST)
    return ("animal", found.get("animal", 0.0)), ("street", found.get("street", 0.0))
