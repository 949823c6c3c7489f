"""The claims of chapter 22."""

from __future__ import annotations

import numpy as np

from tformer import reference
from tformer_book.claims.registry import claim, require
from tformer_book.claims.tools import near, show


@claim(
    "prop-22-equal-scores",
    "numeric",
    mutants={"the output is the sum of the values": {"divided": False}},
    scope="1 to 6 keys, three numbers a value",
)
def equal_scores(divided: bool = True) -> str:
    """For a query of zeros, and for one that meets the same key everywhere."""
    rng = np.random.default_rng(0)
    for count in range(1, 7):
        values = rng.integers(-9, 10, size=(count, 3))
        want = [sum(column) / (count if divided else 1) for column in values.T.tolist()]
        key, query = rng.normal(size=(2, 1, 4))
        for q, k in ((0 * query, rng.normal(size=(count, 4))), (query, np.tile(key, (count, 1)))):
            got = reference.attention(q, k, values.astype(float))[0]
            require(near(got, want), f"{count} keys: {show(got)}, not {show(want)}")
    return "sums of whole numbers, and attention, to 1e-12; 1 to 6 keys, with two kinds of query"
