"""Addition by one layer of one head and two ReLU units, in a stream of width 5.

The text is a + b = s in bits, the lowest first, with n bits for a and b and n + 1 for s. The signs
+ and = count as bits 0. Positions that agree modulo n + 1 are one column of the sum.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tformer_book.chapters.ch19.stream import Layer, Stream, apply, cast

STREAM = Stream.of("one bit cos sin w")
LEAK = 20.0
"""The scores of all other columns are less by so much, at least."""
FOLDS = (4.5, 10.625)
"""Where the sawtooth turns: its zeros are 1.5, 7.5 and 13.75."""


@dataclass(frozen=True)
class Adder:
    """A transformer that adds two numbers of n bits.

    Parameters
    ----------
    n : bits of each summand, 2 or more
    """

    n: int

    def __post_init__(self) -> None:
        if self.n < 2:
            raise ValueError(f"Adder: n must be 2 or more; got {self.n}")

    @property
    def beta(self) -> float:
        """How sharply the head tells columns apart."""
        half = np.pi / (self.n + 1)
        return float(LEAK / (np.cos(half) - np.cos(3 * half)))

    @property
    def turn(self) -> float:
        """The angle between a column and where it looks: just beyond half way to the next."""
        half = np.pi / (self.n + 1)
        return float(half + np.arcsin(np.log(3) / (2 * self.beta * np.sin(half))))

    @property
    def layers(self) -> list[Layer]:
        """One head, whose next column speaks three times as loud as its own, and two units."""
        c, s = self.beta * np.cos(self.turn), self.beta * np.sin(self.turn)
        score = [({"cos": c, "sin": -s}, {"cos": 1.0}), ({"sin": c, "cos": s}, {"sin": 1.0})]
        read = {"w": 1.0, "bit": -3.0}
        return [
            STREAM.heads((score, {"w": {"bit": 18}})),
            STREAM.units(
                ({**read, "one": -FOLDS[0]}, {"w": -2}), ({**read, "one": -FOLDS[1]}, {"w": 2})
            ),
        ]

    def embed(self, bits: np.ndarray) -> np.ndarray:
        """Hidden states of texts: (..., T) bits -> (..., T, 5)."""
        x = np.zeros((*bits.shape, 5))
        turn = 2 * np.pi * np.arange(bits.shape[-1]) / (self.n + 1)
        x[..., 0], x[..., 1], x[..., 2], x[..., 3] = 1, bits, np.cos(turn), np.sin(turn)
        return x

    def logits(self, bits: np.ndarray, first: int = 0, dtype: Any = np.float64) -> np.ndarray:
        """Above 0 if the next bit is 1, from a position on: (..., T) bits -> (..., T - first)."""
        memory = self.embed(bits).astype(dtype)
        heads, units = (cast(layer, dtype) for layer in self.layers)
        x = memory[..., first:, :]
        x = x + apply(heads, x, memory, causal=True)
        y = x + apply(units, x, x)
        return np.asarray(y[..., 4] - 3 * y[..., 1] - 1.5)

    def text(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """The bits of a + b =, (..., 2 n + 2), of integers a and b (...)."""
        zero = np.zeros((*np.shape(a), 1), int)
        return np.concatenate([bits(a, self.n), zero, bits(b, self.n), zero], axis=-1)

    def add(self, a: Any, b: Any) -> np.ndarray:
        """Write the n + 1 bits of a + b, one after the other, and return the numbers they are."""
        text = self.text(np.asarray(a), np.asarray(b))
        for _ in range(self.n + 1):
            new = (self.logits(text, text.shape[-1] - 1) > 0).astype(int)
            text = np.concatenate([text, new], axis=-1)
        return np.asarray(text[..., -self.n - 1 :] @ (1 << np.arange(self.n + 1)))


def bits(numbers: Any, n: int) -> np.ndarray:
    """The lowest n bits of integers, the lowest first: (...) -> (..., n)."""
    return (np.asarray(numbers)[..., None] >> np.arange(n)) & 1
