"""The storyteller's answer: heads that look at one noun unless the trouble forbids it."""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np

from tformer import reference
from tformer.models.hooks import (
    Hook,
    mean_ablation,
    patch,
    resample_ablation,
    run_with_hooks,
    zero_ablation,
)
from tformer.parameters import ModelParameters, tree_map
from tformer_book.storyteller import load
from tformer_book.storyteller.tales import parted, text_of
from tformer_book.world.stories import CURES, WHO

__all__ = [
    *("CUTS", "FITS", "HEADS", "NOUNS", "TALES", "WAYS", "Left", "Told", "ablated", "chances"),
    *("left", "looks", "looks_over", "odds", "read", "silent", "tales", "told"),
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
FITS = {
    "the animal": ("animal",),
    "a wall or a road": ("wall", "road"),
    "food": ("food",),
    "no animal in the tale": ("load", "hole"),
}
"""The held-out tales, by what has the trouble."""
WAYS = ("whole", "zero", "mean", "resample")
"""What stands in the place of a head's output: itself, and that of three ablations."""
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


class Told(NamedTuple):
    """A held-out tale up to the word that is wanted, and what the storyteller finds in it.

    Attributes
    ----------
    tokens : (T,) array
    trouble : str
    fits : str
        What has the trouble, one of `FITS`.
    nouns : (2,) array
        The tokens of the noun that has it, and of the other one.
    looks : (H, 3) array
        Weights of the last word in the first layer, on the two nouns and on the trouble.
    run : dict
        What the first heads give the last word, (H, 1, d_v).
    odds : float
        The logit of the right noun minus that of the other.
    """

    tokens: np.ndarray
    trouble: str
    fits: str
    nouns: np.ndarray
    looks: np.ndarray
    run: dict[str, Any]
    odds: float


@cache
def told() -> tuple[Told, ...]:
    """All held-out tales; each is told once, as `text_of` tells it."""
    return tuple(_told(text) for text in text_of(parted()[1]).splitlines())


def _told(text: str) -> Told:
    tokens, _, configuration = load()
    start, _, right = text.rpartition(" ")
    row = np.array(tokens.encode("\n" + start))
    words = [tokens.decode([token]).strip() for token in row]
    places = [words.index("not") - 2, words.index("because") - 1, words.index("too") + 1]
    if words[places[0]] != right.rstrip("."):
        places[:2] = places[1::-1]
    run = run_with_hooks(row, parameters(), configuration)
    trouble = words[places[2]]
    kind = next(kind for kind, cures in CURES.items() if trouble in cures)
    if words[places[0]] not in WHO[kind]:
        raise ValueError(f"{trouble!r} is no trouble of {words[places[0]]!r} in {text!r}")
    fits = next(name for name, kinds in FITS.items() if kind in kinds)
    nouns = row[places[:2]]
    looks = run["blocks.0.weights"][:, -1, places]
    heads = {OUTPUTS: run[OUTPUTS][:, -1:]}
    return Told(row, trouble, fits, nouns, looks, heads, _minus(run["logits"][-1], nouns))


def _minus(logits: np.ndarray, nouns: np.ndarray) -> float:
    return float(logits[nouns[0]] - logits[nouns[1]])


def tales() -> tuple[tuple[str, dict[str, Any]], ...]:
    """Of all held-out tales the trouble, and what the first heads give the last word."""
    return tuple((tale.trouble, tale.run) for tale in told())


def looks_over(fits: str, head: int) -> np.ndarray:
    """Mean weights (3,) of the last word on the right noun, the other one and the trouble."""
    mean: np.ndarray = np.mean([t.looks[head] for t in told() if t.fits == fits], axis=0)
    return mean


@cache
def ablated(way: str, head: int = 2) -> np.ndarray:
    """The log-odds (504,) of the right noun in each tale, with this head of the first layer so.

    By *resample* each tale gets the head's output in another tale, drawn with one seed for all.
    """
    at, runs = np.s_[..., head, -1, :], [tale.run for tale in told()]
    if way == "whole":
        return np.array([tale.odds for tale in told()])
    rng = np.random.default_rng(0)

    def hook() -> dict[str, Hook]:
        if way == "resample":
            return resample_ablation(runs, OUTPUTS, at, rng)
        return zero_ablation(OUTPUTS, at) if way == "zero" else mean_ablation(runs, OUTPUTS, at)

    same = hook()
    configuration = load()[2]

    def read_so(tale: Told) -> float:
        changes = hook() if way == "resample" else same
        found = run_with_hooks(tale.tokens, parameters(), configuration, changes)
        return _minus(found["logits"][-1], tale.nouns)

    return np.array([read_so(tale) for tale in told()])


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
