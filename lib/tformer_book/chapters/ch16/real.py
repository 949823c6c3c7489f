"""The real model with a cache of few bits, and with a window. Measured once, kept in `real.json`.

`python -m tformer_book.chapters.ch16.real` measures it. The page reads the file, so it needs no
model; the tests measure again where there is one.
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
from tformer_book.chapters.ch16.fewer import quantised
from tformer_book.experiments import passages
from tformer_book.experiments.storing import by_lines, short

__all__ = [
    *("BITS", "FILE", "LATE", "WHOLE", "WINDOW", "WINDOWS", "costs"),
    *("measured", "rounded", "scaled", "stored", "window"),
]

FILE = Path(__file__).with_name("real.json")
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
TOKEN, CHANNEL = -1, -2
"""The axis that has one scale: the numbers of a token, or of a channel over the text."""


def rounded(bits: int, axis: int = TOKEN) -> Hook:
    """Round the numbers along an axis to 2^bits even steps from the least of them to the largest.

    Parameters
    ----------
    bits : int
    axis : int
        `TOKEN` for a scale a token and head, `CHANNEL` for a scale a channel and head.

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


def scaled(bits: int) -> Hook:
    """Round by `quantised`, with one scale a token and head: steps are as many below 0 as above."""

    def hook(x: np.ndarray) -> np.ndarray:
        return quantised(x, bits, x.shape[-1])

    return hook


BITS: dict[str, dict[str, Hook]] = {
    "values, 4 bits, scale alone": {"v": scaled(4)},
    "keys, 4 bits, scale alone": {"k": scaled(4)},
    "values, 4 bits": {"v": rounded(4)},
    "keys, 4 bits": {"k": rounded(4)},
    "keys by channel, 4 bits": {"k": rounded(4, CHANNEL)},
    "values, 2 bits": {"v": rounded(2)},
    "keys, 2 bits": {"k": rounded(2)},
    "keys by channel, 2 bits": {"k": rounded(2, CHANNEL)},
}
"""What is rounded: keys or values, of all blocks. The other stays as it is."""


def window(length: int, kept: Iterable[int] = ()) -> np.ndarray:
    """A mask (length, length): who is within `WINDOW` of a query, or kept for all."""
    t, s = np.arange(length)[:, None], np.arange(length)
    return (t - s < WINDOW) | np.isin(s, list(kept))


def measured(
    model: PretrainedModel, kinds: Iterable[str] = tuple(passages.PASSAGES)
) -> dict[str, dict[str, Any]]:
    """What the model loses on each passage, whole, with each of `WINDOWS` and each of `BITS`.

    Returns
    -------
    dict
        For each: "loss", the mean loss of each passage, in nats a token; "late", the same from
        position `LATE` on. "ranges", of the whole model alone: for keys and values of each passage,
        the median range of a token's numbers over the median range of a channel's.
    """
    found: dict[str, dict[str, Any]] = {}

    def add(
        name: str, text: np.ndarray, hooks: dict[str, Hook], mask: Any = None
    ) -> dict[str, Any]:
        run = passages.read(model, text, hooks, mask)
        loss = passages.losses(run["logits"], text)
        row = found.setdefault(name, {"loss": [], "late": []})
        row["loss"].append(short(loss.mean()))
        row["late"].append(short(loss[LATE - 1 :].mean()))
        return run

    ranges: dict[str, list[float]] = {"k": [], "v": []}
    for text in passages.tokens(model, kinds):
        run = add(WHOLE, text, {})
        for part, row in ranges.items():
            x = np.array([run[f"blocks.{i}.{part}"] for i in range(len(model.parameters.blocks))])
            times = np.median(np.ptp(x, TOKEN)) / np.median(np.ptp(x, CHANNEL))
            row.append(short(times, 3))
        for name, kept in WINDOWS.items():
            add(name, text, {}, window(len(text), kept))
        for name, parts in BITS.items():
            add(name, text, passages.everywhere(model, **parts))
    found[WHOLE]["ranges"] = ranges
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

    FILE.write_text(by_lines(measured(from_pretrained())), encoding="utf-8")
