"""Type your own: any of the machine's words in, both maps of weights and its guess out."""

import re
from html import escape
from typing import Any

import traitlets

from tformer_book.chapters.ch00.engine import Reading, trained
from tformer_book.chapters.ch00.stages import PROMPTS
from tformer_book.widgets.base import BookWidget
from tformer_book.world.stories import START

CROSS = ". the animal did not cross the street because it was too"
EXAMPLES = {
    "tired": PROMPTS["tired"],
    "wide": PROMPTS["wide"],
    "wide, but woken": f"{CROSS} wide . so they woke the",
    "the wall is wide": ". the animal did not climb the wall because it was too wide . so they "
    "narrowed the",
    "an empty page": START,
}
"""Texts to begin with, by what is said on their buttons."""


class Typed(BookWidget, uses="machine.js", holds="trained.json"):
    """The trained machine reads a text, in the page.

    Parameters
    ----------
    text : str
        Words of the machine; other signs than letters and full stops count for nothing, and the
        full stop of the story before stands in front.
    selected : int
        Place of the word whose arcs are drawn, from 0; -1 is the last.
    compact : bool
        Only the two sentences to choose from, arcs and the guess.

    Raises
    ------
    ValueError
        If a word is unknown, the text is too long, or there is no such place.
    """

    text = traitlets.Unicode(PROMPTS["wide"]).tag(sync=True)
    selected = traitlets.Int(-1).tag(sync=True)
    compact = traitlets.Bool(False).tag(sync=True)
    examples = traitlets.Dict(EXAMPLES).tag(sync=True)

    @traitlets.validate("text")
    def _readable(self, proposal: dict[str, Any]) -> str:
        text = tidy(proposal["value"])
        trained().tokens(text)
        return text

    @traitlets.validate("selected")
    def _in_reach(self, proposal: dict[str, Any]) -> int:
        if not -1 <= proposal["value"] < len(trained().P):
            raise ValueError(f"Typed: selected must be -1 to 18; got {proposal['value']}")
        return int(proposal["value"])

    @property
    def reading(self) -> Reading:
        """What the machine makes of the text."""
        return trained().read(self.text)

    def __repr__(self) -> str:
        p = self.reading.p[-1]
        top = ", ".join(f"{trained().words[i]} {p[i]:.3f}" for i in p.argsort()[::-1][:3])
        return f"Typed: “{self.text}”: next {top}"

    def fallback(self) -> str:
        return (
            "<p>Interactive figure, needs JavaScript: type words and see what the machine makes of "
            f"them. As drawn, {escape(repr(self).removeprefix('Typed: '))}.</p>"
        )


def tidy(text: str) -> str:
    """A text as the machine reads it: words in lower case, parted by spaces, after a full stop."""
    words = re.findall(r"[a-z]+|\.", text.lower())
    return " ".join(words if words[:1] == [START] else [START, *words])
