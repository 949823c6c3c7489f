"""The exam questions of chapter 10, answered again by other ways than the library's."""

from fractions import Fraction

import numpy as np

from tformer_book.exams import Item


def one_word(item: Item) -> dict[str, object]:
    """By the order of the two numbers, and by whole numbers from there on."""

    def signs(pair: list[int] | list[float]) -> list[int]:
        return [1, -1] if pair[0] > pair[1] else [-1, 1]

    a, b = signs(item.given["total"].tolist())
    p, q, r = max(a, 0), max(b, 0), max(b - a, 0)
    added = [Fraction(p + r), Fraction(p, 2) + q - r]
    h = signs([a + float(added[0]), b + float(added[1])])
    return {
        "first": np.array([a, b]),
        "added": np.array([float(x) for x in added]),
        "last": np.array(h),
        "logits": np.array([h[0], h[1], h[1] - h[0]]),
    }


def small_bill(item: Item) -> dict[str, object]:
    """Matrix by matrix."""
    n, d, depth, heads, groups, width, hidden, words = (
        item.given[k] for k in ("n", "d", "depth", "heads", "groups", "width", "hidden", "words")
    )
    shapes = [(d, heads * width), (d, groups * width), (d, groups * width), (heads * width, d)]
    shapes += [(d, hidden), (d, hidden), (hidden, d)]
    block = sum(a * b for a, b in shapes)
    looks = sum(2 * width + 2 * width for _ in range(depth * heads * words))
    return {
        "block": block,
        "total": n * d + sum(block + d + d for _ in range(depth)) + d,
        "looks": looks,
        "flops": 2 * sum([block] * depth) + 2 * n * d + looks,
    }


def the_start(item: Item) -> dict[str, object]:
    """Sublayer by sublayer."""
    depth, m, a, x = (item.given[k] for k in ("depth", "m", "a", "x"))
    one = sum([m] + [a] * (2 * depth))
    narrow = sum([Fraction(m)] + [Fraction(a, 2 * depth)] * (2 * depth))
    p, q = x.tolist()
    return {"one": one, "narrow": int(narrow), "same": p**2 + q**2, "different": 2 * p * q}


def proves(item: Item) -> dict[str, object]:
    """In fractions."""
    n = item.given["n"]
    share = Fraction(1, n)
    return {"share": float(share), "factor": float(1 / share), "taken": 2 - 1, "kept": n - 1}
