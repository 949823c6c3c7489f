"""Waves and phases: a query and a key, turned by their positions, and their score."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import traitlets

from tformer import reference
from tformer_book.widgets.base import BookWidget

PLACES, WIDTH, BASE = 64, 16, 100.0
"""With this base even the slowest hand moves in 64 positions."""
HANDS = WIDTH // 2
BACK = 5
GUESSES = ("", "it grows", "it shrinks", "it stays")
WISHES = (
    "prefers its own position",
    f"prefers {BACK} positions back",
    "prefers nothing in particular",
)


def _waves(places: Sequence[int]) -> np.ndarray:
    return reference.sinusoidal(np.array(places), WIDTH, base=BASE)


def wishes() -> Mapping[str, tuple[np.ndarray, np.ndarray]]:
    """Query and key of each wish, (16,) each, rounded: every hand has length 1."""
    angle = 2 * np.pi * np.random.default_rng(112).random(HANDS)
    upright = np.tile([0.0, 1.0], HANDS)
    back = reference.rope(upright[None], _waves([-BACK]))[0]
    drawn = np.stack([np.sin(angle), np.cos(angle)], axis=-1).ravel()
    rows = zip(WISHES, (upright, back, drawn), strict=True)
    return {name: (np.round(q, 6), upright) for name, q in rows}


class WavesAndPhases(BookWidget):
    """Guess what becomes of a score when both words move on; then move them, together or alone.

    Above, the table of waves, one column a position; below, the eight pairs of a query and of a
    key as hands of clocks, turned by the position of each. The score is the sum of the cosines
    between them.

    Parameters
    ----------
    t, s : int
        Places of the query and of the key, 0 to 63.
    wish : str
        What the query likes: one of `WISHES`.
    guess : str
        What the reader expects: one of `GUESSES`, "" for nothing yet.

    Raises
    ------
    ValueError
        If an argument is outside what is said above.
    """

    t = traitlets.Int(12).tag(sync=True)
    s = traitlets.Int(7).tag(sync=True)
    wish = traitlets.Unicode(WISHES[0]).tag(sync=True)
    guess = traitlets.Unicode("").tag(sync=True)
    rows = traitlets.Dict().tag(sync=True)

    def __init__(
        self, t: int = 12, s: int = 7, wish: str = WISHES[0], guess: str = "", **kwargs: Any
    ) -> None:
        rows = {name: [q.tolist(), k.tolist()] for name, (q, k) in wishes().items()}
        super().__init__(t=t, s=s, wish=wish, guess=guess, **({"rows": rows} | kwargs))

    @traitlets.validate("t", "s")
    def _a_place(self, proposal: dict[str, Any]) -> int:
        name, value = proposal["trait"].name, proposal["value"]
        if not 0 <= value < PLACES:
            raise ValueError(f"WavesAndPhases: {name} must be 0 to {PLACES - 1}; got {value}")
        return int(value)

    @traitlets.validate("wish", "guess")
    def _one_of(self, proposal: dict[str, Any]) -> str:
        name, value = proposal["trait"].name, proposal["value"]
        known = WISHES if name == "wish" else GUESSES
        if value not in known:
            raise ValueError(
                f"WavesAndPhases: {name} must be one of {', '.join(filter(None, known))}; "
                f"got {value}"
            )
        return str(value)

    @property
    def parts(self) -> np.ndarray:
        """What each hand adds to the score: (8,)."""
        (q, k), at = np.array(self.rows[self.wish]), [self.t, self.s]
        turned = reference.rope(np.stack([q, k]), _waves(at))
        return reference.dot(*turned.reshape(2, HANDS, 2))

    @property
    def score(self) -> float:
        """Of the turned query and the turned key."""
        return float(self.parts.sum())

    def __repr__(self) -> str:
        hands = ", ".join(f"{part:.2f}" for part in self.parts)
        return (
            f"WavesAndPhases: query at {self.t}, key at {self.s}, the query {self.wish}\n"
            f"distance {self.t - self.s}, score {self.score:.2f}, of the hands from fast to slow\n"
            f"{hands}"
        )

    def fallback(self) -> str:
        on = min(10, PLACES - 1 - max(self.t, self.s))
        moved = WavesAndPhases(self.t + on, self.s + on, self.wish)
        said = (self.__repr__(), moved.__repr__())
        lines = "".join(f"<li>{text.split(': ', 1)[1]}</li>" for text in said)
        return (
            "<p>Interactive figure, needs JavaScript: a query and a key, turned by their "
            f"positions, and their score, here and {on} positions on:</p><ul>{lines}</ul>"
        )
