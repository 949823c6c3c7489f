"""Train what the chapter stores: `python -m tformer_book.chapters.ch18.train wug` or `noisy`."""

from __future__ import annotations

import json
import re
import sys

import numpy as np

from tformer.models.files import save
from tformer.parameters import tree_map
from tformer_book.chapters.ch18 import noisy, wug

SEEDS = 3


def train_wug() -> None:
    """Three models, of which the first is kept; some minutes each on one core."""
    found = []
    for seed in range(SEEDS):
        halved = tree_map(lambda x: x.numpy().astype(np.float16), wug.learnt(seed, heard=print))
        if seed == 0:
            save(wug.WEIGHTS, halved, wug.CONFIGURATION)
        p = tree_map(lambda x: x.astype(float), halved)
        found.append({**wug.measured(p), "cut": wug.right_without(p)})
        sys.stdout.write(f"seed {seed}: {found[-1]}\n")
    wug.FILE.write_text(json.dumps({"measured": found}, indent=1) + "\n", encoding="utf-8")


def train_noisy() -> None:
    """Three decoders of each depth; a minute or two each on one core."""
    found: dict[str, list[dict[str, list[float]]]] = {}
    for layers in noisy.LAYERS:
        for seed in range(SEEDS):
            p = tree_map(lambda x: x.numpy().astype(float), noisy.learnt(layers, seed, heard=print))
            found.setdefault(str(layers), []).append(noisy.measured(p))
    text = json.dumps(found, indent=1)
    text = re.sub(r"\[[^][{]*\]", lambda row: " ".join(row[0].split()), text)
    noisy.FILE.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    {"wug": train_wug, "noisy": train_noisy}[sys.argv[1]]()
