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

from tformer.chapters.ch13.known import LAST, world
from tformer.configuration import Configuration
from tformer.experiments.training import Adam, training
from tformer.models.sizes import Sizes, initialise
from tformer.parameters import leaves, tree_map

__all__ = ["FILE", "SEEDS", "SEEN", "STEPS", "reached", "stored"]

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
    import torch

    from tformer import fast
    from tformer.experiments.threads import one_thread

    rows = torch.from_numpy(world().tokens())
    seen, wanted = rows[:, LAST - k : LAST], rows[:, LAST]
    rng = np.random.default_rng(seed)
    sizes = Sizes(
        len(world().words), WIDTH, 2, 1, 4 * WIDTH, n_positions=k, biased=False, tied=False
    )
    model = initialise(sizes, CONFIGURATION, rng, std=WIDTH**-0.5)
    model = tree_map(lambda x: torch.from_numpy(x).requires_grad_(), model)
    numbers = leaves(model)

    def loss(which: Any) -> Any:
        logits = fast.decoder(seen[which], model, CONFIGURATION)[:, -1]
        return fast.cross_entropy(logits, wanted[which]).mean()

    def gradients() -> Any:
        which = torch.from_numpy(rng.integers(len(rows), size=BATCH))
        return torch.autograd.grad(loss(which), numbers)

    def heard() -> float:
        with torch.no_grad():
            return round(float(loss(slice(None))), 4)

    with one_thread():
        first = heard()
        rates = [RATE * min(n / 20, 1 - (n - 1) / STEPS) for n in range(1, STEPS + 1)]
        for _ in training(Adam(numbers), gradients, steps, lambda step: rates[step - 1]):
            pass
        return first, heard()


def stored() -> dict[int, list[list[float]]]:
    """For each of `SEEN` what `reached` gave, a seed each."""
    found = json.loads(FILE.read_text(encoding="utf-8")) if FILE.exists() else {}
    return {int(k): pairs for k, pairs in found.items()}


if __name__ == "__main__":
    every = stored()
    for k in map(int, sys.argv[1:]):
        seed = len(every.get(k, ())) % SEEDS  # a call makes one more, or begins again
        every[k] = [*(every[k] if seed else ()), list(reached(k, seed))]
    lines = [f' "{k}": {json.dumps(every[k])}' for k in sorted(every)]
    FILE.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
