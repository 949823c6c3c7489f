"""The machine at 23 stages of its training: what it writes, what it knows, where it looks."""

from __future__ import annotations

import base64
import json
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np

from tformer_book.chapters.ch00.engine import Machine
from tformer_book.world.stories import FAULTS, START, Stories, fault

__all__ = ["PROMPTS", "STAGES", "stage", "stored", "written"]

STAGES = (
    *(0, 1, 2, 3, 5, 7, 10, 15, 20, 25, 30, 40),
    *(50, 60, 80, 100, 150, 200, 250, 300, 400, 600, 1000),
)
CROSS = f"{START} the animal did not cross the street because it was too"
PROMPTS = {
    "tired": f"{CROSS} tired . so they woke the",
    "wide": f"{CROSS} wide . so they narrowed the",
}
SHOWN, JUDGED = 6, 400
"""How many stories of a stage are kept, and of how many the shares are taken."""
DICE = 433
"""Chosen among others because of a cow and a goose; shares of 400 stories hardly depend on it."""
ANSWERS = {"tired": "animal", "wide": "street"}


def written(machine: Machine, n: int, dice: int = DICE) -> list[str]:
    """Let the machine write n stories of nineteen words, each from its own row of dice.

    The same dice are cast for every machine, so that only the machine makes a difference.
    """
    throws = np.random.default_rng(dice).random((n, len(machine.P)))
    rows = np.full((n, 1), machine.words.index(START))
    for t in range(len(machine.P)):
        p, _ = machine.guesses(rows)
        chosen = (p[:, -1].cumsum(axis=-1) < throws[:, t, None]).sum(axis=-1)
        rows = np.concatenate([rows, np.minimum(chosen, len(machine.words) - 1)[:, None]], axis=1)
    return [" ".join(machine.words[i] for i in row[1:]) for row in rows]


def stage(step: int, machine: Machine, told: Stories) -> dict[str, Any]:
    """What the page keeps of a machine after so many steps; weights are rounded to 1/255."""
    texts = written(machine, JUDGED)
    faults = [fault(text) for text in texts]
    p, _ = machine.guesses(told.tokens()[:, :-1])
    right = np.take_along_axis(p, told.tokens()[:, 1:, None], axis=-1)
    found: dict[str, Any] = {
        "step": step,
        "loss": round(float(-np.log(right).sum() / len(told)), 3),
        "grammar": _share(fault != FAULTS[0] for fault in faults),
        "cure": _share(fault not in FAULTS[:2] for fault in faults),
        "right": _share(not fault for fault in faults),
        "texts": texts[:SHOWN],
        "faults": faults[:SHOWN],
        "prompts": {},
    }
    for name, prompt in PROMPTS.items():
        reading = machine.read(prompt)
        top = reading.p[-1].argsort()[::-1][:4]
        found["prompts"][name] = {
            "sure": round(float(reading.p[-1, machine.words.index(ANSWERS[name])]), 3),
            "weights": [_squeezed(weights) for weights in reading.weights],
            "top": [[machine.words[i], round(float(reading.p[-1, i]), 3)] for i in top],
        }
    return found


def _share(hits: Any) -> float:
    return round(float(np.mean(list(hits))), 4)


def _squeezed(weights: np.ndarray) -> str:
    """The lower half of a square of weights as bytes, as text."""
    lower = weights[np.tril_indices(len(weights))]
    return base64.b64encode(np.rint(255 * lower).astype(np.uint8).tobytes()).decode()


@cache
def stored() -> dict[str, Any]:
    """The losses of the run, batch by batch, and its stages."""
    text = (files(__package__) / "stages.json").read_text(encoding="utf-8")
    found: dict[str, Any] = json.loads(text)
    return found
