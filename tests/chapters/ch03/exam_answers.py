"""The exam questions of chapter 3, answered again by other ways than the library's."""

import itertools
from fractions import Fraction
from math import hypot
from operator import mul

import numpy as np
import sympy

from tformer_book.exams import Item


def mean(weights: list[int], values: np.ndarray) -> np.ndarray:
    """A weighted mean of rows, in fractions."""
    shares = [Fraction(int(w), int(sum(weights))) for w in weights]
    columns = values.T.astype(int).tolist()
    return np.array([float(sum(map(mul, shares, column))) for column in columns])


def two_queries(item: Item) -> dict[str, object]:
    """In fractions: the weights of logarithms are their arguments."""
    a, b, v = (item.given[name] for name in "abv")
    products = [int(x) for x in a * b]
    return {
        "first": mean(list(a), v),
        "second": mean(products, v),
        "hidden": mean(products[:2], v[:2]),
    }


def what_can_come_out(item: Item) -> dict[str, object]:
    """By areas: the weight of a corner is the triangle opposite to it, over the whole."""

    def area(p, q, r) -> Fraction:
        (a, b), (c, d) = q - p, r - p
        return Fraction(int(a * d - b * c))

    corners, words, found = item.given["corners"], [], {}
    for letter, y in zip("ABC", item.given["points"], strict=True):
        whole = area(*corners)
        parts = [area(y, corners[i], corners[j]) / whole for i, j in ((1, 2), (2, 0), (0, 1))]
        word = "possible" if min(parts) > 0 else "only as a limit" if min(parts) == 0 else ""
        words.append(f"{letter} {word or 'impossible'}")
        found[word] = np.array([float(x) for x in parts])
    verdict = ", ".join(words)
    return {"verdict": verdict, "inside": found["possible"], "edge": found["only as a limit"]}


def the_last_word(item: Item) -> dict[str, object]:
    """What is left is shared in the old ratios, which the one possible row must have too."""
    first, (last, _) = item.given["first"], item.given["lasts"]
    second = np.append(first[:3] * (1 - last) / (1 - first[3]), last)
    kept = [
        all(abs(x[i] * first[j] - x[j] * first[i]) < 1e-9 for i, j in ((0, 1), (0, 2), (1, 2)))
        for x in item.given["rows"]
    ]
    assert sum(kept) == 1
    return {"second": second, "letter": "ABC"[kept.index(True)]}


def shuffled_words(item: Item) -> dict[str, object]:
    """Entry by entry: who asks, who is asked."""
    before, order = item.given["before"], item.given["order"]
    after = np.zeros((3, 3))
    for t, i in itertools.product(range(3), repeat=2):
        after[t, i] = 12 * before[order[t], order[i]]
    return {"after": np.round(after, 9)}


def what_a_head_can_want(item: Item) -> dict[str, object]:
    """By SymPy's elimination, and the quadratic form term by term."""
    (x, y), ((a, b), (_, c)) = item.given["x"], item.given["tied"]
    rank = sympy.Matrix(item.given["M"].astype(int)).rank()
    return {"rank": rank, "loss": float(a * x * x + 2 * b * x * y + c * y * y)}


def weight_and_influence(item: Item) -> dict[str, object]:
    """Word by word."""
    weights, v, (right, up) = (item.given[name] for name in ("weights", "v", "u"))
    lengths = [w * hypot(*row) for w, row in zip(weights, v, strict=True)]
    output = sum(w * row for w, row in zip(weights, v, strict=True))
    most = max(zip(lengths, ("Buy", "milk", "and"), strict=True))[1]
    moved = np.array([output[0] + right, output[1] + up])
    return {"output": output, "lengths": lengths, "most": most, "moved": moved}
