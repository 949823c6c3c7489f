"""The storyteller's losses on the way, and the floors of those who know only some words.

The losses of each kind of word come from `measured.csv`, the lengths of the gradients, before they
were clipped, from the same training: `norms.json`. The floors are counted: the mean surprise, over
the same tales, of whoever knows how often what is asked follows the words that are known.
"""

from __future__ import annotations

import csv
import json
from collections import Counter
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from tformer.models.objectives import next_tokens
from tformer.models.sizes import initialise
from tformer.parameters import tree_map
from tformer_book.storyteller.stored import HERE, load, named, tokens
from tformer_book.storyteller.tales import NAMES, Tales, parted, tale
from tformer_book.world.stories import ASKED

__all__ = [
    *("FLOORS", "batches", "beginner", "floor", "losses", "norm_of_batch", "norms", "patients"),
    *("own_batches", "own_beginner", "questions", "surprise", "text"),
]

WORDS = ("noun", "verb", "second noun", "trouble", "cure", "patient")
FLOORS = {
    "name again": ("name again", ()),
    "cure": ("cure", ()),
    "patient": ("patient", ()),
    "patient, cure known": ("patient", ("cure",)),
    "second noun, verb known": ("second noun", ("verb",)),
    "second noun, noun and verb known": ("second noun", ("noun", "verb")),
}
"""What is asked, and which words of the tale are known: the steps that a loss may stand on."""
ASKED_OF = 256
"""Tales of the measurement."""
STORIES = (
    "the animal did not cross the street because it was too tired . so they woke the animal .",
    "the animal did not cross the street because it was too wide . so they narrowed the street .",
)
"""The story of the book; its pair of nouns is held out, so the storyteller has never read it."""


@cache
def losses() -> dict[str, np.ndarray]:
    """The losses of each kind of word, in nats, and the steps at which they were measured."""
    with (HERE / "measured.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    return {name: np.array([float(row[name]) for row in rows]) for name in rows[0]}


@cache
def norms() -> np.ndarray:
    """How long the gradient of each step was, as one vector, before it was clipped."""
    text = Path(__file__).with_name("norms.json").read_text(encoding="utf-8")
    return np.array(json.loads(text))


@cache
def _stories() -> tuple[list[tuple[str, ...]], list[tuple[str, ...]]]:
    """The words that decide each story: of all that are read, and of those that are asked."""
    told = parted()[0]
    found = [ASKED.fullmatch(text) for text in told.texts]
    every = [one.groups() for one in found if one is not None]
    asked = np.random.default_rng(1).permutation(len(told))[:ASKED_OF]
    return every, [every[i] for i in asked]


def surprise(asked: str, known: tuple[str, ...] = (), n: int = ASKED_OF) -> tuple[float, float]:
    """What is left open of a word in all stories, and the mean surprise in those that are asked.

    Parameters
    ----------
    asked : str
        One of `WORDS`, or "name again".
    known : tuple of str
        The words that are seen.
    n : int
        So many are asked.
    """
    if asked == "name again":
        return float(np.log(len(NAMES))), float(np.log(len(NAMES)))
    which, seen = WORDS.index(asked), [WORDS.index(word) for word in known]

    def split(story: tuple[str, ...]) -> tuple[tuple[str, ...], str]:
        return tuple(story[i] for i in seen), story[which]

    every, some = _stories()
    both = Counter(split(story) for story in every)
    before = Counter(split(story)[0] for story in every)
    means = []
    for stories in (every, some[:n]):
        pairs = [split(story) for story in stories]
        means.append(-np.mean([np.log(both[pair] / before[pair[0]]) for pair in pairs]))
    return float(means[0]), float(means[1])


def floor(name: str) -> float:
    """A step of `FLOORS`, over the tales of the measurement."""
    return surprise(*FLOORS[name])[1]


def beginner() -> Any:
    """A model of the storyteller's sizes that has not been trained, in float64."""
    from tformer import fast
    from tformer_book.storyteller.training import CONFIGURATION, SEED, sizes

    rng = np.random.default_rng(SEED)
    drawn = initialise(sizes(tokens().n_vocab), CONFIGURATION, rng)
    tree = tree_map(_tensor, drawn)
    return fast.Module(fast.decoder, tree, configuration=CONFIGURATION)


def own_beginner() -> dict[str, Any]:
    """The same parameters by the names that a reader's own `my_transformer.py` uses."""
    return {name: x.detach().clone().requires_grad_() for name, x in named(beginner().tree).items()}


def questions() -> Any:
    """The first quarter of the tales of the measurement."""
    from tformer_book.storyteller.training import asked

    return asked(tokens(), parted()[0], ASKED_OF // 4)


def text(length: int) -> np.ndarray:
    """Tales of the training, one after the other: `length` token ids."""
    return Tales(tokens(), parted()[0]).rows(np.random.default_rng(14), 1, length)[0]


def batches() -> Callable[[int], tuple[np.ndarray, ...]]:
    """Sixteen rows of 64 tokens a step, for a training in a page; a function of the step."""
    tales = Tales(tokens(), parted()[0])

    def batch(step: int) -> tuple[np.ndarray, ...]:
        return next_tokens(tales.rows(np.random.default_rng((14, step)), 16, 65))

    return batch


def own_batches() -> Callable[[int], Any]:
    """The same rows, 65 tokens each, as a reader's own `train` asks for them."""
    import torch

    batch = batches()

    def rows(step: int) -> Any:
        given, wanted = batch(step)
        return torch.from_numpy(np.hstack([given, wanted[:, -1:]]))

    return rows


def _tensor(x: np.ndarray) -> Any:
    import torch

    return torch.tensor(x)


@cache
def patients(trained: bool = True) -> tuple[tuple[float, float], ...]:
    """For both ends of the book's story, told of Mia: how likely the animal, and the street, is."""
    import torch

    from tformer import fast
    from tformer_book.storyteller.training import CONFIGURATION, SEED, sizes

    if trained:
        parameters: Any = load().parameters
    else:
        rng = np.random.default_rng(SEED)
        parameters = initialise(sizes(tokens().n_vocab), CONFIGURATION, rng)
    found = []
    for story in STORIES:
        told = tale(story, "Mia")
        text = "\n" + "".join(told.pieces[: told.kinds.index("patient")])
        given, _ = next_tokens(np.array([[*tokens().encode(text), 0]]))
        tree = tree_map(lambda x: torch.from_numpy(x.astype(np.float64)), parameters)
        p = fast.decoder(torch.from_numpy(given), tree, CONFIGURATION)[0, -1].softmax(-1)
        (animal,), (street,) = (tokens().encode(word) for word in (" animal", " street"))
        found.append((float(p[animal]), float(p[street])))
    return tuple(found)


def norm_of_batch(step: int) -> float:
    """How long the gradient of a batch of the training is for the storyteller as it ended."""
    import torch
    from torch.nn.functional import cross_entropy

    from tformer import fast
    from tformer_book.storyteller.training import CONFIGURATION, batches

    tree = tree_map(lambda x: torch.tensor(x), load().parameters)
    module = fast.Module(fast.decoder, tree, configuration=CONFIGURATION)
    given, wanted = map(torch.from_numpy, batches(tokens())(step))
    cross_entropy(module(given).flatten(0, 1), wanted.flatten()).backward()
    found = [x.grad.double().norm() for x in module.parameters() if x.grad is not None]
    return float(torch.stack(found).norm())
