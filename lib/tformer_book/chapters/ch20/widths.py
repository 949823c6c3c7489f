"""The storyteller in other widths: what each of them knows at the end of its training.

``python -m tformer_book.chapters.ch20.widths`` trains them all and writes `widths.csv`. Its first
row is a short training, which the tests make again.
"""

from __future__ import annotations

import csv
import sys
from dataclasses import replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from tformer_book.experiments.scaling import columns
from tformer_book.storyteller.stored import tokens
from tformer_book.storyteller.tales import KINDS, parted

__all__ = ["SEEDS", "SHORT", "STEPS", "WIDTHS", "ended", "short", "stored"]

FILE = Path(__file__).with_name("widths.csv")
WIDTHS, SEEDS, STEPS = (4, 6, 8, 12, 16, 24, 32, 64), 3, 1000
SHORT = (8, 0, 100)
"""Width, seed and steps of the short training."""


def ended(width: int, seed: int, steps: int = STEPS) -> dict[str, float]:
    """Train one from its first step to its last, with the storyteller's rate as one over the width.

    Returns
    -------
    dict
        The mean loss over 256 tales of each kind of word and of all words, in nats.
    """
    from tformer.training import train
    from tformer_book.experiments.threads import one_thread
    from tformer_book.storyteller.training import RECIPE, WIDTH, asked, batches, losses, untrained

    bpe = tokens()
    module, rate = untrained(bpe, width, seed), RECIPE.rate * WIDTH / width
    recipe = replace(RECIPE, steps=steps, rate=rate, warmup=steps // 10)
    with one_thread(), TemporaryDirectory() as folder:
        for _ in train(module, batches(bpe, seed), recipe, Path(folder), every=steps, bar=False):
            pass
        questions = asked(bpe, parted()[0])
        found = losses(module, questions)
    many = np.array([(questions[2] == i).sum() for i in range(len(KINDS))])
    return found | {"all": float(many @ [found[kind] for kind in KINDS] / many.sum())}


@cache
def stored(kind: str) -> np.ndarray:
    """The loss of a kind of word, or of all, (widths, seeds), as it was measured."""
    (loss,) = columns(FILE, kind)
    return loss[1:].reshape(len(WIDTHS), SEEDS)


def short() -> dict[str, float]:
    """The short training's losses, as they were measured."""
    kinds = (*KINDS, "all")
    return {kind: loss[0] for kind, loss in zip(kinds, columns(FILE, *kinds), strict=True)}


def main() -> None:
    """Train them all, and write what came out."""
    rows = []
    for width, seed, steps in (SHORT, *((w, s, STEPS) for w in WIDTHS for s in range(SEEDS))):
        given = {"width": width, "seed": seed, "steps": steps}
        rows.append(given | ended(width, seed, steps))
        sys.stdout.write(f"{rows[-1]}\n")
        sys.stdout.flush()
    with FILE.open("w", encoding="utf-8", newline="") as file:
        table = csv.DictWriter(file, rows[0].keys(), lineterminator="\n")
        table.writeheader()
        table.writerows({k: f"{v:.6g}" for k, v in row.items()} for row in rows)


if __name__ == "__main__":
    main()
