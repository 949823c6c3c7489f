"""Where names stand in a decoder: words exchanged in one run, and put into another.

The decoder is the first of those that chapter 10 trained, as it is stored there.
The sentences are two stories of the pair that was held out, up to the word that is asked for.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import as_file, files
from typing import Any, NamedTuple

import numpy as np

from tformer import reference
from tformer.configuration import Configuration
from tformer.models.files import load
from tformer.models.hooks import patch, run_with_hooks
from tformer.parameters import ModelParameters, tree_map
from tformer_book.chapters.ch17.circuits import sentences

__all__ = ["POINTS", "STORIES", "Runs", "decoder", "numbers", "recovered", "runs", "said"]

FILE = files("tformer_book.chapters") / "ch10" / "decoder.safetensors"
CROSS = ". the animal did not cross the street because it was too"
STORIES = {
    "wide": (f"{CROSS} wide . so they narrowed the", ("street", "river")),
    "tired": (f"{CROSS} tired . so they woke the", ("animal", "dog")),
}
"""A story, and the noun that is exchanged for another of its kind."""
POINTS = ("embedded", "blocks.0.after", "blocks.1.after")
"""The vectors before the first block and after each."""


class Runs(NamedTuple):
    """A story and the same with another noun, as the decoder reads them.

    Attributes
    ----------
    words : list of str
        Of the story.
    clean, other : dict
        What `inside` finds in both.
    nouns : pair of int
        Numbers of the noun of the story and of the one in its place.
    """

    words: list[str]
    clean: dict[str, Any]
    other: dict[str, Any]
    nouns: tuple[int, int]


@cache
def decoder() -> tuple[ModelParameters, Configuration]:
    """The decoder as it was stored: arrays in float64 whose numbers float16 can hold."""
    with as_file(FILE) as path:
        parameters, configuration = load(path)
    return tree_map(lambda x: x.astype(float), parameters), configuration


def numbers(text: str) -> np.ndarray:
    """The numbers of the words of a text, (T,)."""
    return sentences()[0].numbers(text)


@cache
def runs(name: str) -> Runs:
    """Read one of `STORIES` and its twin."""
    text, (noun, instead) = STORIES[name]
    found = [
        run_with_hooks(numbers(one), *decoder()) for one in (text, text.replace(noun, instead))
    ]
    first, second = (int(numbers(word)[0]) for word in (noun, instead))
    return Runs(text.split(), found[0], found[1], (first, second))


def patched(name: str, point: str, place: int) -> np.ndarray:
    """The logits of the last word if at one place the vector of the other story stands, (N,)."""
    changes = patch(runs(name).other, point, np.s_[..., place, :])
    tokens = numbers(STORIES[name][0])
    logits: np.ndarray = run_with_hooks(tokens, *decoder(), changes)["logits"][-1]
    return logits


def said(name: str, point: str, place: int) -> dict[str, float]:
    """The probabilities of both nouns after such a patch."""
    p = reference.softmax(patched(name, point, place))
    return dict(zip(STORIES[name][1], p[list(runs(name).nouns)].tolist(), strict=True))


def recovered(name: str, point: str) -> np.ndarray:
    """How much of the change of the log-odds a patch at each place brings, (T,)."""
    words, clean, other, (noun, instead) = runs(name)

    def odds(logits: np.ndarray) -> float:
        return float(logits[noun] - logits[instead])

    start, end = (odds(found["logits"][-1]) for found in (clean, other))
    moves = [odds(patched(name, point, t)) - start for t in range(len(words))]
    return np.array(moves) / (end - start)
