"""Measured numbers are stored to a few digits, with a line for each key."""

import json

import numpy as np

from tformer_book.experiments.storing import by_lines, short


def test_numbers_have_few_digits_and_keep_their_nesting() -> None:
    assert short(2 / 3) == 0.66667
    assert short(np.array([[1234567.0, -0.012345678], [0, 2]]), 3) == [[1230000, -0.0123], [0, 2]]
    assert short([]) == []


def test_each_key_has_a_line() -> None:
    rows = {"ε": [1, {"a": None}], "no rotation": "é"}
    text = by_lines(rows)
    assert text.splitlines() == ["{", ' "ε": [1, {"a": null}],', ' "no rotation": "é"', "}"]
    assert json.loads(text) == rows
