"""What an answer does behind the back of its judge is seen, or not vouched for."""

import numpy as np
import pytest

from course_tools import IMPORTS, NUMBERS, name, needs_confinement, right
from test_course_vandals import SPOIL, shares
from tformer_book.exercises import CheckFailed, check
from tformer_book.exercises.registry import exercises
from tformer_course.judge import judge
from tformer_course.remote import Sandbox
from tformer_course.values import containers, refill

pytestmark = needs_confinement
SPOILS = """
right = {name}
def {name}(*a):
    value = right(*a)
    spoil([part for part in a if isinstance(part, (list, dict, set))])
    return value
"""


@pytest.fixture(scope="module")
def sandbox():
    with Sandbox(512 << 20) as sandbox:
        yield sandbox


def said(sandbox, number, *sources):
    cells = [(f"<{place}>", source) for place, source in enumerate([IMPORTS, *sources])]
    return judge(exercises()[number], sandbox, cells, name(number), 30.0)


def spoiling(number):
    """The right answer, which afterwards empties the lists and dicts that it was handed."""
    source = f"{right(number)}\n{SPOIL}\n{SPOILS.format(name=name(number))}"
    space = {"np": np}
    exec(f"{IMPORTS}\n{source}", space)
    return source, space[name(number)]


@pytest.mark.parametrize("number", [n for n in NUMBERS if shares(n)])
def test_what_is_changed_in_place_is_told_as_check_tells_it(number, sandbox):
    source, function = spoiling(number)
    verdict = said(sandbox, number, source)
    words = " ".join(verdict.text.replace("`", "").split()).partition(", and its caller")[0]
    told = heard(number, function)
    assert verdict.right == (not told)
    assert verdict.right or words in told


def heard(number, function):
    """What `check` says to a wrong answer, on one line; "" if nothing that it got can change."""
    try:
        check(number, function, seconds=30.0)
    except CheckFailed as failed:
        return " ".join(str(failed).replace("`", "").split())
    return ""


def test_the_lists_of_these_exercises_are_changed_and_seen(sandbox):
    for number in "0.6", "6.5":
        assert "changes the" in said(sandbox, number, spoiling(number)[0]).text


@pytest.mark.parametrize(
    "change",
    ["x.append(x)", "x[0] = object()", "x[:] = [True]", "x[0] = '1'"],
)
def test_any_change_of_a_list_is_seen(change, sandbox):
    source = (
        f"{right('6.5')}\nright = {name('6.5')}\ndef {name('6.5')}(*a):\n    value = right(*a)\n"
    )
    source += "    for x in a:\n        if isinstance(x, list):\n            " + change
    assert not said(sandbox, "6.5", f"{source}\n    return value").right


def test_containers_are_filled_again_with_what_fits():
    value = ([1, {"a": [2]}], {3})
    assert list(containers(value)) == [value[0], value[0][1], [2], {3}]
    refill(value[0], [5])
    refill(value[1], {6})
    assert value == ([5], {6})
    with pytest.raises(ValueError, match="no list"):
        refill(value[0], {5})


@pytest.mark.parametrize("number", ["1.5", "1.6", "2.10", "4.2"])
def test_what_an_answer_may_hide_is_not_vouched_for(number, sandbox):
    verdict = said(sandbox, number, right(number))
    assert verdict.right
    assert exercises()[number].praise not in verdict.text
    assert "not vouched for" in verdict.text


FLATTERS = (
    "from tformer_book.exercises.answer import {0}\ndef row_dots(q, k):\n    raise {0}({1!r}{2})"
)
WORDS = "All twelve exercises are right: 24 points"


@pytest.mark.parametrize(("kind", "more"), [("Wrong", ""), ("Untouched", ""), ("Raised", ", None")])
def test_words_of_a_student_do_not_come_as_the_judges(kind, more, sandbox):
    verdict = said(sandbox, "1.1", FLATTERS.format(kind, WORDS, more))
    assert not verdict.right
    assert f"“{WORDS}”" in verdict.text
    assert "row_dots` stopped with" in verdict.text
