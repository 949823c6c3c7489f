"""The attention patterns of the real model, replaced: what is in them besides the positions?

Measured once by `python -m tformer_book.chapters.ch17.patterns`, and kept in `patterns.json`. The
page reads the file, so it needs no model; the tests measure again where there is one.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from tformer.models.hooks import Hook
from tformer.models.pretrained import PretrainedModel
from tformer_book.experiments import passages
from tformer_book.experiments.storing import by_lines, short

__all__ = [
    "FILE",
    "KINDS",
    "PLACES",
    "READ",
    "WHOLE",
    "costs",
    "even",
    "measured",
    "name",
    "stored",
]

FILE = Path(__file__).with_name("patterns.json")
KINDS = ("mean of other texts", "even")
PLACES = {
    "all blocks": range(30),
    "blocks 0 to 9": range(10),
    "blocks 10 to 19": range(10, 20),
    "blocks 20 to 29": range(20, 30),
}
WHOLE = "whole model"
READ = ("tale", "news", "science", "recipe")
"""The passages on which the loss is measured."""


def even(length: int) -> np.ndarray:
    """Weights (length, length) that each row shares evenly among all positions up to its own."""
    return np.tri(length, dtype=np.float32) / np.arange(1, length + 1, dtype=np.float32)[:, None]


def name(kind: str, places: str) -> str:
    """The name of a replacement in what is stored."""
    return f"{kind}, {places}"


def measured(
    model: PretrainedModel,
    kinds: Iterable[str] = READ,
    others: Iterable[str] = tuple(passages.PASSAGES),
) -> dict[str, list[float]]:
    """The mean loss of each passage with its patterns replaced, in nats a token.

    Parameters
    ----------
    model : PretrainedModel
    kinds : iterable of str
        Passages that are read.
    others : iterable of str
        Passages of whose patterns the mean is taken, but for the one that is read.

    Returns
    -------
    dict
        By `WHOLE`, and by `name` for each of `KINDS` in each of `PLACES`.
    """
    texts = dict(zip(passages.PASSAGES, passages.tokens(model), strict=True))
    seen = {kind: passages.weights(model, texts[kind]) for kind in others}
    total = sum(seen.values())
    n_others = len(seen) - 1
    found: dict[str, list[float]] = {}
    for kind in kinds:
        text = texts[kind]
        mean = (total - seen[kind]) / n_others
        flat = np.broadcast_to(even(len(text)), mean.shape)
        changes: dict[str, dict[str, Hook]] = {WHOLE: {}}
        for one, tables in zip(KINDS, (mean, flat), strict=True):
            for places, blocks in PLACES.items():
                hooks = {f"blocks.{i}.weights": _put(tables[i]) for i in blocks}
                changes[name(one, places)] = hooks
        run = passages.read(model, text)
        for key, hooks in changes.items():
            logits = passages.again(model, text, run, hooks)["logits"]
            loss = passages.losses(logits, text).mean()
            found.setdefault(key, []).append(short(loss))
    return found


def _put(table: np.ndarray) -> Hook:
    def hook(_: Any) -> np.ndarray:
        return table

    return hook


@cache
def stored() -> dict[str, list[float]]:
    """What `measured` returned when the file was written."""
    return dict(json.loads(FILE.read_text(encoding="utf-8")))


def costs(kind: str, places: str) -> np.ndarray:
    """What a replacement costs each passage, in nats a token."""
    return np.subtract(stored()[name(kind, places)], stored()[WHOLE])


if __name__ == "__main__":
    from tformer.models.pretrained import from_pretrained

    FILE.write_text(by_lines(measured(from_pretrained())), encoding="utf-8")
