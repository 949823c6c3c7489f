"""Small decoders of attention alone learn to repeat: two layers find induction heads, one cannot.

A text is a row of random words, 8 to 24 of them, again and again. What came of six trainings is in
`induction.json`; the tests begin one of them again.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tformer.configuration import Configuration
from tformer.models.hooks import Hook, run_with_hooks
from tformer.models.sizes import Sizes, initialise
from tformer.parameters import ModelParameters, leaves, tree_map
from tformer_book.experiments.training import Adam, linear_schedule, training

if TYPE_CHECKING:  # a page that shows what is stored need not wait for it
    import torch

__all__ = ["EVERY", "FILE", "LAYERS", "PERIOD", "SEEDS", "STEPS", "stored", "texts", "trained"]

FILE = Path(__file__).with_name("induction.json")
N_WORDS, LENGTH, PERIODS, PERIOD = 64, 48, (8, 24), 20
"""Words there are, words of a text, periods in training, and the period in the test."""
STEPS, EVERY, SEEDS, LAYERS = 800, 50, 3, (1, 2)
WIDTH, BATCH, RATE, ASKED = 48, 32, 0.006, 100
CONFIGURATION = Configuration(norm="rms", positions="rope")


def texts(rng: np.random.Generator, n: int, period: int | None = None) -> np.ndarray:
    """Draw texts, (n, 48): a period each, if none is given, and so many words again and again."""
    found = np.empty((n, LENGTH), dtype=int)
    for row in found:
        length = period or int(rng.integers(PERIODS[0], PERIODS[1] + 1))
        row[:] = np.resize(rng.integers(N_WORDS, size=length), LENGTH)
    return found


def trained(layers: int, seed: int, until: int = STEPS) -> list[dict[str, float]]:
    """Train one decoder, and measure it before the first step and every 50.

    Returns
    -------
    list of dict
        On texts of period 20: "first" and "again", the mean loss of words that are met for the
        first time and again; of each layer's head "previous 0" and "induction 0", its scores. The
        last also has "cut": "again" if the first layer's head may not look at the word before.
    """
    import torch

    from tformer import fast
    from tformer_book.experiments.threads import one_thread

    rng = np.random.default_rng(seed)
    sizes = Sizes(N_WORDS, WIDTH, layers, 1, 1)
    sizes = replace(sizes, biased=False, tied=False)
    model = initialise(sizes, CONFIGURATION, rng, std=WIDTH**-0.5)
    blocks = (replace(one, feed_forward=None, feed_forward_norm=None) for one in model.blocks)
    model = tree_map(torch.from_numpy, replace(model, blocks=(*blocks,)))
    moved = [x.requires_grad_() for x in leaves(model)]

    def gradients() -> Any:
        batch = torch.from_numpy(texts(rng, BATCH))
        logits = fast.decoder(batch[:, :-1], model, CONFIGURATION)
        loss = fast.cross_entropy(logits, batch[:, 1:]).mean()
        return torch.autograd.grad(loss, moved, allow_unused=True, materialize_grads=True)

    with one_thread():
        found = [measured(model)]
        for step in training(Adam(moved), gradients, until, linear_schedule(RATE, STEPS)):
            if step % EVERY == 0:
                found.append(measured(model))
        found[-1]["cut"] = measured(model, {"blocks.0.weights": unseen})["again"]
    return found


def unseen(weights: torch.Tensor) -> torch.Tensor:
    """Weights without those on the word before."""
    cut = weights + 0
    cut.diagonal(-1, dim1=-2, dim2=-1).zero_()
    return cut


def measured(model: ModelParameters, changes: dict[str, Hook] | None = None) -> dict[str, float]:
    """Losses and scores on texts of period 20, as `trained` says."""
    import torch

    from tformer import fast

    asked = torch.from_numpy(texts(np.random.default_rng(99), ASKED, PERIOD))
    with torch.no_grad():
        found = run_with_hooks(asked, model, CONFIGURATION, changes, library=fast)
        losses = fast.cross_entropy(found["logits"][:, :-1], asked[:, 1:]).mean(dim=0)
        told = {"first": losses[: PERIOD - 1].mean(), "again": losses[PERIOD:].mean()}
        for i in range(len(model.blocks)):
            weights = found[f"blocks.{i}.weights"]
            told[f"previous {i}"] = fast.previous_token_scores(weights).mean()
            told[f"induction {i}"] = fast.induction_scores(weights, PERIOD).mean()
    return {name: round(float(x), 3) for name, x in told.items()}


def stored() -> dict[str, list[list[dict[str, float]]]]:
    """What `trained` returned: layers, as text, to a list of trainings."""
    return dict(json.loads(FILE.read_text(encoding="utf-8")))


if __name__ == "__main__":
    every = {str(n): [trained(n, seed) for seed in range(SEEDS)] for n in LAYERS}
    lines = json.dumps(every, indent=1).replace("\n    ", " ").replace("\n   }", " }")
    FILE.write_text(lines + "\n", encoding="utf-8")
