"""The exam questions of chapter 1, answered again by other ways than the library's."""

import itertools
import math
from collections import Counter
from fractions import Fraction
from functools import cache

import numpy as np
import sympy
from scipy.optimize import minimize_scalar

from tformer_book.exams import Item


def shadow(item: Item) -> dict[str, object]:
    """In fractions; the best key by the length of a multiple of q."""
    q, k = ([int(x) for x in item.given[name]] for name in "qk")
    score, square = sum(x * y for x, y in zip(q, k, strict=True)), sum(x * x for x in k)
    there = np.array([float(Fraction(score * x, square)) for x in k])
    longer = math.sqrt(Fraction(square, sum(x * x for x in q)))
    nearest = minimize_scalar(lambda t: sum((x - t * y) ** 2 for x, y in zip(q, k, strict=True)))
    assert np.allclose(nearest.x * np.array(k), there, atol=1e-6)
    return {
        "dot": score,
        "there": there,
        "left": q - there,
        "turned": sum(x * item.given["times"] * y for x, y in zip(q, k, strict=True)),
        "best": sum(x * longer * x for x in q),
    }


def three_judges(item: Item) -> dict[str, object]:
    """By angle and length, and for the nearest by counting in whole numbers."""
    q, keys = item.given["q"].astype(int), item.given["keys"].astype(int)

    def best(score) -> str:
        return max("ABC", key=lambda letter: score(*keys["ABC".index(letter)]))

    def near(x: int, y: int) -> float:
        return -math.hypot(q[0] - x, q[1] - y)

    def near_to_longer(x: int, y: int) -> float:
        return -math.hypot(5 * q[0] - x, 5 * q[1] - y)

    def aligned(x: int, y: int) -> float:
        return math.cos(math.atan2(y, x) - math.atan2(q[1], q[0]))

    return {
        "dot": best(lambda x, y: aligned(x, y) * math.hypot(x, y)),
        "cosine": best(aligned),
        "distance": best(near),
        "later": best(near_to_longer),
    }


def smudged(item: Item) -> dict[str, object]:
    """Solve the determinant for the entry that is not shown."""
    x = sympy.Symbol("x")
    table = sympy.Matrix(3, 3, [x if t == "?" else int(t) for t in item.given["shown"].ravel()])
    (lost,) = sympy.roots(table.det(), x)
    return {"lost": float(lost)}


def wrong_step(item: Item) -> dict[str, object]:
    """Over all signs of coordinates that are one above or one below their means."""
    mu, nu, d = (item.given[name] for name in ("mu", "nu", "d"))
    products = [(mu + s) * (nu + t) for s, t in itertools.product([-1, 1], repeat=2)]
    rows = np.reshape(products, (2, 2))  # one query a row
    noticed = d * rows.var(axis=1).mean()
    return {"mean": d * rows.mean(), "variance": d * rows.var(), "noticed": noticed}


def company(item: Item) -> dict[str, object]:
    """By counting the meetings one by one, as pairs of words."""
    counts = item.given["counts"].astype(int)
    pairs = Counter({(w, c): counts[w, c] for w, c in itertools.product(range(4), repeat=2)})
    meetings = list(pairs.elements())

    def ratio(one: int, other: int) -> float:
        together = Fraction(meetings.count((one, other)), len(meetings))
        left = Fraction(sum(w == one for w, _ in meetings), len(meetings))
        right = Fraction(sum(c == other for _, c in meetings), len(meetings))
        return float(together / (left * right))

    first = max(0.0, math.log(ratio(0, 1)))
    return {"ratio": ratio(1, 2), "below": ratio(0, 1), "first": first}


def signs(item: Item) -> dict[str, object]:
    """All sign vectors of the small width; the other values by counting steps of a walk."""
    odd, agree = item.given["odd"], item.given["agree"]
    least = min(abs(Fraction(odd - 2 * m, odd)) for m in range(odd + 1))
    return {
        "cosine": float(Fraction(agree - (odd - agree), odd)),
        "least": float(least),
        "chance": orthogonal(item.given["even"]),
        "typical": math.sqrt(Fraction(1, item.given["far"])),
    }


@cache
def orthogonal(width: int) -> float:
    """The share of sign vectors that are orthogonal to a given one."""
    rows = np.array(list(itertools.product([-1, 1], repeat=width)))
    return float(np.mean(rows @ rows[5] == 0))
