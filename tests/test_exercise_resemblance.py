"""What an answer is told that is right up to its type, its digits or the order of its parts."""

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from tformer_book.exercises.answer import Answer, Wrong
from tformer_book.exercises.diagnosis import check_by_table
from tformer_book.exercises.kinds import Array, Marks, Several
from tformer_book.exercises.table import Table, case
from tformer_book.exercises.whereabouts import whereabouts

TABLE = Table(
    lambda x: x / 3,
    lambda: [case(x=[1.0, 2, n], whole=whole) for whole in (False, True) for n in (7.0, 8.0)],
    {},
    Array(),
    otherwise="Look again.",
)


def told(answer, table=TABLE):
    """What is said to an answer."""
    with pytest.raises(Wrong) as caught:
        check_by_table(table, Answer(answer))
    wrong = caught.value
    return wrong.explain()[0] if wrong.explain else str(wrong)


def _written_into_its_like(x):
    out = np.empty_like(x)
    out[:] = x / 3
    return out


@pytest.mark.parametrize(
    "answer",
    [
        _written_into_its_like,
        lambda x: x / 3 + (x.dtype.kind == "i") * (x[2] == 7),  # the same floats come out right
    ],
)
def test_an_array_of_the_type_of_whole_numbers_is_told(answer):
    assert "only where whole numbers are handed over" in told(answer)


def test_other_mistakes_with_whole_numbers_are_not():
    text = told(lambda x: x / 3 + (x.dtype.kind == "i") + (x[2] == 8))  # floats go wrong as well
    assert text.endswith("Look again.")


def test_a_case_without_entries_does_not_hide_that_digits_are_few():
    table = Table(TABLE.right, lambda: [*TABLE.cases(), case(x=np.zeros(0))], {}, Array())
    text = told(lambda x: (x.astype(np.float32) / np.float32(3)).astype(float), table)
    assert "right to about seven digits" in text


def test_few_digits_are_told():
    text = told(lambda x: (x.astype(np.float32) / np.float32(3)).astype(float))
    assert "right to about seven digits" in text
    assert "right to about three digits" in told(lambda x: x / 3 * (1 + 1e-3 * np.sign(x - 2)))


@pytest.mark.parametrize(
    "answer",
    [
        lambda x: x / 3 * (1 + 1e-2 * np.sign(x - 2)),  # hardly digits
        lambda x: x / 3 + 1e-5 * (x == 1) * (x[2] == 7),  # in one case
        lambda x: np.where(x == 2, np.nan, x / 3 + 1e-6),
        lambda x: x[:1] / 3 + 1e-6,
    ],
)
def test_other_mistakes_are_no_matter_of_digits(answer):
    assert "digits" not in told(answer)


THREE = Table(
    lambda x: (x, x**2, x.sum()),
    lambda: [case(x=[1.0, 2]), case(x=[3.0, 4, 5]), case(x=[1.0, 1])],
    {},
    Several(names=("one", "two", "total")),
    otherwise="Look again.",
)


@pytest.mark.parametrize("order", [(0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0)])
def test_parts_that_stand_in_another_order_are_told(order):
    text = told(lambda x: [(x, x**2, x.sum())[i] for i in order], THREE)
    assert text.endswith(
        "All are right, and stand in another order: one first, then two and total."
    )


@pytest.mark.parametrize(
    "answer",
    [
        lambda x: (x**2, x, x.sum() + (x[0] == 3)),  # in the first case alone
        lambda x: (x**2, x, x.sum()) if x[0] == 1 else (x, x**2, x.sum()),  # a single wrong one
        lambda x: (x**2, x, 0 * x.sum()),
    ],
)
def test_other_parts_are_in_no_order(answer):
    assert "order" not in told(answer, THREE)


def test_of_a_single_number_is_said_that_it_is_always_so():
    assert told(lambda x: (x, x**2, 2 * x.sum()), THREE).endswith(
        "It is always 2 times what it should be."
    )
    assert told(lambda x: (x, x**2, 0), THREE).endswith("It is always 0, whatever is asked.")


def test_places_may_have_a_name_and_a_first_number():
    right = np.arange(5.0)
    wrong = right + [0, 0, 1, 1, 0]
    assert whereabouts(wrong, right, ("step", "steps"), 1) == (
        "Steps 3 and 4 are wrong; the others are right."
    )
    assert whereabouts(right + (right == 1), right, ("step", "steps"), 1) == "Only step 2 is wrong."
    assert whereabouts(right + (right == 0), right, ("step", "steps"), 1) == (
        "Only the first step is wrong."
    )
    assert whereabouts(right + (right == 4), right, ("step", "steps"), 1) == (
        "Only the last step is wrong."
    )
    assert whereabouts(right + (right == 1), right) == "Only entry 1 is wrong."


@pytest.mark.parametrize(
    ("value", "plain"),
    [
        (Decimal("0.5"), True),
        ([Decimal("0.5"), Fraction(1, 3)], True),
        ([Fraction(10**400)], False),
        ([None, Fraction(1, 3)], False),
        ([sum], False),
        ([1j, Fraction(1, 3)], False),
        (["1"], False),
    ],
)
def test_numbers_of_another_type_are_asked_for_as_floats(value, plain):
    text = told(lambda x: value)
    assert "cannot be read as an array of numbers" in text
    assert ("float() makes plain numbers of such ones." in text) is plain


@pytest.mark.parametrize(
    "form",
    [
        lambda y: [Fraction(one) for one in y],
        lambda y: np.array([Fraction(one) for one in y], dtype=object),
        lambda y: [Fraction(y[0]), *y[1:]],
        lambda y: tuple(Fraction(one).limit_denominator(10**9) for one in y),
    ],
)
def test_exact_fractions_are_the_numbers_that_they_are(form):
    check_by_table(TABLE, Answer(lambda x: form((x / 3).tolist())))
    text = told(lambda x: form((x / 3 + 0.25).tolist()))
    assert "too large by 0.25" in text


def test_fractions_that_are_whole_keep_all_their_digits():
    big = [Fraction(2**60 + 1), 7]
    assert Answer(abs).numbers(big, "").tolist() == [2**60 + 1, 7]
    assert Answer(abs).numbers(big, "").dtype == np.int64


@pytest.mark.parametrize(
    ("dtype", "power"), [(np.uint8, "2⁸"), (np.int8, "2⁸"), (np.int16, "2¹⁶"), (np.int32, "2³²")]
)
def test_whole_numbers_that_wrapped_around_are_told_by_their_bits(dtype, power):
    size = 2 ** (8 * np.dtype(dtype).itemsize)
    right = Table(lambda x: x, lambda: [case(x=[1.0, 2]), case(x=[1.0, size + 3])], {}, Array())
    text = told(lambda x: x.astype(np.int64).astype(dtype).astype(float), right)
    assert f"off by multiples of {power}" in text
    assert "multiples" not in told(lambda x: np.minimum(x, size // 2), right)
    even = Table(lambda x: x, lambda: [case(x=[1.0, 4 * size])], {}, Array())
    assert "multiples" not in told(lambda x: np.where(x > 1, 0, x), even), "a 0 says nothing"


SUMS = Table(lambda x: x.sum(), lambda: [case(x=[float(n)]) for n in range(1, 12)], {}, Array())


def test_a_bound_is_told_where_the_answer_never_goes_beyond_it():
    assert "It is never more than 8, and right as long" in told(lambda x: min(x[0], 8), SUMS)
    assert "It is never less than 4.5, and" in told(lambda x: max(x[0], 4.5) + 0 * x[0], SUMS)
    text = told(lambda x: 8.0 if x[0] in (4, 9, 11) else x[0], SUMS)
    assert "It is never" not in text, "4 is right and below"


def test_what_is_kept_from_call_to_call_is_told():
    calls = []

    def counted(x):
        calls.append(x[0])
        return x[0] + len(calls) // 4

    assert "Asked once more for the first example" in told(counted, SUMS)
    assert "Asked once more" not in told(lambda x: x[0] + (x[0] > 3) * x[0] ** 2, SUMS)


def of_text(factor):
    return Table(
        lambda x, text: x.sum(),
        lambda: [
            case(x=[1.0, 2, n], text="a " * int(n), said=f"n = {n}", why=f"Note {n}.")
            for n in (7.0, 8.0, 11.0)
        ],
        {},
        Array(),
        otherwise="Look again.",
    ), lambda x, text: x.sum() * factor(x, text)


@pytest.mark.parametrize(
    ("factor", "words"),
    [
        (lambda x, text: np.log(10), "ln 10 times what it should be. Logarithms to base 10"),
        (lambda x, text: 1 / np.log(10), "1/ln 10 times what it should be."),
        (lambda x, text: -np.log(2), "−ln 2 times what it should be. Bits and nats"),
        (lambda x, text: 100, "100 times what it should be. A share and its per cent"),
        (lambda x, text: 1 / len(text), "1/n times what it should be, where n is how many char"),
        (lambda x, text: 3 / len(text), "where n is the size of the last axis of x over how many"),
        (lambda x, text: 1 - 1 / len(text), "(n − 1)/n times what it should be"),
        (lambda x, text: 1 / (1 - 1 / len(text)), "n/(n − 1) times what it should be"),
    ],
)
def test_common_factors_are_told(factor, words):
    table, answer = of_text(factor)
    assert words in told(answer, table)


def test_the_note_on_one_case_never_stands_alone_where_others_go_wrong_too():
    table, answer = of_text(lambda x, text: np.sin(x.sum()))
    assert told(answer, table).endswith("Note 7.0. Look again.")
    only = table.cases()[0].inputs["x"]
    text = told(lambda x, text: x.sum() + (x == only).all(), table)
    assert text.endswith("Note 7.0.")


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (lambda n: np.zeros(n), "a single number is asked for."),
        (lambda n: "twelve", "A single number is asked for."),
        (lambda n: [1, [2]], "A single number is asked for."),
    ],
)
def test_the_form_is_told_before_the_content(answer, words):
    table = Table(
        lambda n: n / 7, lambda: [case(n=n, why="A note.") for n in (2, 3)], {}, Array(), "Look."
    )
    text = told(answer, table)
    assert words in text or "one array is needed" in text
    assert "note" not in text
    assert "Look" not in text


def test_numbers_for_true_and_false_are_told_without_advice_on_content():
    table = Table(
        lambda n: np.arange(n) > 1, lambda: [case(n=n, why="A note.") for n in (3, 4)], {}, Marks()
    )
    for answer in (lambda n: np.arange(n) / 2, lambda n: [True]):
        assert "note" not in told(answer, table)


def test_a_lost_sign_is_told_only_where_a_number_is_negative():
    tens = Table(lambda x: x, lambda: [case(x=[10.0**n, 1]) for n in range(1, 9)], {}, Array())
    rounded = told(lambda x: np.abs(x) + 2.0 * (x > 1e6), tens)
    assert "without its sign" not in rounded
    assert "difference quotient" in told(lambda x: x * (1 + 1e-6), tens)
