"""`check` and `hint`: what an author is told, whatever the answer does."""

import contextlib
import re
import time

import numpy as np
import pytest

import chapters
from every import every
from exercise_tools import ROOT, call_in_place, solutions, told
from tformer_book.exercises import CheckFailed, check, hint, process
from tformer_book.exercises.describe import show
from tformer_book.exercises.registry import exercises
from tformer_book.pipeline.generators.exercises import sources, student

PLANTED = chapters.answers("MUTANTS")
EXERCISES = exercises()
NUMBERS = sorted(EXERCISES)


@pytest.fixture
def in_place(monkeypatch):
    """Run checks where they are: a process for each of a thousand answers takes a minute."""
    call_in_place(monkeypatch)


def stub_cells():
    return [
        (cell.metadata.nbgrader.grade_id, cell.source)
        for path in sources(ROOT)
        for cell in student(path).cells
        if cell.metadata.get("nbgrader", {}).get("solution")
    ]


@pytest.mark.usefixtures("in_place")
def test_untouched_template_is_named():
    cells = stub_cells()
    assert len(cells) == len(NUMBERS)
    for grade_id, source in cells:
        space = {}
        exec(source, space)
        name = re.search(r"def (\w+)", source).group(1)
        text = told(grade_id.removeprefix("solution-").replace("-", "."), space[name])
        assert f"{name} is still the empty template" in text


# Bad behaviour, on every exercise.


def prints(*inputs):
    print("the answer is 42")  # noqa: T201


def raises(*inputs):
    return inputs[0]["no such key"]


def stops(*inputs):
    raise SystemExit


def loops(*inputs):
    while True:
        pass


def loops_on_errors(*inputs):
    while True:
        with contextlib.suppress(Exception):
            time.sleep(0.001)


def nothing(*inputs):
    return None


BEHAVIOUR = {
    prints: "printed something instead",
    raises: "raises stopped with",
    stops: "stops stopped with SystemExit",
    loops: "still running",
    loops_on_errors: "still running",
    nothing: "returned nothing (None)",
}
ENDLESS = (loops, loops_on_errors)


@pytest.mark.usefixtures("in_place")
@pytest.mark.parametrize("number", NUMBERS)
@every("answer", [a for a in BEHAVIOUR if a not in ENDLESS])
def test_bad_behaviour_gets_a_sentence(number, answer):
    assert BEHAVIOUR[answer] in told(number, answer)


@pytest.mark.parametrize("number", NUMBERS)
def test_an_endless_answer_is_ended(number):
    assert BEHAVIOUR[loops] in told(number, loops, seconds=0.01)


@pytest.mark.usefixtures("in_place")
def test_what_took_too_long_is_told_so_where_nothing_ends_it():
    def slow(q, k):
        end = time.process_time() + 0.1
        while time.process_time() < end:
            pass
        return (q * k).sum(-1)

    assert BEHAVIOUR[loops] in told("1.1", slow, seconds=0.05)


@pytest.mark.parametrize("number", ["1.1", "2.10"], ids=["a table", "by hand"])
@pytest.mark.parametrize("answer", BEHAVIOUR)
def test_bad_behaviour_is_told_the_same_either_way(number, answer, monkeypatch):
    seconds = 0.05 if answer in ENDLESS else 5.0
    forked = told(number, answer, seconds)
    monkeypatch.setattr(process, "CAN_FORK", False)
    assert BEHAVIOUR[answer] in forked == told(number, answer, seconds)


ODD = [
    "twelve",
    {"a": 1},
    {1, 2},
    object(),
    1 + 2j,
    [[1], [1, 2]],
    [],
    (1, 2, 3),
    np.nan,
    -np.inf,
    True,
    0,
    np.zeros((0,)),
    np.zeros((2, 3, 4, 5)),
    np.full((2, 2), np.nan),
    np.array(["a"]),
    (number for number in range(3)),
    range,
]


@pytest.mark.usefixtures("in_place")
@pytest.mark.parametrize("number", NUMBERS)
def test_odd_results_get_a_sentence(number):
    for value in ODD:
        text = told(number, lambda *inputs, value=value: value)
        if isinstance(value, str):
            assert "a string" in text or "should return two arrays" in text


@pytest.mark.usefixtures("in_place")
@pytest.mark.parametrize("number", NUMBERS)
def test_changed_input_is_named(number):
    answer, _ = solutions()[number]
    spoiled = []

    def spoils(*inputs):
        result = answer(*inputs)
        spoiled.append(isinstance(inputs[0], np.ndarray))
        inputs[0][...] = 7  # an error of its own where no array comes first
        return result

    text = told(number, spoils)
    assert "spoils changes the " in text or not spoiled[0]


@pytest.mark.usefixtures("in_place")
@pytest.mark.parametrize("number", NUMBERS)
def test_wrong_number_of_arguments_is_named(number):
    text = told(number, lambda a, b, c, d, e, f, g, h, i, j: a)
    assert "Keep the arguments of the template" in text


def test_wrong_number_of_arguments_of_a_lambda_shows_a_lambda():
    text = told("1.1", lambda q: q)
    assert "its first line reads `lambda q: …`" in text
    assert "def your function" not in text


@pytest.mark.usefixtures("in_place")
@pytest.mark.parametrize("number", NUMBERS)
def test_code_in_a_message_stays_on_one_line(number):
    def template(*inputs):
        raise NotImplementedError()

    with pytest.raises(CheckFailed) as caught:
        check(number, template)
    assert "`raise NotImplementedError()`" in str(caught.value)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (np.inf, "∞"),
        (1.7e308, "1.7e+308"),
        (-1234567.0, "−1.235e+06"),
        (10**7, "1e+07"),
        (999999.0, "999999"),
        (1000.0, "1000"),
        (2.5e-7, "2.5e−07"),
    ],
)
def test_large_numbers_are_short(value, text):
    assert show(value) == text


def test_transposing_is_named_only_where_the_answer_transposes():
    def swaps(q, k):
        return q @ k.swapaxes(0, 1)

    assert ".T" not in told("1.5", swaps)
    assert "do not loop" in told("1.5", PLANTED["1.5"]["still loops in Python"][1]).lower()


def test_no_norm_is_said_to_differ_from_itself():
    for scores in (10.0, 10.0, 0.0), (8.0, 8.0001, 0.0):
        text = told("2.8", lambda n, scores=scores: [scores[0], scores[1]] + [0.0] * (n - 2))
        assert "0.5, not 0.5" not in text
        assert "falls short of 1/2 by" in text


def test_floor_under_a_logarithm_is_named_only_when_there_is_one():
    answers = (
        lambda x: x - np.log(np.exp(x).sum()),
        lambda x: x - x.mean() - np.log(3) if len(x) == 2 else x - np.log(np.exp(x).sum()),
    )
    for answer in answers:
        assert "floor" not in told("2.2", answer)


def test_a_second_loop_is_named_only_when_there_is_one():
    def drained(chunks):
        while next(chunks, None) is not None:
            pass
        return sum(np.exp(chunk).sum() for chunk in chunks)

    assert "second loop" not in told("2.10", drained)


def test_only_scores_that_are_close_are_called_close():
    assert "close together" not in told("2.9", lambda s, target: 0.5)


@pytest.mark.parametrize("answer", [5, None, "cosine", np.zeros(3), [1]])
def test_not_a_function_is_named(answer):
    assert "without brackets" in told("1.2", answer)


def test_printing_beside_a_right_answer_is_forgiven(capsys):
    answer, _ = solutions()["1.1"]

    def chatty(q, k):
        print("q is", q)  # noqa: T201
        return answer(q, k)

    check("1.1", chatty)
    out = capsys.readouterr().out
    assert "q is" not in out
    assert "was left out" in " ".join(out.split())


def test_warnings_of_an_answer_stay_out_of_the_notebook(capsys):
    told("2.1", lambda x, axis: np.exp(x) / np.exp(x).sum(axis=axis, keepdims=True))
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("number", ["1.99", "", "x", 1.2, None, ["1.1"]])
def test_unknown_exercise_is_named(number):
    for ask in (lambda: check(number, len), lambda: hint(number)):
        with pytest.raises(CheckFailed, match=r"There is no exercise|in quotation marks"):
            ask()


@pytest.mark.parametrize("tier", [0, 4, -1, "2", None])
def test_hint_out_of_range_says_the_range(tier, capsys):
    hint("1.2", tier)
    assert capsys.readouterr().out == "Exercise 1.2 has hints 1 to 3.\n"


def test_hints_come_one_at_a_time(capsys):
    hints = EXERCISES["1.2"].hints
    hint("1.2")
    first = " ".join(capsys.readouterr().out.split())
    assert hints[0] in first
    assert hints[1] not in first
    assert 'hint("1.2", 2)' in first
    hint("1.2", 3)
    last = " ".join(capsys.readouterr().out.split())
    assert hints[2] in last
    assert last.endswith("This was the last.")
