"""Layers of linear attention that are trained on regressions in context, and what they are held to.

A layer adds (e A) Eᵀ (E B) / n to every token e, where E holds the n examples and A and B are free
matrices. The layer of `regression` is one choice of A and B; training finds its own.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from tformer_book.chapters.ch18.regression import tokens
from tformer_book.experiments.training import Adam, training

__all__ = [
    "COUNT",
    "FILE",
    "SPECTRUM",
    "WIDTH",
    "Layers",
    "by_steps",
    "drawn",
    "error",
    "gd_plus_plus",
    "learnt",
    "measured",
    "predicted",
    "spreads",
    "step_of",
    "stored",
]

FILE = Path(__file__).with_name("linear.json")
WIDTH, COUNT = 5, 10
"""Numbers in a row, and examples in a text."""
SPECTRUM = (4.0, 2.0, 1.0, 0.5, 0.25)
"""Variances of the numbers of x where they differ."""
BATCH = 256


class Layers(NamedTuple):
    """The matrices of some layers.

    Attributes
    ----------
    a : (L, d + 1, d + 1) array
        Of scores: a token e has the score e A e' with a token e'.
    b : (L, d + 1, d + 1) array
        From a token to what it hands over.
    """

    a: Any
    b: Any


def drawn(
    rng: np.random.Generator, count: int, n: int = COUNT, spectrum: tuple[float, ...] | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Tokens of regressions without noise, (B, n + 1, d + 1), and the right answers (B,).

    All numbers of w are from N(0, 1), and those of x, too, or of the variances of `spectrum`.
    """
    w = rng.standard_normal((count, WIDTH, 1))
    x = rng.standard_normal((count, n + 1, WIDTH))
    x = x if spectrum is None else x * np.sqrt(spectrum)
    y = x @ w
    return tokens(x[:, :n], y[:, :n], x[:, n]), y[:, n, 0]


def outputs(e: Any, layers: Layers) -> Any:
    """The answers of the layers, (B,)."""
    n = e.shape[-2] - 1
    for a, b in zip(*layers, strict=True):
        e = e + (e @ a) @ e[:, :n].mT @ (e[:, :n] @ b) / n
    return -e[:, -1, -1]


def learnt(
    depth: int = 1,
    seed: int = 0,
    steps: int = 600,
    rate: float = 0.02,
    spectrum: tuple[float, ...] | None = None,
) -> Layers:
    """Train layers of linear attention; returns arrays in float64."""
    import torch

    from tformer_book.experiments.threads import one_thread

    rng = np.random.default_rng(seed)
    first = 0.1 * rng.standard_normal((2, depth, WIDTH + 1, WIDTH + 1))
    layers = Layers(*(torch.from_numpy(one).requires_grad_() for one in first))

    def gradients() -> Any:
        e, want = (torch.from_numpy(one) for one in drawn(rng, BATCH, spectrum=spectrum))
        loss = ((outputs(e, layers) - want) ** 2).mean() / WIDTH
        grads = torch.autograd.grad(loss, [*layers])
        norm = torch.stack([(one * one).sum() for one in grads]).sum().sqrt().item()
        return [one / max(1.0, norm) for one in grads]

    def pace(step: int) -> float:
        return rate * min(step / (0.1 * steps), 1 - (step - 1) / steps)

    with one_thread():
        for _ in training(Adam([*layers]), gradients, steps, pace):
            pass
    return Layers(*(one.detach().numpy() for one in layers))


def step_of(layers: Layers) -> np.ndarray:
    """What the first layer multiplies the gradient by, (d, d): η I if it is a plain step."""
    return -np.asarray(layers.a[0, :WIDTH, :WIDTH] * layers.b[0, -1, -1])


def error(layers: Layers, n: int = COUNT, count: int = 20000, seed: int = 7) -> float:
    """The mean squared error of the answers on new tasks, divided by d."""
    e, want = drawn(np.random.default_rng(seed), count, n)
    return float(((outputs(e, layers) - want) ** 2).mean()) / WIDTH


def by_steps(
    etas: np.ndarray, bends: np.ndarray | None = None, count: int = 20000, seed: int = 7
) -> float:
    """The error of gradient descent with these step sizes, on the tasks of `error`.

    With `bends`, of GD++: after each step the rows of x are changed, too.
    """
    e, want = drawn(np.random.default_rng(seed), count)
    found = gd_plus_plus(e, etas, np.zeros_like(etas) if bends is None else bends)
    return float(((found - want) ** 2).mean()) / WIDTH


def gd_plus_plus(e: np.ndarray, etas: np.ndarray, bends: np.ndarray) -> np.ndarray:
    """The answers of GD++, (B,): each step also takes γ C x from x, C being the mean of xᵀ x."""
    x, r = e[..., :-1], e[..., -1:]
    n = e.shape[-2] - 1
    for eta, bend in zip(etas, bends, strict=True):
        keys = x[:, :n]
        r = r - eta / n * (x @ keys.mT) @ r[:, :n]
        x = x - bend / n * (x @ keys.mT) @ keys
    return -r[:, -1, 0]


def spreads(bend: float, count: int = 2000, seed: int = 0) -> np.ndarray:
    """How unevenly examples vary, (2, count): as drawn, and after each x has lost γ C x.

    The largest eigenvalue of C divided by the smallest, C being the mean of xᵀ x and γ the `bend`.
    """
    x = np.random.default_rng(seed).standard_normal((count, COUNT, WIDTH))
    bent = x - bend / COUNT * x @ x.mT @ x
    sizes = np.linalg.eigvalsh([one.mT @ one / COUNT for one in (x, bent)])
    return np.asarray(sizes[..., -1] / sizes[..., 0])


def predicted(spectrum: tuple[float, ...] = SPECTRUM, n: int = COUNT) -> np.ndarray:
    """The best step along each axis, (d,), for numbers of x with these variances."""
    variances = np.asarray(spectrum)
    return n / ((n + 1) * variances + variances.sum())


def measured() -> dict[str, Any]:
    """Longer trainings, three seeds each: two layers, and one where variances differ.

    Returns
    -------
    dict
        "two": of each seed the error, and what is read off its blocks: step sizes, the bend of x
        in the first layer, and the largest number off the diagonals, divided by the mean on them.
        "spectrum": the step along each axis. "best": the least error of two plain steps, with their
        sizes, and of GD++, with sizes and bends.
    """
    two = []
    for seed in range(3):
        found = learnt(2, seed, 3000, 0.02)
        inner = slice(0, WIDTH)
        steps = [-_mean(a[inner, inner]) * b[-1, -1] for a, b in zip(*found, strict=True)]
        bend = -_mean(found.a[0, inner, inner]) * _mean(found.b[0, inner, inner])
        blocks = [*found.a[:, inner, inner], found.b[0, inner, inner]]
        off = max(abs(x - np.diag(np.diag(x))).max() / abs(_mean(x)) for x in blocks)
        read = by_steps(np.array(steps), np.array([bend, 0.0]))
        two.append({"error": error(found), "steps": steps, "bend": bend, "off": off, "read": read})
    spectrum = [
        np.diag(step_of(learnt(1, seed, 1500, 0.02, SPECTRUM))).tolist() for seed in range(3)
    ]
    return {"two": two, "spectrum": spectrum, "best": _best()}


def _mean(square: np.ndarray) -> float:
    return float(np.diag(square).mean())


def _best() -> dict[str, Any]:
    """The least errors of two steps, by a search without gradients."""
    from scipy.optimize import minimize

    def plain(at: np.ndarray) -> float:
        return by_steps(at, count=4000, seed=3)

    def bent(at: np.ndarray) -> float:
        return by_steps(at[:2], np.array([at[2], 0.0]), count=4000, seed=3)

    one = minimize(plain, [0.6, 0.6], method="Nelder-Mead").x
    other = minimize(bent, [0.6, 1.0, 0.2], method="Nelder-Mead", options={"maxiter": 400}).x
    return {
        "plain": {"error": by_steps(one), "steps": one.tolist()},
        "bent": {
            "error": by_steps(other[:2], np.array([other[2], 0.0])),
            "steps": other[:2].tolist(),
            "bend": float(other[2]),
        },
    }


def stored() -> dict[str, Any]:
    """What `measured` returned when the file was written."""
    return dict(json.loads(FILE.read_text(encoding="utf-8")))


if __name__ == "__main__":

    def short(x: Any) -> Any:
        """Four digits of each number."""
        if isinstance(x, dict):
            return {key: short(one) for key, one in x.items()}
        return [short(one) for one in x] if isinstance(x, list) else float(f"{x:.4g}")

    FILE.write_text(json.dumps(short(measured()), indent=1) + "\n", encoding="utf-8")
