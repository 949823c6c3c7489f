"""The largest number of a set, by three pools: trained on sets of 8, tried on larger ones.

`python -m tformer_book.chapters.ch21.sets` trains three models of each kind and writes the errors.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tformer import reference
from tformer.configuration import Configuration
from tformer.parameters import FeedForwardParameters
from tformer_book.chapters.ch21.stack import tensors, train

if TYPE_CHECKING:  # a page that shows what is stored need not wait for it
    import torch

Array = np.ndarray
FILE = Path(__file__).with_name("sets.json")
POOLS = ("mean", "attention", "largest")
N_TRAIN, SIZES = 8, (8, 16, 64, 256)
WIDTH, HEADS, STEPS, BATCH, RATE, SEEDS, ASKED = 32, 4, 1500, 128, 0.01, 3, 2000
FACTORS = (2, 3, 4, 5)
"""By what the scores of a trained attention are multiplied, on the largest sets."""
HELD_OUT = 1
"""The seed of the sets on which a factor is chosen; the errors are those of other sets."""
CONFIGURATION = Configuration()


def begin(pool: str, seed: int) -> dict[str, Any]:
    """Initial parameters: a layer for each number, a pool, a layer for the answer."""
    rng = np.random.default_rng(seed)

    def layer() -> FeedForwardParameters:
        first, second = rng.normal(0, WIDTH**-0.5, (2, WIDTH, WIDTH))
        return FeedForwardParameters(first, second, np.zeros(WIDTH), np.zeros(WIDTH))

    model: dict[str, Any] = {
        "number": rng.normal(0, 1, (2, WIDTH)),
        "each": layer(),
        "answer": layer(),
        "out": rng.normal(0, WIDTH**-0.5, (WIDTH, 1)),
    }
    if pool == "attention":
        width = WIDTH // HEADS
        model["query"] = rng.normal(0, 0.3, (HEADS, 1, width))
        model["w_k"] = rng.normal(0, WIDTH**-0.5, (HEADS, WIDTH, width))
    return model


def answer(x: Any, pool: str, model: dict[str, Any], library: Any = reference) -> Any:
    """What a model says is the largest number of each set: (n,) for sets (n, size)."""
    h = x[..., None] * model["number"][0] + model["number"][1]
    h = library.feed_forward(h, model["each"], CONFIGURATION)
    if pool == "mean":
        pooled = h.mean(-2)
    elif pool == "largest":
        pooled = h.max(-2) if isinstance(h, np.ndarray) else h.amax(-2)
    else:
        values = h.reshape(*h.shape[:-1], HEADS, -1).swapaxes(-2, -3)
        keys = h[..., None, :, :] @ model["w_k"]
        seen = library.attention(0 * keys[..., :1, :] + model["query"], keys, values, scale=1.0)
        pooled = seen.reshape(*h.shape[:-2], -1)
    return (library.feed_forward(pooled, model["answer"], CONFIGURATION) @ model["out"])[..., 0]


def trained(pool: str, seed: int, until: int | None = None) -> dict[str, Any]:
    """Parameters after training on sets of 8 numbers from 0 to 1, as tensors."""
    from tformer import fast

    model = tensors(begin(pool, seed))

    def loss(rng: np.random.Generator) -> torch.Tensor:
        x = batch(rng, BATCH, N_TRAIN)
        return ((answer(x, pool, model, fast) - x.amax(-1)) ** 2).mean()

    train(model, loss, STEPS, seed, RATE, until)
    return model


def batch(rng: np.random.Generator, n: int, size: int) -> torch.Tensor:
    """Sets of numbers from 0 to 1: (n, size)."""
    import torch

    return torch.tensor(rng.random((n, size)), dtype=torch.float32)


def measured(pool: str, model: dict[str, Any]) -> dict[str, float]:
    """The mean absolute error on sets of each size; with attention, also of sharper scores."""

    def missed(size: int, model: dict[str, Any], seed: int | None = None) -> float:
        import torch

        from tformer import fast

        x = batch(np.random.default_rng(size if seed is None else seed), ASKED, size)
        with torch.no_grad():
            found = answer(x, pool, model, fast)
        return round(float((found - x.amax(-1)).abs().mean()), 5)

    told = {str(size): missed(size, model) for size in SIZES}
    if pool == "attention":
        for factor in FACTORS:
            sharper = {**model, "query": factor * model["query"]}
            told[f"{SIZES[-1]}, scores times {factor}"] = missed(SIZES[-1], sharper)
            told[f"held out, scores times {factor}"] = missed(SIZES[-1], sharper, HELD_OUT)
        for size in (SIZES[0], SIZES[-1]):
            span, weight = sharpness(model, size)
            told[f"{size}, span of scores"], told[f"{size}, largest weight"] = span, weight
    return told


def sharpness(model: dict[str, Any], size: int) -> tuple[float, float]:
    """Of the sharpest head: between what its scores lie, and its mean largest weight."""
    import torch

    from tformer import fast

    x = batch(np.random.default_rng(size), ASKED, size)
    with torch.no_grad():
        h = x[..., None] * model["number"][0] + model["number"][1]
        keys = fast.feed_forward(h, model["each"], CONFIGURATION)[:, None] @ model["w_k"]
        scores = (model["query"] @ keys.swapaxes(-2, -1))[..., 0, :]  # (sets, heads, size)
        span = scores.amax((0, 2)) - scores.amin((0, 2))
        weight = scores.softmax(-1).amax(-1).mean(0)
    head = int(weight.argmax())
    return round(float(span[head]), 3), round(float(weight[head]), 4)


def constant(size: int) -> float:
    """The mean absolute error of the best constant answer: the median of the largest number."""
    middle = 0.5 ** (1 / size)
    x = np.linspace(0, 1, 20001)[1:]
    density = size * x ** (size - 1)
    return float(np.trapezoid(abs(x - middle) * density, x))


def stored() -> dict[str, list[dict[str, float]]]:
    """What `measured` said: pool to a list of models."""
    return dict(json.loads(FILE.read_text(encoding="utf-8")))


def sharpest() -> list[tuple[int, float]]:
    """For each model with attention: the factor that is best on held-out sets, and its error."""
    found = []
    for run in stored()["attention"]:
        best = min(FACTORS, key=lambda factor: run[f"held out, scores times {factor}"])
        found.append((best, run[f"{SIZES[-1]}, scores times {best}"]))
    return found


if __name__ == "__main__":
    every = {pool: [measured(pool, trained(pool, s)) for s in range(SEEDS)] for pool in POOLS}
    FILE.write_text(json.dumps(every, indent=1) + "\n", encoding="utf-8")
