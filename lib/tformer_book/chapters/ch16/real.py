"""The real model with a cache of few bits, and with a window. Measured once, kept in `real.json`.

`python -m tformer_book.chapters.ch16.real` measures it. The page reads the file, so it needs no
model; the tests measure again where there is one.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from tformer.models.hooks import Hook
from tformer.models.pretrained import PretrainedModel
from tformer_book.experiments import passages

__all__ = [
    *("BITS", "FILE", "LATE", "READ", "WHOLE", "WINDOW", "WINDOWS", "costs"),
    *("measured", "rounded", "stored", "window"),
]

FILE = Path(__file__).with_name("real.json")
READ = ("tale", "news", "science", "recipe")
WINDOW = 32
"""A query sees itself and the 31 positions before it."""
LATE = 65
"""From this position on the window hides half of the text or more."""
WHOLE = "whole model"
WINDOWS: dict[str, tuple[int, ...]] = {
    "window": (),
    "window and the first token": (0,),
    "window and token 7": (7,),
}
"""Positions that all later tokens may see as well."""
ROW, CHANNEL = -1, -2
"""One scale for each token, or for each channel over the text."""


def rounded(bits: int, axis: int = ROW) -> Callable[[np.ndarray], np.ndarray]:
    """Round the numbers along an axis to 2^bits even steps from the least of them to the largest.

    Parameters
    ----------
    bits : int
    axis : int
        `ROW` for a scale a token and head, `CHANNEL` for a scale a channel and head.

    Returns
    -------
    function
        From an array (..., T, d) to another, which is a hook for keys or values.
    """

    def hook(x: np.ndarray) -> np.ndarray:
        low, high = x.min(axis, keepdims=True), x.max(axis, keepdims=True)
        step = (high - low) / np.float32(2**bits - 1)
        step = np.where(step == 0, 1, step).astype(x.dtype)
        return np.asarray(np.round((x - low) / step) * step + low)

    return hook


BITS: dict[str, dict[str, tuple[int, int]]] = {
    "values, 4 bits": {"v": (4, ROW)},
    "keys, 4 bits": {"k": (4, ROW)},
    "keys by channel, 4 bits": {"k": (4, CHANNEL)},
    "values, 2 bits": {"v": (2, ROW)},
    "keys, 2 bits": {"k": (2, ROW)},
    "keys by channel, 2 bits": {"k": (2, CHANNEL)},
}
"""What is rounded: the bits and the axis, for keys or values. The other stays as it is."""


def window(length: int, kept: Iterable[int] = ()) -> np.ndarray:
    """A mask (length, length): who is within `WINDOW` of a query, or kept for all."""
    t, s = np.arange(length)[:, None], np.arange(length)
    return (t - s < WINDOW) | np.isin(s, list(kept))


def measured(model: PretrainedModel, kinds: Iterable[str] = READ) -> dict[str, dict[str, Any]]:
    """What the model loses on each passage, whole, with each of `WINDOWS` and each of `BITS`.

    Returns
    -------
    dict
        For each: "loss", the mean loss of each passage, in nats a token; "late", the same from
        position `LATE` on.
    """
    found: dict[str, dict[str, Any]] = {}

    def add(name: str, text: np.ndarray, hooks: dict[str, Hook], mask: Any = None) -> None:
        loss = passages.losses(passages.read(model, text, hooks, mask)["logits"], text)
        row = found.setdefault(name, {"loss": [], "late": []})
        row["loss"].append(float(f"{loss.mean():.5g}"))
        row["late"].append(float(f"{loss[LATE - 1 :].mean():.5g}"))

    for text in passages.tokens(model, kinds):
        add(WHOLE, text, {})
        for name, kept in WINDOWS.items():
            add(name, text, {}, window(len(text), kept))
        for name, parts in BITS.items():
            hooks = {part: rounded(*how) for part, how in parts.items()}
            add(name, text, passages.everywhere(model, **hooks))
    return found


@cache
def stored() -> dict[str, dict[str, Any]]:
    """What `measured` returned when the file was written."""
    return dict(json.loads(FILE.read_text(encoding="utf-8")))


def costs(name: str, places: str = "loss") -> np.ndarray:
    """What a change costs each passage, in nats a token, from the stored losses."""
    return np.subtract(stored()[name][places], stored()[WHOLE][places])


if __name__ == "__main__":
    from tformer.models.pretrained import from_pretrained

    rows = measured(from_pretrained())
    lines = [f" {json.dumps(name)}: {json.dumps(row)}" for name, row in rows.items()]
    FILE.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
