"""Three tasks in the small world of stories, one for each architecture, and what training gave.

*Refer*: say who "it" is, at each place from "it" on. *Remedy*: go on with the story, word by word.
*German*: say the clause with "it" in German, where "it" is *er*, *sie* or *es*, as the noun is.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from tformer.configuration import Configuration
from tformer.models.sizes import Sizes, count_parameters
from tformer_book.world.stories import CURES, Stories, patient, stories

__all__ = [
    "ALL",
    "CONFIGURATION",
    "IT",
    "RUNS",
    "SEEDS",
    "STORIES",
    "WORDS",
    "Examples",
    "examples",
    "german",
    "n_parameters",
    "numbers",
    "shares",
    "sizes",
    "stored",
]

FILE = Path(__file__).with_name("trained.json")
SEEDS = 5
IT, READ, THEY = 9, 13, 15
"""Of a story after a full stop: the place of "it", how many words there are up to the adjective,
and the place of "they", after which the remedy stands."""

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
    *(("remedy", form) for form in ("decoder", "encoder", "blank")),
    *(("german", form) for form in ("pair", "prefix", "decoder")),
)
"""Tasks, and the architectures that are trained on them: a pair is an encoder with a decoder, and
"blank" an encoder that is asked at a blank after the words so far, anew for each word."""


def sizes(form: str) -> tuple[Sizes, ...]:
    """Of the stacks of an architecture: one, or those of a pair, which share its two layers."""
    one = Sizes(len(WORDS) + (form == "blank"), 32, 2, 2, 128, n_positions=20)
    if form != "pair":
        return (one,)
    half = replace(one, n_layers=1)
    return half, replace(half, has_cross_attention=True)


def n_parameters(form: str) -> int:
    """How many numbers training changes."""
    return sum(count_parameters(one, CONFIGURATION) for one in sizes(form))


def stored() -> dict[str, list[dict[str, Any]]]:
    """What `measured` returned for all seeds, by task and form: "refer encoder"."""
    return dict(json.loads(FILE.read_text(encoding="utf-8")))


def shares(task: str, form: str, what: int | str = "wrote") -> np.ndarray:
    """Of each run the share (n,) of right words at a place, or of texts "wrote" or "copied"."""
    runs = stored()[f"{task} {form}"]
    return np.array([one[what] if isinstance(what, str) else one["given"][what] for one in runs])
