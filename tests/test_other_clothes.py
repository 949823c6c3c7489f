"""Right answers in other clothes: whole numbers, lists, and float32 where that is handed over."""

import inspect

import numpy as np
import pytest

from exercise_tools import solutions
from tformer_book.exercises import check, process
from tformer_book.exercises.kinds import Several
from tformer_book.exercises.registry import exercises

NUMBERS = sorted(exercises())


def dressed(value, dress):
    """A returned value with its arrays and numbers changed, tuples and lists kept."""
    if isinstance(value, tuple | list):
        return type(value)(dressed(part, dress) for part in value)
    number = isinstance(value, float | np.floating | np.integer) and not isinstance(value, bool)
    return dress(np.asarray(value)) if isinstance(value, np.ndarray) or number else value


def whole(array):
    """As integers, if that loses nothing."""
    if array.dtype.kind != "f" or not np.isfinite(array).all() or (array % 1).any():
        return array
    return array.astype(int) if np.abs(array).max(initial=0) < 2**62 else array


def single(array):
    """As float32, if that loses little: no number of a range beyond it."""
    if array.dtype.kind != "f" or not (np.abs(array[np.isfinite(array)]) < 1e30).all():
        return array
    return array.astype(np.float32)


CLOTHES = {"whole": whole, "float32": single, "lists": np.ndarray.tolist}


def handed_single(inputs):
    return any(isinstance(x, np.ndarray) and x.dtype == np.float32 for x in inputs)


@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize("clothes", CLOTHES)
def test_right_answers_pass_in_other_clothes(number, clothes, monkeypatch):
    monkeypatch.setattr(process, "CAN_FORK", False)
    answer, _ = solutions()[number]

    def other(*inputs):
        worn = clothes != "float32" or handed_single(inputs)
        return dressed(answer(*inputs), CLOTHES[clothes] if worn else np.asarray)

    other.__signature__ = inspect.signature(answer)
    check(number, other)


def a_few_numbers(table):
    """Whether an answer is several single numbers."""
    if not isinstance(table.kind, Several):
        return False
    return all(np.shape(part) == () for case in table.only_cases() for part in table.want(case))


FEW = [n for n, entry in exercises().items() if entry.table and a_few_numbers(entry.table)]


@pytest.mark.parametrize("number", FEW)
@pytest.mark.parametrize("form", [tuple, list, np.array])
def test_a_few_numbers_may_come_as_a_tuple_a_list_or_an_array(number, form, monkeypatch):
    monkeypatch.setattr(process, "CAN_FORK", False)
    answer, _ = solutions()[number]

    def other(*inputs):
        return form(answer(*inputs))

    other.__signature__ = inspect.signature(answer)
    check(number, other)
