"""The exam questions of chapter 22, answered again by other ways than the library's."""

from fractions import Fraction

import numpy as np

from tformer_book.exams import Item


def equal_scores(item: Item) -> dict[str, object]:
    """By fractions."""
    columns = [[Fraction(int(x)) for x in column] for column in item.given["v"].T]
    keys = len(columns[0])
    return {"weight": 1 / keys, "output": np.array([float(sum(c) / keys) for c in columns])}
