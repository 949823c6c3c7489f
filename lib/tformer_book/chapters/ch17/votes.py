"""What each word of a sentence says for each answer, in an encoder of one layer and one head."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tformer import reference
from tformer.models.hooks import Hook, patch, run_with_hooks
from tformer.parameters import ModelParameters
from tformer_book.chapters.ch17.circuits import (
    ADJECTIVE,
    CONFIGURATION,
    IT,
    NOUNS,
    ROW,
    sentences,
    shown,
)

__all__ = ["ROW", "Votes", "chances", "exchanged", "read", "votes"]


class Votes(NamedTuple):
    """How the scores of all answers at "it" come about, up to one factor above 0 for all of them.

    Attributes
    ----------
    own : (N,) array
        What "it" says by its own vector.
    words : (T, N) array
        What the value of each word says, times the weight that "it" has on the word.
    factor : float
        1 over the root mean square of the vector before the last norm.
    """

    own: np.ndarray
    words: np.ndarray
    factor: float


def read(text: str, name: str, changes: dict[str, Hook] | None = None) -> dict[str, Any]:
    """What `inside` finds in a sentence for one of the models of `circuits.SHOWN`."""
    tokens = sentences()[1].numbers(text)
    return run_with_hooks(tokens, shown(name), CONFIGURATION, changes, causal=False)


def votes(found: dict[str, Any], p: ModelParameters) -> Votes:
    """Part the logits at "it" by the word that they come from.

    Parameters
    ----------
    found : dict
        Of a model of one layer with one head and no feed-forward layer.
    p : ModelParameters
        Of that model.
    """
    norm: Any = p.norm
    says = norm.gain[:, None] * p.unembedding
    added = reference.head_outputs(found["blocks.0.v"], p.blocks[0].heads)[0]
    weights = found["blocks.0.weights"][0, IT]
    size = np.sqrt((found["blocks.0.after"][IT] ** 2).mean() + CONFIGURATION.eps)
    return Votes(found["embedded"][IT] @ says, (weights[:, None] * added) @ says, float(1 / size))


def chances(found: dict[str, Any], text: str) -> tuple[float, float]:
    """The probabilities of the two nouns of a sentence, from the logits at "it"."""
    tokens = sentences()[1].numbers(text)
    p = reference.softmax(found["logits"][IT])
    return float(p[tokens[NOUNS[0]]]), float(p[tokens[NOUNS[1]]])


def exchanged(part: str) -> tuple[float, float]:
    """The chances of *animal* and *street* where *tired* has the key or value of *wide*.

    Parameters
    ----------
    part : "k" or "v"
    """
    tired, wide = (ROW.format(word) for word in ("tired", "wide"))
    other = read(wide, "votes")
    changes = patch(other, f"blocks.0.{part}", np.s_[..., ADJECTIVE, :])
    return chances(read(tired, "votes", changes), tired)
