"""What an answer is told that is right for other inputs, or that says the same of all."""

import itertools
import time

import numpy as np
import pytest

from tformer_book.exercises.answer import Answer, Wrong
from tformer_book.exercises.diagnosis import check_by_table
from tformer_book.exercises.kinds import Array, Marks, Name
from tformer_book.exercises.table import Table, case
from tformer_book.exercises.whereabouts import whereabouts

RNG = np.random.default_rng(0)


def _cases():
    for n in (2, 3, 4):
        yield case(x=RNG.normal(size=(3, 3)), y=RNG.normal(size=(3, 3)), n=n, why="Look.")


def weighed(x, y, n):
    """A function in which each input counts, and each in its own way."""
    return x @ y / n + np.exp(x[0])


PLAIN = Array()


def told(answer, right=weighed, cases=_cases, kind=PLAIN):
    """What is said to an answer."""
    with pytest.raises(Wrong) as caught:
        check_by_table(Table(right, cases, {}, kind, integers=False), Answer(answer))
    return caught.value.explain()[0]


OTHERWISE = {
    "x and y had changed places": lambda x, y, n: weighed(y, x, n),
    "y were transposed": lambda x, y, n: weighed(x, y.T, n),
    "every row of y were the first": lambda x, y, n: weighed(x, y[:1].repeat(3, axis=0), n),
    "the rows of x stood in reverse order": lambda x, y, n: weighed(x[::-1], y, n),
    "n were one larger": lambda x, y, n: weighed(x, y, n + 1),
    "n were 1: it has no effect": lambda x, y, n: weighed(x, y, 1),
    "x had no sign": lambda x, y, n: weighed(abs(x), y, n),
    "x had gone through float16": lambda x, y, n: weighed(x.astype("f2").astype(float), y, n),
    "the vectors of y had length 1": lambda x, y, n: weighed(
        x, y / np.linalg.norm(y, axis=1, keepdims=True), n
    ),
    "no number of x were larger than 1 in size": lambda x, y, n: weighed(x.clip(-1, 1), y, n),
}


@pytest.mark.parametrize("words", OTHERWISE)
def test_inputs_that_are_read_otherwise_are_told(words):
    assert told(OTHERWISE[words]).endswith(f"It comes out as if {words}. Look.")


def test_an_input_that_is_kept_from_the_first_call_is_told():
    first = []

    def answer(x, y, n):
        first.append(y)
        return weighed(x, first[0], n)

    text = told(answer, cases=lambda: (case(x=x, y=y, n=1, why="Look.") for x, y in KEPT))
    assert "as if y were still that of the first example" in text


KEPT = [(RNG.normal(size=(3, 3)), RNG.normal(size=(3, 3))) for _ in range(4)]


def test_other_inputs_have_to_explain_every_trial():
    text = told(lambda x, y, n: weighed(x, y.T if n < 4 else y, n))
    assert "as if" not in text


def test_where_the_right_function_hangs_for_other_inputs_the_search_goes_on():
    def right(step, x):
        while step == 0:  # as it is when a step of 0 is tried
            pass
        return step + np.sin(x)

    values = itertools.product((1.5, 2.5), (2.0, 3.0))
    cases = [case(step=step, x=x, why="Look.") for step, x in values]
    assert "as if x were doubled" in told(
        lambda step, x: step + np.sin(2 * x), right, lambda: cases
    )


def test_a_change_that_needs_most_of_its_time_gets_it_whatever_was_tried_before():
    def right(x):
        end = time.process_time() + (0.1 if x in (3.0, 5.0) else 0.02)
        while time.process_time() < end:
            pass
        return np.sin(x)

    cases = [case(x=x, why="Look.") for x in (1.5, 2.5)]
    assert "as if x were doubled" in told(lambda x: np.sin(2 * x), right, lambda: cases)


def test_small_errors_are_told_as_such_where_a_case_speaks_of_something_else_too():
    text = told(lambda x, y, n: weighed(x, y, n) * (1 + 1e-7 * (x > 0)))
    assert "right to about six digits" in text
    assert text.endswith("Look.")
    larger = told(lambda x, y, n: weighed(x, y, n) * (1 + 1e-4 * (x > 0)))
    assert "digits" not in larger


def test_a_factor_near_one_is_no_multiple_and_a_sum_near_one_is_written_out():
    want = np.array([[0.25, 0.75], [0.5, 0.5]])
    text = whereabouts(want * (1 - 1e-6), want)
    assert "multiple" not in text
    assert "one adds up to 0.999999" in text


SAID = [case(x=x, why=f"x is {x}.") for x in (1.0, 2.0, 3.0, 4.0, 5.0, 6.0)]
NAMES = ("small", "middle", "large")
KIND = Name(names=NAMES)


def size(x):
    """The name of a size."""
    return NAMES[int((x - 1) // 2)]


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (lambda x: "small", "You say 'small' each time."),
        (lambda x: {"small": "large", "large": "small"}.get(size(x), "middle"), "changed places."),
        (lambda x: {"large": "small"}.get(size(x), size(x)), "you never say 'large'."),
    ],
)
def test_what_names_have_in_common_is_told(answer, words):
    assert words in told(answer, size, lambda: SAID, KIND)


def test_names_that_have_nothing_in_common_are_not():
    text = told(lambda x: "large" if x == 1 else size(x), size, lambda: SAID, KIND)
    assert text.endswith("x is 1.0.")


MASKS = [case(x=RNG.normal(size=(3, 3)), why="Look.") for _ in range(4)]


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (lambda x: x <= 0, "True and False are exchanged"),
        (lambda x: np.zeros_like(x, dtype=bool), "False of all"),
        (lambda x: np.ones_like(x, dtype=bool), "True of all"),
        (lambda x: x.T > 0, "transposed"),
    ],
)
def test_what_true_and_false_have_in_common_is_told(answer, words):
    assert words in told(answer, lambda x: x > 0, lambda: MASKS, Marks())


ROWS = [case(x=RNG.normal(size=(3, 4))) for _ in range(3)]
PARTS = {
    "Every row is the right first row.": lambda x: np.repeat(x[:1], 3, axis=0),
    "Each row is the right one divided by its length.": lambda x: (
        x / np.linalg.norm(x, axis=1, keepdims=True)
    ),
    "What should be below 0 is 0.": lambda x: np.maximum(x, 0),
    "That is the sum of all that should be returned.": np.sum,
    "That is the place of the largest in each row that should be returned.": lambda x: x.argmax(
        axis=1
    ),
    "The last axis is missing: of each row only the first entry came.": lambda x: x[:, 0],
}


@pytest.mark.parametrize("words", PARTS)
def test_what_was_made_of_the_right_array_is_told(words):
    assert told(PARTS[words], lambda x: x, lambda: ROWS).endswith(words)


def test_what_was_made_of_it_in_one_case_only_is_not():
    first = ROWS[0].inputs["x"]
    text = told(lambda x: np.where(x == first, 1 + x.max(), 1.0 + x**3), lambda x: x, lambda: ROWS)
    assert "that should be returned" not in text
    assert told(lambda x: x + 1, lambda x: x.sum(), lambda: ROWS).endswith(
        "single number is asked for."
    )
