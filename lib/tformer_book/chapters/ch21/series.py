"""A series: the temperature of the sea off Peru, month by month, and who predicts it best.

`python -m tformer_book.chapters.ch21.series` trains all models and writes what it measures.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
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
N_FIT, EVERY = 360, 20
"""Months up to 1979: the ten years of training after them tell when to stop, every 20 steps."""


@cache
def temperatures() -> Array:
    """Degrees Celsius, month by month from January 1950: (732,)."""
    return np.loadtxt(DATA, delimiter=",", skiprows=1)[:, 1:].reshape(-1)


@cache
def anomalies() -> Array:
    """Temperatures less the mean of their month in the years of training: (732,)."""
    y = temperatures().reshape(-1, 12)
    return np.asarray((y - y[: N_TRAIN // 12].mean(axis=0)).reshape(-1))


def windows(ahead: int, until: int = N_TRAIN) -> tuple[tuple[Array, Array], tuple[Array, Array]]:
    """Windows (n, 24) and what comes `ahead` months after each: for training, and for the test.

    All months of a window of training, and its answer, are months of training: the first 480, or
    the first `until`. The test begins after them.
    """
    y, last = anomalies(), np.arange(WINDOW - 1, len(anomalies()) - ahead)
    seen, asked = y[last[:, None] + np.arange(1 - WINDOW, 1)], y[last + ahead]
    old = last + ahead < until
    return (seen[old], asked[old]), (seen[~old], asked[~old])


def predict(x: Any, model: ModelParameters, library: Any = reference) -> Any:
    """The answer for windows (n, 24): the last anomaly, plus what the last token adds."""
    tokens = x.reshape(*x.shape[:-1], WINDOW // P, P)
    h = hidden_states(tokens @ model.embedding, model, None, library)
    return x[..., -1] + (h[..., -1, :] @ model.unembedding)[..., 0]


def trained(ahead: int, seed: int, until: int | None = None, months: int = N_TRAIN) -> Any:
    """Parameters after training on the first months, as tensors."""
    import torch

    from tformer import fast

    x, y = (torch.tensor(a, dtype=torch.float32) for a in windows(ahead, months)[0])
    model = tensors(start(P, WIDTH, 1, WINDOW // P, seed))

    def loss(rng: np.random.Generator) -> torch.Tensor:
        i = rng.integers(len(x), size=BATCH)
        return ((predict(x[i], model, fast) - y[i]) ** 2).mean()

    train(model, loss, STEPS, seed, RATE, until, decay=0.1)
    return model


def steps(ahead: int, seed: int) -> int:
    """When to stop: a training up to 1979 has the least error in 1980 to 1989."""
    _, (seen, asked) = windows(ahead, N_FIT)
    ten = N_TRAIN - N_FIT

    def missed(step: int) -> float:
        said = answers(seen[:ten], trained(ahead, seed, step, N_FIT))
        return float(((said - asked[:ten]) ** 2).mean())

    return min(range(EVERY, STEPS + 1, EVERY), key=missed)


def error(found: Array, ahead: int) -> float:
    """The root mean square error in the test, in degrees."""
    return round(float(np.sqrt(((found - windows(ahead)[1][1]) ** 2).mean())), 4)


def answers(seen: Array, model: Any) -> Array:
    """What a trained model says of windows (n, 24)."""
    import torch

    from tformer import fast

    with torch.no_grad():
        found = predict(torch.tensor(seen, dtype=torch.float32), model, fast)
    return np.asarray(found.double().numpy())


def transformer(ahead: int, model: Any) -> float:
    """Its error in the test."""
    return error(answers(windows(ahead)[1][0], model), ahead)


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


def stored() -> dict[str, dict[str, list[float]]]:
    """By months ahead, as text: steps and errors of the transformers, stopped early or never."""
    return dict(json.loads(FILE.read_text(encoding="utf-8")))


def table(ahead: int) -> str:
    """All errors so many months ahead: three simple answers, and the transformers."""
    told = stored()[str(ahead)]
    lines = [f"{name} {missed:.2f}" for name, missed in simple(ahead).items()]
    for name, key in (
        ("stopped early", "errors"),
        (f"all {STEPS} steps", "errors after all steps"),
    ):
        lines.append(f"transformer, {name} {min(told[key]):.2f} to {max(told[key]):.2f}")
    lines.append(f"stopped after steps {told['steps']}")
    return "\n  ".join([f"{ahead} months ahead, error in degrees:", *lines])


if __name__ == "__main__":
    told: dict[str, dict[str, Sequence[float]]] = {}
    for n in AHEAD:
        stops = [steps(n, seed) for seed in range(SEEDS)]
        errors = [transformer(n, trained(n, seed, stop)) for seed, stop in enumerate(stops)]
        late = [transformer(n, trained(n, seed)) for seed in range(SEEDS)]
        told[str(n)] = {"steps": stops, "errors": errors, "errors after all steps": late}
    FILE.write_text(json.dumps(told) + "\n", encoding="utf-8")
