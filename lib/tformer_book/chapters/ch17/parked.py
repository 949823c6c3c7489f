"""The weight on the first token of the real model: what it is worth, and what makes it.

Measured once by `python -m tformer_book.chapters.ch17.parked`, and kept in `parked.json`. The
page reads the file, so it needs no model; the tests measure again where there is one.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from tformer.models.hooks import Hook, zero_ablation
from tformer.models.pretrained import PretrainedModel
from tformer_book.experiments import passages
from tformer_book.experiments.storing import by_lines, short

__all__ = [
    *("CHANGES", "FILE", "HIDDEN", "LATE", "MOVED", "OTHER", "UNWRITTEN", "WHOLE", "WRITER"),
    *("costs", "hidden", "measured", "stored"),
]

FILE = Path(__file__).with_name("parked.json")
WRITER = 11
"""The block after which the first token's vector is huge."""
OTHER = 7
"""Position of another token, for controls."""
LATE = 65
"""From this position on, the text before a token is long."""
WHOLE = "whole model"
HIDDEN = "first token hidden from all later ones"
UNWRITTEN = f"block {WRITER} adds nothing to the first token"
MOVED = f"what block {WRITER} adds to the first token goes to token {OTHER}"
CHANGES = (
    HIDDEN,
    UNWRITTEN,
    f"block {WRITER} adds nothing to token {OTHER}",
    f"block {WRITER - 1} adds nothing to the first token",
    MOVED,
)
"""What is changed. A block adds by its feed-forward layer here."""


def _hooks() -> dict[str, dict[str, Hook]]:
    def nothing(block: int, position: int) -> dict[str, Hook]:
        return zero_ablation(f"blocks.{block}.feed_forward", np.s_[..., position, :])

    def moved(y: np.ndarray) -> np.ndarray:
        y = y + 0
        y[OTHER] += y[0]
        y[0] = 0
        return y

    hooks: tuple[dict[str, Hook], ...] = (
        {},
        nothing(WRITER, 0),
        nothing(WRITER, OTHER),
        nothing(WRITER - 1, 0),
        {f"blocks.{WRITER}.feed_forward": moved},
    )
    return dict(zip(CHANGES, hooks, strict=True))


def hidden(length: int) -> np.ndarray:
    """A mask (length, length) with which only the first token sees the first token."""
    mask = np.ones((length, length), bool)
    mask[1:, 0] = False
    return mask


def measured(
    model: PretrainedModel, kinds: Iterable[str] = tuple(passages.PASSAGES)
) -> dict[str, dict[str, list[Any]]]:
    """What the model makes of each passage, whole and with each of `CHANGES`.

    Returns
    -------
    dict
        For each: "loss", the mean loss of each passage, in nats a token; "late", the same from
        position `LATE` on; "0", "1" and "7": the mean weight on the token of that position, over
        all later tokens, all heads and the blocks after `WRITER`. "norms", of the whole model
        alone: after each block the norm of the first token's vector, and the median of the others'.
    """
    changes = {WHOLE: {}, **_hooks()}
    runs = [(text, passages.read(model, text)) for text in passages.tokens(model, kinds)]
    found: dict[str, dict[str, list[Any]]] = {}
    layers = range(len(model.parameters.blocks))
    for name, hooks in changes.items():
        row: dict[str, list[Any]] = {key: [] for key in ("loss", "late", "0", "1", str(OTHER))}
        for text, whole in runs:
            if name == HIDDEN:
                run = passages.read(model, text, mask=hidden(len(text)))
            else:
                run = passages.again(model, text, whole, hooks)
            loss = passages.losses(run["logits"], text)
            row["loss"].append(short(loss.mean()))
            row["late"].append(short(loss[LATE - 1 :].mean()))
            after = np.array([run[f"blocks.{i}.weights"] for i in layers[WRITER + 1 :]])
            for position in (0, 1, OTHER):
                weight = after[..., position + 1 :, position].mean()
                row[str(position)].append(short(weight))
            if name == WHOLE:
                norms = [np.linalg.norm(run[f"blocks.{i}.after"], axis=-1) for i in layers]
                told = [[short(x[0]), short(np.median(x[1:]))] for x in norms]
                row.setdefault("norms", []).append(told)
        found[name] = row
    return found


@cache
def stored() -> dict[str, dict[str, Any]]:
    """What `measured` returned when the file was written."""
    return dict(json.loads(FILE.read_text(encoding="utf-8")))


def costs(name: str, places: str = "late") -> np.ndarray:
    """What a change costs each passage, in nats a token; `places` are "loss" for all, or "late"."""
    return np.subtract(stored()[name][places], stored()[WHOLE][places])


if __name__ == "__main__":
    from tformer.models.pretrained import from_pretrained

    FILE.write_text(by_lines(measured(from_pretrained())), encoding="utf-8")
