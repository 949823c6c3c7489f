"""Three tasks in the small world of stories, one for each architecture, and what training gives.

*Refer*: say who "it" is, at each place from "it" on. *Remedy*: go on with the story, word by word.
*German*: say the clause with "it" in German, where "it" is *er*, *sie* or *es*, as the noun is.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from tformer import fast
from tformer.configuration import Configuration
from tformer.experiments.intervals import mean_interval
from tformer.experiments.threads import one_thread
from tformer.experiments.training import Adam, training
from tformer.models.sizes import Sizes, initialise
from tformer.parameters import EncoderDecoderParameters, leaves, tree_map
from tformer.world.stories import CURES, Stories, patient, stories

__all__ = [
    "ALL",
    "CONFIGURATION",
    "IT",
    "RUNS",
    "SEEDS",
    "STORIES",
    "WORDS",
    "Examples",
    "chances",
    "examples",
    "german",
    "measured",
    "numbers",
    "scores",
    "share",
    "stored",
    "trained",
    "tried",
    "written",
]

FILE = Path(__file__).with_name("trained.json")
SEEDS = 5
IT, READ, THEY = 9, 13, 15
"""Of a story behind a full stop: the place of "it", how many words there are up to the adjective,
and the place of "they", behind which the remedy stands."""

_GENDERS = {
    "es": "animal horse gate field bread piano sofa bed window",
    "sie": "cow cat mouse goose wall hedge ladder street bridge soup pie harp door hall",
    "er": "dog lion elephant penguin donkey bear fence tower river road lake cake stew apple "
    "wardrobe table tunnel cellar lift",
}
PRONOUNS = {noun: word for word, nouns in _GENDERS.items() for noun in nouns.split()}
"""What "it" is in German, by its noun: das Tier, die Straße, der Hund."""
ADJECTIVES = dict(
    pair.split("=")
    for pair in (
        *("tired=müde", "lazy=faul", "shy=scheu", "sad=traurig", "high=hoch", "rusty=rostig"),
        *("wide=breit", "icy=vereist", "hot=heiß", "dry=trocken", "fat=dick", "heavy=schwer"),
        *("narrow=eng", "low=niedrig"),
    )
)
ALL = stories()
STORIES = tuple(
    f"the {one} did not {verb} the {other} because it was too {why} . so they {cure} the {noun} ."
    for one, verb, other, why, noun in (
        ("animal", "cross", "street", "tired", "animal"),
        ("animal", "cross", "street", "wide", "street"),
        ("piano", "enter", "door", "heavy", "piano"),
        ("piano", "enter", "door", "narrow", "door"),
    )
    for cures in CURES.values()
    for trouble, cure in cures.items()
    if trouble == why
)
"""What the page and its figures show; the pair of the first two is never trained on."""
WORDS = (*ALL.words, *_GENDERS, *ADJECTIVES.values(), "weil", "zu", "war")
NUMBER = {word: i for i, word in enumerate(WORDS)}
CONFIGURATION = Configuration(positions="learned")
D_MODEL, N_LAYERS, STEPS, BATCH, RATE = 32, 2, 400, 64, 0.005


class Examples(NamedTuple):
    """Examples of a task: what is read, what is written into, and what is asked for.

    Attributes
    ----------
    source : (n, S) integer array
        Read by the encoder of a pair; empty, (n, 0), for a single stack.
    words : (n, T) integer array
        The words of a single stack, or those that the decoder of a pair is given.
    asked : (n, T) integer array
        The right answer at each place; -1 where nothing is asked.
    n_prefix : int
        How many words of a prefix see each other, in a prefix decoder.
    """

    source: np.ndarray
    words: np.ndarray
    asked: np.ndarray
    n_prefix: int = 0


def german(story: str) -> list[str]:
    """The clause with "it" in German, between two full stops: weil es zu müde war."""
    adjective = story.split()[11]
    return [".", "weil", PRONOUNS[patient(story)], "zu", ADJECTIVES[adjective], "war", "."]


def numbers(words: list[str]) -> list[int]:
    """The numbers of words, English and German."""
    return [NUMBER[word] for word in words]


def examples(task: str, world: Stories, paired: bool = False) -> Examples:
    """All stories of a world as examples of "refer", "remedy" or "german"."""
    rows = world.tokens()
    none = np.zeros((len(rows), 0), dtype=int)
    if task == "refer":
        asked = np.repeat([[NUMBER[patient(story)]] for story in world], READ, axis=1)
        return Examples(none, rows[:, :READ], np.where(np.arange(READ) < IT, -1, asked))
    if task == "remedy":
        asked = np.where(np.arange(rows.shape[1] - 1) < THEY, -1, rows[:, 1:])
        return Examples(none, rows[:, :-1], asked, THEY + 1)
    clauses = np.array([numbers(german(story)) for story in world])
    if paired:
        return Examples(rows[:, 1:READ], clauses[:, :-1], clauses[:, 1:])
    words = np.hstack([rows[:, 1:READ], clauses])
    asked = np.where(np.arange(words.shape[1] - 1) < READ - 1, -1, words[:, 1:])
    return Examples(none, words[:, :-1], asked, READ)


RUNS = (
    *(("refer", form) for form in ("encoder", "decoder")),
    *(("remedy", form) for form in ("decoder", "encoder")),
    *(("german", form) for form in ("pair", "prefix", "decoder")),
)
"""Tasks, and the architectures that are trained on them: a pair is an encoder with a decoder."""


def scores(form: str, p: Any, source: Tensor, words: Tensor, n_prefix: int = 0) -> Tensor:
    """Scores of all words at every place of `words`, by an architecture of that form."""
    if form == "pair":
        return fast.encoder_decoder(source, words, p, CONFIGURATION)
    if form == "decoder":
        return fast.decoder(words, p, CONFIGURATION)
    n = words.shape[-1]
    mask = fast.prefix_mask(n, n, n_prefix) if form == "prefix" else None
    return fast.unembed(fast.encoder(words, p, CONFIGURATION, mask), p)


def _start(form: str, seed: int) -> Any:
    """Parameters to start from, in float32; a pair has its layers on two sides."""
    rng = np.random.default_rng(seed)
    sizes = Sizes(len(WORDS), D_MODEL, N_LAYERS, 2, 4 * D_MODEL, n_positions=20)
    if form != "pair":
        p: Any = initialise(sizes, CONFIGURATION, rng, std=0.1)
    else:
        halves = {"n_layers": N_LAYERS // 2}
        one = Sizes(**vars(sizes) | halves)
        two = Sizes(**vars(sizes) | halves | {"crossed": True})
        p = EncoderDecoderParameters(
            *(initialise(half, CONFIGURATION, rng, std=0.1) for half in (one, two))
        )
    return tree_map(lambda x: torch.tensor(x, dtype=torch.float32, requires_grad=True), p)


def trained(task: str, form: str, seed: int = 0, steps: int = STEPS) -> Any:
    """Train an architecture on a task, on one thread; its parameters, as tensors in float32."""
    given = examples(task, ALL.split()[0], form == "pair")
    source, words, asked = (torch.from_numpy(x) for x in given[:3])
    rng, p = np.random.default_rng(seed), _start(form, seed)

    def gradients() -> tuple[Tensor, ...]:
        some = torch.from_numpy(rng.integers(0, len(words), BATCH))
        z, right = scores(form, p, source[some], words[some], given.n_prefix), asked[some]
        loss = fast.cross_entropy(z[right >= 0], right[right >= 0]).mean()
        return torch.autograd.grad(loss, leaves(p), allow_unused=True, materialize_grads=True)

    def rate(step: int) -> float:
        return RATE * min(step / 20, 1) * (1 + math.cos(math.pi * step / steps)) / 2

    with one_thread():
        for _ in training(Adam(p, betas=(0.9, 0.98)), gradients, steps, rate):
            pass
    return tree_map(Tensor.detach, p)


def written(form: str, p: Any, given: Examples) -> np.ndarray:
    """The words that an architecture writes where words are asked for, each the likeliest.

    Every word is found by a pass over all words before it, and only the last row of it is read.

    Returns
    -------
    (n, T) boolean array
        Whether the word at each place is the right one; True where none is asked for.
    """
    source, words, asked = (torch.from_numpy(x) for x in given[:3])
    first = int((asked[0] >= 0).int().argmax())
    so_far, right = words[:, : first + 1], asked.clone()
    for t in range(first, words.shape[1]):
        found = scores(form, p, source, so_far, given.n_prefix)[:, -1].argmax(-1)
        right[:, t] = torch.where(asked[:, t] >= 0, found, -1)
        so_far = torch.cat([so_far, found[:, None]], dim=1)
    return (right == asked).numpy()


def tried(task: str, form: str, p: Any) -> dict[str, Any]:
    """How an architecture does on stories with pairs of nouns that it has not seen.

    Returns
    -------
    dict
        "given": share of right words at each place, where the words before are the right ones.
        "wrote": share of stories that it writes without a mistake; None where it is not to write.
    """
    given = examples(task, ALL.split()[1], form == "pair")
    source, words, asked = (torch.from_numpy(x) for x in given[:3])
    found = scores(form, p, source, words, given.n_prefix).argmax(-1)
    right = ((found == asked) | (asked < 0)).double().mean(0)
    wrote = None if task == "refer" else float(written(form, p, given).all(axis=1).mean())
    return {"given": right[asked[0] >= 0].numpy().round(4).tolist(), "wrote": wrote}


def chances(task: str, form: str, p: Any, story: str) -> np.ndarray:
    """The chances (T, N) of all words, at each place of a story, by a trained architecture."""
    given = examples(task, Stories((story,), np.ones(1), ALL.words), form == "pair")
    source, words = (torch.from_numpy(x) for x in given[:2])
    z = scores(form, p, source, words, given.n_prefix)
    return np.asarray(torch.softmax(z[0].double(), -1))


def measured(task: str, form: str, seed: int) -> dict[str, Any]:
    """What `tried` gives behind training; with seed 0, what it says of `STORIES` as well.

    Returns
    -------
    dict
        That of `tried`, and "said": for each story, place by place, three words with their chances.
    """
    p = trained(task, form, seed)
    found = tried(task, form, p)
    if seed == 0:
        found["said"] = [_likeliest(chances(task, form, p, story)) for story in STORIES]
    return found


def _likeliest(p: np.ndarray) -> list[list[Any]]:
    rows = [np.argsort(-row, kind="stable")[:3] for row in p]
    return [
        [[WORDS[i], round(float(row[i]), 4)] for i in best]
        for row, best in zip(p, rows, strict=True)
    ]


def stored() -> dict[str, list[dict[str, Any]]]:
    """What `measured` returned for all seeds, by task and form: "refer encoder"."""
    return dict(json.loads(FILE.read_text(encoding="utf-8")))


def share(task: str, form: str, place: int | None = None) -> tuple[float, float]:
    """Mean share of right words at a place, or of right texts; half of its 95 % interval."""
    runs = stored()[f"{task} {form}"]
    found = [one["wrote"] if place is None else one["given"][place] for one in runs]
    mean, half = mean_interval(np.array(found), 0.95)
    return float(mean), float(half)


if __name__ == "__main__":
    made = {
        f"{task} {form}": [measured(task, form, seed) for seed in range(SEEDS)]
        for task, form in RUNS
    }
    FILE.write_text(json.dumps(made, ensure_ascii=False) + "\n", encoding="utf-8")
