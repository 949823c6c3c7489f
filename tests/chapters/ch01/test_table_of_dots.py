"""The table of dot products to touch, in Python: its numbers, what it refuses and what it says."""

import math

import numpy as np
import pytest

from tformer import reference
from tformer_book.chapters.ch01.table_of_dots import TableOfDots


def test_the_table_is_the_librarys() -> None:
    rng = np.random.default_rng(0)
    queries, keys = rng.normal(size=(4, 3)), rng.normal(size=(5, 3))
    widget = TableOfDots(queries.tolist(), keys.tolist(), cell=[3, 4])
    np.testing.assert_array_equal(widget.table, reference.pairwise_dot(queries, keys))


def test_it_says_which_cell_stands_out() -> None:
    widget = TableOfDots([[1, 0], [1, 1]], [[1, 2], [0, 1], [3, -1]], cell=[1, 0])
    assert repr(widget) == "TableOfDots: Q (2, 2), K (3, 2); row 2, column 1: 3"
    assert "row 2, column 1: 3" in widget.fallback()
    assert widget.fallback().count("<td>") == 6


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"queries": []}, "Q needs 1 to 8 rows of 1 to 4 numbers; got 0 of 0"),
        ({"queries": [[1.0] * 5]}, "Q needs 1 to 8 rows of 1 to 4 numbers; got 1 of 5"),
        ({"keys": [[1, 2, 3]]}, "row 0 of K has 3 numbers, not 2"),
        ({"keys": [[1, math.inf]]}, r"K\[0\]\[1\] must be a finite number; got inf"),
        ({"cell": [6, 0]}, r"no cell \(6, 0\) in a table of shape \(6, 5\)"),
        ({"cell": [0]}, r"no cell \(0,\)"),
    ],
)
def test_it_refuses_in_words(arguments: dict, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        TableOfDots(**arguments)
