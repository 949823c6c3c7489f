"""Widen the head: one row of scores under three scales, from width 4 to width 4096."""

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import traitlets

from tformer import reference
from tformer_book.chapters.ch04 import row
from tformer_book.chapters.ch04.scores import SCALES
from tformer_book.widgets.base import BookWidget

DRAWS = 32
NARROWEST, WIDEST = 4, 4096
START = 13
"""The draw to begin with: its narrow head is undecided."""
GUESSES = ("", *SCALES, "1 and 1/d")


@dataclass(frozen=True)
class Column:
    """What one scale makes of the row.

    Attributes
    ----------
    scores, weights : (12,) arrays
    entropy : float
        Of the weights, in nats.
    at_scores, at_query : float
        Root mean square length of the gradient that arrives there, if the one at the weights has
        independent standard normal entries: the Frobenius norms of J and of c J K, for the softmax
        Jacobian J, the scale c and the table of keys K.
    """

    scores: np.ndarray
    weights: np.ndarray
    entropy: float
    at_scores: float
    at_query: float


class WidenHead(BookWidget, uses="grid.js folds.js"):
    """Guess which scale goes dark, then widen the head and see.

    One word of a sentence asks all of them, through random matrices W_Q and W_K, always the same
    ones: those of a narrow head are the first columns of those of a wide one. Three columns show
    the same row of dot products under the scales 1, 1/√d and 1/d.

    Parameters
    ----------
    d : int
        Width of the head, 4 to 4096.
    draw : int
        Which random matrices, 0 to 31.
    guess : str
        What the reader expects to go dark: "1", "1/√d", "1/d", "1 and 1/d", or "" for no guess.

    Raises
    ------
    ValueError
        If an argument is outside what is said above.
    """

    d = traitlets.Int(NARROWEST).tag(sync=True)
    draw = traitlets.Int(START).tag(sync=True)
    guess = traitlets.Unicode("").tag(sync=True)
    words = traitlets.List(traitlets.Unicode()).tag(sync=True)
    rows = traitlets.List(traitlets.List(traitlets.Float())).tag(sync=True)
    asks = traitlets.Int().tag(sync=True)

    def __init__(
        self, d: int = NARROWEST, draw: int = START, guess: str = "", **kwargs: Any
    ) -> None:
        given = {"words": list(row.WORDS), "rows": row.normalised().tolist(), "asks": row.ASKS}
        super().__init__(d=d, draw=draw, guess=guess, **(given | kwargs))

    @traitlets.validate("d", "draw")
    def _whole(self, proposal: dict[str, Any]) -> int:
        name, value = proposal["trait"].name, proposal["value"]
        low, high = (NARROWEST, WIDEST) if name == "d" else (0, DRAWS - 1)
        if not low <= value <= high:
            raise ValueError(f"WidenHead: {name} must be {low} to {high}; got {value}")
        return value

    @traitlets.validate("guess")
    def _one_of(self, proposal: dict[str, Any]) -> str:
        if proposal["value"] not in GUESSES:
            known = ", ".join(GUESSES[1:])
            raise ValueError(f"WidenHead: guess must be one of {known}; got {proposal['value']}")
        return proposal["value"]

    @property
    def columns(self) -> dict[str, Column]:
        """What each of the three scales makes of the row, by its name."""
        return columns(np.array(self.rows), self.asks, self.draw, self.d)

    def __repr__(self) -> str:
        said = [
            f"scale {name}: largest weight {found.weights.max():.2f}, entropy {found.entropy:.2f}, "
            f"gradient at the scores {found.at_scores:.4f}, at the query "
            f"{found.at_query:.4f}"
            for name, found in self.columns.items()
        ]
        most = math.log(len(self.words))
        return f"WidenHead: d = {self.d}, entropy of at most {most:.2f}\n" + "\n".join(said)

    def fallback(self) -> str:
        lines = "".join(f"<li>{line}</li>" for line in repr(self).split("\n")[1:])
        wide = WidenHead(WIDEST, self.draw, words=self.words, rows=self.rows, asks=self.asks)
        later = "".join(f"<li>{line}</li>" for line in repr(wide).split("\n")[1:])
        return (
            "<p>Interactive figure, needs JavaScript: the scores, weights and gradients of one row "
            f"under three scales, as the head grows wider. At d = {self.d}:</p><ul>{lines}</ul>"
            f"<p>At d = {WIDEST}:</p><ul>{later}</ul>"
        )


def columns(x: np.ndarray, asks: int, draw: int, d: int) -> dict[str, Column]:
    """What each scale makes of the row of a word among words x (S, d_model), by its name."""
    w_q, w_k = matrices(draw, d, x.shape[1])
    k = x @ w_k
    raw = reference.pairwise_dot(x[asks : asks + 1] @ w_q, k)[0]
    return {name: column(scale(d), raw, k) for name, scale in SCALES.items()}


def column(scale: float, raw: np.ndarray, k: np.ndarray) -> Column:
    """What a scale makes of one row of dot products (S,) with keys (S, d)."""
    p = reference.softmax(scale * raw)
    jacobian = reference.softmax_jacobian(p)
    return Column(
        scores=scale * raw,
        weights=p,
        entropy=float(reference.entropy(p)),
        at_scores=float(np.linalg.norm(jacobian)),
        at_query=float(scale * np.linalg.norm(jacobian @ k)),
    )


@lru_cache(maxsize=2)
def _stream(draw: int, d_model: int) -> np.ndarray:
    """The columns of W_Q and W_K for one draw, one after the other: (4096, 2, d_model)."""
    n = 2 * d_model * WIDEST
    return normal(n, draw * n).reshape(WIDEST, 2, d_model) / math.sqrt(d_model)


def matrices(draw: int, d: int, d_model: int) -> tuple[np.ndarray, np.ndarray]:
    """W_Q and W_K, (d_model, d) each: independent normal entries of variance 1/d_model."""
    w_q, w_k = _stream(draw, d_model)[:d].transpose(1, 2, 0)
    return w_q, w_k


def uniform(n: int, start: int = 0) -> np.ndarray:
    """Numbers of a fixed stream, n from number `start` on, above 0 and below 1: T. Ettinger's
    Mulberry32.
    """
    t = np.arange(start + 1, start + n + 1, dtype=np.uint32) * np.uint32(0x6D2B79F5)
    t = (t ^ (t >> 15)) * (t | 1)
    t ^= t + (t ^ (t >> 7)) * (t | 61)
    return ((t ^ (t >> 14)).astype(float) + 0.5) / 2**32


def normal(n: int, start: int = 0) -> np.ndarray:
    """As `uniform`, standard normal numbers, n and start even: Box and Muller's way."""
    one, two = uniform(n, start).reshape(-1, 2).T
    radius, angle = np.sqrt(-2 * np.log(one)), 2 * np.pi * two
    return np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=-1).ravel()
