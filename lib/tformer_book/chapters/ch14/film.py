"""What the storyteller of chapter 14 has learnt."""

import numpy as np

from tformer import reference
from tformer_book.chapters.ch14.steps import STORIES
from tformer_book.figures.strips import Frame, Pair
from tformer_book.storyteller import load
from tformer_book.storyteller.tales import tale
from tformer_book.storyteller.training import CONFIGURATION
from tformer_book.world.sentence import ENDS


def frame() -> Frame:
    """After its training it names the patient."""
    tired, wide = ((f"too {end}", _nouns(text)) for end, text in zip(ENDS, STORIES, strict=True))
    seen = "probability of the last noun"
    return Frame("storyteller, trained", seen, (tired, wide), weights=False)


def _nouns(story: str) -> Pair:
    teller, told = load(), tale(story, "Mia")
    text = "\n" + "".join(told.pieces[: told.kinds.index("patient")])
    tokens = np.array(teller.tokens.encode(text))
    p = reference.softmax(reference.decoder(tokens, teller.parameters, CONFIGURATION)[-1])
    (animal,), (street,) = (teller.tokens.encode(f" {noun}") for noun in ("animal", "street"))
    return ("animal", float(p[animal])), ("street", float(p[street]))
