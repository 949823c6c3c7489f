"""Models that see only the last words of a story learn to name the patient.

A decoder of two blocks reads the last k words before the patient and nothing else. It learns from
all stories, so `known.left` is the least loss that it can have. What came of it is in
`reached.json`; the tests begin one training again.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

from tformer.configuration import Configuration
from tformer.models.sizes import Sizes, initialise
from tformer.parameters import leaves, tree_map
from tformer_book.chapters.ch13.known import LAST, tokens, world
from tformer_book.experiments.storing import by_lines
from tformer_book.experiments.training import Adam, linear_schedule, training

__all__ = ["FILE", "SEEDS", "SEEN", "STEPS", "apart", "reached", "stored", "stored_apart"]

FILE = Path(__file__).with_name("reached.json")
SEEN = (1, 2, 10, 11, 15, 16)
"""How many of the last words a model sees: before and after each step of the exact curve."""
SEEDS, STEPS, BATCH, RATE, WIDTH = 3, 400, 64, 0.005, 32
CONFIGURATION = Configuration(norm="rms", activation="relu", positions="learned")


def reached(k: int, seed: int, steps: int = STEPS) -> tuple[float, float]:
    """Train a model that sees the last k words.

    Returns
    -------
    Its mean loss over all stories, before the first step and after the last one.
    """
    first, last = _losses(tokens(), [tokens()], k, seed, steps, STEPS)
    return first[0], last[0]


def apart(of: int, steps: int = 0) -> tuple[list[float], list[float]]:
    """Train a model that sees the last 11 words, on the stories that remain if pairs are held out.

    Returns
    -------
    Its mean loss over those that remain and over those held out, before and after `steps` steps
    of a training of so many.
    """
    rows = [one.tokens() for one in world().split()]
    return _losses(rows[0], rows, 11, 0, steps or of, of)


def _losses(
    learnt: np.ndarray, asked: list[np.ndarray], k: int, seed: int, steps: int, of: int
) -> tuple[list[float], list[float]]:
    import torch

    from tformer import fast
    from tformer_book.experiments.threads import one_thread

    rows = torch.from_numpy(learnt)
    rng = np.random.default_rng(seed)
    sizes = Sizes(
        len(world().words), WIDTH, 2, 1, 4 * WIDTH, n_positions=k, biased=False, tied=False
    )
    model = initialise(sizes, CONFIGURATION, rng, std=WIDTH**-0.5)
    model = tree_map(lambda x: torch.from_numpy(x).requires_grad_(), model)
    numbers = leaves(model)

    def loss(rows: Any) -> Any:
        logits = fast.decoder(rows[:, LAST - k : LAST], model, CONFIGURATION)[:, -1]
        return fast.cross_entropy(logits, rows[:, LAST]).mean()

    def gradients() -> Any:
        which = torch.from_numpy(rng.integers(len(rows), size=BATCH))
        return torch.autograd.grad(loss(rows[which]), numbers)

    def heard() -> list[float]:
        with torch.no_grad():
            return [round(float(loss(torch.from_numpy(one))), 4) for one in asked]

    with one_thread():
        first = heard()
        for _ in training(Adam(numbers), gradients, steps, linear_schedule(RATE, of)):
            pass
        return first, heard()


def _kept() -> dict[str, Any]:
    return dict(json.loads(FILE.read_text(encoding="utf-8"))) if FILE.exists() else {}


def stored() -> dict[int, list[list[float]]]:
    """For each of `SEEN` what `reached` gave, a seed each."""
    return {int(k): pairs for k, pairs in _kept().items() if k.isdigit()}


def stored_apart() -> dict[int, list[list[float]]]:
    """For trainings of so many steps what `apart` gave."""
    return {int(of[1:]): found for of, found in _kept().items() if not of.isdigit()}


if __name__ == "__main__":
    every: dict[str, Any] = _kept()
    for name in sys.argv[1:]:
        if name.isdigit():
            seed = len(every.get(name, ())) % SEEDS  # a call makes one more, or begins again
            every[name] = [*(every[name] if seed else ()), list(reached(int(name), seed))]
        else:  # t400: a training of 400 steps, some pairs held out
            every[name] = apart(int(name[1:]))
    names = sorted(every, key=lambda name: (not name.isdigit(), int(name.strip("t"))))
    FILE.write_text(by_lines({name: every[name] for name in names}), encoding="utf-8")
