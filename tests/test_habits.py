"""A habit of NumPy is named where it makes an answer fail, and nowhere else."""

import warnings

import numpy as np
import pytest

from exercise_tools import told
from tformer import reference
from tformer_book.exercises import CheckFailed, check, process
from tformer_book.exercises.habits import (
    HABITS,
    TRIED,
    AnyHabit,
    FromTheEnd,
    Kept,
    LastTwo,
    SideBySide,
)

TABLE = np.arange(6.0).reshape(2, 3)
STACK = np.arange(24.0).reshape(2, 3, 4)
DIFFERENCES = {
    "T": (LastTwo, lambda x: x.T, STACK.mT),
    "transpose": (LastTwo, lambda x: x.transpose(), STACK.mT),
    "np.transpose": (LastTwo, np.transpose, STACK.mT),
    "np.dot": (SideBySide, lambda x: np.dot(x, x.mT), STACK @ STACK.mT),
    "dot": (SideBySide, lambda x: x.dot(x.mT), STACK @ STACK.mT),
    "sum": (FromTheEnd, lambda x: x.sum(axis=1), STACK.sum(axis=-1)),
    "np.max": (FromTheEnd, lambda x: np.max(x, 0), STACK.max(axis=-2)),
    "norm": (FromTheEnd, lambda x: np.linalg.norm(x, axis=1), np.linalg.norm(STACK, axis=-1)),
    "swapaxes": (FromTheEnd, lambda x: x.swapaxes(0, 1), STACK.mT),
    "transpose by number": (FromTheEnd, lambda x: np.transpose(x, (1, 0)), STACK.mT),
    "kept sum": (Kept, lambda x: x.sum(-1), STACK.sum(-1, keepdims=True)),
    "kept np.mean": (Kept, lambda x: np.mean(x, axis=0), STACK.mean(0, keepdims=True)),
    "kept norm": (
        Kept,
        lambda x: np.linalg.norm(x, axis=-1),
        np.linalg.norm(STACK, axis=-1, keepdims=True),
    ),
}


@pytest.fixture(autouse=True)
def in_threads(monkeypatch):
    """Run checks where they are, so that a test sees the calls of its answer."""
    monkeypatch.setattr(process, "CAN_FORK", False)


def named(text):
    return [habit.__name__ for habit in HABITS if " ".join(habit.because.split()) in text]


@pytest.mark.parametrize("case", DIFFERENCES)
def test_a_habit_differs_and_says_so(case):
    habit, call, want = DIFFERENCES[case]
    habit.used = AnyHabit.used = False
    np.testing.assert_array_equal(call(STACK.view(habit)), want)
    assert habit.used
    assert not AnyHabit.used
    call(STACK.view(AnyHabit))
    assert AnyHabit.used


@pytest.mark.parametrize("habit", [LastTwo, SideBySide, FromTheEnd])
def test_tables_are_numpys_own(habit):
    habit.used = False
    table = TABLE.view(habit)
    for call in (np.transpose, lambda x: x.T, lambda x: x.swapaxes(0, 1), lambda x: x.max(axis=1)):
        np.testing.assert_array_equal(call(table), call(TABLE))
    np.testing.assert_array_equal(np.dot(table, table.T), TABLE @ TABLE.T)
    assert not habit.used


def test_a_habit_survives_what_an_answer_does_first():
    for call in (lambda x: np.where(x > 3, x, 0), lambda x: np.exp(x / 9), lambda x: x[:1] @ x.mT):
        assert isinstance(call(STACK.view(LastTwo)), LastTwo)


def test_a_transpose_that_does_no_harm_is_not_blamed():
    def masked(q, k, v, mask):
        k.T.sum()
        return reference.attention(q, k, v, mask=mask) + (q.ndim > 2)

    assert named(told("3.4", masked)) == []


def test_a_transpose_that_is_not_reached_is_not_blamed():
    def read(x, memory, w_q, w_k, w_v):
        return (x @ w_q) @ (memory @ w_k).T  # fails on tables already

    assert named(told("3.2", read)) == []


def test_a_second_mistake_does_not_hide_the_first():
    def weights(q, k):
        scores = q @ k.T / k.shape[-1] ** 0.5
        return np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)

    assert named(told("4.7", weights)) == ["LastTwo"]


def test_luck_is_not_taken_for_a_reason():
    calls = []

    def read(x, memory, w_q, w_k, w_v):
        calls.append(x)
        q, k, v = x @ w_q, memory @ w_k, memory @ w_v
        return reference.attention(q, k, v) if len(calls) > 1 else x

    for habit in TRIED:
        habit.used = True  # left over from another answer
    assert named(told("3.2", read)) == []
    assert len(calls) > 2


def test_a_call_that_hung_is_not_made_again():
    calls = []

    def after(a, j, share):
        calls.append(a)
        while True:
            pass

    with pytest.raises(CheckFailed, match="still"):
        check("3.1", after, seconds=0.1)
    assert len(calls) == 2  # the second is the chance that an overdue call gets


def test_trying_again_warns_of_nothing():
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        told("3.12", lambda a, y, table: ((y[:, None] - table) ** 2).sum(-1).argmin(-1))
    assert seen == []
