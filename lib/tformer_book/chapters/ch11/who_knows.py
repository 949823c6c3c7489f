"""Switch the architecture and choose a word: which words can it know, and what does it say."""

from __future__ import annotations

from typing import Any

import numpy as np
import traitlets

from tformer_book.chapters.ch11 import forms, tasks
from tformer_book.widgets.base import BookWidget

NAMES = {
    "encoder": "encoder",
    "prefix": "prefix decoder",
    "decoder": "decoder",
    "pair": "encoder–decoder",
}
STORIES = ("street: tired", "street: wide", "door: heavy", "door: narrow")
RUN = {"encoder": "refer", "decoder": "refer", "prefix": "german", "pair": "german"}


def _words(form: str, story: str) -> list[str]:
    """The words that an architecture reads of a story, source before target."""
    english, german = story.split()[: tasks.READ - 1], tasks.german(story)[:-1]
    return [*english, *german] if form in ("prefix", "pair") else [".", *english]


def _said(form: str, story: int) -> list[list[list[Any]]]:
    """What a trained run says at each place, three words with chances; [] where it is not asked."""
    found = tasks.stored()[f"{RUN[form]} {form}"][0]["said"][story]
    n_source = tasks.READ - 1
    if form == "pair":
        return [[]] * n_source + found
    first = n_source if form == "prefix" else tasks.IT
    return [[] if place < first else said for place, said in enumerate(found)]


def _shown() -> dict[str, Any]:
    return {
        form: {
            "words": [_words(form, story) for story in tasks.STORIES],
            "said": [_said(form, i) for i in range(len(tasks.STORIES))],
            "prefix": {"encoder": tasks.READ, "decoder": 0, "prefix": tasks.READ}.get(
                form, tasks.READ - 1
            ),
        }
        for form in NAMES
    }


def same_word(words: list[str], place: int, others: list[str]) -> int:
    """Where the word at a place of one list stands in another; at “it”, if it has none there."""
    word, found = words[place], [i for i, one in enumerate(others) if one == words[place]]
    if not found:
        return others.index("it")
    return found[min(words[:place].count(word), len(found) - 1)]


class WhoKnows(BookWidget):
    """Which words a word can know in each architecture, and what a trained one says there.

    Parameters
    ----------
    form : str
        "encoder", "prefix", "decoder" or "pair".
    story : int
        0 to 3: one of `tasks.STORIES`.
    place : int
        Of the chosen word, from 0; a place after the last counts as the last.
    layers : int
        How many layers have been passed, 0 to 2.

    Raises
    ------
    ValueError
        If an argument is outside what is said above.
    """

    shown = traitlets.Dict(_shown()).tag(sync=True)
    names = traitlets.List([list(pair) for pair in NAMES.items()]).tag(sync=True)
    stories = traitlets.List(list(STORIES)).tag(sync=True)
    form = traitlets.Unicode("encoder").tag(sync=True)
    story = traitlets.Int(0).tag(sync=True)
    place = traitlets.Int(tasks.IT).tag(sync=True)
    layers = traitlets.Int(2).tag(sync=True)

    @traitlets.validate("form")
    def _valid_form(self, proposal: Any) -> str:
        if proposal.value not in NAMES:
            names = ", ".join(NAMES)
            raise ValueError(f"WhoKnows: form must be one of {names}; got {proposal.value!r}")
        return str(proposal.value)

    @traitlets.validate("story", "place", "layers")
    def _valid_number(self, proposal: Any) -> int:
        name, value = proposal.trait.name, proposal.value
        most = {"story": len(STORIES) - 1, "place": 17, "layers": 2}[name]
        if not 0 <= value <= most:
            raise ValueError(f"WhoKnows: {name} must be 0 to {most}; got {value}")
        return int(value)

    @property
    def words(self) -> list[str]:
        """The words that are read."""
        return list(self.shown[self.form]["words"][self.story])

    @property
    def at(self) -> int:
        """The place of the chosen word."""
        return min(self.place, len(self.words) - 1)

    @property
    def knows(self) -> np.ndarray:
        """Which words the chosen one can know after so many layers."""
        n = len(self.words)
        if not self.layers:
            return np.arange(n) == self.at
        return np.asarray(forms.known(self.form, n, self.shown[self.form]["prefix"])[self.at])

    @property
    def said(self) -> list[list[Any]]:
        """Three words with their chances, by a trained run at this place; [] if it is not asked."""
        return list(self.shown[self.form]["said"][self.story][self.at])

    @property
    def _passed(self) -> str:
        return ("before layer 1", "after 1 layer", "after 2 layers")[self.layers]

    def __repr__(self) -> str:
        known = [word for word, known in zip(self.words, self.knows, strict=True) if known]
        told = ", ".join(f"{word} {p:.3f}" for word, p in self.said) or "not asked here"
        return (
            f"WhoKnows: {NAMES[self.form]}, “{self.words[self.at]}” {self._passed}\n"
            f"can know {len(known)} of {len(self.words)} words: {' '.join(known)}\n"
            f"a trained model says: {told}"
        )

    def fallback(self) -> str:
        """What is drawn, for the same word in each architecture."""
        lines = ""
        for form in NAMES:
            place = same_word(self.words, self.at, self.shown[form]["words"][self.story])
            one = WhoKnows(form=form, story=self.story, place=place, layers=self.layers)
            lines += f"<li>{'; '.join(repr(one).splitlines())}</li>"
        return f"<p>Interactive figure, needs JavaScript: who can know whom.</p><ul>{lines}</ul>"
