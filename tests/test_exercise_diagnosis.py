"""Which mistake is named for a wrong answer, and on which example; and when none is."""

import numpy as np
import pytest

from tformer_book.exercises.answer import Answer, Wrong
from tformer_book.exercises.compare import form
from tformer_book.exercises.diagnosis import check_by_table
from tformer_book.exercises.kinds import Array, Marks, Name, Number, Several
from tformer_book.exercises.samples import integers
from tformer_book.exercises.table import Table, case


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


def test_a_mutant_that_is_wrong_in_two_parts_has_to_agree_in_both():
    """An exchange is no exchange where one of the two is right."""
    table = Table(
        lambda n: (n, n**2),
        lambda: [case(n=n, why="Look.") for n in (3, 5)],
        {"The two are exchanged.": lambda n: (n**2, n)},
        Several(names=("number", "square"), scalars=True),
    )
    assert explained(table, lambda n: (n**2, n))[1] is True
    text, named = explained(table, lambda n: (n**2, n**2))
    assert (named, "exchanged" in text) == (False, False)


WHOLE = 2**53 + 3
"""A whole number that no float64 is."""


@pytest.mark.parametrize("right", [WHOLE, 10**9 + 1])
def test_whole_numbers_are_compared_exactly(right):
    table = Table(lambda n: right, lambda: [case(n=1)], {}, Array(), otherwise="Look.")
    for answer in (right, np.int64(right), np.uint64(right), [right]):
        check_by_table(table, Answer(lambda n, answer=answer: np.asarray(answer).reshape(())))
    text, _ = explained(table, lambda n: right - 1)
    assert f"is {right - 1:.17g}; it should be {right}." in text
    assert explained(table, lambda n: float(right - 1))


def test_digits_that_a_float_cannot_hold_are_told():
    table = Table(lambda n: WHOLE, lambda: [case(n=1)], {}, Array(), otherwise="Look.")
    for answer in (int(float(WHOLE)), float(WHOLE)):
        text, _ = explained(table, lambda n, answer=answer: answer)
        assert "a float has 53 bits" in text
    assert explained(table, lambda n: 2 * WHOLE)[0].endswith("Look.")
    table = Table(lambda n: 10**9, lambda: [case(n=1)], {}, Array(), otherwise="Look.")
    assert explained(table, lambda n: 10**9 + 1)[0].endswith("Look.")


def test_a_float_that_misses_a_whole_number_by_its_rounding_will_do():
    table = Table(lambda n: np.array([7, -3]), lambda: [case(n=1)], {}, Array())
    check_by_table(table, Answer(lambda n: [7 - 1e-12, -3.0]))
    assert explained(table, lambda n: [7 - 1e-3, -3.0])


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
    assert "close, but not close enough" in explained(table, lambda n: 1.05 * n * n)[0]
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
    "The sign is reversed": lambda x: -(x**2),
    "is transposed": lambda x: (x**2).T,
    "cut to whole ones": lambda x: (x**2).astype(int),
    "Every number is 2 times": lambda x: 2 * x**2,
    "Every number is ln 2 times": lambda x: np.log(2) * x**2,
    "Every number is 1/√n times what it should be, where n is the size of the last axis of x": (
        lambda x: x**2 / x.shape[-1] ** 0.5
    ),
    "The rows are right, and stand in another order": lambda x: x[np.argsort(x[:, 0])[::-1]] ** 2,
    "The rows are right, and stand in reverse order": lambda x: x[::-1] ** 2,
    "The entries are right, and stand in reverse order": lambda x: x[:, ::-1] ** 2,
    "The entries along the last axis are right, and stand one place later": (
        lambda x: np.pad(x, ((0, 0), (1, 0)))[:, :-1] ** 2
    ),
    "The rows are right, and stand one place earlier": (
        lambda x: np.pad(x, ((0, 1), (0, 0)))[1:] ** 2
    ),
    "Every number is the square of what it should be": lambda x: x**4,
    "Every number is the root of what it should be": lambda x: abs(x),
    "Every number is exp of what it should be": lambda x: np.exp(x**2),
    "Every number is the logarithm of what it should be": lambda x: np.log(x**2),
    "Every number is one over what it should be": lambda x: x**-2,
    "Every number is 1 minus what it should be": lambda x: 1 - x**2,
    "Every number is 0, whatever is asked": lambda x: 0 * x,
    "Every number is too large by 1.5": lambda x: x**2 + 1.5,
    "That is x as it was given": lambda x: x,
}
SHAPES = [(3, 3), (4, 4), (3, 4), (4, 3)]


@pytest.mark.parametrize("words", RESEMBLANCES)
def test_what_a_wrong_answer_looks_like_is_told(words):
    table = squares({}, cases=SHAPES, otherwise="Look again.")
    text, named = explained(table, RESEMBLANCES[words])
    assert not named
    assert words in text
    assert "Look again" not in text


@pytest.mark.parametrize("words", RESEMBLANCES)
def test_a_look_that_does_not_last_is_not_told(words):
    table = squares({}, cases=SHAPES, otherwise="Look again.")

    def other_at_the_end(x):
        return x**2 + 0.3 * x if x.shape == (4, 3) else RESEMBLANCES[words](x)

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


def test_a_mutant_is_held_against_a_second_case_before_it_is_named():
    table = squares({"You doubled.": lambda x: 2 * x}, otherwise="Look again.")

    def lucky(x):
        return 2 * x if x.shape == (2, 2) else 3 * x

    assert explained(table, lucky)[1] is False
    assert explained(table, lambda x: 2 * x)[1] is True
    alone = squares({"You doubled.": lambda x: 2 * x}, cases=[(2, 2)])
    assert explained(alone, lucky)[1] is True, "there is no second case"
    text, named = explained(table, lambda x: 2 * x if x.shape == (2, 2) else "no array")
    assert (named, "You doubled" in text) == (False, False)


def test_a_second_case_hands_over_what_the_first_one_did():
    def doubled(x):
        if x.dtype.kind != "f":
            raise TypeError("a mutant made of our functions takes floats only")
        return 2 * x

    table = Table(
        lambda x: x**2,
        lambda: [case(x=[3.0]), case(x=[4.0], whole=True), case(x=[5.0])],
        {"You doubled.": doubled},
        Array(),
    )
    assert explained(table, doubled)[1] is True


WHEREABOUTS = {
    "It is wrong on the diagonal, and right elsewhere.": lambda y: y + np.eye(*y.shape),
    "It is wrong above the diagonal, and right elsewhere.": lambda y: np.tril(y),
    "It is wrong off the diagonal, and right elsewhere.": lambda y: y * np.eye(*y.shape),
    "Only the first row is wrong.": lambda y: np.vstack([y[:1] + [[1, 2, 3, 4]], y[1:]]),
    "Only the last row is right.": lambda y: np.vstack([y[:-1] + [[1, 2, 3, 4]], y[-1:]]),
    "Only row 1 is wrong.": lambda y: np.vstack([y[:1], y[1:2] + [[1, 2, 3, 4]], y[2:]]),
    "Only the last column is wrong.": lambda y: np.hstack([y[:, :-1], y[:, -1:] + y[:, :1]]),
    "Columns 1 and 2 are wrong; the others are right.": lambda y: y + [[0, 1, 2, 0]],
    "The magnitudes are right, and signs are not.": lambda y: y * np.array([1, -1, 1, -1]),
    "Each row is a multiple of the right one.": lambda y: y * np.array([[1], [2], [3], [4]]),
    "In each row, all entries are too large or too small by one number.": (
        lambda y: y + np.array([[1], [2], [3], [4]])
    ),
}


@pytest.mark.parametrize("words", WHEREABOUTS)
def test_where_an_answer_is_wrong_is_told_before_the_general_sentence(words):
    table = squares({}, cases=[(4, 4)], otherwise="Look again.")
    text, named = explained(table, lambda x: WHEREABOUTS[words](x**2))
    assert not named
    assert f" {words} " in text
    assert text.endswith(" Look again.")


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (lambda x: np.ones_like(x, dtype=bool), "Every wrong one should be False."),
        (lambda x: (x > 0) & (np.arange(3) > 0), "Only the first column is wrong. "),
    ],
)
def test_where_true_and_false_are_wrong_is_told(answer, words):
    table = Table(
        lambda x: x > 0,
        lambda: [case(x=np.array([[2.0, 1, -1], [1, 3, -2]]))],
        {},
        Array(),
        otherwise="Look again.",
    )
    assert words in explained(table, answer)[0]


def test_zeros_are_no_multiples_and_two_places_no_shift():
    table = squares({}, cases=[(4, 4)], otherwise="Look again.")
    assert "multiple" not in explained(table, lambda x: 0 * x)[0]
    table = squares({}, cases=[(2, 2), (2, 2), (2, 2)], otherwise="Look again.")
    text, _ = explained(table, lambda x: np.array([x[1], x[0] + 9]) ** 2)
    assert "stand one place" not in text


def test_in_a_stack_the_first_wrong_table_is_named_and_rows_should_add_up():
    table = squares({}, cases=[(3, 2, 4)], otherwise="Look again.")
    text, _ = explained(table, lambda x: x**2 + np.array([0, 1, 0])[:, None, None] * x)
    assert "One of three tables in the stack are wrong, first the one at [1]." in text
    shares = Table(
        lambda x: x / x.sum(axis=-1, keepdims=True),
        lambda: [case(x=np.array([[1.0, 3], [2, 2]]))],
        {},
        Array(),
    )
    text, _ = explained(shares, lambda x: x**2 / x.sum())
    assert "The rows should add up to 1, and one adds up to 1.25." in text


UNDEFINED = {
    "It begins with an overflow: exp gives more than the type can hold": (
        lambda x: np.exp(1000 + x) / np.exp(1000 + x).sum()
    ),
    "It begins with the logarithm of 0, which is −∞": lambda x: np.log(0 * x),
    "It begins with the log of a negative number": lambda x: np.log(-1 - x**2),
    "It begins with the sqrt of a negative number": lambda x: np.sqrt(-1 - x**2),
    "It begins with a division by 0, which gives ∞": lambda x: (x + 9) / (0 * x),
    "It begins with 0/0 or ∞/∞, which has no value": lambda x: (0 * x) / (0 * x),
    "It begins with ∞ − ∞ or 0 · ∞, which has no value": lambda x: np.inf * (0 * x),
    "nan is what 0/0, 0 · ∞, ∞ − ∞, ∞/∞ and roots of negative numbers give": lambda x: np.nan * x,
    "A finite number is asked for. ∞ comes from an overflow or a division by 0": lambda x: np.full(
        x.shape, np.inf
    ),
}


@pytest.mark.parametrize("words", UNDEFINED)
def test_nan_and_infinity_are_traced_before_anything_else(words):
    mutants = {"You do not square.": UNDEFINED[words]}
    for known, last in (({}, "Look again."), (mutants, "You do not square.")):
        text, _ = explained(squares(known, otherwise="Look again."), UNDEFINED[words])
        assert f" {words}" in text
        assert text.endswith(last)


def test_infinity_where_it_is_right_is_not_traced():
    table = Table(lambda x: np.log(x), lambda: [case(x=[0.0, 1])], {}, Array())
    assert "It begins" not in explained(table, lambda x: np.log(x) + np.inf * x)[0]


def test_no_finite_number_is_asked_for_where_a_mask_is():
    table = Table(lambda x: x > 0, lambda: [case(x=[0.0, 1])], {}, Marks())
    text, _ = explained(table, lambda x: np.where(x > 0, 0, -np.inf))
    assert "True or False is asked for" in text
    assert "finite" not in text


def test_only_what_holds_the_right_numbers_is_called_transposed():
    want = np.arange(6).reshape(2, 3)
    assert form(want.T, want).endswith("It is transposed.")
    assert form(want.reshape(3, 2), want).endswith("(2, 3) is asked for.")


def test_a_sentence_that_speaks_of_nan_says_enough():
    table = squares({"0/0 is nan.": lambda x: 0 * x / 0})
    assert explained(table, lambda x: 0 * x / 0)[0].endswith("]. 0/0 is nan.")


def test_an_axis_of_length_one_is_told():
    table = squares({}, otherwise="Look again.")
    assert "An axis of length one is left over" in explained(table, lambda x: x[None] ** 2)[0]


def test_a_function_of_the_answer_gets_floats_and_masks():
    seen = []

    def first(x, mask):
        seen.append((x.dtype, mask.dtype))
        return x[mask]

    table = Table(
        lambda x: (x, x > 0),
        lambda: [case(x=np.array([1.0, -2, 3]))],
        {},
        Several(by=first, names=("x", "mask")),
    )
    for dtype in (int, np.float32, np.float64, np.float16):
        check_by_table(table, Answer(lambda x, dtype=dtype: (x.astype(dtype), (x > 0).tolist())))
    assert set(seen) == {(np.dtype(float), np.dtype(bool))}
    check_by_table(table, Answer(lambda x: (list(x), x > 0)))
    assert explained(table, lambda x: (x.astype(int) + 1, x > 0))


def test_true_and_false_count_as_numbers_where_numbers_are_right():
    seen = []

    def first(x):
        seen.append(x.dtype)
        return x

    table = Table(lambda x: x, lambda: [case(x=[1.0, 0])], {}, Array(by=first))
    check_by_table(table, Answer(lambda x: x > 0))
    assert set(seen) == {np.dtype(float)}


@pytest.mark.parametrize("kind", [Array(), Number(relative=1e-12)], ids=["array", "number"])
def test_few_digits_are_enough_only_where_few_were_handed_over(kind):
    def in_float32(x):
        return np.float32(np.sum(x / 3))

    x = np.ones(1)
    check_by_table(
        Table(lambda x: np.sum(x / 3), lambda: [case(x=x, single=True)], {}, kind),
        Answer(in_float32),
    )
    table = Table(lambda x: np.sum(x / 3), lambda: [case(x=x), case(x=2 * x)], {}, kind)
    text, named = explained(table, in_float32)
    assert "The answer is of the type float32, which holds seven digits." in text
    assert "Those of float64 are asked for." in text
    assert named
    assert "type" not in explained(table, lambda x: float(in_float32(x)))[0]


def test_a_list_without_entries_has_any_width():
    table = Table(lambda n: np.zeros((n, 4)), lambda: [case(n=0)], {}, Array())
    check_by_table(table, Answer(lambda n: [[0.0] * 4 for _ in range(n)]))
    text, _ = explained(table, lambda n: np.zeros((4, n)))
    assert "is an array of shape (4, 0); it should be an array of shape (0, 4)." in text


def test_masks_are_handed_over_as_masks():
    table = Table(
        lambda x, mask: np.where(mask, x, 0),
        lambda: [case(x=np.ones(3), mask=np.array([True, False, True]), whole=True)],
        {},
        Array(),
    )
    seen = []
    check_by_table(
        table, Answer(lambda x, mask: (seen.extend([x.dtype.kind, mask.dtype.kind]), x * mask)[1])
    )
    assert seen == ["i", "b"]


def test_the_answer_gets_whole_numbers_and_our_functions_do_not():
    table = Table(lambda x: x / 2, lambda: [case(x=np.ones(2), whole=True)], {}, Array())
    seen = []
    check_by_table(table, Answer(lambda x: (seen.append(x.dtype.kind), x / 2)[1]))
    assert seen == ["i"]
    assert explained(table, lambda x: np.zeros_like(x) + x // 2)


def test_what_a_test_uses_up_is_there_for_the_next_answer():
    """Cases of numbers are the same for all answers; tests of another kind are made anew."""

    def cases():
        once = iter([4.0])

        def doubles(f):
            if f(n=next(once)) != 8:
                raise Wrong("not doubled")

        return [case(n=0.5), doubles]

    table = Table(lambda n: 2 * n, cases, {}, Array())
    for _ in range(3):
        first, test = table.items()
        assert first is table.only_cases()[0]
        test(lambda n: 2 * n)


def test_an_answer_that_stops_is_told_what_to_do_as_well():
    def of_no_name(x):
        return nowhere  # noqa: F821

    table = squares({}, otherwise="Think again.")
    text = explained(table, lambda x: x[9])[0]
    assert "stopped with IndexError" in text
    assert text.endswith(" Think again.")
    assert "Think again." not in explained(table, of_no_name)[0]


def test_nan_that_was_read_from_an_input_is_told_as_such():
    def read(x):
        return x.sum()

    def made(x):
        return np.inf - np.inf * np.nansum(x)

    table = Table(np.nansum, lambda: [case(x=[1.0, np.nan]), case(x=[2.0])], {}, Array())
    assert "The inputs hold nan" in explained(table, read)[0]
    lone = Table(np.nansum, lambda: [case(x=[1.0])], {}, Array())
    assert "The inputs hold nan" not in explained(lone, made)[0]


def test_an_input_that_is_a_factor_has_its_own_name():
    table = numbers({}, [3, 4, 5])
    text = explained(table, lambda n: n**3)[0]
    assert text.endswith("It is always n times what it should be.")
