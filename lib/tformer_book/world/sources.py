"""Worked examples of attention in circulation, with their numbers as they were printed.

`slips` computes every printed number again and returns those that are not the right one, rounded to
the decimals shown.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import NamedTuple

import numpy as np

from tformer import reference as ref

__all__ = ["BUY_MILK", "CPP_LISTING", "THREE_TOKENS", "Slip", "WorkedExample", "slips"]


class Slip(NamedTuple):
    """A printed number that is not the right one rounded."""

    table: str
    row: int
    column: int
    printed: str
    right: float

    def __str__(self) -> str:
        where = f"{self.table}, row {self.row + 1}, column {self.column + 1}"
        return f"{where}: {self.printed} printed, {self.right:.4f} right"


@dataclass(frozen=True, eq=False)
class WorkedExample:
    """One example of attention: what goes in, and the tables that were printed.

    Attributes
    ----------
    q, k, v : (T, d_k), (S, d_k) and (S, d_v) arrays.
    mask : (T, S) array of booleans, or None.
    printed : name of a table -> its rows, digit for digit.
    """

    q: np.ndarray
    k: np.ndarray
    v: np.ndarray
    mask: np.ndarray | None = None
    printed: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def right(self) -> dict[str, np.ndarray]:
        """Return the tables as they should be: dots, scores, weights and outputs."""
        dots = ref.pairwise_dot(self.q, self.k)
        return {
            "dots": dots,
            "scores": dots / np.sqrt(self.q.shape[-1]),
            "weights": ref.attention_weights(self.q, self.k, mask=self.mask),
            "outputs": ref.attention(self.q, self.k, self.v, mask=self.mask),
        }


def slips(example: WorkedExample) -> list[Slip]:
    """Return the printed numbers that differ from the right ones by more than rounding."""
    right = example.right()
    return [
        Slip(name, i, j, text, float(right[name][i, j]))
        for name, rows in example.printed.items()
        for i, row in enumerate(rows)
        for j, text in enumerate(row.split())
        if abs(float(text) - right[name][i, j]) > _half_a_unit(text)
    ]


def _half_a_unit(text: str) -> float:
    """Return half a unit of the last decimal of a printed number: what rounding may change."""
    return 0.5 * 10.0 ** int(Decimal(text).as_tuple().exponent) + 1e-12


def _three_tokens() -> WorkedExample:
    x = np.array([[1.0, 0, 1, 0], [0, 1, 0, 1], [1, 1, 0, 0]])
    w_q = np.array([[1.0, 0], [0, 1], [1, 0], [0, 1]])
    w_k = np.array([[0.0, 1], [1, 0], [0, 1], [1, 0]])
    w_v = np.array([[1.0, 1], [0, 0], [1, 0], [0, 1]])
    printed = {
        "dots": ("0 4 2", "4 0 2", "2 2 2"),
        "scores": ("0 2.83 1.41", "2.83 0 1.41", "1.41 1.41 1.41"),
        "weights": ("0.05 0.78 0.17", "0.78 0.05 0.17", "0.33 0.33 0.33"),
        "outputs": ("0.27 1.0", "1.73 1.0", "1.0 1.0"),
    }
    return WorkedExample(x @ w_q, x @ w_k, x @ w_v, printed=printed)


def _buy_milk() -> WorkedExample:
    x = np.array([[0.1, 1.0], [1.1, 0.0], [0.5, 0.7]])
    printed = {
        "dots": ("1.01 0.11 0.75", "0.11 1.21 0.55", "0.75 0.55 0.74"),
        "scores": ("0.7149 0.0778 0.5303", "0.0778 0.8550 0.3890", "0.5303 0.3890 0.5230"),
        "weights": ("1 0 0", "0.3149 0.6851 0", "0.3497 0.3034 0.3470"),
        "outputs": ("0.2 1.0", "1.5702 0.3149", "1.0844 0.5926"),
    }
    return WorkedExample(x, x, x * [2.0, 1.0], np.tri(3, dtype=bool), printed)


def _cpp_listing() -> WorkedExample:
    q = [[0.1, 0.2, 0.3, 0.4], [0.5, 0.4, 0.3, 0.2], [0.2, 0.1, 0.0, -0.1]]
    k = [[0.3, 0.1, 0.4, 0.2], [0.0, -0.1, 0.2, 0.1], [0.5, 0.3, 0.1, 0.2]]
    v = [[0.1, 0.0, 0.2, 0.3], [0.2, 0.1, 0.0, 0.1], [0.0, 0.3, 0.4, 0.1]]
    printed = {
        "outputs": (
            "0.0977 0.1334 0.2046 0.1689",
            "0.0935 0.1376 0.2131 0.1689",
            "0.0978 0.1354 0.2043 0.1668",
        )
    }
    return WorkedExample(np.array(q), np.array(k), np.array(v), printed=printed)


THREE_TOKENS = _three_tokens()
"""From the web page of a seminar: three tokens of width four, three small projections."""

BUY_MILK = _buy_milk()
"""From an introduction to transformers: "Buy milk and", causal, up to the context vectors."""

CPP_LISTING = _cpp_listing()
"""From a C++ listing; what it prints when compiled and run."""
