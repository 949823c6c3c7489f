"""How many tokens must agree before the real model goes on as it has read before?

Measured once by `python -m tformer_book.chapters.ch17.agreeing`, and kept in `agreeing.json`. The
page reads the file, so it needs no model; the tests measure again where there is one.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from tformer.models.pretrained import PretrainedModel
from tformer_book.chapters.ch17 import real
from tformer_book.experiments import passages
from tformer_book.experiments.storing import by_lines, short

__all__ = ["AGREEING", "FILE", "FROM", "KINDS", "SEEDS", "drawn", "measured", "named", "stored"]

FILE = Path(__file__).with_name("agreeing.json")
KINDS = ("any tokens", "ordinary words")
FROM = (5, 15, 25, 35)
"""Positions of a text from which its tokens come again."""
AGREEING = 5
"""Most tokens of the repeat that have been read when the next one is asked for."""
SEEDS = (0, 1, 2, 3, 4, 5)
SPECIAL = 17
"""Tokens before this one are marks of chats and files."""


def drawn(model: PretrainedModel, kind: str, seed: int) -> np.ndarray:
    """`real.PERIOD` different tokens at random, of all that are no marks, or ordinary words."""
    if kind == "ordinary words":
        return real.repeated(model.tokenizer, seed)[: real.PERIOD]
    rng = np.random.default_rng(seed)
    n_vocab = model.parameters.embedding.shape[0]
    return rng.choice(np.arange(SPECIAL, n_vocab), real.PERIOD, replace=False)


def measured(
    model: PretrainedModel, kinds: Iterable[str] = KINDS, seeds: Iterable[int] = SEEDS
) -> dict[str, dict[str, Any]]:
    """What the model makes of the next token of a repeat, after 0 to `AGREEING` tokens of it.

    Returns
    -------
    dict
        For each kind a row for each text and each of `FROM`, with a number for each count of
        tokens: "loss" of the token that comes, in nats, and "named", whether it is the likeliest.
    """
    found: dict[str, dict[str, Any]] = {}
    for kind in kinds:
        row: dict[str, Any] = {"loss": [], "named": []}
        for text in (drawn(model, kind, seed) for seed in seeds):
            for start in FROM:
                tokens = np.concatenate([text, text[start : start + AGREEING + 1]])
                logits = passages.read(model, tokens)["logits"]
                loss = passages.losses(logits, tokens)[real.PERIOD - 1 :]
                first = logits[real.PERIOD - 1 : -1].argmax(-1) == tokens[real.PERIOD :]
                row["loss"].append(short(loss, 4))
                row["named"].append(first.astype(int).tolist())
        found[kind] = row
    return found


@cache
def stored() -> dict[str, dict[str, Any]]:
    """What `measured` returned when the file was written."""
    return dict(json.loads(FILE.read_text(encoding="utf-8")))


def named(kind: str) -> np.ndarray:
    """The share of texts and positions in which the token that comes is named first, by count."""
    share: np.ndarray = np.mean(stored()[kind]["named"], axis=0)
    return share


if __name__ == "__main__":
    from tformer.models.pretrained import from_pretrained

    FILE.write_text(by_lines(measured(from_pretrained())), encoding="utf-8")
