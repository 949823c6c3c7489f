"""Small encoders that say, or show, who "it" is; trained many times, opened and cut.

The sentences are the first clauses of the small world, twelve words as in the row of the book, one
sixth of the pairs of nouns held out. Each pair is drawn, then who is meant by a coin, then a
trouble that fits: so no preference for a noun is right in more than half. What all trainings came
to is in `seeds.json`, the models of the page in `models`; the tests train some again.

Rounding differs between processors, and some trainings make the difference grow: that of seed 5 of
"two layers, noun" is the same to 1e-13 after 50 steps, and another one after 200.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tformer.configuration import Configuration
from tformer.models.files import load, save
from tformer.models.hooks import Hook, run_with_hooks, zero_ablation
from tformer.models.sizes import Sizes, initialise
from tformer.parameters import ModelParameters, leaves, tree_map
from tformer_book.experiments.training import Adam, linear_schedule, training
from tformer_book.world.stories import CURES, WHO, patient, stories

if TYPE_CHECKING:  # a page that shows what is stored need not wait for it
    import torch

__all__ = [
    "ADJECTIVE",
    "BEGUN",
    "CONFIGURATION",
    "EARLY",
    "FILE",
    "IT",
    "NOUNS",
    "ROW",
    "SEEDS",
    "SHOWN",
    "TASKS",
    "Sentences",
    "Task",
    "begun",
    "cuts_of",
    "learnt",
    "looks_cut",
    "measured",
    "read",
    "row",
    "sentences",
    "shown",
    "stored",
    "stored_early",
    "stored_rows",
]

FILE = Path(__file__).with_name("seeds.json")
MODELS = Path(__file__).with_name("models")
NOUNS, IT, ADJECTIVE, LENGTH = (1, 6), 8, 11, 12
"""Places of the two nouns, of "it" and of the trouble in a sentence of twelve words."""
ROW = "the animal did not cross the street because it was too {}"
ORDER = ("first", "second")
"""How pages and figures call two layers or blocks."""
SEEDS, WIDTH = 8, 48
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
    steps, batch : int
    rate : float
        The largest learning rate.
    colours : int
        How many there are; they are drawn before the parameters learn, asked for or not.
    """

    layers: int
    heads: int
    asked: str
    steps: int = 600
    batch: int = 64
    rate: float = 0.01
    colours: int = 8


TASKS = {
    "one head, noun": Task(1, 1, "noun"),
    "two layers, noun": Task(2, 1, "noun"),
    "one head, weights": Task(1, 1, "weights"),
    "two heads, weights": Task(1, 2, "weights"),
    "two layers, weights": Task(2, 1, "weights"),
    "one head, colour": Task(1, 1, "colour", 2000, 128, 0.003, 4),
    "two layers, colour": Task(2, 1, "colour", 2000, 128, 0.003, 4),
}
EARLY = 50
"""After so many steps a training is the same on every processor."""
BEGUN = {
    "one head, noun": 3,
    "two layers, noun": 5,
    "one head, weights": 0,
    "two heads, weights": 1,
    "two layers, weights": 1,
    "one head, colour": 0,
    "two layers, colour": 0,
}
"""Of each task the seed whose training the tests begin again."""


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
    (colours, 48) array
        What each colour adds to the vector of its noun.
    """
    import torch

    from tformer_book.experiments.threads import one_thread

    told, rng = sentences()[0], np.random.default_rng(seed)
    sizes = Sizes(len(told.words), WIDTH, task.layers, task.heads, 1, n_positions=LENGTH)
    sizes = replace(sizes, biased=False, tied=False)
    model = initialise(sizes, CONFIGURATION, rng, std=WIDTH**-0.5)
    blocks = (replace(one, feed_forward=None, feed_forward_norm=None) for one in model.blocks)
    model = tree_map(torch.from_numpy, replace(model, blocks=(*blocks,)))
    colours = rng.standard_normal((task.colours, WIDTH))
    moved = [x.requires_grad_() for x in leaves(model)]
    cumulated = told.p.cumsum()

    def gradients() -> Any:
        rows = np.minimum(cumulated.searchsorted(rng.random(task.batch)), len(told.p) - 1)
        drawn = rng.integers(task.colours, size=(task.batch, 2))
        loss = _loss(task, model, colours, told, rows, drawn)
        return torch.autograd.grad(loss, moved, allow_unused=True, materialize_grads=True)

    rate = linear_schedule(task.rate, task.steps)
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
    found = read(task, model, told.tokens[rows], colours[drawn])
    if task.asked == "weights":
        on = found[f"blocks.{task.layers - 1}.weights"].mean(dim=1)[:, IT, list(NOUNS)]
        right = torch.where(first, on[:, 0], on[:, 1])
        return -(right / on.sum(dim=1)).log().mean()
    logits = found["logits"][:, IT]
    if task.asked == "noun":
        return fast.cross_entropy(logits, torch.from_numpy(told.meant[rows])).mean()
    wanted = torch.from_numpy(np.where(told.first[rows], *drawn.T))
    return fast.cross_entropy(logits[:, : task.colours], wanted).mean()


def read(
    task: Task,
    model: ModelParameters,
    tokens: np.ndarray,
    colours: np.ndarray | None = None,
    changes: dict[str, Hook] | None = None,
) -> dict[str, Any]:
    """All intermediates, with colours (n, 2, 48) on the nouns if these are asked for."""
    import torch

    from tformer import fast

    def painted(x: torch.Tensor) -> torch.Tensor:
        y = x + 0
        y[:, list(NOUNS)] = y[:, list(NOUNS)] + torch.from_numpy(colours)
        return y

    given = (changes or {}) | ({"embedded": painted} if task.asked == "colour" else {})
    words = torch.from_numpy(tokens)
    return run_with_hooks(words, model, CONFIGURATION, given, causal=False, library=fast)


def looks_cut(layer: int, of: Sequence[int], on: Sequence[int]) -> dict[str, Hook]:
    """A change that takes from some words their looks at others, in all heads of a layer."""
    return zero_ablation(f"blocks.{layer}.weights", np.s_[..., [[t] for t in of], list(on)])


def cuts_of(task: Task) -> dict[str, dict[str, Hook]]:
    """What is cut: a name, and the change."""
    found = {"last looks": looks_cut(task.layers - 1, [IT], NOUNS)}
    found["it asks"] = looks_cut(0, [IT], [ADJECTIVE])
    if task.layers > 1:
        found["nouns ask"] = looks_cut(0, NOUNS, [ADJECTIVE])
        found["trouble asks"] = looks_cut(0, [ADJECTIVE], NOUNS)
    return found


def measured(task: Task, model: ModelParameters, colours: np.ndarray) -> dict[str, float]:
    """What a model does with the sentences that were held out; means over them as they are drawn.

    Returns
    -------
    dict
        "right": share of right answers: the likeliest word at "it" is the noun; of colours, where
        the two nouns have different ones, the likeliest is the right one; of weights, the mean
        weight of "it" is larger on the right noun. For each of `cuts_of` the same after the cut.
        "meant", "other": weight of "it" on the two nouns in the last layer, mean of its heads;
        "prefers": how often the first is larger. "asks": weight of "it" on the trouble in the first
        layer.
    """
    import torch

    held = sentences()[1]
    drawn = np.random.default_rng(0).integers(task.colours, size=(len(held.p), 2))

    def run(changes: dict[str, Hook]) -> dict[str, Any]:
        with torch.no_grad():
            return read(task, model, held.tokens, colours[drawn], changes)

    whole = run({})
    meant, other = _weights(task, whole)
    found = {"right": _right(task, whole, drawn)}
    found |= {name: _right(task, run(cut), drawn) for name, cut in cuts_of(task).items()}
    means = {"meant": meant, "other": other, "prefers": meant > other}
    means["asks"] = whole["blocks.0.weights"].mean(dim=1).numpy()[:, IT, ADJECTIVE]
    found |= {name: float(np.average(x, weights=held.p)) for name, x in means.items()}
    return {name: round(x, 4) for name, x in found.items()}


def _weights(task: Task, found: dict[str, Any]) -> tuple[np.ndarray, np.ndarray]:
    """The weight of "it" on the noun that is meant and on the other, in the last layer."""
    table = found[f"blocks.{task.layers - 1}.weights"].mean(dim=1).numpy()
    on = table[:, IT, list(NOUNS)]
    first = sentences()[1].first
    return np.where(first, *on.T), np.where(first, *on.T[::-1])


def _right(task: Task, found: dict[str, Any], drawn: np.ndarray) -> float:
    """The share of right answers to the sentences that were held out."""
    held = sentences()[1]
    if task.asked == "weights":
        meant, other = _weights(task, found)
        return float(np.average(meant > other, weights=held.p))
    logits = found["logits"][:, IT].numpy()
    if task.asked == "noun":
        return float(np.average(logits.argmax(axis=1) == held.meant, weights=held.p))
    right = logits[:, : task.colours].argmax(axis=1) == np.where(held.first, *drawn.T)
    return float(np.average(right, weights=held.p * (drawn[:, 0] != drawn[:, 1])))


SHOWN = {
    "votes": ("one head, noun", 0),
    "veto": ("two heads, weights", 1),
    "query": ("two layers, weights", 3),
    "picture": ("two layers, noun", 5),
    "no picture": ("two layers, noun", 0),
}
"""The models that the page opens: what they were asked, and a seed picked after looking."""


@cache
def shown(name: str) -> ModelParameters:
    """One of `SHOWN`, as it was stored: arrays in float64 whose numbers float16 can hold."""
    parameters, _ = load(MODELS / f"{name.replace(' ', '_')}.safetensors")
    found: ModelParameters = tree_map(lambda x: x.astype(float), parameters)
    return found


def row(task: Task, model: ModelParameters, trouble: str = "tired") -> list[float]:
    """The weights of "it" in the last layer, mean of its heads, in the sentence of the book."""
    found = read(task, model, sentences()[1].numbers(ROW.format(trouble))[None])
    table = found[f"blocks.{task.layers - 1}.weights"].mean(dim=1)
    return [round(float(x), 4) for x in table[0, IT]]


def stored() -> dict[str, list[dict[str, float]]]:
    """What `measured` returned for each of `TASKS`, a training after the other."""
    return dict(json.loads(FILE.read_text(encoding="utf-8"))["measured"])


def stored_rows() -> list[list[float]]:
    """What `row` returned for the eight trainings of two layers that name the noun."""
    return list(json.loads(FILE.read_text(encoding="utf-8"))["rows"])


def begun(name: str) -> dict[str, float]:
    """What `measured` returns for one of `BEGUN` after its first `EARLY` steps.

    With "squares", the sum of all parameters' squares: any other recipe ends at another sum.
    """
    model, colours = learnt(TASKS[name], BEGUN[name], EARLY)
    squares = sum(float((x * x).sum()) for x in leaves(model))
    return measured(TASKS[name], model, colours) | {"squares": round(squares, 6)}


def stored_early() -> dict[str, dict[str, float]]:
    """What `begun` returned for each of `BEGUN`."""
    return dict(json.loads(FILE.read_text(encoding="utf-8"))["early"])


def train_all(heard: Callable[[str], None] = print) -> None:
    """Train everything, and write what the page reads: some minutes on one core."""
    found: dict[str, list[dict[str, float]]] = {}
    rows = []
    MODELS.mkdir(exist_ok=True)
    for name, task in TASKS.items():
        for seed in range(SEEDS):
            model, colours = learnt(task, seed)
            found.setdefault(name, []).append(measured(task, model, colours))
            heard(f"{name}, seed {seed}: {found[name][-1]}")
            if name == "two layers, noun":
                rows.append(row(task, model))
            for shows, of in SHOWN.items():
                if of == (name, seed):
                    narrow = tree_map(lambda x: x.numpy().astype(np.float16), model)
                    path = MODELS / f"{shows.replace(' ', '_')}.safetensors"
                    save(path, narrow, CONFIGURATION)
    kept = {"measured": found, "rows": rows, "early": {name: begun(name) for name in BEGUN}}
    FILE.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    train_all()
