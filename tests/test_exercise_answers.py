"""Every known answer to every exercise: right ones pass, each mutant is told in its own words.

The book's own answers are tried in `test_exercises`, as their notebooks have them.

A mutant stands in the table of its exercise, or is planted by hand in `chapters`.
"""

import re
from collections.abc import Generator

import pytest

import chapters
import tformer.reference
from every import try_each
from exercise_tools import answers, call_in_place, computed_once, solutions, told
from tformer_book.exercises import check, process
from tformer_book.exercises.registry import exercises
from tformer_book.exercises.table import call
from tformer_book.pipeline.generators.exercises import MARK

PLANTED, RIGHT = chapters.answers("MUTANTS"), chapters.answers("RIGHT")
EXERCISES = exercises()
NUMBERS = sorted(EXERCISES)
TOGETHER = "number"  # what the mutants of an exercise give on its cases is found once
COUNTING = ["16.1"]  # one of its planted answers counts to 10¹², and is stopped
TABLES = {number: entry.table for number, entry in EXERCISES.items() if entry.table}


@pytest.fixture
def in_threads(monkeypatch):
    """Run checks where they are, as on a system without fork."""
    monkeypatch.setattr(process, "CAN_FORK", False)


@pytest.mark.usefixtures("in_threads")
@pytest.mark.parametrize("number", NUMBERS)
def test_other_right_answers_pass(number):
    assert RIGHT[number]
    for answer in RIGHT[number]:
        check(number, answer)


def assert_in_good_manners(number, text):
    """A message repeats no hint, and gives away no line of the solution."""
    hints = {s for hint in EXERCISES[number].hints for s in re.split(r"(?<=\.) ", hint)}
    assert not [s for s in hints if len(s) > 20 and s in text]
    assert_leaks_nothing(number, text.split(" (at `")[0])


def assert_leaks_nothing(number, text):
    body = MARK.sub("", solutions()[number][1]).split('"""')[-1]
    lines = [line.strip().removeprefix("return ") for line in body.splitlines()]
    lines = [line for line in lines if len(line) > 6]
    assert lines
    assert not [line for line in lines if line in text]
    calls = [f"{name}(" for name in tformer.reference.__all__]
    assert not [name for name in [*calls, "tformer.reference", "reference."] if name in text]


@pytest.mark.usefixtures("in_threads")
@pytest.mark.parametrize("number", PLANTED)
def test_planted_mutants_are_told_in_their_own_words(number):
    def check(words, answer):
        text = told(number, answer, seconds=2.0 if number in COUNTING else 10.0)
        without_code = re.sub(r" \(at `.*`\)", "", text)
        assert [other for other in PLANTED[number] if other in without_code] == [words]
        assert_in_good_manners(number, text)

    try_each(
        check,
        (
            (f"{words}, {place}", (words, answer))
            for words, planted in PLANTED[number].items()
            for place, answer in enumerate(answers(planted))
        ),
    )


def sentences(number, mutant):
    """All that may be said to a mutant."""
    if isinstance(mutant, str):
        return {mutant}
    return {mutant(**case.inputs) for case in TABLES[number].only_cases()}


@pytest.mark.parametrize("number", NUMBERS)
def test_mutants_are_told_their_own_sentences(number, monkeypatch):
    call_in_place(monkeypatch)
    computed_once(monkeypatch)
    mutants = EXERCISES[number].mutants
    known = {mutant: sentences(number, mutant) for mutant in mutants}

    def check(mutant):
        text = told(number, mutants[mutant])
        assert [m for m in mutants if any(s in text for s in known[m])] == [mutant]
        assert_in_good_manners(number, text)

    try_each(check, ((mutant, (mutant,)) for mutant in mutants))


def agree(table, one, other):
    if isinstance(one, str) or isinstance(other, str):
        return isinstance(one, str) and one == other
    return all(table.kind.same(a, b) for a, b in zip(one, other, strict=True))


@pytest.mark.parametrize("number", TABLES)
def test_mutants_differ_from_each_other_and_from_what_is_right(number):
    table = TABLES[number]
    cases = table.only_cases()
    made = {m: [table.made(f, case) for case in cases] for m, f in table.mutants.items()}
    made["what is right"] = [table.want(case) for case in cases]
    names = list(made)
    alike = [
        (a, b)
        for place, a in enumerate(names)
        for b in names[:place]
        if all(agree(table, *pair) for pair in zip(made[a], made[b], strict=True))
    ]
    assert alike == []


@pytest.mark.parametrize("number", TABLES)
def test_results_by_hand_are_those_of_the_right_function(number):
    table = TABLES[number]
    for case in table.only_cases():
        assert not any(isinstance(x, Generator) for x in case.inputs.values()), "used up at once"
        right = table.kind.seen(table.kind.plain(call(table.right, case)))
        assert agree(table, right, table.want(case)), case.words


@pytest.mark.parametrize("number", NUMBERS)
def test_three_mutants_and_three_hints_for_each_that_leak_nothing(number):
    assert len(PLANTED.get(number, ())) + len(EXERCISES[number].mutants) >= 3
    assert len(EXERCISES[number].hints) == 3
    for text in (*EXERCISES[number].hints, EXERCISES[number].praise):
        assert_leaks_nothing(number, text)


@pytest.mark.parametrize(
    ("number", "answer"),
    [("1.11", lambda table, width: [[7.0, 7, 7]]), ("2.8", lambda n: [7.0] * (n + 1))],
)
def test_where_any_numbers_may_be_right_only_the_shape_is_asked_for(number, answer):
    text = told(number, answer)
    assert "it should be an array of shape" in text
    assert "0" not in text.partition("it should be")[2].partition("For a hint")[0]
