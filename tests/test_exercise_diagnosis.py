"""Which mistake is named for a wrong answer, and on which example; and when none is."""

import numpy as np
import pytest

from tformer.exercises.answer import Answer, Wrong
from tformer.exercises.diagnosis import check_by_table
from tformer.exercises.kinds import Array, Name, Number, Several
from tformer.exercises.samples import integers
from tformer.exercises.table import Table, case


def explained(table, answer):
    """What is said to an answer, and whether a mutant is named."""
    with pytest.raises(Wrong) as caught:
        check_by_table(table, Answer(answer))
    wrong = caught.value
    return wrong.explain() if wrong.explain else (str(wrong), False)


def squares(mutants, cases=((2, 2), (1, 3), (3, 2)), **options):
    """The exercise x ↦ x², tried on arrays of some shapes."""
    return Table(
        lambda x: x**2,
        lambda: [case(x=integers(seed, shape) + 0.5) for seed, shape in enumerate(cases)],
        mutants,
        options.pop("kind", Array()),
        **options,
    )


def numbers(mutants, values, **options):
    return Table(lambda n: n**2, lambda: [case(n=n) for n in values], mutants, Array(), **options)


def test_the_mutant_that_agrees_is_named():
    table = squares({"You doubled.": lambda x: 2 * x, "You cubed.": lambda x: x**3})
    text, named = explained(table, lambda x: x + x)
    assert named
    assert text.endswith("You doubled.")


def test_two_mutants_are_told_apart_by_a_later_case_and_shown_there():
    table = numbers({"You doubled.": lambda n: 2 * n, "You added 3.": lambda n: n + 3}, [3, 5])
    text, _ = explained(table, lambda n: n + 3)
    assert "With n = 5, the answer of your function is 8; it should be 25. You added 3." in text
    text, _ = explained(table, lambda n: 2 * n)
    assert text.endswith("You doubled.")


def test_mutants_that_no_case_tells_apart_are_not_guessed():
    table = numbers(
        {"You doubled.": lambda n: 2 * n, "You added 3.": lambda n: n + 3}, [3], otherwise="Look."
    )
    text, named = explained(table, lambda n: 6)
    assert not named
    assert text == "With n = 3, the answer of your function is 6; it should be 9. Look."


def test_a_mutant_that_is_wrong_where_the_answer_was_right_is_not_named():
    table = numbers({"You doubled.": lambda n: 2 * n}, [1, 3])
    assert explained(table, lambda n: 1 if n == 1 else 6)[1] is False
    assert explained(table, lambda n: 2 * n)[1] is True


def test_a_mutant_that_raises_explains_an_answer_that_raises_the_same():
    table = squares({"@ takes columns and rows.": lambda x: x @ x}, cases=[(2, 3), (2, 4)])
    text, named = explained(table, lambda x: x @ x)
    assert named
    assert text.endswith("@ takes columns and rows.")
    assert explained(table, lambda x: x[9])[1] is False


def test_a_sentence_may_depend_on_the_inputs():
    table = numbers({(lambda n: f"That is twice {n}."): lambda n: 2 * n}, [3])
    assert explained(table, lambda n: 6)[0].endswith("That is twice 3.")


def test_each_part_is_judged_on_its_own():
    table = Table(
        lambda x: (x, x**2, x**3),
        lambda: [case(x=integers(seed, (2, 2)) + 0.5) for seed in range(3)],
        {"No square.": lambda x: (x, x, x**3), "Both wrong.": lambda x: (-x, -x, x**3)},
        Several(names=("a", "b", "c")),
    )
    text, named = explained(table, lambda x: (x, x, -x))
    assert named
    assert "your b is" in text
    assert text.endswith("No square.")


def test_a_name_is_weak_evidence():
    table = Table(
        lambda n: "even" if n % 2 == 0 else "odd",
        lambda: [case(n=n, why=f"{n} is what it is.") for n in (1, 2, 3, 4)],
        {"You say it of every number.": lambda n: "even"},
        Name(names=("even", "odd")),
    )
    text, named = explained(table, lambda n: "even")
    assert named
    assert "says 'even'. It is 'odd': 1 is what it is. You say it of every number." in text
    assert explained(table, lambda n: "even" if n < 4 else "odd")[1] is False


def test_a_number_within_its_tolerance_passes_and_a_near_miss_is_told():
    table = Table(
        lambda n: float(n**2), lambda: [case(n=n) for n in (3, 5)], {}, Number(relative=0.01)
    )
    check_by_table(table, Answer(lambda n: 1.005 * n * n))
    assert "close and not close enough" in explained(table, lambda n: 1.05 * n * n)[0]
    assert "One finite number" in explained(table, lambda n: np.nan)[0]
    assert "One finite number" in explained(table, lambda n: [1, 2])[0]


def test_what_is_compared_may_be_made_from_the_answer():
    table = squares({"Half of it.": lambda x: x**2 / 2}, kind=Array(abs, "the magnitude"))
    check_by_table(table, Answer(lambda x: -(x**2)))
    text, named = explained(table, lambda x: -(x**2) / 2)
    assert named
    assert "the magnitude is" in text
    text, _ = explained(table, lambda x: x[:, :1] ** 2)
    assert "is an array of shape (2, 1); it should be an array of shape (2, 2)" in text


RESEMBLANCES = {
    "The sign is turned round": lambda x: -(x**2),
    "lies on its side": lambda x: (x**2).T,
    "cut to whole ones": lambda x: (x**2).astype(int),
    "Every number is 2 times": lambda x: 2 * x**2,
    "Every number is ln 2 times": lambda x: np.log(2) * x**2,
    "Every number is 1/√n times what it should be, where n is the size of the last axis of x": (
        lambda x: x**2 / x.shape[-1] ** 0.5
    ),
    "The rows are right, and stand in another order": lambda x: x[::-1] ** 2,
}


@pytest.mark.parametrize("words", RESEMBLANCES)
def test_what_a_wrong_answer_looks_like_is_told(words):
    table = squares({}, cases=[(2, 2), (3, 3), (2, 3), (4, 2)], otherwise="Look again.")
    text, named = explained(table, RESEMBLANCES[words])
    assert not named
    assert words in text
    assert "Look again" not in text


@pytest.mark.parametrize("words", RESEMBLANCES)
def test_a_look_that_does_not_last_is_not_told(words):
    table = squares({}, cases=[(2, 2), (3, 3), (2, 3), (4, 2)], otherwise="Look again.")

    def other_at_the_end(x):
        return x**2 + 0.3 * x if x.shape == (4, 2) else RESEMBLANCES[words](x)

    assert "Look again" in explained(table, other_at_the_end)[0]


def test_numbers_where_true_or_false_is_right_resemble_nothing():
    table = Table(
        lambda x: x > 0,
        lambda: [case(x=integers(seed, (2, 2))) for seed in range(3)],
        {},
        Array(),
        otherwise="Look again.",
    )
    assert explained(table, lambda x: x + 9)[0].endswith("Look again.")


def test_one_lucky_number_is_no_resemblance():
    table = numbers({}, [2], otherwise="Look again.")
    assert explained(table, lambda n: 8)[0].endswith("Look again.")


def test_stacks_alone_going_wrong_is_told():
    shapes = [(2,), (3,), (2, 2), (3, 2), (2, 2, 2)]
    table = squares({}, cases=shapes, otherwise="Look again.")
    assert "every stack goes wrong" in explained(table, lambda x: x**2 if x.ndim < 2 else x[0])[0]
    text, _ = explained(table, lambda x: x**2 if x.ndim < 3 else x[0])
    assert text.endswith("Look again.")


def test_an_axis_of_length_one_is_told():
    table = squares({}, otherwise="Look again.")
    assert "An axis of length one is left over" in explained(table, lambda x: x[None] ** 2)[0]


def test_the_answer_gets_whole_numbers_and_our_functions_do_not():
    table = Table(lambda x: x / 2, lambda: [case(x=np.ones(2), whole=True)], {}, Array())
    seen = []
    check_by_table(table, Answer(lambda x: (seen.append(x.dtype.kind), x / 2)[1]))
    assert seen == ["i"]
    assert explained(table, lambda x: np.zeros_like(x) + x // 2)
