"""A softmax decoder that is trained on noisy regressions, and what it is compared with.

Each row has two tokens in the text: x_n alone, where the decoder gives its answer from the n - 1
examples before it, and then x_n with its target. What all trainings came to is in `noisy.json`.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from tformer import reference
from tformer.configuration import Configuration
from tformer.models.sizes import Sizes, initialise
from tformer.parameters import ModelParameters, leaves, tree_map
from tformer_book.chapters.ch18.regression import least_squares, ridge
from tformer_book.experiments.training import Adam, training

__all__ = [
    "CONFIGURATION",
    "COUNT",
    "FILE",
    "LAYERS",
    "NOISE",
    "WIDTH",
    "Tasks",
    "answers",
    "by_ridge",
    "drawn",
    "errors",
    "held",
    "learnt",
    "measured",
    "stored",
]

FILE = Path(__file__).with_name("noisy.json")
CONFIGURATION = Configuration(norm="rms", positions="learned")
WIDTH, COUNT, NOISE = 3, 8, 0.5
"""Numbers in a row, rows in a text, and the standard deviation of the noise."""
D_MODEL, HEADS, LAYERS = 32, 4, (3, 1)
STEPS, BATCH, RATE, WARM = 3000, 64, 4e-3, 100


class Tasks(NamedTuple):
    """Regressions: each text has a w of its own.

    Attributes
    ----------
    x : (B, n, d) array
    y : (B, n, 1) array
        Targets with noise.
    clean : (B, n, 1) array
        Targets without.
    """

    x: np.ndarray
    y: np.ndarray
    clean: np.ndarray


def drawn(rng: np.random.Generator, count: int) -> Tasks:
    """Draw tasks: all numbers of w and x from N(0, 1)."""
    w = rng.standard_normal((count, WIDTH, 1))
    x = rng.standard_normal((count, COUNT, WIDTH))
    clean = x @ w
    return Tasks(x, clean + NOISE * rng.standard_normal(clean.shape), clean)


def held() -> Tasks:
    """The 4,000 new tasks on which everything is measured."""
    return drawn(np.random.default_rng(7), 4000)


def answers(x: Any, y: Any, p: ModelParameters, library: Any = reference) -> Any:
    """The decoder's answer to each row, from those before it.

    Parameters
    ----------
    x : (B, n, d) array or tensor
    y : (B, n, 1) array or tensor
    p : ModelParameters
        The embedding has a row for each number of x, and one for y.
    library : module
        `reference` for arrays, `fast` for tensors.

    Returns
    -------
    (B, n) array or tensor
    """
    asked = x @ p.embedding[:WIDTH]
    rows = asked, asked + y * p.embedding[WIDTH]
    e: Any
    if isinstance(x, np.ndarray):
        e = np.stack(rows, axis=-2)
    else:
        import torch

        e = torch.stack(rows, dim=-2)
    e = e.reshape(len(x), -1, D_MODEL) + p.positions
    for one in p.blocks:
        e = library.block(e, one, CONFIGURATION, causal=True)
    return (library.rms_norm(e, p.norm) @ p.unembedding)[:, ::2, 0]


def learnt(
    layers: int, seed: int = 0, until: int | None = None, heard: Callable[[str], None] | None = None
) -> ModelParameters:
    """Train a decoder to answer with the noisy targets; returns tensors in float32."""
    import torch

    from tformer import fast
    from tformer_book.experiments.threads import one_thread

    rng = np.random.default_rng(seed)
    sizes = Sizes(WIDTH + 1, D_MODEL, layers, HEADS, 4 * D_MODEL, n_positions=2 * COUNT, tied=False)
    model = initialise(sizes, CONFIGURATION, rng, std=0.5 * D_MODEL**-0.5)
    model = tree_map(lambda x: torch.from_numpy(x.astype(np.float32)), model)
    moved = [x.requires_grad_() for x in leaves(model)]
    made = 0

    def gradients() -> Any:
        nonlocal made
        made += 1
        x, y = (torch.from_numpy(one.astype(np.float32)) for one in drawn(rng, BATCH)[:2])
        loss = ((answers(x, y, model, fast) - y[..., 0]) ** 2).mean()
        if heard and made % 250 == 0:
            heard(f"{layers} layers, seed {seed}, step {made}: {loss.item():.3f}")
        grads = torch.autograd.grad(loss, moved, allow_unused=True, materialize_grads=True)
        norm = torch.stack([(one * one).sum() for one in grads]).sum().sqrt().item()
        return [one / max(1.0, norm) for one in grads]

    def rate(step: int) -> float:
        return RATE * min(step / WARM, 1 - (step - 1) / STEPS)

    with one_thread():
        for _ in training(Adam(moved, (0.9, 0.98)), gradients, until or STEPS, rate):
            pass
    return tree_map(lambda x: x.detach(), model)


def by_ridge(tasks: Tasks, penalty: float) -> np.ndarray:
    """The answers of ridge regression from the rows before, (B, n); least squares for penalty 0."""
    found = np.zeros(tasks.x.shape[:2])
    for n in range(1, tasks.x.shape[1]):
        x, y = tasks.x[:, :n], tasks.y[:, :n]
        w = ridge(x, y, penalty) if penalty else least_squares(x, y)
        found[:, n] = (tasks.x[:, n, None] @ w)[:, 0, 0]
    return found


def errors(found: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """The mean squared error after 0, 1, … n - 1 examples, divided by d, (n,)."""
    return ((found - wanted) ** 2).mean(axis=0) / WIDTH


def measured(p: ModelParameters) -> dict[str, list[float]]:
    """How a decoder does on new tasks, by the number of examples.

    Returns
    -------
    dict
        "error": of its answers against clean targets; "to ridge": their distance from those of
        ridge regression with the penalty σ². Both are mean squares divided by d.
    """
    tasks = held()
    found = answers(tasks.x, tasks.y, p)
    both = {
        "error": errors(found, tasks.clean[..., 0]),
        "to ridge": errors(found, by_ridge(tasks, NOISE**2)),
    }
    return {name: [round(float(x), 4) for x in row] for name, row in both.items()}


def stored() -> dict[str, list[dict[str, list[float]]]]:
    """What `measured` returned, by the number of layers, a seed after the other."""
    return dict(json.loads(FILE.read_text(encoding="utf-8")))
