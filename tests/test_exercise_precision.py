"""Few digits are no discount: what is handed over says how exact an answer has to be."""

import inspect

import numpy as np
import pytest

from exercise_tools import call_in_place, solutions, told
from test_other_clothes import dressed
from tformer_book.exercises import CheckFailed, check
from tformer_book.exercises.compare import close
from tformer_book.exercises.registry import exercises

NUMBERS = sorted(exercises())


def changed(answer, change):
    """An answer whose numbers are changed on their way out."""

    def other(*inputs):
        return dressed(answer(*inputs), change)

    other.__signature__ = inspect.signature(answer)
    return other


def half(array):
    with np.errstate(all="ignore"):
        return array.astype(np.float16) if array.dtype.kind == "f" else array


def off(array):
    return array * 1.015 if array.dtype.kind == "f" else array


@pytest.fixture(autouse=True)
def in_place(monkeypatch):
    call_in_place(monkeypatch)


def passes(number, answer):
    try:
        check(number, answer)
    except CheckFailed:
        return False
    return True


@pytest.mark.parametrize("number", NUMBERS)
def test_what_is_wrong_in_float64_is_wrong_in_float16(number):
    """The tolerance that an answer gets never grows with what it returns."""
    answer, _ = solutions()[number]
    if not passes(number, changed(answer, off)):
        assert not passes(number, changed(answer, lambda array: half(off(array))))


@pytest.mark.parametrize("number", NUMBERS)
def test_right_answers_in_float16_are_right_to_all_digits_or_told_of_their_type(number):
    answer, _ = solutions()[number]
    exact = True

    def coarse(array):
        nonlocal exact
        fewer = half(array)
        exact &= np.array_equal(fewer, array, equal_nan=array.dtype.kind == "f")
        return fewer

    right = passes(number, changed(answer, coarse))
    if not exact and not right:
        text = told(number, changed(answer, half))
        assert "float16" in text or "float32" in text or "finite" in text, text


def test_numbers_are_near_where_numpy_says_so():
    special = [0.0, 1, -1, 1 + 1e-9, 1 + 1e-7, 1e300, np.inf, -np.inf, np.nan]
    got, want = np.meshgrid(special, special)
    with np.errstate(all="ignore"):
        near = np.isclose(got, want, rtol=1e-8, atol=1e-8, equal_nan=True)
    np.testing.assert_array_equal(close(got, want), near)
