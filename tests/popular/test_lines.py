"""What a verdict is: computed, from all digits that are printed."""

import pytest

from tformer_book.popular.lines import Number, cited, given, numbers, runs


@pytest.mark.parametrize(
    ("printed", "right", "verdict"),
    [
        ("0.33", 1 / 3, "agrees"),
        ("0.7149", 1.01 / 2**0.5, "wrong"),
        ("1.475", 1.475504, "rounded"),
        ("0.27", 0.2775, "rounded"),
        ("0.78", 0.7679, "wrong"),
        ("−1", -1.0, "agrees"),
        ("0", 2.0, "wrong"),
        ("1", 2.0, "wrong"),
        ("1.0", 1.05, "agrees"),
    ],
)
def test_verdict_of_a_number(printed, right, verdict):
    assert Number(printed, right).verdict == verdict


def test_a_number_is_written_with_the_digits_that_are_printed():
    assert [str(Number("0.05", 0.0454)), str(Number("0.78", 0.76789))] == ["0.05", "0.7679"]
    assert str(Number("1", -1.0)) == "−1"


def test_a_line_has_the_worst_verdict_of_its_numbers():
    line = numbers("[0.5, 0.27, x_3] → 2", "", lambda: (0.5, 0.2775, 2))
    assert [n.printed for n in line.numbers] == ["0.5", "0.27", "2"]
    assert line.verdict == "rounded"
    assert numbers("0.5 0.27", "", lambda: (0.9, 0.2775)).verdict == "wrong"


def test_a_line_with_another_number_of_numbers_is_refused():
    with pytest.raises(ValueError, match="2 numbers printed, 1 computed"):
        _ = numbers("0.5 0.27", "", lambda: 0.5).numbers


@pytest.mark.parametrize(
    ("cases", "verdict"),
    [({"a": True}, "agrees"), ({"a": True, "b": False}, "loose"), ({"a": False}, "wrong")],
)
def test_verdict_of_a_statement_that_is_run(cases, verdict):
    assert runs("x", "", lambda: cases).verdict == verdict


def test_what_is_given_or_judged_by_a_source_is_not_computed():
    assert (given("x", "").verdict, given("x", "").kind) == ("given", "given")
    assert cited("x", "", "loose", "a source").kind == "by a source"
