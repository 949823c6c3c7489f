"""Mutants as edits of the right function: what an edit does, and what is refused, by name."""

import numpy as np
import pytest

from slipped import slipped
from tformer import reference
from tformer_book.exercises.registry import exercise
from tformer_book.exercises.slips import mutants_of
from tformer_book.exercises.table import case

FACTOR = 10


def right(x: int, y: int, plus: int = 1) -> int:
    """Return x - y, which stands here and does not count."""
    total = x - y  # the difference
    if total > FACTOR:
        total = (
            total
            + plus
        )  # fmt: skip
    return total * FACTOR


def nothing_but_code(a, b):
    return a - b


def made(text, function=right):
    return mutants_of(text, function, "exercise 9.9")


def test_an_edit_makes_a_mutant_with_its_sentence():
    (found,) = made("""
        x - y → x + y
            You added,
            and should subtract.
    """).items()
    assert found[0] == "You added, and should subtract."
    assert (found[1](3, 2), found[1](30, 2, plus=5)) == (50, 370)
    assert found[1].__name__ == "right"
    assert right(3, 2) == 10


def test_edits_are_joined_and_made_one_after_another():
    for text in ("x - y → x + y ;; + y → - 2 * y\n  A.", "x - y → x + y\n+ y → - 2 * y\n  A."):
        assert made(text)["A."](3, 2) == -10


def test_the_old_text_may_be_kept_broken_over_lines_and_is_made_of_whole_names():
    assert made("x - y → abs($)\n  A.")["A."](2, 3) == 10
    assert made("total + plus → total\n  A.")["A."](30, 2) == 280
    assert made("plus → 7\n  A.")["A."](30, 2) == 350
    assert made("* FACTOR →\n  A.")["A."](3, 2) == 1


def test_a_whole_answer_is_an_expression():
    assert made("= x * y\n    + plus\n  A.".replace("\n    +", "\n+"))["A."](3, 2) == 7
    assert made("= a + b\n  A.", nothing_but_code)["A."](3, 2) == 5


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("z → 1\n  A.", r"exercise 9\.9, slip 'z → 1': 'z' stands nowhere in\n"),
        ("tota → 1\n  A.", "'tota' stands nowhere"),
        ("total → 1\n  A.", "'total' stands 5 times in"),
        ("which stands → 1\n  A.", "'which stands' stands nowhere"),
        ("x - y\n  A.", "an edit is `old → new`; got 'x - y'"),
        ("→ x\n  A.", "an edit is `old → new`"),
        ("x - y → x - y\n  A.", "changes nothing"),
        ("x - y → x - (y\n  A.", "was never closed in"),
        ("x - y → x\n  A.\nx - y → y\n  A.", "two slips say 'A.'"),
        ("x - y → x", "a slip is edits and, indented, a sentence; got 'x - y → x'"),
    ],
)
def test_what_cannot_be_made_is_refused_by_name(text, message):
    with pytest.raises(ValueError, match=message) as caught:
        made(text)
    assert str(caught.value).startswith("exercise 9.9")


def test_a_function_that_needs_its_surroundings_is_refused():
    here = 3

    def inner(x):
        return x + here

    with pytest.raises(ValueError, match="inner uses variables of a function around it"):
        made("x + here → x\n  A.", inner)


def test_slips_of_the_library_leave_its_checks_out():
    mutants = slipped(softmax="= x\n  softmax: nothing is done")
    (words, (name, mutant)) = next(iter(mutants.items()))
    assert (words, name) == ("softmax: nothing is done", "softmax")
    assert mutant("no array") == "no array"
    assert mutant is not reference.softmax
    with pytest.raises(ValueError, match=r"^mutants of softmax, slip 'y → z': 'y' stands nowhere"):
        slipped(softmax="y → z\n  softmax: another")


def test_slips_of_an_exercise_are_mutants_beside_its_functions(monkeypatch):
    known = {}
    monkeypatch.setattr("tformer_book.exercises.registry._exercises", known)

    def enter(slips):
        return exercise(
            "99.1",
            praise="",
            hints=(),
            cases=lambda: [case(a=np.ones(2), b=np.ones(2))],
            mutants={"A function.": lambda a, b: a},
            slips=slips,
        )

    enter("a - b → a + b\n  An edit.")(nothing_but_code)
    assert list(known["99.1"].mutants) == ["A function.", "An edit."]
    assert known["99.1"].mutants["An edit."](1, 2) == 3
    with pytest.raises(ValueError, match=r"^exercise 99\.1, slip 'c → d'"):
        enter("c → d\n  An edit.")(nothing_but_code)
