"""The machine of the page in NumPy: every number on the way from a text to a guess.

The parameters are those of one run of the forty lines in `minimal_gpt.py`, rounded to 20 bits; the
page's own script reads the same file. A test trains again and compares.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np

from tformer_book.world.stories import START

__all__ = ["FILE", "Machine", "Reading", "decode", "encode", "opening", "trained", "untrained"]

FILE = "trained.json"
LOW = 4
"""Bits of a number that stand apart from the first sixteen."""


@dataclass(frozen=True, eq=False)
class Reading:
    """What the machine makes of a text of T words.

    Attributes
    ----------
    tokens : (T,) integer array.
    vectors : names and (T, d) arrays
        The vectors after each part, in order.
    scores, weights : (layers, T, T) arrays
        What each word gives to each, before and after the softmax; later words get -inf and 0.
    lamps : (layers, T, 4d) array
        What the feed-forward parts have inside.
    logits, p : (T, N) arrays
        Scores and probabilities of every word as the next one.
    """

    tokens: np.ndarray
    vectors: Mapping[str, np.ndarray]
    scores: np.ndarray
    weights: np.ndarray
    lamps: np.ndarray
    logits: np.ndarray
    p: np.ndarray


@dataclass(frozen=True, eq=False)
class Machine:
    """Words and parameters: E (N, d), P (T, d), U (d, N), and Q, K, V, O, A, B of each block."""

    words: tuple[str, ...]
    E: np.ndarray
    P: np.ndarray
    U: np.ndarray
    blocks: tuple[tuple[np.ndarray, ...], ...]

    def tokens(self, text: str) -> np.ndarray:
        """The words of a text as numbers.

        Raises
        ------
        ValueError
            If a word is not known, there is none, or there are more than the machine has places.
        """
        row = text.split()
        for word in row:
            if word not in self.words:
                raise ValueError(f"the machine does not know the word {word!r}")
        if not 1 <= len(row) <= len(self.P):
            raise ValueError(f"the machine reads 1 to {len(self.P)} words; got {len(row)}")
        return np.array([self.words.index(word) for word in row])

    def read(self, text: str, cut: Sequence[tuple[int, int, int]] = ()) -> Reading:
        """Send a text through the machine.

        Parameters
        ----------
        text : words parted by spaces; the first is the full stop of the story before it.
        cut : triples (layer, asks, asked)
            In this layer, from 0, the word at the second place may not look at that at the third.
        """
        tokens = self.tokens(text)
        vectors, scores, weights, lamps = self._pass(tokens, cut)
        logits = norm(vectors["feed-forward 2"]) @ self.U
        return Reading(tokens, vectors, scores, weights, lamps, logits, softmax(logits))

    def guesses(
        self, tokens: np.ndarray, cut: Sequence[tuple[int, int, int]] = ()
    ) -> tuple[np.ndarray, np.ndarray]:
        """Guess on many texts at once.

        Returns
        -------
        (..., T, N) probabilities of every word as the next, and (layers, ..., T, T) weights.
        """
        vectors, _, weights, _ = self._pass(tokens, cut)
        return softmax(norm(vectors["feed-forward 2"]) @ self.U), weights

    def lens(self, text: str) -> dict[str, np.ndarray]:
        """What the last word's vector would say as a guess after each part: (N,) probabilities."""
        found = self.read(text).vectors
        return {name: softmax(norm(h[-1]) @ self.U) for name, h in found.items()}

    def _pass(self, tokens: np.ndarray, cut: Sequence[tuple[int, int, int]]) -> Any:
        n, d = tokens.shape[-1], self.E.shape[1]
        h = self.E[tokens]
        vectors = {"word": h}
        h = h + self.P[:n]
        vectors["word and position"] = h
        scores, weights, lamps = [], [], []
        for layer, (Q, K, V, O, A, B) in enumerate(self.blocks):  # noqa: E741
            q, k, v = norm(h) @ Q, norm(h) @ K, norm(h) @ V
            hidden = np.triu(np.ones((n, n), dtype=bool), 1)
            for _, asks, asked in (place for place in cut if place[0] == layer):
                hidden[asks, asked] = True
            scores.append(np.where(hidden, -np.inf, q @ k.mT / np.sqrt(d)))
            weights.append(softmax(scores[-1]))
            h = h + weights[-1] @ v @ O
            vectors[f"attention {layer + 1}"] = h
            lamps.append(np.maximum(norm(h) @ A, 0))
            h = h + lamps[-1] @ B
            vectors[f"feed-forward {layer + 1}"] = h
        return vectors, np.array(scores), np.array(weights), np.array(lamps)


def norm(x: np.ndarray) -> np.ndarray:
    """Vectors divided by the root of their mean square, along the last axis."""
    found: np.ndarray = x / np.sqrt((x * x).mean(axis=-1, keepdims=True) + 1e-6)
    return found


def softmax(x: np.ndarray) -> np.ndarray:
    """Weights from scores, along the last axis; -inf gives 0."""
    terms = np.exp(x - x.max(axis=-1, keepdims=True))
    found: np.ndarray = terms / terms.sum(axis=-1, keepdims=True)
    return found


def encode(words: Sequence[str], tables: Sequence[np.ndarray]) -> dict[str, Any]:
    """Round tables to 20 bits of their largest number and write them as text."""
    most = 2 ** (15 + LOW) - 1
    units = [float(np.abs(table).max()) / most for table in tables]
    whole = np.concatenate(
        [np.rint(table / unit).ravel() for table, unit in zip(tables, units, strict=True)]
    ).astype(np.int32)
    low = (whole & (2**LOW - 1)).astype(np.uint8)
    packed = low[::2] | (np.append(low, 0)[1::2][: len(low[::2])] << LOW)
    return {
        "words": list(words),
        "shapes": [list(table.shape) for table in tables],
        "units": units,
        "high": _text((whole >> LOW).astype("<i2")),
        "low": _text(packed.astype(np.uint8)),
    }


def decode(stored: Mapping[str, Any]) -> Machine:
    """The machine whose tables `encode` has written."""
    high = np.frombuffer(base64.b64decode(stored["high"]), dtype="<i2").astype(int)
    packed = np.frombuffer(base64.b64decode(stored["low"]), dtype=np.uint8)
    low = np.stack([packed & (2**LOW - 1), packed >> LOW], axis=1).ravel()[: len(high)]
    numbers, tables = high * 2**LOW + low, []
    for shape, unit in zip(stored["shapes"], stored["units"], strict=True):
        size = int(np.prod(shape))
        tables.append(numbers[:size].reshape(shape) * unit)
        numbers = numbers[size:]
    E, P, U, *rest = tables
    blocks = tuple(tuple(rest[i : i + 6]) for i in range(0, len(rest), 6))
    return Machine(tuple(stored["words"]), E, P, U, blocks)


@cache
def trained() -> Machine:
    """The machine that the page looks into."""
    return decode(json.loads((files(__package__) / FILE).read_text(encoding="utf-8")))


@cache
def untrained() -> Machine:
    """The machine before its first step: the dice that the forty lines throw, in their order."""
    rng, words = np.random.default_rng(0), trained().words
    N, T, d = len(words), *trained().P.shape
    E, P = rng.normal(0, 0.5, (N, d)), rng.normal(0, 0.5, (T, d))
    U = rng.normal(0, d**-0.5, (d, N))
    shapes = [(d, d)] * 4 + [(d, 4 * d), (4 * d, d)]
    blocks = tuple(
        tuple(rng.normal(0, n**-0.5, (n, m)) for n, m in shapes) for _ in trained().blocks
    )
    return Machine(words, E, P, U, blocks)


def opening(story: str) -> str:
    """A story up to the last "the": what is asked is the patient."""
    return f"{START} {story}".rsplit(" ", 2)[0]


def _text(array: np.ndarray) -> str:
    return base64.b64encode(array.tobytes()).decode()
