"""What is asked of a machine that has learned the stories: answers, its circuit, cuts."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from tformer_book.chapters.ch00.engine import Machine
from tformer_book.world.stories import Stories, patient

__all__ = [
    *("CUTS", "DEAF", "FIRST", "IT", "LAST", "LOUD", "NOT", "SECOND", "SILENT", "TROUBLE"),
    *("answers", "circuit", "cuts", "heard", "loud", "shares"),
]

FIRST, NOT, SECOND, IT, TROUBLE, LAST = 2, 4, 7, 9, 12, 17
"""Places of a story, after the full stop at 0; LAST is the last "the", which is asked."""
LOUD = ("tired", "lazy", "shy", "sad", "narrow", "low")
"""The troubles at which the last "the" looks in layer 1. Every verb joins a noun whose troubles
these are with one whose troubles they are not."""
SILENT = ("wide", "icy", "hot", "dry")
"""Troubles of which the last "the" need hear nothing at all."""
CURE_AT, PATIENT_AT = 16, 18
DEAF = tuple((layer, LAST, t) for layer in (0, 1) for t in range(TROUBLE, LAST))
"""All words from the trouble on are hidden from the last "the", in both layers."""
CUTS = {
    "second noun to it": (0, IT, SECOND),
    "first noun to not": (0, NOT, FIRST),
    "it to the last the": (1, LAST, IT),
    "not to the last the": (1, LAST, NOT),
}
Guess = Callable[[np.ndarray], np.ndarray]


def shares(guess: Guess, held_out: Stories, told: Stories) -> dict[str, float]:
    """What a machine, given as a function of tokens, makes of stories told and untold.

    The loss is per story, in nats, exact over all stories that were told.
    """
    rows = told.tokens()
    p = np.take_along_axis(guess(rows[:, :-1]), rows[:, 1:, None], axis=-1)[..., 0]
    asked = held_out.tokens()
    found = guess(asked[:, :-1])
    right = found.argmax(axis=-1) == asked[:, 1:]
    wide, tired = (_animal_and_street(held_out, why) for why in ("wide", "tired"))
    street, animal = (told.words.index(word) for word in ("street", "animal"))
    return {
        "loss": float(-(np.log(p).sum(axis=1) * told.p).sum()),
        "cure": float(right[:, CURE_AT - 1].mean()),
        "patient": float(right[:, PATIENT_AT - 1].mean()),
        "street": float(found[wide, LAST, street]),
        "animal": float(found[tired, LAST, animal]),
    }


def _animal_and_street(world: Stories, why: str) -> int:
    start = f"the animal did not cross the street because it was too {why} "
    return next(i for i, text in enumerate(world) if text.startswith(start))


def answers(
    machine: Machine, world: Stories, cut: Sequence[tuple[int, int, int]] = ()
) -> tuple[np.ndarray, np.ndarray]:
    """Ask a machine for the patient of every story.

    Returns
    -------
    (n,) booleans, whether the likeliest word is right, and whether that is the second noun.
    """
    rows = world.tokens()
    p, _ = machine.guesses(rows[:, : LAST + 1], cut)
    right = p[:, LAST].argmax(axis=-1) == rows[:, PATIENT_AT]
    second = np.array([patient(text) == text.split()[SECOND - 1] for text in world])
    return right, second


def circuit(machine: Machine, world: Stories) -> dict[str, float]:
    """Mean weights on the way of the patient: in layer 1, and from the last "the" in layer 2."""
    _, weights = machine.guesses(world.tokens()[:, : LAST + 1])
    _, second = answers(machine, world)
    last = weights[1][:, LAST]
    return {
        "not keeps the first noun": float(weights[0][:, NOT, FIRST].mean()),
        "it keeps the second noun": float(weights[0][:, IT, SECOND].mean()),
        "asks not, of first nouns": float(last[~second, NOT].mean()),
        "asks it, of second nouns": float(last[second, IT].mean()),
        "asks the first noun itself": float(last[~second, FIRST].mean()),
        "asks the second noun itself": float(last[second, SECOND].mean()),
    }


def cuts(machine: Machine, world: Stories) -> dict[str, float]:
    """Shares of right patients, by which noun they are, with nothing cut and after each cut."""
    found = {}
    for name, places in {"nothing": (), **{name: (place,) for name, place in CUTS.items()}}.items():
        right, second = answers(machine, world, places)
        found[f"cut {name}: first"] = float(right[~second].mean())
        found[f"cut {name}: second"] = float(right[second].mean())
    return found


def loud(world: Stories, troubles: Sequence[str] = LOUD) -> np.ndarray:
    """Tell, for every story, whether its trouble is one of the loud ones: (n,) booleans."""
    return np.array([text.split()[TROUBLE - 1] in troubles for text in world])


def heard(machine: Machine, world: Stories) -> tuple[float, float]:
    """How the last "the" looks at the trouble in layer 1: the least if loud, the most if not."""
    _, weights = machine.guesses(world.tokens()[:, : LAST + 1])
    found, which = weights[0][:, LAST, TROUBLE], loud(world)
    return float(found[which].min()), float(found[~which].max())
