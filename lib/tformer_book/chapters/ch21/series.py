"""A series: the temperature of the sea off Peru, month by month, and who predicts it best.

`python -m tformer_book.chapters.ch21.series` trains all models and writes what it measures.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tformer import reference
from tformer.parameters import ModelParameters
from tformer_book.chapters.ch21.stack import hidden_states, start, tensors, train

if TYPE_CHECKING:  # a page that shows what is stored need not wait for it
    import torch

Array = np.ndarray
DATA, FILE = (Path(__file__).with_name(name) for name in ("el_nino.csv", "series.json"))
N_TRAIN, WINDOW, P, AHEAD = 480, 24, 3, (1, 6)
"""Months of training (1950 to 1989), months that are seen, months of a token, months ahead."""
WIDTH, STEPS, BATCH, RATE, SEEDS = 32, 300, 64, 0.002, 3


@cache
def temperatures() -> Array:
    """Degrees Celsius, month by month from January 1950: (732,)."""
    return np.loadtxt(DATA, delimiter=",", skiprows=1)[:, 1:].reshape(-1)


@cache
def anomalies() -> Array:
    """Temperatures less the mean of their month in the years of training: (732,)."""
    y = temperatures().reshape(-1, 12)
    return np.asarray((y - y[: N_TRAIN // 12].mean(axis=0)).reshape(-1))


def windows(ahead: int) -> tuple[tuple[Array, Array], tuple[Array, Array]]:
    """Windows (n, 24) and what comes `ahead` months after each: for training, and for the test.

    All months of a window of training, and its answer, are months of training.
    """
    y, last = anomalies(), np.arange(WINDOW - 1, len(anomalies()) - ahead)
    seen, asked = y[last[:, None] + np.arange(1 - WINDOW, 1)], y[last + ahead]
    old = last + ahead < N_TRAIN
    return (seen[old], asked[old]), (seen[~old], asked[~old])


def predict(x: Any, model: ModelParameters, library: Any = reference) -> Any:
    """The answer for windows (n, 24): the last month, plus what the last token adds."""
    tokens = (x - x[..., -1:]).reshape(*x.shape[:-1], WINDOW // P, P)
    h = hidden_states(tokens @ model.embedding, model, None, library)
    return x[..., -1] + (h[..., -1, :] @ model.unembedding)[..., 0]


def trained(ahead: int, seed: int, until: int | None = None) -> Any:
    """Parameters after training, as tensors."""
    import torch

    from tformer import fast

    (seen, asked), _ = windows(ahead)
    x, y = (torch.tensor(a, dtype=torch.float32) for a in (seen, asked))
    model = tensors(start(P, WIDTH, 1, WINDOW // P, seed))

    def loss(rng: np.random.Generator) -> torch.Tensor:
        i = rng.integers(len(x), size=BATCH)
        return ((predict(x[i], model, fast) - y[i]) ** 2).mean()

    train(model, loss, STEPS, seed, RATE, until, decay=0.1)
    return model


def error(found: Array, ahead: int) -> float:
    """The root mean square error in the test, in degrees."""
    return round(float(np.sqrt(((found - windows(ahead)[1][1]) ** 2).mean())), 4)


def transformer(ahead: int, model: Any) -> float:
    """Its error in the test."""
    import torch

    from tformer import fast

    x = torch.tensor(windows(ahead)[1][0], dtype=torch.float32)
    with torch.no_grad():
        return error(predict(x, model, fast).double().numpy(), ahead)


def linear(ahead: int, ridge: float = 1.0) -> tuple[Array, Array]:
    """The anomalies of the test, and what a linear fit with a ridge says of them."""
    (seen, asked), (test, true) = windows(ahead)
    a, b = (np.concatenate([x, np.ones((len(x), 1))], axis=1) for x in (seen, test))
    w = np.linalg.solve(a.T @ a + ridge * np.eye(WINDOW + 1), a.T @ asked)
    return true, b @ w


def simple(ahead: int) -> dict[str, float]:
    """The errors of three simple answers: the month's mean, the last anomaly, a linear fit."""
    test, true = windows(ahead)[1]
    return {
        "mean of the month": error(0 * true, ahead),
        "last anomaly": error(test[:, -1], ahead),
        "linear": error(linear(ahead)[1], ahead),
    }


def stored() -> dict[str, list[float]]:
    """The errors of the transformers: months ahead, as text, to a list of models."""
    return dict(json.loads(FILE.read_text(encoding="utf-8")))


if __name__ == "__main__":
    every = {str(n): [transformer(n, trained(n, s)) for s in range(SEEDS)] for n in AHEAD}
    FILE.write_text(json.dumps(every) + "\n", encoding="utf-8")
