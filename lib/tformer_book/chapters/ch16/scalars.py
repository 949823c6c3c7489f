"""One small GPT three times: number by number in plain Python, in NumPy, and by the library.

All three take the same steps of gradient descent, one short text a step, in float64. Timed once by
`python -m tformer_book.chapters.ch16.scalars`, and kept in `scalars.json`.
"""

from __future__ import annotations

import json
import math
import time
from functools import cache, reduce
from itertools import pairwise
from operator import add
from pathlib import Path
from typing import Any

import numpy as np

from tformer import reference
from tformer.configuration import Configuration
from tformer.parameters import (
    BlockParameters,
    FeedForwardParameters,
    HeadParameters,
    ModelParameters,
    NormParameters,
    tree_map,
)
from tformer_book.experiments.storing import by_lines, short

__all__ = [
    "FILE",
    "SHAPES",
    "Arrays",
    "Library",
    "Scalars",
    "measured",
    "ratios",
    "start",
    "stored",
    "texts",
]

FILE = Path(__file__).with_name("scalars.json")
D, HEADS, LONGEST, LETTERS, EPS, RATE = 16, 4, 10, 27, 1e-5, 0.05
WIDTH = D // HEADS
SHAPES = {
    **{"words": (LETTERS, D), "positions": (LONGEST, D)},
    **dict.fromkeys(("q", "k", "v", "o"), (D, D)),
    **{"up": (4 * D, D), "down": (D, 4 * D), "out": (LETTERS, D)},
}
"""The matrices of the model; each is multiplied from the left, as in `torch.nn.Linear`."""

Matrices = dict[str, np.ndarray]


def start(seed: int = 0) -> Matrices:
    """Random matrices to begin with."""
    rng = np.random.default_rng(seed)
    return {name: 0.1 * rng.standard_normal(shape) for name, shape in SHAPES.items()}


def texts(n: int, seed: int = 1) -> list[np.ndarray]:
    """Texts of 6 to 11 random letters: each but the last of a text is followed by one to learn."""
    rng = np.random.default_rng(seed)
    return [rng.integers(LETTERS, size=rng.integers(6, LONGEST + 2)) for _ in range(n)]


class Value:
    """A number that knows what it was computed from, and its derivatives by these."""

    __slots__ = ("grad", "number", "parents", "slopes")

    def __init__(self, number: float, parents: Any = (), slopes: Any = ()) -> None:
        self.number, self.parents, self.slopes, self.grad = number, parents, slopes, 0.0

    def __add__(self, other: Value) -> Value:
        return Value(self.number + other.number, (self, other), (1.0, 1.0))

    def __mul__(self, other: Value) -> Value:
        return Value(self.number * other.number, (self, other), (other.number, self.number))

    def times(self, factor: float) -> Value:
        return Value(self.number * factor, (self,), (factor,))

    def power(self, p: float) -> Value:
        return Value(self.number**p, (self,), (p * self.number ** (p - 1),))

    def exp(self) -> Value:
        y = math.exp(self.number)
        return Value(y, (self,), (y,))

    def log(self) -> Value:
        return Value(math.log(self.number), (self,), (1 / self.number,))

    def relu(self) -> Value:
        return Value(max(self.number, 0.0), (self,), (float(self.number > 0),))

    def backward(self) -> None:
        """Add to each value that this one comes from its derivative."""
        order, seen, waiting = [], set(), [(self, False)]
        while waiting:
            value, done = waiting.pop()
            if done:
                order.append(value)
            elif value not in seen:
                seen.add(value)
                waiting.append((value, True))
                waiting += [(one, False) for one in value.parents]
        self.grad = 1.0
        for value in reversed(order):
            for one, slope in zip(value.parents, value.slopes, strict=True):
                one.grad += slope * value.grad


Row = list[Value]


def _dot(x: Row, y: Row) -> Value:
    return reduce(add, (a * b for a, b in zip(x, y, strict=True)))


def _linear(x: Row, w: list[Row]) -> Row:
    return [_dot(x, row) for row in w]


def _norm(x: Row) -> Row:
    factor = (_dot(x, x).times(1 / D) + Value(EPS)).power(-0.5)
    return [one * factor for one in x]


def _softmax(x: Row) -> Row:
    exponentials = [one.exp() for one in x]
    factor = reduce(add, exponentials).power(-1)
    return [one * factor for one in exponentials]


def _sum(x: Row, y: Row) -> Row:
    return [a + b for a, b in zip(x, y, strict=True)]


class Scalars:
    """Number by number, with gradients by a graph of numbers."""

    def __init__(self) -> None:
        self.w = {
            name: [[Value(float(x)) for x in row] for row in matrix]
            for name, matrix in start().items()
        }

    def loss(self, text: np.ndarray) -> Value:
        """The mean loss of the letters of a text but the first."""
        w, losses = self.w, []
        keys: list[Row] = []
        values: list[Row] = []
        for t, (letter, following) in enumerate(pairwise(text)):
            x = _sum(w["words"][letter], w["positions"][t])
            y = _norm(x)
            q = _linear(y, w["q"])
            keys.append(_linear(y, w["k"]))
            values.append(_linear(y, w["v"]))
            read: Row = []
            for h in range(0, D, WIDTH):
                part = slice(h, h + WIDTH)
                weights = _softmax([_dot(q[part], k[part]).times(WIDTH**-0.5) for k in keys])
                read += [_dot(weights, [v[j] for v in values]) for j in range(h, h + WIDTH)]
            x = _sum(x, _linear(read, w["o"]))
            x = _sum(x, _linear([one.relu() for one in _linear(_norm(x), w["up"])], w["down"]))
            losses.append(_softmax(_linear(_norm(x), w["out"]))[following].log())
        return reduce(add, losses).times(-1 / len(losses))

    def step(self, text: np.ndarray) -> float:
        """One step of gradient descent; the loss before it."""
        loss = self.loss(text)
        loss.backward()
        for matrix in self.w.values():
            for row in matrix:
                for one in row:
                    one.number -= RATE * one.grad
                    one.grad = 0.0
        return loss.number


class Arrays:
    """The same in NumPy, with gradients written by hand."""

    def __init__(self) -> None:
        self.w = start()

    def step(self, text: np.ndarray) -> float:
        """One step of gradient descent; the loss before it."""
        w, a, b = self.w, text[:-1], text[1:]
        n, at = len(a), np.arange(len(a))
        x0 = w["words"][a] + w["positions"][:n]
        y0, f0 = _scaled(x0)
        q, k, v = (_heads(y0 @ w[name].T) for name in "qkv")
        scores = q @ k.swapaxes(1, 2) / WIDTH**0.5
        exponentials = np.exp(scores) * np.tri(n)
        weights = exponentials / exponentials.sum(axis=2, keepdims=True)
        read = _joined(weights @ v)
        x1 = x0 + read @ w["o"].T
        y1, f1 = _scaled(x1)
        up = y1 @ w["up"].T
        x2 = x1 + np.maximum(up, 0) @ w["down"].T
        y2, f2 = _scaled(x2)
        p = np.exp(y2 @ w["out"].T)
        p /= p.sum(axis=1, keepdims=True)
        loss = -np.log(p[at, b]).mean()

        p[at, b] -= 1
        p /= n
        grad = {"out": p.T @ y2}
        d = _scaled_back(y2, f2, p @ w["out"])
        grad["down"] = d.T @ np.maximum(up, 0)
        d_up = (d @ w["down"]) * (up > 0)
        grad["up"] = d_up.T @ y1
        d = d + _scaled_back(y1, f1, d_up @ w["up"])
        grad["o"] = d.T @ read
        d_read = _heads(d @ w["o"])
        d_weights = d_read @ v.swapaxes(1, 2)
        inner = (d_weights * weights).sum(axis=2, keepdims=True)
        d_scores = weights * (d_weights - inner) / WIDTH**0.5
        d_heads = (d_scores @ k, d_scores.swapaxes(1, 2) @ q, weights.swapaxes(1, 2) @ d_read)
        d_y = np.zeros_like(y0)
        for name, one in zip("qkv", map(_joined, d_heads), strict=True):
            grad[name] = one.T @ y0
            d_y += one @ w[name]
        d = d + _scaled_back(y0, f0, d_y)
        for name, g in grad.items():
            w[name] -= RATE * g
        w["positions"][:n] -= RATE * d
        np.subtract.at(w["words"], a, RATE * d)
        return float(loss)


def _heads(x: np.ndarray) -> np.ndarray:
    return x.reshape(len(x), HEADS, WIDTH).swapaxes(0, 1)


def _joined(x: np.ndarray) -> np.ndarray:
    return x.swapaxes(0, 1).reshape(-1, D)


def _scaled(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    factor = 1 / np.sqrt((x * x).mean(axis=1, keepdims=True) + EPS)
    return x * factor, factor


def _scaled_back(y: np.ndarray, factor: np.ndarray, d: np.ndarray) -> np.ndarray:
    return np.asarray((d - y * (d * y).mean(axis=1, keepdims=True)) * factor)


class Library:
    """The same by `reference.decoder` and `reference.decoder_vjp`, for one text or many."""

    configuration = Configuration(norm="rms", eps=EPS, activation="relu", positions="learned")

    def __init__(self) -> None:
        w, plain = start(), NormParameters()
        heads = HeadParameters.from_fused(*(w[name].T for name in "qkvo"), n_heads=HEADS)
        feed_forward = FeedForwardParameters(w["up"].T, w["down"].T)
        block = BlockParameters(heads, feed_forward, plain, plain)
        self.p = ModelParameters(
            w["words"], (block,), plain, positions=w["positions"], unembedding=w["out"].T
        )

    def step(self, text: np.ndarray) -> float:
        """One step of gradient descent on a text, or on texts of one length; the loss before it."""
        a, b = text[..., :-1], text[..., 1:]
        logits = reference.decoder(a, self.p, self.configuration)
        loss = reference.cross_entropy(logits, b)
        upstream = reference.cross_entropy_vjp(logits, b, np.full(b.shape, 1 / b.size))
        grad, _ = reference.decoder_vjp(a, self.p, self.configuration, upstream)
        self.p = tree_map(lambda w, g: w - RATE * g, self.p, grad)
        return float(loss.mean())


BATCH = 32
PROGRAMS = {"plain Python": Scalars, "NumPy": Arrays, "the library": Library}
MANY = "the library, 32 texts a step"


def measured(n_steps: int = 40) -> dict[str, dict[str, list[float]]]:
    """The loss of each step and its processor time in seconds, taken in turns.

    Returns
    -------
    dict
        By program: "loss" and "seconds" of each step; for `MANY`, "seconds" of a text.
    """
    programs: dict[str, Any] = {name: program() for name, program in PROGRAMS.items()}
    found: dict[str, dict[str, list[float]]] = {
        name: {"loss": [], "seconds": []} for name in programs
    }
    many, batch = Library(), np.stack([texts(1, 7)[0]] * BATCH)
    found[MANY] = {"seconds": []}
    for text in texts(n_steps):
        for name, program in programs.items():
            before = time.process_time()
            loss = program.step(text)
            found[name]["seconds"].append(short(time.process_time() - before, 3))
            found[name]["loss"].append(short(loss, 10))
        before = time.process_time()
        many.step(batch)
        found[MANY]["seconds"].append(short((time.process_time() - before) / BATCH, 3))
    return found


@cache
def stored() -> dict[str, dict[str, list[float]]]:
    """What `measured` returned when the file was written."""
    return dict(json.loads(FILE.read_text(encoding="utf-8")))


def ratios(name: str) -> np.ndarray:
    """How many times the time of plain Python is that of a program, step by step."""
    base, own = (stored()[one]["seconds"] for one in ("plain Python", name))
    return np.divide(base, own)


if __name__ == "__main__":
    FILE.write_text(by_lines(measured()), encoding="utf-8")
