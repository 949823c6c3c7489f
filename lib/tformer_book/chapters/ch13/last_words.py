"""Show the last words before the patient: who may it be, and how much is left open."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import traitlets

from tformer_book.chapters.ch13.known import LAST, left, world
from tformer_book.widgets.base import BookWidget

CROSS = "the animal did not cross the street because it was too"
TALES = (
    f"{CROSS} tired . so they woke the animal .",
    f"{CROSS} wide . so they narrowed the street .",
)
MOST = LAST - 1


@cache
def _split() -> tuple[tuple[tuple[str, ...], float], ...]:
    one = world()
    return tuple((tuple(text.split()), float(p)) for text, p in zip(one.texts, one.p, strict=True))


def chances(text: str, k: int) -> dict[str, float]:
    """How likely each noun is, over all stories that share the last k words with this one."""
    told = tuple(text.split()[LAST - 1 - k : LAST - 1])
    found: dict[str, float] = {}
    for words, share in _split():
        if words[LAST - 1 - k : LAST - 1] == told:
            found[words[LAST - 1]] = found.get(words[LAST - 1], 0.0) + share
    whole = sum(found.values())
    return {noun: found[noun] / whole for noun in sorted(found, key=lambda n: (-found[n], n))}


def _tale(text: str) -> dict[str, Any]:
    """The words of a story, and for each k the number of its list of chances."""
    lists: list[dict[str, float]] = []
    which = []
    for k in range(MOST + 1):
        found = chances(text, k)
        if found not in lists:
            lists.append(found)
        which.append(lists.index(found))
    rounded = [[[noun, round(p, 6)] for noun, p in one.items()] for one in lists]
    return {"words": text.split()[: LAST - 1], "lists": rounded, "which": which}


class LastWords(BookWidget):
    """A story of which only the last words before the patient are shown.

    Parameters
    ----------
    tale : int
        0 for *tired*, 1 for *wide*.
    k : int
        How many words are shown, 0 to 17.

    Raises
    ------
    ValueError
        If an argument is outside what is said above.
    """

    tales = traitlets.List([_tale(text) for text in TALES]).tag(sync=True)
    means = traitlets.List([round(left(k), 6) for k in range(MOST + 1)]).tag(sync=True)
    tale = traitlets.Int(0).tag(sync=True)
    k = traitlets.Int(0).tag(sync=True)

    def __init__(self, tale: int = 0, k: int = 0, **kwargs: Any) -> None:
        super().__init__(tale=tale, k=k, **kwargs)

    @traitlets.validate("tale", "k")
    def _known(self, proposal: Any) -> int:
        name, value = proposal.trait.name, proposal.value
        most = {"tale": len(TALES) - 1, "k": MOST}[name]
        if not 0 <= value <= most:
            raise ValueError(f"LastWords: {name} must be 0 to {most}; got {value}")
        return int(value)

    def left(self) -> float:
        """What is left open in this story, in nats."""
        p = np.array([*chances(TALES[self.tale], self.k).values()])
        return max(0.0, float(-(p * np.log(p)).sum()))

    def __repr__(self) -> str:
        words = TALES[self.tale].split()[LAST - 1 - self.k : LAST - 1]
        found = chances(TALES[self.tale], self.k)
        noun, p = next(iter(found.items()))
        return (
            f"LastWords: the last {self.k} words, “{' '.join(words)}”\n{len(found)} noun"
            f"{'s' * (len(found) > 1)} may come, first {noun} with {p:.3f}; "
            f"open {self.left():.3f} nats, on average {left(self.k):.3f}"
        )

    def fallback(self) -> str:
        """For both stories, how many nouns may come after so many last words."""
        head = "".join(f"<th>{k}</th>" for k in range(MOST + 1))
        body = "".join(
            f"<tr><th>{text.split()[11]}</th>"
            + "".join(f"<td>{len(chances(text, k))}</td>" for k in range(MOST + 1))
            + "</tr>"
            for text in TALES
        )
        return (
            "<p>Interactive figure, needs JavaScript: which nouns may end a story of which only "
            f"the last words are shown. How many nouns, by the number of words:</p><table><tr>"
            f"<th></th>{head}</tr>{body}</table>"
        )
