"""The exam questions of the first page, answered again by other ways than the library's."""

from fractions import Fraction
from itertools import product
from math import log2

import numpy as np

from tformer_book.exams import Item


def looks_back(item: Item) -> dict[str, object]:
    """In fractions: the weights of logarithms are their arguments."""
    scores, v = item.given["scores"], item.given["v"]
    weights = [Fraction(x, sum(scores)) for x in scores]
    taken = sum(w * int(x) for w, x in zip(weights, v, strict=True))
    return {"weights": np.array([float(w) for w in weights]), "taken": float(taken)}


def bears_the_loss(item: Item) -> dict[str, object]:
    """By listing the stories."""
    stories = list(product(range(item.given["n"]), range(item.given["m"])))
    nouns = {noun for noun, _ in stories}
    return {
        "stories": len(stories),
        "floor": -log2(1 / len(stories)),
        "noun": log2(len(nouns)),
        "trouble": log2(len(stories) / len(nouns)),
    }


def a_cut_shows(item: Item) -> dict[str, object]:
    """By asking one question after the other."""
    first, second, left = (item.given[name] for name in ("first", "second", "left"))
    right = [True] * first + [i < left for i in range(second)]
    return {"share": sum(right) / len(right)}


def downhill(item: Item) -> dict[str, object]:
    """By tenths: each slope is a whole number."""
    a, b, up, down = (item.given[name] for name in ("a", "b", "up", "down"))
    return {"after": np.array([(10 * a - up) / 10, (10 * b + down) / 10])}
