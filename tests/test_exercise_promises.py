"""What a statement promises is tried at its limit: the cases that the makers make."""

import numpy as np
import pytest

from tformer_book.exercises.answer import Answer, Wrong
from tformer_book.exercises.diagnosis import check_by_table
from tformer_book.exercises.kinds import Array
from tformer_book.exercises.promises import (
    huge,
    promised,
    single,
    sizes,
    stacked,
    ties,
    whole,
    zeros,
)
from tformer_book.exercises.samples import integers
from tformer_book.exercises.table import Table

X = integers(4, (3, 4)) + 0.25 + np.arange(4) / 8


def softmax(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def first_best(x):
    return x == x.max(axis=-1, keepdims=True)


def by_rank(x):
    return np.argsort(np.argsort(-x, axis=-1, kind="stable"), axis=-1) == 0


def flat_norm(x):
    return x / np.abs(x).sum(axis=-1, keepdims=True)


def filled(x):
    out = x.copy()
    out[...] = softmax(x)
    return out


def in_rows(x):
    return np.array([softmax(row) for row in x])


CAUGHT = {
    "whole numbers": (whole, softmax, filled),
    "float32": (single, lambda x: x / 3, lambda x: (x / np.float64(3)).round(3)),
    "axes in front": (stacked, softmax, lambda x: softmax(x) if x.ndim < 3 else softmax(x[:1])),
    "ties": (ties("x"), first_best, by_rank),
    "zeros": (zeros("x"), lambda x: x * 0, lambda x: flat_norm(x) * 0),
    "large numbers": (huge("x"), softmax, lambda x: np.exp(x) / np.exp(x).sum(-1, keepdims=True)),
    "rows far apart": (
        huge("x"),
        softmax,
        lambda x: np.exp(x - x.max()) / np.exp(x - x.max()).sum(-1, keepdims=True),
    ),
}


@pytest.mark.parametrize("promise", CAUGHT)
def test_who_breaks_a_promise_is_caught(promise):
    maker, right, wrong = CAUGHT[promise]
    table = Table(right, lambda: promised(maker, x=X), {}, Array())
    check_by_table(table, Answer(lambda x: right(x)))
    with np.errstate(all="ignore"):
        assert np.allclose(right(X), wrong(X), atol=1e-3), "it is right on a usual case"
        with pytest.raises(Wrong):
            check_by_table(table, Answer(wrong))


def test_sizes_are_tried_one_axis_at_a_time():
    made = list(sizes({"q": "T d", "k": "S d"}, T=(0, 1), d=(1,)))
    shapes = [[x.shape for x in item.inputs.values()] for item in made]
    assert shapes == [[(0, 4), (2, 4)], [(1, 4), (2, 4)], [(3, 1), (2, 1)]]
    assert made[0].words == "q of shape (0, 4), k of shape (2, 4)"
    assert made[0].why == "T = 0 is allowed."


def test_masks_and_numbers_that_are_no_arrays_stay():
    mask = np.array([True, False])
    for item in promised(whole, single, stacked, x=np.ones(2), mask=mask, n=3):
        np.testing.assert_array_equal(item.handed["mask"], mask, strict=True)
        assert item.handed["n"] == 3


def test_an_answer_gets_float32_and_is_judged_by_its_digits():
    table = Table(lambda x: x / 3, lambda: promised(single, x=X), {}, Array())
    check_by_table(table, Answer(lambda x: x / np.float32(3)))
    check_by_table(table, Answer(lambda x: (x / np.float32(3)).astype(float)))
    with pytest.raises(Wrong):
        check_by_table(table, Answer(lambda x: x / np.float32(3.01)))
