"""One training, and three ways to come to the same curve of losses, or not to."""

from __future__ import annotations

from dataclasses import replace
from functools import cache, partial
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
from tformer.training.checkpoints import CheckpointFolder

__all__ = ["HALF", "RECIPE", "batch", "by_means", "losses", "module", "resumed"]

RECIPE = Recipe(24, 0.01, warmup=4)
HALF = replace(RECIPE, precision="float16")
"""In sixteen bits: one text a batch, and parameters so large that scaled gradients overflow."""
GPT = Configuration(activation="gelu_tanh")
SIZES = Sizes(11, 8, 2, 2, 16, n_positions=9)


def module(recipe: Recipe = RECIPE) -> Any:
    """A model of two blocks that always begins alike: in float64, or float32 for sixteen bits."""
    half = recipe.precision == "float16"
    drawn = initialise(SIZES, GPT, np.random.default_rng(0), 1.0 if half else 0.2)
    made = fast.Module(fast.decoder, tree_map(torch.from_numpy, drawn), configuration=GPT)
    return made.float() if half else made


def batch(step: int, rng: np.random.Generator | None = None) -> tuple[np.ndarray, ...]:
    """Seven texts of 2 to 9 tokens: what they are depends on the step, and on nothing else."""
    rng = rng or np.random.default_rng((14, step))
    tokens = rng.integers(0, 11, (7, 10))
    for row, size in zip(tokens, rng.integers(2, 10, 7), strict=True):
        row[size:] = -1
    return next_tokens(tokens)


def alone(step: int, rng: np.random.Generator | None = None) -> tuple[np.ndarray, ...]:
    """The first text of the batch."""
    return tuple(x[:1] for x in batch(step, rng))


@cache
def losses(recipe: Recipe) -> list[float]:
    """The curve, found once for each recipe."""
    texts = alone if recipe.precision == "float16" else batch
    return [made.loss for made in train(module(recipe), texts, recipe)]


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
    folder: Path | str,
    stop: int,
    streamed: bool = False,
    forgotten: str = "",
    recipe: Recipe = RECIPE,
) -> list[float]:
    """The curve of a training that is stopped after a step, and gone on with as by a new process.

    Parameters
    ----------
    folder : path
        Where its checkpoints are, one every four steps.
    stop : int
    streamed : bool
        Whether batches come from one generator, which begins anew with the process.
    forgotten : str
        "moments", if they are lost and Adam begins anew; "scale", if that of the loss is.
    recipe : Recipe
        `RECIPE` or `HALF`.
    """
    found: dict[int, float] = {}
    texts = alone if recipe.precision == "float16" else batch
    for last in (stop, recipe.steps):
        rng = np.random.default_rng(14) if streamed else None
        for made in train(module(recipe), partial(texts, rng=rng), recipe, folder, every=4):
            found[made.step] = made.loss
            if made.step == last:
                break
        if forgotten:
            _forget(CheckpointFolder(Path(folder), recipe), forgotten)
    return [found[step] for step in sorted(found)]


def scale(folder: Path | str) -> float:
    """The scale of the loss in the checkpoint of a training in sixteen bits."""
    found = CheckpointFolder(Path(folder), HALF).load()
    return float("nan") if found is None else float(found.tensors["scaler.scale"])


def _forget(folder: CheckpointFolder, what: str) -> None:
    """Set the moments of a checkpoint to 0, and the steps that Adam counts; or the first scale."""
    if (found := folder.load()) is None:
        return
    first = torch.amp.GradScaler("cpu").get_scale()

    def changed(name: str, x: Any) -> Any:
        if what == "scale":
            return 0 * x + first if name == "scaler.scale" else x
        return 0 * x if ".exp_avg" in name or "optimiser.step." in name else x

    folder.save(found.step, {name: changed(name, x) for name, x in found.tensors.items()})
