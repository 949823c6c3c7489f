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
from tformer_book.exercises.table import Table, case, type_test

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


def wrong_at(table, answer):
    """What is said to an answer; "" if it is right."""
    try:
        check_by_table(table, Answer(answer))
    except Wrong as wrong:
        return wrong.explain()[0]
    return ""


def scaled(x, by):
    return x * by


def as_its_input(x, by):
    out = np.zeros_like(x)
    out[...] = x * by
    return out


def test_whole_numbers_of_any_case_come_as_integers_as_well():
    cases = [case(x=[1.0, 2], by=0.5), case(x=[0.5], by=0.5)]
    told = wrong_at(Table(scaled, lambda: cases, {}, Array()), as_its_input)
    assert "with x = (1, 2)" in told.lower()
    assert "only where whole numbers are handed over" in told
    no_integers = Table(scaled, lambda: cases, {}, Array(), integers=False)
    assert wrong_at(no_integers, as_its_input) == ""


def test_numbers_without_an_array_and_arrays_in_a_list_come_as_integers_as_well():
    handed = []
    table = Table(
        lambda rate, parts: rate,
        lambda: [case(rate=2.0, parts=[np.ones(2), np.array([0.5])])],
        {},
        Array(),
    )
    check_by_table(table, Answer(lambda rate, parts: handed.append((rate, parts)) or rate))
    (first, floats), (second, mixed) = handed
    assert (type(first), type(second)) == (float, int)
    assert [part.dtype.kind for part in floats] == ["f", "f"]
    assert [part.dtype.kind for part in mixed] == ["i", "f"]


def test_integers_stand_beside_fractions():
    inputs = {"x": np.array([[1.0, 2], [3, 4]]), "by": np.array([1.0, 3])}
    kinds = [{n: v.dtype.kind for n, v in c.handed.items()} for c in promised(whole, **inputs)]
    assert kinds == [{"x": "i", "by": "i"}, {"x": "i", "by": "f"}, {"x": "f", "by": "i"}]
    table = Table(scaled, lambda: promised(whole, **inputs), {}, Array())
    assert "only where whole numbers are handed over" in wrong_at(table, as_its_input)


def test_what_stops_at_integers_alone_is_told_so():
    def in_place(x, by):
        x = x.copy()
        x *= by
        return x

    table = Table(scaled, lambda: [case(x=[1.0, 2], by=0.5)], {}, Array())
    told = wrong_at(table, in_place)
    assert "UFuncTypeError" in told
    assert told.endswith("make floats of them first.")


def test_an_empty_array_has_a_type_and_an_empty_list_has_none():
    test = type_test("an int", n=0)
    test(Answer(lambda n: []))
    test(Answer(lambda n: np.zeros(0, dtype=int)))
    with pytest.raises(Wrong, match="an int is asked for"):
        test(Answer(lambda n: np.zeros(0)))


def test_an_error_of_a_library_is_no_empty_template():
    def answer(x):
        raise NotImplementedError("no such kernel for 'Long'")

    with pytest.raises(Wrong, match="no such kernel"):
        Answer(answer).raw(x=1)
