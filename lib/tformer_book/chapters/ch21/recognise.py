"""Digits of 8 × 8 pixels, read as sixteen patches, and what simpler methods make of them.

`python -m tformer_book.chapters.ch21.recognise` trains all models and writes what it measures; the
first of them is stored with its parameters.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tformer import reference
from tformer.parameters import ModelParameters
from tformer_book.chapters.ch21.images import digits, patches
from tformer_book.chapters.ch21.stack import (
    hidden_states,
    restored,
    saved,
    start,
    tensors,
    train,
)

if TYPE_CHECKING:  # a page that shows what is stored need not wait for it
    import torch

Array = np.ndarray
FILE, WEIGHTS = (Path(__file__).with_name(f"recognise.{kind}") for kind in ("json", "npz"))
P, T, WIDTH, N_TRAIN = 2, 16, 48, 1200
STEPS, BATCH, SEEDS = 600, 64, 3
SPLITS = ("file order", "random")


def split(kind: str) -> tuple[Array, Array]:
    """Which 1,200 digits are for training, and which for the test."""
    n = len(digits()[1])
    order = np.arange(n) if kind == "file order" else np.random.default_rng(0).permutation(n)
    return order[:N_TRAIN], order[N_TRAIN:]


def logits(tokens: Any, model: ModelParameters, mask: Any = None, library: Any = reference) -> Any:
    """Logits of the ten digits, from the mean of the last hidden states; tokens (..., T, p²)."""
    x = hidden_states(tokens @ model.embedding, model, mask, library)
    return x.mean(-2) @ model.unembedding


def shuffled(tokens: Array, seed: int = 3) -> Array:
    """The patches of each image in an order of its own."""
    return np.random.default_rng(seed).permuted(tokens, axis=-2)


def permutation() -> Array:
    """One order of the sixteen patches for all images."""
    return np.random.default_rng(4).permutation(T)


def trained(
    seed: int,
    kind: str = "file order",
    places: int = T,
    order: Array | None = None,
    until: int | None = None,
) -> Any:
    """Parameters after training, as tensors; `order` permutes the patches of all images."""
    import torch

    from tformer import fast

    images, labels = digits()
    chosen, order = split(kind)[0], np.arange(T) if order is None else order
    cut = torch.tensor(patches(images, P)[:, order], dtype=torch.float32)
    model = tensors(start(P * P, WIDTH, 10, places, seed))

    def loss(rng: np.random.Generator) -> torch.Tensor:
        picked = rng.choice(chosen, BATCH, replace=False)
        found = logits(cut[picked], model, library=fast)
        return fast.cross_entropy(found, torch.tensor(labels[picked])).mean()

    train(model, loss, STEPS, seed, until=until, decay=0.05)
    return model


def right(
    model: Any, kind: str = "file order", change: Callable[[Array], Array] | None = None
) -> float:
    """The share of the test digits that are recognised; `change` is applied to their patches."""
    import torch

    from tformer import fast

    images, labels = digits()
    asked = split(kind)[1]
    cut = patches(images[asked], P)
    cut = torch.tensor(cut if change is None else change(cut), dtype=torch.float32)
    with torch.no_grad():
        found = logits(cut, model, library=fast).argmax(-1).numpy()
    return round(float((found == labels[asked]).mean()), 4)


@cache
def nearest(kind: str, k: int = 1) -> float:
    """The share that the most frequent label of the k nearest training images gets right."""
    images, labels = digits()
    chosen, asked = split(kind)
    x, y = images[chosen].reshape(N_TRAIN, -1), images[asked].reshape(len(asked), -1)
    close = reference.pairwise_squared_distance(y, x).argsort(axis=1, kind="stable")[:, :k]
    votes = np.array([np.bincount(labels[chosen][row], minlength=10).argmax() for row in close])
    return float((votes == labels[asked]).mean())


@cache
def linear(kind: str, ridge: float = 1.0) -> float:
    """The share that a ridge regression of the pixels on the ten labels gets right."""
    images, labels = digits()
    chosen, asked = split(kind)
    x = np.concatenate([images.reshape(len(images), -1), np.ones((len(images), 1))], axis=1)
    w = np.linalg.solve(
        x[chosen].T @ x[chosen] + ridge * np.eye(65), x[chosen].T @ np.eye(10)[labels[chosen]]
    )
    return float(((x[asked] @ w).argmax(axis=1) == labels[asked]).mean())


@cache
def left_out(count: int = 0, random: bool = False) -> float:
    """The share of all 1,797 digits that the nearest other image gets right.

    Parameters
    ----------
    count : int
        How many digits before and after each in the file it may not be.
    random : bool
        Instead of these, leave out as many others at random.
    """
    images, labels = digits()
    x, n = images.reshape(len(images), -1), len(images)
    apart = abs(np.arange(n)[:, None] - np.arange(n))
    if random:
        apart = np.random.default_rng(0).permuted(apart, axis=1)
    hidden = (apart <= count) | np.eye(n, dtype=bool)
    distance = np.where(hidden, np.inf, reference.pairwise_squared_distance(x, x))
    return float((labels[distance.argmin(axis=1)] == labels).mean())


def stored() -> dict[str, Any]:
    """What was measured of all models."""
    return dict(json.loads(FILE.read_text(encoding="utf-8")))


@cache
def model() -> ModelParameters:
    """The first model with positions, in file order, rounded to float16 and widened again."""
    return restored(WEIGHTS)


def measure() -> dict[str, Any]:
    """Train every model, and store the first."""
    told: dict[str, Any] = {}
    order = permutation()
    for kind in SPLITS:
        models = [trained(seed, kind) for seed in range(SEEDS)]
        told[kind] = {
            "positions": [right(one, kind) for one in models],
            "no positions": [right(trained(seed, kind, places=0), kind) for seed in range(SEEDS)],
        }
        if kind == SPLITS[0]:
            saved(WEIGHTS, models[0])
            told["shuffled in the test"] = [right(one, change=shuffled) for one in models]
            told["permuted in the test"] = [
                right(one, change=lambda x: x[:, order]) for one in models
            ]
    told["permuted in training and test"] = [
        right(trained(seed, order=order), change=lambda x: x[:, order]) for seed in range(SEEDS)
    ]
    return told


if __name__ == "__main__":
    FILE.write_text(json.dumps(measure(), indent=1) + "\n", encoding="utf-8")
