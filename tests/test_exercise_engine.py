"""`check` and `hint`: what an author is told, whatever the answer does."""

import contextlib
import re
import threading
import time
from functools import cache
from pathlib import Path

import nbformat
import numpy as np
import pytest
import scipy.special
from nbclient import NotebookClient

import chapters
import tformer.reference
from tformer.book.exercises import MARK, read, sources, student
from tformer.exercises import CheckFailed, check, hint
from tformer.exercises.registry import exercises
from tformer.exercises.say import show

ROOT = Path(__file__).resolve().parents[1]
WRONG, RIGHT = chapters.answers("WRONG"), chapters.answers("RIGHT")
EXERCISES = exercises()
NUMBERS = sorted(EXERCISES)


def answers(planted):
    """One wrong answer, or several that are told the same."""
    return planted if isinstance(planted, tuple) else (planted,)


MISTAKES = [
    pytest.param(number, words, answer, id=f"{number}-{words}-{place}")
    for number in WRONG
    for words in WRONG[number]
    for place, answer in enumerate(answers(WRONG[number][words]))
]


@cache
def solutions():
    """The book's answers by exercise, and the source of each."""
    found = {}
    for path in sources(ROOT):
        for cell in read(path):
            if cell.role == "solution":
                space = {"np": np, "scipy": scipy}
                exec(MARK.sub("", cell.node.source), space)
                name = re.search(r"def (\w+)", cell.node.source).group(1)
                found[cell.number.replace("-", ".")] = space[name], cell.node.source
    return found


def told(number, answer, seconds=5.0):
    """The feedback on a wrong answer, on one line."""
    with pytest.raises(CheckFailed) as caught:
        check(number, answer, seconds=seconds)
    text = " ".join(str(caught.value).split())
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__
    assert text.startswith(f"Exercise {number}, not yet. ")
    assert text.endswith(f'For a hint: hint("{number}")')
    assert "Traceback" not in text
    assert "fault of the book" not in text
    return text


@pytest.mark.parametrize("number", NUMBERS)
def test_solution_passes(number, capsys):
    answer, _ = solutions()[number]
    check(number, answer)
    assert " ".join(capsys.readouterr().out.split()).startswith(f"Exercise {number}, correct. ")


@pytest.mark.parametrize("number", NUMBERS)
def test_other_right_answers_pass(number):
    assert RIGHT[number]
    for answer in RIGHT[number]:
        check(number, answer)


@pytest.mark.parametrize(("number", "words", "answer"), MISTAKES)
def test_mistake_is_told_in_its_own_words(number, words, answer):
    text = re.sub(r" \(at `.*`\)", "", told(number, answer))
    assert [other for other in WRONG[number] if other in text] == [words]


@pytest.mark.parametrize("number", NUMBERS)
def test_three_mistakes_and_three_hints_for_each(number):
    assert len(WRONG[number]) >= 3
    assert len(EXERCISES[number].hints) == 3


def stub_cells():
    return [
        (cell.metadata.nbgrader.grade_id, cell.source)
        for path in sources(ROOT)
        for cell in student(path).cells
        if cell.metadata.get("nbgrader", {}).get("solution")
    ]


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


@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize("answer", BEHAVIOUR)
def test_bad_behaviour_gets_a_sentence(number, answer):
    assert BEHAVIOUR[answer] in told(number, answer, seconds=0.1)


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


@pytest.mark.parametrize("number", NUMBERS)
def test_odd_results_get_a_sentence(number):
    for value in ODD:
        told(number, lambda *inputs, value=value: value)


@pytest.mark.parametrize("number", NUMBERS)
def test_wrong_type_is_named(number):
    text = told(number, lambda *inputs: "twelve")
    assert "a string" in text or "should return two arrays" in text


@pytest.mark.parametrize("number", NUMBERS)
def test_changed_input_is_named(number):
    answer, _ = solutions()[number]

    def spoils(*inputs):
        result = answer(*inputs)
        inputs[0][...] = 7
        return result

    takes_array = number not in {"1.12", "2.8", "2.10", "2.12", "3.7", "3.9"}
    takes_array &= number not in {f"4.{place}" for place in (1, 2, 3, 4, 6, 10, 11, 12)}
    if takes_array:
        assert "spoils changes the " in told(number, spoils)
    else:
        told(number, spoils)


@pytest.mark.parametrize("number", NUMBERS)
def test_wrong_number_of_arguments_is_named(number):
    text = told(number, lambda a, b, c, d, e, f, g: a)
    assert "Keep the arguments of the template" in text


def test_wrong_number_of_arguments_of_a_lambda_shows_a_lambda():
    text = told("1.1", lambda q: q)
    assert "its first line reads `lambda q: …`" in text
    assert "def your function" not in text


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
    assert "do not loop" in told("1.5", WRONG["1.5"]["still loops in Python"][1]).lower()


def test_no_norm_is_said_to_differ_from_itself():
    for scores in (10.0, 10.0, 0.0), (8.0, 8.0001, 0.0):
        text = told("2.8", lambda n, scores=scores: [scores[0], scores[1]] + [0.0] * (n - 2))
        assert "0.5, not 0.5" not in text
        assert "falls short of 1/2 by" in text


def test_floor_under_a_logarithm_is_named_only_when_there_is_one():
    assert "floor" not in told("2.2", lambda x: x - np.log(np.exp(x).sum()))
    assert "floor" not in told(
        "2.2", lambda x: x - x.mean() - np.log(3) if len(x) == 2 else x - np.log(np.exp(x).sum())
    )


def test_a_second_loop_is_named_only_when_there_is_one():
    def drained(chunks):
        while next(chunks, None) is not None:
            pass
        return sum(np.exp(chunk).sum() for chunk in chunks)

    assert "second loop" not in told("2.10", drained)


def test_only_scores_that_are_close_are_called_close():
    assert "close together" not in told("2.9", lambda s, target: 0.5)


def test_a_message_does_not_repeat_a_hint():
    for number in NUMBERS:
        sentences = {s for hint in EXERCISES[number].hints for s in re.split(r"(?<=\.) ", hint)}
        for planted in WRONG[number].values():
            for answer in answers(planted):
                text = told(number, answer)
                assert not [s for s in sentences if len(s) > 20 and s in text]


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


def test_a_call_that_cannot_be_interrupted_is_left_behind():
    release = threading.Event()
    begin = time.monotonic()
    assert "still running" in told("1.1", lambda q, k: release.wait(), seconds=0.2)
    assert time.monotonic() - begin < 3
    release.set()


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


@pytest.mark.parametrize("number", NUMBERS)
def test_nothing_leaks_the_solution(number):
    _, source = solutions()[number]
    body = MARK.sub("", source).split('"""')[-1]
    lines = [line.strip().removeprefix("return ") for line in body.splitlines()]
    lines = [line for line in lines if len(line) > 6]
    assert lines
    spoken = [*EXERCISES[number].hints, EXERCISES[number].praise]
    wrong = [answer for planted in WRONG[number].values() for answer in answers(planted)]
    spoken += [told(number, answer).split(" (at `")[0] for answer in wrong]
    calls = [f"{name}(" for name in tformer.reference.__all__]
    for text in spoken:
        assert not [line for line in lines if line in text]
        assert not [call for call in [*calls, "tformer.reference", "reference."] if call in text]


def run_cells(*cells):
    """Outputs of code cells in a real kernel that goes on after errors."""
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(c) for c in cells])
    NotebookClient(notebook, kernel_name="python3", allow_errors=True, timeout=60).execute()
    return [cell.outputs for cell in notebook.cells]


def test_in_a_kernel_only_the_sentence_is_shown():
    outputs = run_cells(
        "from tformer.exercises import check, hint",
        "def f(q, k):\n    return q / 0 + undefined\ncheck('1.1', f)",
        "def f(q, k):\n    while True:\n        pass\ncheck('1.1', f, seconds=0.3)",
        "check('1.1', lambda q, k: (q * k).sum(-1))",
        "hint('1.1')",
    )
    raised, looped = outputs[1], outputs[2]
    for output in (raised, looped):
        assert [o.output_type for o in output] == ["error"]
        shown = output[0].traceback
        assert "\n".join(shown) == output[0].evalue
        assert not [line for line in shown if "File" in line or "Traceback" in line]
    assert "at `return q / 0 + undefined`" in " ".join(raised[0].evalue.split())
    assert "still running after 0.3 seconds" in " ".join(looped[0].evalue.split())
    assert [o.output_type for o in outputs[3]] == ["stream"]
    assert outputs[3][0].text.startswith("Exercise 1.1, correct.")
    assert outputs[4][0].text.startswith("Hint 1 of 3.")
