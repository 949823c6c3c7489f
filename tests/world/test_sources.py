"""The worked examples in circulation: every printed number is looked at, and slips are found."""

import dataclasses

import numpy as np
import pytest

from tformer_book.world import sources
from tformer_book.world.sources import BUY_MILK, CPP_LISTING, THREE_TOKENS, slips

EXAMPLES = [THREE_TOKENS, BUY_MILK, CPP_LISTING]


@pytest.mark.parametrize("example", EXAMPLES)
def test_printed_tables_are_complete(example):
    right = example.right()
    for name, rows in example.printed.items():
        assert np.array([row.split() for row in rows]).shape == right[name].shape


def test_slips_by_hand():
    assert [(s.table, s.row, s.column, s.printed) for s in slips(THREE_TOKENS)] == [
        ("weights", 0, 1, "0.78"),
        ("weights", 0, 2, "0.17"),
        ("weights", 1, 0, "0.78"),
        ("weights", 1, 2, "0.17"),
        ("outputs", 0, 0, "0.27"),
        ("outputs", 1, 0, "1.73"),
    ]
    assert len(slips(BUY_MILK)) == 13
    assert slips(CPP_LISTING) == []


def test_the_right_numbers_rounded_are_no_slips():
    rounded = {
        name: tuple(" ".join(f"{x:.3f}" for x in row) for row in table)
        for name, table in BUY_MILK.right().items()
    }
    assert slips(dataclasses.replace(BUY_MILK, printed=rounded)) == []


@pytest.mark.parametrize(("text", "half"), [("2", 0.5), ("1.0", 0.05), ("0.7149", 0.00005)])
def test_half_a_unit_of_the_last_decimal(text, half):
    assert sources._half_a_unit(text) == pytest.approx(half, rel=1e-6)
