"""Whoever spoils what an answer is handed spoils nobody's marks but their own."""

import contextlib
import functools

import numpy as np
import pytest

from course_tools import IMPORTS, NUMBERS, name, needs_confinement, right
from tformer_book.exercises import guard
from tformer_book.exercises.answer import Answer, Wrong, fresh
from tformer_book.exercises.registry import exercises
from tformer_book.exercises.table import Case
from tformer_course.judge import MEASURED, judge
from tformer_course.remote import Sandbox

SPOIL = """
def spoil(value):
    if isinstance(value, np.ndarray):
        value[...] = 0
    elif isinstance(value, np.random.Generator):
        value.random(9)
    elif isinstance(value, (list, tuple, set, dict)):
        for part in list(value.values() if isinstance(value, dict) else value):
            spoil(part)
        if not isinstance(value, tuple):
            value.clear()
    elif hasattr(value, "__next__"):
        for part in value:
            spoil(part)
"""
space = {"np": np}
exec(SPOIL, space)


def vandal(*arguments):
    """Spoil whatever has been handed over, and be wrong."""
    space["spoil"](arguments)
    return 0


def seen(value):
    """What can be seen of a value, as something that compares."""
    if isinstance(value, np.ndarray):
        return value.dtype.str, value.shape, value.tobytes()
    if isinstance(value, list | tuple | set):
        return [seen(part) for part in value]
    if isinstance(value, dict):
        return [seen(pair) for pair in value.items()]
    if isinstance(value, np.random.Generator):
        return repr(value.bit_generator.state)
    return type(value).__name__ if callable(value) or hasattr(value, "__next__") else repr(value)


@pytest.mark.parametrize("number", [n for n in NUMBERS if exercises()[n].table])
def test_no_answer_changes_a_case_that_the_next_one_is_tried_on(number):
    table = exercises()[number].table
    answer = Answer(vandal, call=guard.in_place)
    items = list(table.items())
    for item in items:
        with contextlib.suppress(Wrong):
            table.attempt(answer, item) if isinstance(item, Case) else item(answer)
    fresh = [item for item in table.cases() if isinstance(item, Case)]
    before = [seen(item.inputs) for item in [*fresh, *table._as_integers(fresh)]]
    assert before == [seen(item.inputs) for item in table.only_cases()]


@pytest.mark.parametrize(
    "value",
    [np.ones(2), [np.ones(2)], (1, [np.ones(2)]), {"a": [np.ones(2)]}, [{"a": (np.ones(2),)}]],
    ids=repr,
)
def test_a_copy_is_fresh_however_deep_the_array_lies(value):
    before = repr(value)
    space["spoil"](fresh(value))
    assert repr(value) == before


@pytest.fixture(scope="module")
def sandbox():
    with Sandbox(512 << 20) as sandbox:
        yield sandbox


def holds(value):
    """Whether there are arrays within a value, which a copy that is not deep would share."""
    return isinstance(value, list | tuple | dict | set) or hasattr(value, "__next__")


@functools.cache
def shares(number):
    """Whether an exercise hands over more than arrays, or has no table of cases at all."""
    table = exercises()[number].table
    cases = table.cases() if table else ()
    given = [item.inputs for item in cases if isinstance(item, Case)]
    return not table or any(holds(x) for one in given for x in one.values())


@needs_confinement
@pytest.mark.parametrize("number", NUMBERS)
def test_of_two_students_the_second_gets_what_the_answer_deserves(number, sandbox):
    """The first spoils what is handed over, where that is more than arrays; any second is right."""
    entry, called = exercises()[number], name(number)
    spoilt = f"{right(number)}\n{SPOIL}\nright = {called}\ndef {called}(*a):\n"
    spoilt += "    value = right(*a)\n    spoil(a)\n    return value\n"
    for source in [spoilt] * shares(number) + [right(number)]:
        verdict = judge(entry, sandbox, [("<c>", IMPORTS), ("<d>", source)], called, 30.0)
        assert verdict.right or source == spoilt
        assert source == spoilt or verdict.text in (entry.praise, MEASURED)
