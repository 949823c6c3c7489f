"""The real model with one block left out, and what it would name if it stopped before the last.

Measured once by `python -m tformer_book.chapters.ch17.left_out`, and kept in `left_out.json`. The
page reads the file, so it needs no model; the tests measure again where there is one.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from tformer import reference
from tformer.models.hooks import run_with_hooks
from tformer.models.pretrained import PretrainedModel
from tformer_book.experiments import passages
from tformer_book.experiments.storing import by_lines, short

__all__ = ["FILE", "READ", "costs", "measured", "stored", "without"]

FILE = Path(__file__).with_name("left_out.json")
BEFORE_LAST = -2
READ = ("tale", "news", "science", "recipe")
"""The passages on which the loss is measured."""


def without(model: PretrainedModel, text: np.ndarray, run: dict[str, Any], block: int) -> Any:
    """The logits without one block, from a run of the whole model.

    The blocks after it read what stood before it; those before are not computed again.
    """
    _, p, c = model
    before = run["embedded"] if block == 0 else run[f"blocks.{block - 1}.after"]
    later = replace(p, blocks=p.blocks[block + 1 :])
    return run_with_hooks(text, later, c, {"embedded": lambda _: before})["logits"]


def measured(
    model: PretrainedModel,
    kinds: Iterable[str] = READ,
    blocks: Iterable[int] | None = None,
) -> dict[str, list[Any]]:
    """What the model makes of each passage, whole and without each block.

    Returns
    -------
    dict
        "whole": the mean loss of each passage, in nats a token. "without": for each passage, the
        loss without each block. "renamed": the share of positions of each passage at which the
        last block changes the likeliest token, by the logit lens before it; "right": the shares
        of positions at which the lens before the last block, and the model, name the token that
        comes.
    """
    _, p, c = model
    left_out = range(len(p.blocks)) if blocks is None else blocks
    found: dict[str, list[Any]] = {"whole": [], "without": [], "renamed": [], "right": []}
    for text in passages.tokens(model, kinds):
        run = passages.read(model, text)
        found["whole"].append(_loss(run["logits"], text))
        found["without"].append([_loss(without(model, text, run, i), text) for i in left_out])
        before = run[f"blocks.{len(p.blocks) + BEFORE_LAST}.after"]
        early, late = (x.argmax(-1) for x in (reference.logit_lens(before, p, c), run["logits"]))
        found["renamed"].append(short((early != late).mean()))
        right = ((names[:-1] == text[1:]).mean() for names in (early, late))
        found["right"].append([short(x) for x in right])
    return found


def _loss(logits: np.ndarray, text: np.ndarray) -> float:
    return short(passages.losses(logits, text).mean())


@cache
def stored() -> dict[str, list[Any]]:
    """What `measured` returned when the file was written."""
    return dict(json.loads(FILE.read_text(encoding="utf-8")))


def costs() -> np.ndarray:
    """What leaving out each block costs each passage, in nats a token: (texts, L)."""
    return np.asarray(stored()["without"]) - np.asarray(stored()["whole"])[:, None]


if __name__ == "__main__":
    from tformer.models.pretrained import from_pretrained

    FILE.write_text(by_lines(measured(from_pretrained())), encoding="utf-8")
