"""What comes out in chapter 10: names."""

from tformer_book.chapters.ch10 import learn
from tformer_book.figures.strips import Frame, Pair


def frame() -> Frame:
    """A trained decoder names the noun, of a pair that it never saw."""
    found = learn.stored()["free"][0]
    tired, wide = ((f"too {last}", _nouns(found[last]["p"])) for last in learn.PROMPTS)
    seen = "probability of the last noun"
    return Frame("trained decoder, two blocks", seen, (tired, wide), weights=False)


def _nouns(p: dict[str, float]) -> Pair:
    return ("animal", p.get("animal", 0.0)), ("street", p.get("street", 0.0))
