"""The exam questions of chapter 8, answered again by other ways than the library's."""

from fractions import Fraction
from math import sqrt

import numpy as np

from tformer_book.exams import Item


def by_hand(item: Item) -> dict[str, object]:
    """By fractions; the gradient by projecting on what is orthogonal to both."""
    x = [Fraction(int(one)) for one in item.given["x"]]
    mean = sum(x) / 4
    size = sqrt(sum((one - mean) ** 2 for one in x) / 4)
    n = np.array([float(one - mean) / size for one in x])
    basis = np.linalg.qr(np.stack([np.ones(4), n], axis=1))[0]
    dx = (np.eye(4) - basis @ basis.T) @ item.given["dy"] / size
    return {"mean": mean, "size": round(size), "n": n.round(9), "dx": dx.round(9)}


def two_words(item: Item) -> dict[str, object]:
    """By the order of the numbers."""
    rows = [item.given[name].tolist() for name in ("first", "second")]
    n = np.array([1.0, -1.0]) if rows[0][0] > rows[0][1] else np.array([-1.0, 1.0])
    return {"n": n, "gap": np.array([a - b for a, b in rows]), "lengths": 2.0}


def at_the_end(item: Item) -> dict[str, object]:
    """Layer by layer."""
    m, depth, many = (item.given[name] for name in ("m", "depth", "many"))
    none, pre = m, m
    for _ in range(depth):
        none, pre = none + none, pre + 1
    twice = next(n for n in range(1000) if m + n == 4 * m)
    return {"none": none, "pre": pre, "post": 1, "long": sum([m] + [1] * many), "twice": twice}


def which_order(item: Item) -> dict[str, object]:
    """By running the programs."""
    found, words = [], []
    for program in item.given["programs"]:
        names = {"x": item.given["x"], "w": item.given["w"], "norm": lambda x: x / abs(x)}
        exec(program, names)
        found.append(float(names["x"]))
        on_branch = "* norm(x)" in program
        words.append("before" if on_branch else "after" if "norm(x +" in program else "neither")
    verdict = ", ".join(f"{letter} {word}" for letter, word in zip("ABC", words, strict=True))
    return {"verdict": verdict, "found": np.array(found)}
