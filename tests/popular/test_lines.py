"""What a verdict is: computed, from all digits that are printed."""

import pytest

from tformer_book.popular import lines
from tformer_book.popular.lines import Line, Number


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
    line = Line("[0.5, 0.27, x_3] → 2", right=lambda: (0.5, 0.2775, 2))
    assert [n.printed for n in line.numbers] == ["0.5", "0.27", "2"]
    assert line.verdict == "rounded"
    assert Line("0.5 0.27", right=lambda: (0.9, 0.2775)).verdict == "wrong"


def test_a_line_with_another_number_of_numbers_is_refused():
    with pytest.raises(ValueError, match="2 numbers printed, 1 computed"):
        _ = Line("0.5 0.27", right=lambda: 0.5).numbers


@pytest.mark.parametrize(
    ("cases", "verdict"),
    [({"a": True}, "agrees"), ({"a": True, "b": False}, "loose"), ({"a": False}, "wrong")],
)
def test_verdict_of_a_statement_that_is_run(cases, verdict):
    assert Line("x", cases=lambda: cases).verdict == verdict


def test_what_is_given_or_judged_by_a_source_is_not_computed():
    given = Line("x", stated="given")
    assert (given.verdict, given.kind) == ("given", "given")
    assert Line("x", stated="loose", why="a source").kind == "by a source"


@pytest.mark.parametrize(
    "judged",
    ["", 'runs = "tried.formula"\nverdict = "agrees"', 'verdict = ""'],
    ids=["in no way", "in two ways", "by nothing"],
)
def test_a_line_is_judged_in_just_one_way(judged, tmp_path, monkeypatch):
    start = (
        'title = "A page"\nabout = "One line"\n[[section]]\ntitle = "Formulas"\n[[section.line]]\n'
    )
    (tmp_path / "documents").mkdir()
    (tmp_path / "documents" / "one.toml").write_text(f'{start}found = "x"\n{judged}\n', "utf-8")
    monkeypatch.setattr(lines, "files", lambda _: tmp_path)
    with pytest.raises(ValueError, match="x: not judged in just one of three ways"):
        lines.read("one")
