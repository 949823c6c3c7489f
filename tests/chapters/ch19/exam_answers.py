"""The exam questions of chapter 19, answered again by other ways than the chapter's."""

from fractions import Fraction

import numpy as np

from tformer.reference import attention
from tformer_book.exams import Item


def _head(scores: list[float], values: list[float]) -> float:
    """The output of one head of the library for these scores."""
    keys = np.array(scores)[:, None]
    return float(
        attention(np.ones((1, 1)), keys, np.array(values, float)[:, None], scale=1.0)[0, 0]
    )


def a_sink(item: Item) -> dict[str, object]:
    """By heads of the library; the largest count by trying, with fractions."""
    v, sink = item.given["v"], item.given["M"]
    n, low = len(v), float(np.log(sink))
    counted = sink * _head([low] + [0.0] * n, [0.0] + [1.0] * n)
    errors = [k - Fraction(sink * k, sink + k) for k in range(40)]
    return {
        "mean": _head([0.0] * n, v),
        "summed": sink * _head([low] + [0.0] * n, [0.0, *v]),
        "off": n - counted,
        "largest": max(k for k, error in enumerate(errors) if error < Fraction(1, 2)),
    }


def cell_holds(item: Item) -> dict[str, object]:
    """By tapes before and after each step; the mean by a head that hides the other cell."""
    cells, writes = item.given["cells"], item.given["writes"]
    tapes = np.zeros((6, 2))
    for t in range(5):
        tapes[t + 1] = tapes[t]
        tapes[t + 1, cells[t]] = writes[t]
    scores = np.where(cells[:5] == cells[5], 0.0, -np.inf)
    return {
        "changes": np.diff(tapes, axis=0).sum(axis=1),
        "mean": _head(list(scores), list(writes)),
        "held": tapes[5, cells[5]],
    }


def one_token(item: Item) -> dict[str, object]:
    """By the head that attains the bound: one token turns, all others stay at the far end."""
    n, ratio, size, share = (item.given[name] for name in ("n", "ratio", "size", "share"))

    def moved(n: int, high: float) -> float:
        scores = [high] + [0.0] * (n - 1)
        return _head(scores, [size] + [0.0] * (n - 1)) - _head(scores, [-size] + [0.0] * (n - 1))

    needed = 2 * Fraction(size, share)
    lengths = [k for k in range(1, 80) if moved(k, np.log(ratio)) > float(needed) - 1e-9]
    return {"bound": moved(n, np.log(ratio)), "equal": moved(n, 0.0), "longest": max(lengths)}


def carry_of_three(item: Item) -> dict[str, object]:
    """By adding: every choice of bits and of a carry that leads to what is seen."""
    pairs, (third, seen), (first, digit), m = (
        item.given[name] for name in ("pairs", "three", "before", "m")
    )
    carry = [(u + c) // 2 for u, s in pairs for c in (0, 1) if (u + c) % 2 == s]
    on = {(third + c) // 2 for c in range(3) if (third + c) % 2 == seen}
    both = {
        (third + (first + c) // 2) // 2
        for c in range(3)
        if (first + c) % 2 == digit and (third + (first + c) // 2) % 2 == seen
    }
    left, columns = m, 0
    while left > 1:
        left, columns = (left + 1) // 2, columns + 1
    (known,) = both
    return {"carry": carry, "on": sorted(on), "known": known, "columns": columns}
