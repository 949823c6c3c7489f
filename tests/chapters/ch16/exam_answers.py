"""The exam questions of chapter 16, answered again by other ways than the library's."""

from fractions import Fraction
from itertools import count

import numpy as np

from tformer_book.exams import Item


def overtakes(item: Item) -> dict[str, object]:
    """By counting pair after pair, and length after length."""
    layers, heads, width, c, times = (
        item.given[name] for name in ("layers", "heads", "width", "c", "times")
    )
    pair = sum(2 * width + 2 * width for _ in range(layers) for _ in range(heads))
    words = next(n for n in count(1) if pair * n * n >= 2 * c * n)
    later = next(n for n in count(1) if pair * sum(range(1, n + 1)) >= 2 * c * n)
    n = times * words
    share = Fraction(pair * n * n, pair * n * n + 2 * c * n)
    return {"pair": pair, "words": words, "share": float(share), "later": later}


def two_blocks(item: Item) -> dict[str, object]:
    """By exponentials of the scores as they are, without any shift."""
    a, b = (np.exp2(item.given[name].astype(float)) for name in "ab")
    return {
        "first": float(a.sum() / a.max()),
        "second": float(b.sum() / b.max()),
        "factor": float(a.max() / b.max()),
        "total": float((a.sum() + b.sum()) / max(a.max(), b.max())),
    }


def a_word_in_the_cache(item: Item) -> dict[str, object]:
    """By arrays that are made."""
    layers, groups, heads, width, texts = (item.given[name] for name in ("L", "G", "H", "d_k", "B"))
    cache = np.zeros((2, layers, groups, width), np.float16)
    own = np.zeros((2, layers, heads, width), np.float16)
    looks = layers * heads * (2 * width + 2 * width)
    row, matrix = np.zeros((texts, 8)), np.zeros((8, 8), np.float16)
    return {
        "bytes": cache.nbytes,
        "factor": own.nbytes // cache.nbytes,
        "dense": looks // cache.nbytes,
        "parameters": 2 * row.shape[0] * matrix.size // matrix.nbytes,
    }


def what_a_table_holds(item: Item) -> dict[str, object]:
    """By a table that is made, and by the singular values that rank leaves out."""
    d, width, pairs = (item.given[name] for name in ("d", "width", "pairs"))
    features = np.random.default_rng(0).standard_normal((pairs, d))
    answers = features @ np.linalg.lstsq(features, np.eye(pairs), rcond=None)[0]
    least = ((answers - np.eye(pairs)) ** 2).sum()
    return {"kept": np.zeros((d, width)).size + np.zeros(d).size, "least": round(float(least))}
