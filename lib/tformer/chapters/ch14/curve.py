"""One training, and three ways to come to the same curve of losses, or not to."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.nn.functional import cross_entropy

from tformer import fast
from tformer.configuration import Configuration
from tformer.models.objectives import next_tokens
from tformer.models.sizes import Sizes, initialise
from tformer.parameters import tree_map
from tformer.training import Recipe, train
from tformer.training.checkpoints import Folder

__all__ = ["RECIPE", "batch", "by_means", "losses", "module", "resumed"]

RECIPE = Recipe(24, 0.01, warmup=4)
GPT = Configuration(activation="gelu_tanh")
SIZES = Sizes(11, 8, 2, 2, 16, n_positions=9)


def module() -> Any:
    """A model of two blocks, in float64, that always begins alike."""
    drawn = initialise(SIZES, GPT, np.random.default_rng(0), 0.2)
    return fast.Module(fast.decoder, tree_map(torch.from_numpy, drawn), configuration=GPT)


def batch(step: int, rng: np.random.Generator | None = None) -> tuple[np.ndarray, ...]:
    """Seven texts of 2 to 9 tokens: what they are depends on the step, and on nothing else."""
    rng = rng or np.random.default_rng((14, step))
    tokens = rng.integers(0, 11, (7, 10))
    for row, size in zip(tokens, rng.integers(2, 10, 7), strict=True):
        row[size:] = -1
    return next_tokens(tokens)


def losses(recipe: Recipe) -> list[float]:
    """The curve."""
    return [made.loss for made in train(module(), batch, recipe)]


def by_means(parts: int) -> list[float]:
    """The curve if each part's mean loss counts alike, however many tokens it has."""
    model, found = module(), []
    run = train(model, batch, RECIPE)
    for step in range(1, RECIPE.steps + 1):
        means = []
        for given, wanted in zip(*(np.array_split(x, parts) for x in batch(step)), strict=True):
            with torch.no_grad():
                logits = model(torch.from_numpy(given)).flatten(0, 1)
            means.append(cross_entropy(logits, torch.from_numpy(wanted).flatten(), ignore_index=-1))
        found.append(float(torch.stack(means).mean()))
        next(run)
    return found


def resumed(
    folder: Path | str, stop: int, streamed: bool = False, forgotten: bool = False
) -> list[float]:
    """The curve of a training that is stopped after a step, and gone on with as by a new process.

    Parameters
    ----------
    folder : path
        Where its checkpoints are, one every four steps.
    stop : int
    streamed : bool
        Whether batches come from one generator, which begins anew with the process.
    forgotten : bool
        Whether the moments are lost, and Adam begins anew.
    """
    found: dict[int, float] = {}
    for last in (stop, RECIPE.steps):
        rng = np.random.default_rng(14) if streamed else None
        for made in train(module(), partial(batch, rng=rng), RECIPE, folder, every=4):
            found[made.step] = made.loss
            if made.step == last:
                break
        if forgotten:
            _forget(Path(folder))
    return [found[step] for step in sorted(found)]


def _forget(place: Path) -> None:
    """Set the moments of a checkpoint to 0, and the steps that Adam counts."""
    folder = Folder(place, RECIPE)
    if (found := folder.load()) is not None:
        lost = (".exp_avg", "optimiser.step.")
        tensors = {
            k: 0 * x if any(part in k for part in lost) else x for k, x in found.tensors.items()
        }
        folder.save(found.step, tensors)
