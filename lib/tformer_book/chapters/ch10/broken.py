"""The decoder reads a story rightly, and with three mistakes that raise no error."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tformer import reference
from tformer.models.files import load
from tformer.models.hooks import run_with_hooks
from tformer.parameters import ModelParameters, tree_map
from tformer_book.chapters.ch10.learn import CONFIGURATION, DECODER, PROMPTS
from tformer_book.world.stories import stories

__all__ = ["NEW", "Row", "looks", "rows"]

NEW = 4
"""So many words at the end are read later than the others, by way of a cache."""


class Row(NamedTuple):
    """What the last word does.

    Attributes
    ----------
    weights : (T,) array
        Of the last word in block 2, or as many of the last as it can see.
    says : str
        The likeliest next word.
    p : float
        Its probability.
    """

    weights: np.ndarray
    says: str
    p: float


def _read() -> tuple[np.ndarray, ModelParameters]:
    """The story with *wide*, and the stored decoder."""
    words = stories().words
    tokens = np.array([words.index(word) for word in PROMPTS["wide"].split()])
    return tokens, tree_map(lambda x: x.astype(float), load(DECODER)[0])


def looks() -> tuple[list[str], np.ndarray]:
    """The words up to *wide*, and the weights between them in block 1: T and (T, T)."""
    words = [*PROMPTS["wide"].partition("wide")[0].split(), "wide"]
    tokens, model = _read()
    found = run_with_hooks(tokens[: len(words)], model, CONFIGURATION)
    return words, found["blocks.0.weights"][0]


def rows() -> dict[str, Row]:
    """What the stored decoder makes of the story with *wide*, by what is wrong."""
    tokens, model = _read()
    words, places = stories().words, model.positions

    def from_1(x: np.ndarray) -> np.ndarray:
        y = x.copy()
        y[-NEW:] += places[:NEW] - places[len(tokens) - NEW : len(tokens)]
        return y

    whole = run_with_hooks(tokens, model, CONFIGURATION)
    counted = run_with_hooks(tokens, model, CONFIGURATION, {"embedded": from_1})
    bare = run_with_hooks(tokens[-NEW:], model, CONFIGURATION)
    unnormed = {**whole, "logits": reference.unembed(whole["blocks.1.after"], model)}
    found = {
        "right": whole,
        "no last norm": unnormed,
        "counted from 1": counted,
        "without cache": bare,
    }
    return {name: _row(one, words) for name, one in found.items()}


def _row(found: dict[str, Any], words: tuple[str, ...]) -> Row:
    p = reference.softmax(found["logits"][-1])
    return Row(found["blocks.1.weights"][0, -1], words[p.argmax()], float(p.max()))
