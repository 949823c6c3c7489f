"""What decides: one part of a trained encoder is taken from a run of another sentence.

Measured once for each of eight trainings, kept in `exchanged.json`.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import numpy as np

from tformer.models.hooks import Hook, patch, run_with_hooks
from tformer.parameters import ModelParameters
from tformer_book.chapters.ch17.circuits import (
    ADJECTIVE,
    CONFIGURATION,
    IT,
    NOUNS,
    SEEDS,
    TASKS,
    Task,
    learnt,
    read,
    sentences,
    shown,
)

__all__ = ["FILE", "carried", "levelled", "measured", "stored", "turned"]

FILE = Path(__file__).with_name("exchanged.json")
HALVES = {"query": ("q", [IT]), "keys": ("k", list(NOUNS))}
"""The part of the last layer that is taken from the other run, and at which places."""


def stored() -> dict[str, list[float]]:
    """What `measured` returned when the file was written."""
    return dict(json.loads(FILE.read_text(encoding="utf-8")))


@cache
def twins() -> np.ndarray:
    """For each held-out sentence one with the same nouns and verb that means the other, (n,)."""
    held = sentences()[1]
    clauses = held.tokens[:, [NOUNS[0], 4, NOUNS[1]]]
    found = []
    for clause, first in zip(clauses, held.first, strict=True):
        alike = (clauses == clause).all(axis=1) & (held.first != first)
        found.append(int(np.flatnonzero(alike)[0]))
    return np.array(found)


def turned(task: Task, model: ModelParameters, half: str) -> float:
    """The share of held-out sentences whose preference turns with one of `HALVES` of their twin."""
    import torch

    held = sentences()[1]
    part, places = HALVES[half]
    last = f"blocks.{task.layers - 1}"

    def preference(changes: dict[str, Hook]) -> np.ndarray:
        with torch.no_grad():
            found = read(task, model, held.tokens, changes=changes)
        on = found[f"{last}.weights"].mean(dim=1)[:, IT, list(NOUNS)].numpy()
        return np.asarray(on[:, 0] > on[:, 1])

    with torch.no_grad():
        other = read(task, model, held.tokens[twins()])
    changes = patch(other, f"{last}.{part}", np.s_[..., places, :])
    return float(np.average(preference({}) != preference(changes), weights=held.p))


def levelled(name: str = "picture") -> float:
    """The share of right answers if in the last layer "it" gives both nouns their mean weight."""
    held = sentences()[1]

    def level(weights: np.ndarray) -> np.ndarray:
        y = weights.copy()
        y[..., IT, list(NOUNS)] = y[..., IT, list(NOUNS)].mean(axis=-1, keepdims=True)
        return y

    changes = {"blocks.1.weights": level}
    found = run_with_hooks(held.tokens, shown(name), CONFIGURATION, changes, causal=False)
    right = found["logits"][:, IT].argmax(axis=1) == held.meant
    return float(np.average(right, weights=held.p))


def carried(task: Task, model: ModelParameters, colours: np.ndarray) -> float:
    """The share of answers that follow the trouble's vector of a run with other colours."""
    import torch

    held = sentences()[1]
    rng = np.random.default_rng(0)
    drawn = rng.integers(task.colours, size=(len(held.p), 2))
    others = (drawn + rng.integers(1, task.colours, size=drawn.shape)) % task.colours
    with torch.no_grad():
        other = read(task, model, held.tokens, colours[others], {})
        changes = patch(other, "blocks.0.after", np.s_[..., ADJECTIVE, :])
        logits = read(task, model, held.tokens, colours[drawn], changes)["logits"]
    said = logits[:, IT, : task.colours].argmax(dim=1).numpy()
    return float(np.average(said == np.where(held.first, *others.T), weights=held.p))


def measured(seed: int) -> dict[str, float]:
    """All of it for one training: "query" and "keys" of two layers, asked for the weights; colours.

    Returns
    -------
    dict
        "query", "keys", "colour": shares, to four digits.
    """
    task = TASKS["two layers, weights"]
    model, _ = learnt(task, seed)
    found = {half: round(turned(task, model, half), 4) for half in HALVES}
    task = TASKS["two layers, colour"]
    return found | {"colour": round(carried(task, *learnt(task, seed)), 4)}


if __name__ == "__main__":
    every = [measured(seed) for seed in range(SEEDS)]
    rows = {name: [one[name] for one in every] for name in every[0]}
    FILE.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
