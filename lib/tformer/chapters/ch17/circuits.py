"""Small encoders that say, or show, who "it" is; trained many times, opened and cut.

The sentences are the first clauses of the small world, twelve words as in the row of the book, one
sixth of the pairs of nouns held out. Each pair is drawn, then who is meant by a coin, then a trouble
that fits: so no preference for a noun is right in more than half. What all trainings came to is in
`seeds.json`, the models of the page in `models`; the tests train some again.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tformer.configuration import Configuration
from tformer.experiments.training import Adam, training
from tformer.models.files import load, save
from tformer.models.inside import inside
from tformer.models.sizes import Sizes, initialise
from tformer.parameters import ModelParameters, leaves, tree_map
from tformer.world.stories import CURES, WHO, patient, stories

if TYPE_CHECKING:  # a page that shows what is stored need not wait for it
    import torch

__all__ = [
    "ADJECTIVE",
    "CONFIGURATION",
    "FILE",
    "IT",
    "NOUNS",
    "SEEDS",
    "SHOWN",
    "TASKS",
    "Sentences",
    "Task",
    "learnt",
    "measured",
    "sentences",
    "shown",
    "stored",
]

FILE = Path(__file__).with_name("seeds.json")
MODELS = Path(__file__).with_name("models")
NOUNS, IT, ADJECTIVE, LENGTH = (1, 6), 8, 11, 12
"""Places of the two nouns, of "it" and of the trouble in a sentence of twelve words."""
SEEDS, WIDTH, BATCH, RATE, COLOURS = 8, 48, 64, 0.01, 8
CONFIGURATION = Configuration(norm="rms", positions="learned")


@dataclass(frozen=True)
class Task:
    """What a model is made of, and what it is asked.

    Parameters
    ----------
    layers, heads : int
    asked : str
        "noun": the vector of "it" names the noun. "weights": in the last layer, the mean weight of
        "it" on the right noun is to exceed that on the other. "colour": each noun has a colour,
        drawn anew for each sentence, and the vector of "it" names that of the right one.
    steps : int
    """

    layers: int
    heads: int
    asked: str
    steps: int = 600


TASKS = {
    "one head, noun": Task(1, 1, "noun"),
    "two layers, noun": Task(2, 1, "noun"),
    "one head, weights": Task(1, 1, "weights"),
    "two heads, weights": Task(1, 2, "weights"),
    "two layers, weights": Task(2, 1, "weights"),
    "one head, colour": Task(1, 1, "colour", 1500),
    "two layers, colour": Task(2, 1, "colour", 1500),
}


@dataclass(frozen=True, eq=False)
class Sentences:
    """Sentences and who is meant.

    Attributes
    ----------
    tokens : (n, 12) integer array
    p : (n,) array
        How likely each is drawn.
    first : (n,) boolean array
        Whether the first noun is meant.
    words : tuple of str
        The words of the numbers.
    """

    tokens: np.ndarray
    p: np.ndarray
    first: np.ndarray
    words: tuple[str, ...]

    @property
    def meant(self) -> np.ndarray:
        """The noun that is meant, (n,)."""
        return np.where(self.first, *(self.tokens[:, place] for place in NOUNS))

    @property
    def other(self) -> np.ndarray:
        """The other noun, (n,)."""
        return np.where(self.first, *(self.tokens[:, place] for place in NOUNS[::-1]))

    def numbers(self, text: str) -> np.ndarray:
        """The numbers of the words of a sentence, (12,)."""
        return np.array([self.words.index(word) for word in text.split()])


@cache
def sentences() -> tuple[Sentences, Sentences]:
    """Those to learn from, and those of the pairs that are held out."""
    kind_of = {noun: kind for kind, nouns in WHO.items() for noun in nouns}
    found = []
    for world in stories().split():
        meant = [patient(text) for text in world.texts]
        nouns = np.array([text.split()[NOUNS[0]] for text in world.texts])
        p = np.array([1 / len(CURES[kind_of[noun]]) for noun in meant])
        tokens = world.tokens()[:, 1 : 1 + LENGTH]
        found.append(Sentences(tokens, p / p.sum(), nouns == np.array(meant), world.words))
    return found[0], found[1]


def learnt(
    task: Task, seed: int = 0, until: int | None = None
) -> tuple[ModelParameters, np.ndarray]:
    """Train an encoder of attention alone; tensors in float64.

    Returns
    -------
    ModelParameters
    (8, 48) array
        What each colour adds to the vector of its noun.
    """
    import torch

    from tformer.experiments.threads import one_thread

    told, rng = sentences()[0], np.random.default_rng(seed)
    sizes = Sizes(len(told.words), WIDTH, task.layers, task.heads, 1, n_positions=LENGTH)
    sizes = replace(sizes, biased=False, tied=False)
    model = initialise(sizes, CONFIGURATION, rng, std=WIDTH**-0.5)
    blocks = (replace(one, feed_forward=None, feed_forward_norm=None) for one in model.blocks)
    model = tree_map(torch.from_numpy, replace(model, blocks=(*blocks,)))
    colours = rng.standard_normal((COLOURS, WIDTH))
    moved = [x.requires_grad_() for x in leaves(model)]
    cumulated = told.p.cumsum()

    def gradients() -> Any:
        rows = np.minimum(cumulated.searchsorted(rng.random(BATCH)), len(told.p) - 1)
        drawn = rng.integers(COLOURS, size=(BATCH, 2))
        loss = _loss(task, model, colours, told, rows, drawn)
        return torch.autograd.grad(loss, moved, allow_unused=True, materialize_grads=True)

    def rate(step: int) -> float:
        return RATE * min(step / 20, 1 - (step - 1) / task.steps)

    with one_thread():
        for _ in training(Adam(moved), gradients, until or task.steps, rate):
            pass
    return tree_map(torch.Tensor.detach, model), colours


def _loss(
    task: Task,
    model: ModelParameters,
    colours: np.ndarray,
    told: Sentences,
    rows: np.ndarray,
    drawn: np.ndarray,
) -> torch.Tensor:
    """The mean loss of some sentences, in nats."""
    import torch

    from tformer import fast

    first = torch.from_numpy(told.first[rows])
    found = _read(task, model, told.tokens[rows], colours[drawn])
    if task.asked == "weights":
        on = found[f"blocks.{task.layers - 1}.weights"].mean(dim=1)[:, IT, list(NOUNS)]
        right = torch.where(first, on[:, 0], on[:, 1])
        return -(right / on.sum(dim=1)).log().mean()
    logits = found["logits"][:, IT]
    if task.asked == "noun":
        return fast.cross_entropy(logits, torch.from_numpy(told.meant[rows])).mean()
    wanted = torch.from_numpy(np.where(told.first[rows], *drawn.T))
    return fast.cross_entropy(logits[:, :COLOURS], wanted).mean()


def _read(
    task: Task, model: ModelParameters, tokens: np.ndarray, colours: np.ndarray
) -> dict[str, Any]:
    """All intermediates, with colours (n, 2, 48) on the nouns if these are asked for."""
    import torch

    from tformer import fast

    def painted(x: torch.Tensor) -> torch.Tensor:
        y = x + 0
        y[:, list(NOUNS)] = y[:, list(NOUNS)] + torch.from_numpy(colours)
        return y

    changes = {"embedded": painted} if task.asked == "colour" else {}
    given = (torch.from_numpy(tokens), model, CONFIGURATION, changes)
    return inside(*given, causal=False, library=fast)


def measured(task: Task, model: ModelParameters, colours: np.ndarray) -> dict[str, float]:
    """What a model does with the sentences that were held out; means over them as they are drawn.

    Returns
    -------
    dict
        "right": share in which the likeliest word (or colour) is the right one; of colours only
        where the two nouns have different ones, and as the other one if neither is said. "meant",
        "other": weight of "it" on the two nouns in the last layer, mean of its heads. "prefers":
        share in which the first is larger. "asks": weight of "it" on the trouble in the first
        layer; "back": of the trouble on the noun that is meant.
    """
    import torch

    held = sentences()[1]
    drawn = np.random.default_rng(0).integers(COLOURS, size=(len(held.p), 2))
    with torch.no_grad():
        found = _read(task, model, held.tokens, colours[drawn])
    logits = found["logits"][:, IT].numpy()
    wanted, weighed = held.meant, held.p
    if task.asked == "colour":
        logits, wanted = logits[:, :COLOURS], np.where(held.first, *drawn.T)
        weighed = held.p * (drawn[:, 0] != drawn[:, 1])
    tables = [found[f"blocks.{i}.weights"].mean(dim=1).numpy() for i in range(task.layers)]
    on = tables[-1][:, IT][:, list(NOUNS)]
    meant, other = (np.where(held.first, *pair.T) for pair in (on, on[:, ::-1]))
    back = tables[0][:, ADJECTIVE][:, list(NOUNS)]
    means = {
        "meant": meant,
        "other": other,
        "prefers": meant > other,
        "asks": tables[0][:, IT, ADJECTIVE],
        "back": np.where(held.first, *back.T),
    }
    right = logits.argmax(axis=1) == wanted
    means = {"right": right} | means if task.asked != "weights" else means
    found = {name: float(np.average(x, weights=held.p)) for name, x in means.items()}
    if task.asked == "colour":
        found["right"] = float(np.average(right, weights=weighed))
    return {name: round(x, 4) for name, x in found.items()}


SHOWN = {
    "votes": ("one head, noun", 0),
    "veto": ("two heads, weights", 0),
    "query": ("two layers, weights", 0),
    "picture": ("two layers, noun", 5),
    "no picture": ("two layers, noun", 0),
}
"""The models that the page opens: what they were asked, and their seed."""


@cache
def shown(name: str) -> ModelParameters:
    """One of `SHOWN`, as it was stored: arrays in float64 whose numbers float16 can hold."""
    parameters, _ = load(MODELS / f"{name.replace(' ', '_')}.safetensors")
    found: ModelParameters = tree_map(lambda x: x.astype(float), parameters)
    return found


def stored() -> dict[str, list[dict[str, float]]]:
    """What `measured` returned for each of `TASKS`, a training after the other."""
    return dict(json.loads(FILE.read_text(encoding="utf-8")))


def train_all(heard: Callable[[str], None] = print) -> None:
    """Train everything, and write what the page reads: some minutes on one core."""
    found: dict[str, list[dict[str, float]]] = {}
    MODELS.mkdir(exist_ok=True)
    for name, task in TASKS.items():
        for seed in range(SEEDS):
            model, colours = learnt(task, seed)
            found.setdefault(name, []).append(measured(task, model, colours))
            heard(f"{name}, seed {seed}: {found[name][-1]}")
            for kept, of in SHOWN.items():
                if of == (name, seed):
                    narrow = tree_map(lambda x: x.numpy().astype(np.float16), model)
                    path = MODELS / f"{kept.replace(' ', '_')}.safetensors"
                    save(path, narrow, CONFIGURATION)
    FILE.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    train_all()
