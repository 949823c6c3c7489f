"""The storyteller's answer: heads that look at one noun unless the trouble forbids it."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from tformer import reference
from tformer.models.inside import Change, inside, zero
from tformer.parameters import ModelParameters, tree_map
from tformer.storyteller import load

__all__ = ["HEADS", "NOUNS", "TALES", "chances", "looks", "odds", "read", "silent"]

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
WATCHED = {"animal": 6, "street": 11, "trouble": 16}
"""Words of the tale, and their places."""


@cache
def parameters() -> ModelParameters:
    """Those of the storyteller, in float64."""
    found: ModelParameters = tree_map(lambda x: x.astype(float), load().parameters)
    return found


def read(name: str, changes: dict[str, Change] | None = None) -> dict[str, Any]:
    """What `inside` finds in one of `TALES`."""
    tokens, _, configuration = load()
    row = np.array(tokens.encode("\n" + TALES[name]))
    return inside(row, parameters(), configuration, changes)


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


def silent(*heads: int) -> dict[str, Change]:
    """A change after which these heads of the first layer say nothing to the last word."""
    return zero("blocks.0.heads", np.s_[..., list(heads), -1, :])
