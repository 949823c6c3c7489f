"""A stack of the library's blocks over tokens that are vectors already, and its training."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tformer import reference
from tformer.configuration import Configuration
from tformer.models.files import unflatten
from tformer.models.sizes import Sizes, initialise
from tformer.parameters import ModelParameters, leaves, named_leaves, tree_map
from tformer_book.experiments.training import Adam, training

if TYPE_CHECKING:  # a page that shows what is stored need not wait for it
    import torch

__all__ = ["CONFIGURATION", "hidden_states", "restored", "saved", "start", "tensors", "train"]

CONFIGURATION = Configuration(positions="none")
"""Positions are added here, to vectors that no embedding has looked up."""


def start(
    n_in: int, width: int, n_out: int, places: int, seed: int, layers: int = 2, heads: int = 4
) -> ModelParameters:
    """Initial parameters: `embedding` (n_in, width) is a linear map, `positions` (places, width).

    With no places there are no positions.
    """
    rng = np.random.default_rng(seed)
    sizes = Sizes(n_in, width, layers, heads, 2 * width, tied=False)
    model = initialise(sizes, CONFIGURATION, rng, std=width**-0.5)
    return replace(
        model,
        embedding=rng.normal(0, n_in**-0.5, (n_in, width)),
        positions=rng.normal(0, 0.3, (places, width)) if places else None,
        unembedding=rng.normal(0, width**-0.5, (width, n_out)),
    )


def tensors(model: Any) -> Any:
    """The same parameters as tensors of float32 that can be trained."""
    import torch

    return tree_map(lambda x: torch.tensor(x, dtype=torch.float32, requires_grad=True), model)


def hidden_states(
    x: Any, model: ModelParameters, mask: Any = None, library: Any = reference
) -> Any:
    """What a stack makes of tokens (..., T, width): positions, blocks and the last norm."""
    if model.positions is not None:
        x = x + model.positions[: x.shape[-2]]
    for block in model.blocks:
        x = library.block(x, block, CONFIGURATION, mask=mask)
    return library.layer_norm(x, model.norm)


def train(
    model: Any,
    loss: Callable[[np.random.Generator], torch.Tensor],
    steps: int,
    seed: int,
    rate: float = 0.003,
    until: int | None = None,
    decay: float = 0.0,
) -> None:
    """Train parameters in place, on one thread.

    Parameters
    ----------
    model : tree of tensors
    loss : callable
        Of a generator that draws the batch.
    steps : int
        The learning rate rises for a tenth of them and falls along a line to 0.
    until : int, optional
        Stop after so many of the steps.
    """
    import torch

    from tformer_book.experiments.threads import one_thread

    rng, moved = np.random.default_rng(1000 + seed), leaves(model)

    def gradients() -> Any:
        return torch.autograd.grad(loss(rng), moved)

    def schedule(step: int) -> float:
        return rate * min(10 * step / steps, (1 - (step - 1) / steps) / 0.9)

    with one_thread():
        for _ in training(Adam(moved, decay=decay), gradients, until or steps, schedule):
            pass


def saved(path: Path, model: Any) -> None:
    """Write parameters in float16."""
    np.savez_compressed(
        path, **{name: x.detach().numpy().astype(np.float16) for name, x in named_leaves(model)}
    )


def restored(path: Path) -> ModelParameters:
    """What `saved` wrote, in float64."""
    with np.load(path) as stored:
        arrays = {name: stored[name].astype(float) for name in stored.files}
    found: ModelParameters = unflatten(ModelParameters, arrays)
    return found
