"""The storyteller's answer: heads that look at one noun unless the trouble forbids it."""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np

from tformer import reference
from tformer.models.hooks import Hook, mean_ablation, patch, run_with_hooks, zero_ablation
from tformer.parameters import ModelParameters, tree_map
from tformer_book.storyteller import load
from tformer_book.storyteller.tales import parted, text_of

__all__ = [
    *("CUTS", "HEADS", "NOUNS", "TALES", "Left", "chances", "left", "looks", "odds", "read"),
    *("silent", "tales"),
]

TALES = {
    "tired": "Mia came by. The animal did not cross the street because it was too tired. "
    "So Mia woke the",
    "wide": "Mia came by. The animal did not cross the street because it was too wide. "
    "So Mia narrowed the",
}
"""The row of the book as the storyteller is asked, up to the word that is wanted."""
NOUNS = (" animal", " street")
HEADS = (2, 3)
"""Of the first layer."""
CUTS = (("tired", 0), ("tired", 2), ("wide", 2))
"""A tale, and the head of the first layer that is cut at its last word."""
OUTPUTS = "blocks.0.heads"
WATCHED = {"animal": 6, "street": 11, "trouble": 16}
"""Words of the tale, and their places."""


@cache
def parameters() -> ModelParameters:
    """Those of the storyteller, in float64."""
    found: ModelParameters = tree_map(lambda x: x.astype(float), load().parameters)
    return found


def read(name: str, changes: dict[str, Hook] | None = None) -> dict[str, Any]:
    """What `inside` finds in one of `TALES`."""
    tokens, _, configuration = load()
    row = np.array(tokens.encode("\n" + TALES[name]))
    return run_with_hooks(row, parameters(), configuration, changes)


def looks(name: str, head: int) -> dict[str, float]:
    """The weights of the last word on `WATCHED`, of a head of the first layer."""
    row = read(name)["blocks.0.weights"][head, -1]
    return {word: float(row[place]) for word, place in WATCHED.items()}


def chances(found: dict[str, Any]) -> tuple[float, float]:
    """The probabilities of the two nouns as the next word."""
    p = reference.softmax(found["logits"][-1])
    first, second = (load().tokens.encode(noun)[0] for noun in NOUNS)
    return float(p[first]), float(p[second])


def odds(found: dict[str, Any]) -> float:
    """The logit of *animal* minus that of *street*."""
    first, second = (load().tokens.encode(noun)[0] for noun in NOUNS)
    return float(found["logits"][-1, first] - found["logits"][-1, second])


def silent(*heads: int) -> dict[str, Hook]:
    """A change after which these heads of the first layer say nothing to the last word."""
    return zero_ablation(OUTPUTS, np.s_[..., list(heads), -1, :])


class Left(NamedTuple):
    """The log-odds with something in the place of a head's output at the last word.

    Attributes
    ----------
    zeros : float
    mean : float
        With the head's mean over `tales`.
    others : (504,) array
        With what the head says in each of them.
    """

    zeros: float
    mean: float
    others: np.ndarray


@cache
def tales() -> tuple[tuple[str, dict[str, Any]], ...]:
    """All held-out tales up to the word that is wanted: the trouble, and what the first heads say.

    Each is told once, as `text_of` tells it. Of a run only the last word is kept, (H, 1, d_v).
    """
    tokens, _, configuration = load()
    found = []
    for text in text_of(parted()[1]).splitlines():
        told = text.rpartition(" ")[0]
        run = run_with_hooks(np.array(tokens.encode("\n" + told)), parameters(), configuration)
        trouble = told.partition(" too ")[2].partition(".")[0]
        found.append((trouble, {OUTPUTS: run[OUTPUTS][:, -1:]}))
    return tuple(found)


@cache
def left(name: str, head: int) -> Left:
    """The log-odds of one of `TALES` with this head of the first layer cut, in three ways."""
    at = np.s_[..., head, -1, :]
    runs = [run for _, run in tales()]

    def with_it(change: dict[str, Hook]) -> float:
        return odds(read(name, change))

    others = np.array([with_it(patch(run, OUTPUTS, at)) for run in runs])
    return Left(
        with_it(zero_ablation(OUTPUTS, at)), with_it(mean_ablation(runs, OUTPUTS, at)), others
    )
