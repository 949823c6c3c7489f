"""The published classes: small models with random weights, and the logits that they gave.

`published.json` is made from the fixtures of the tests, which the classes of transformers 5.24.0
wrote: python -m tformer_book.chapters.ch22.published tests/released
"""

from __future__ import annotations

import json
import sys
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from tformer.layer_configuration import LayeredConfiguration
from tformer.layers import LayeredParameters
from tformer.models.layered import layered_decoder
from tformer.pretrained.families import layers_from_state_dict
from tformer_book.chapters.ch22 import listing, running
from tformer_book.chapters.ch22.blocks import Block
from tformer_book.experiments.storing import by_lines

__all__ = [
    "BY_LIBRARY",
    "FAMILIES",
    "FILE",
    "VERSION",
    "apart",
    "fixtures",
    "last_logits",
    "model",
    "packed",
    "summary",
]

FILE = Path(__file__).with_name("published.json")
VERSION = "5.24.0"
NAMES = {"gemma3": "gemma3_text", "gemma4": "gemma4_text", "llama4": "llama4_text"}
"""Names of a class where they differ from ours."""
BY_LIBRARY = ("hrm_text", "gemma4", "deepseek_v4")
"""Families of 2026 whose blocks stand on no page: the library's decoder computes them."""
FAMILIES = (*listing.FAMILIES, *listing.LATEST, *BY_LIBRARY)


@cache
def fixtures() -> dict[str, Any]:
    """What is stored of each family: config, arrays, tokens, logits of the last token, caches."""
    return dict(json.loads(FILE.read_text(encoding="utf-8")))


def model(family: str) -> tuple[LayeredParameters, LayeredConfiguration]:
    """The small model that the published class had, in the form of the library, in float64.

    The experts of a token, where a table holds them, are different ones.
    """
    stored = fixtures()[family]
    rng = np.random.default_rng(stored["seed"])
    arrays = {
        name: mean + 0.2 * rng.standard_normal(shape)
        for name, (mean, *shape) in stored["arrays"].items()
    }
    for name, (n_rows, n_columns) in stored.get("tables", {}).items():
        rows = np.tile(np.arange(stored["n_choices"]), (n_rows, 1))
        arrays[name] = rng.permuted(rows, axis=1)[:, :n_columns]
    return layers_from_state_dict(stored["config"], arrays)


def last_logits(family: str, block: Block | None = None) -> np.ndarray:
    """Our logits of the last token: by a block, else that of a page, else the library's decoder."""
    p, c = model(family)
    tokens = np.array(fixtures()[family]["tokens"])
    if family in BY_LIBRARY:
        return np.asarray(layered_decoder(tokens, p, c)[-1])
    return running.logits(tokens, p, c, block or listing.block_of(family))[-1]


@cache
def apart(family: str) -> float:
    """The largest difference of our logits and the class's, over the largest logit."""
    return running.difference(last_logits(family), np.array(fixtures()[family]["logits"]))


def summary() -> str:
    """How many classes were compared, and the power of ten that no difference reaches."""
    worst = max(map(apart, FAMILIES))
    bound = next(n for n in range(16, -1, -1) if worst < 10.0**-n and n <= 13)
    return f"{len(FAMILIES)} classes, differences below 1e-{bound} of the largest logit"


def packed(folder: Path) -> dict[str, Any]:
    """The fixtures of a folder, with the logits of the last token only: it has seen all others."""
    found = {}
    for family in FAMILIES:
        path = folder / f"{NAMES.get(family, family)}.json"
        one = json.loads(path.read_text(encoding="utf-8"))
        if one["transformers"] != VERSION:
            raise ValueError(f"{path.name} is of transformers {one['transformers']}, not {VERSION}")
        found[family] = one | {"logits": one["logits"][-1]}
    return found


if __name__ == "__main__":
    FILE.write_text(by_lines(packed(Path(sys.argv[1]))), encoding="utf-8")
