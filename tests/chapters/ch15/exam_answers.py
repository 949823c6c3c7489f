"""The exam questions of chapter 15, answered again by other ways than the library's."""

from fractions import Fraction
from itertools import product

import numpy as np

from tformer_book.exams import Item


def three_rules(item: Item) -> dict[str, object]:
    """By fractions, word by word."""
    parts = [Fraction(int(x), 100) for x in item.given["parts"]]
    share, m = (Fraction(str(item.given[name])) for name in ("share", "m"))
    kept = sum(sum(y for y in parts if y > x) < share for x in parts)
    by_min_p = sum(x / max(parts) >= m for x in parts)
    return {"kept": kept, "by min-p": by_min_p, "together": float(parts[0] + parts[1])}


def cache_bill(item: Item) -> dict[str, object]:
    """By listing who asks whom in each pass, and every number that is kept."""
    of = item.given
    without = cached = 0
    read = 0
    for step in range(of["n_tokens"]):
        words = range(of["n_prompt"] + step)
        without += len([*product(words, words)])
        asks = words[read:]
        cached += len([*product(asks, words)])
        read = len(words)
    shape = (2, of["layers"], of["heads"], read, of["width"])
    return {"without": without, "cached": cached, "kept": np.zeros(shape).size}


def refused_draft(item: Item) -> dict[str, object]:
    """By fractions, following every draft."""
    p, q = ([Fraction(int(x), 10) for x in item.given[name]] for name in "pq")
    accepted = sum(b * min(1, a / b) for a, b in zip(p, q, strict=True))
    rest = [a - b * min(1, a / b) for a, b in zip(p, q, strict=True)]
    return {
        "accepted": float(accepted),
        "again": np.array([float(x / (1 - accepted)) for x in rest]),
    }


def greedy_misses(item: Item) -> dict[str, object]:
    """By all texts of two words."""
    a, x, y = (Fraction(int(item.given[n]), 100) for n in ("first", "after_first", "after_second"))
    texts = {"A1": a * x, "A2": a * (1 - x), "B1": (1 - a) * y, "B2": (1 - a) * (1 - y)}
    return {"greedy": float(max(texts["A1"], texts["A2"])), "best": float(max(texts.values()))}
