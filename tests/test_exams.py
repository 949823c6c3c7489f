"""Exam questions: each answer is found a second time by another way, for fifty draws.

``tests/chapters/chNN/exam_answers.py`` holds for each question a function of the same name, from
the drawn item to its values, that computes them by brute force or by another formula.
"""

import re
from functools import cache
from importlib import import_module

import numpy as np
import pytest

from tformer_book.chapters import numbers
from tformer_book.exams import Item, Question, choices, draw, questions, same, tex
from tformer_book.pipeline.__main__ import main
from tformer_book.pipeline.generators import exam
from tformer_book.pipeline.rules.limits import limits

SEEDS = range(50)
QUESTIONS = [question for chapter in numbers() for question in questions(chapter)]
each = pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question.number)


@cache
def items(question: Question) -> list[Item]:
    """The question drawn fifty times."""
    return [question.item(seed) for seed in SEEDS]


@pytest.mark.parametrize("chapter", numbers())
def test_every_chapter_has_its_number_and_two_ask_why(chapter: int) -> None:
    asked = [question.asks for question in questions(chapter)]
    assert len(asked) == limits(chapter).questions
    assert sum(asks in ("why", "error") for asks in asked) >= 2


@each
def test_answer_is_found_again_by_another_way(question: Question) -> None:
    answers = import_module(f"chapters.ch{question.chapter:02d}.exam_answers")
    again = getattr(answers, question.make.__name__)
    for seed, item in zip(SEEDS, items(question), strict=True):
        found = again(item)
        assert found.keys() == item.values.keys()
        for name, value in item.values.items():
            assert same(found[name], value), f"seed {seed}: {name} is {found[name]}, not {value}"


@each
def test_answer_says_its_values_and_no_trap_hits_one(question: Question) -> None:
    for seed, item in zip(SEEDS, items(question), strict=True):
        assert item.traps
        assert item.caught == []
        for name, value in item.values.items():
            assert tex(value) in item.answer, f"seed {seed}: {name} is not in the answer"


COMPARED = {
    "Two queries, three pairs": ["first second", "second hidden"],
    "Two scores of one row": ["first second", "first difference", "second difference"],
    "Two heads, one output": ["output off", "output turned"],
    "A layer that says AND": ["first second"],
    "A loss and its parts": ["divergence other", "loss divergence"],
    "Two steps of AdamW": ["first penalty"],
    "Four words, three rules": ["kept by min-p"],
    "Two blocks of a row": ["first second", "first total"],
    "Runs that are related": ["grows worth"],
}


@pytest.mark.parametrize("title", COMPARED)
def test_two_values_that_are_compared_differ(title: str) -> None:
    """Who mixes them up would be right by accident."""
    question = next(question for question in QUESTIONS if question.title == title)
    for pair in COMPARED[title]:
        one, other = re.fullmatch(r"(\w+) (.+)", pair).groups()
        for seed, item in enumerate(items(question) + [question.item(s) for s in range(50, 200)]):
            assert not same(item.values[one], item.values[other]), f"seed {seed}: {pair}"


@each
def test_draws_differ_and_repeat(question: Question) -> None:
    assert len({item.statement for item in items(question)}) >= 38
    again = question.item(7)
    assert (again.statement, again.answer) == (
        items(question)[7].statement,
        items(question)[7].answer,
    )


@each
def test_question_fits_on_paper(question: Question) -> None:
    assert 5 <= question.minutes <= 20
    for item in items(question):
        assert 5 <= item.points <= question.minutes
        assert all(points > 0 and what for points, what in item.marking)
        assert len(item.statement) < 2000
        for text in (item.statement, item.answer, *(what for _, what in item.marking)):
            assert not re.search(r"\d{5}|\d\.\d{4}|\bnan\b|\binf\b|array\(|Fraction\(", text), text
            assert not re.search(r"[+-] ?-\d|\{\{", text), text


@each
def test_formulas_can_be_set(question: Question) -> None:
    for item in items(question)[:5]:
        for text in (item.statement, item.answer, *(what for _, what in item.marking)):
            assert "$" not in re.sub(r"<[^>]*>", "", exam._html(text))


# Sheets and keys


@pytest.fixture(scope="module")
def made() -> exam.Paper:
    return exam.paper(numbers(), seed=7)


def test_sheet_repeats_to_the_byte_and_changes_with_the_seed(made) -> None:
    again, other = exam.paper(made.chapters, seed=7), exam.paper(made.chapters, seed=8)
    for key in (False, True):
        assert exam.page(made, key) == exam.page(again, key) != exam.page(other, key)
    assert (exam.sheet(made), exam.key(made)) == (exam.sheet(again), exam.key(again))
    assert made.version != other.version


def test_sheet_and_key_have_one_numbering_and_the_sheet_has_no_key(made) -> None:
    heads = [
        re.findall(r"^## (.*)$", text, re.MULTILINE) for text in (exam.sheet(made), exam.key(made))
    ]
    assert heads[0] == heads[1]
    assert [int(head.split(".")[0]) for head in heads[0]] == list(range(1, len(made.tasks) + 1))
    sheet, key = exam.page(made, False), exam.page(made, True)
    assert re.findall("<h2>.*?</h2>", sheet) == re.findall("<h2>.*?</h2>", key)
    for text in (sheet, exam.sheet(made)):
        assert "Answer" not in text
        assert 'class="answer"' not in text
        assert f"seed {made.seed}" not in text
        for _, item in made.tasks:
            for line in [*item.answer.strip().splitlines(), *(what for _, what in item.marking)]:
                assert len(line) < 25 or line not in text
    for _, item in made.tasks:
        assert item.answer.strip() in exam.key(made)
        assert item.answer.strip() not in exam.sheet(made)


def test_page_asks_nothing_of_anybody(made) -> None:
    for key in (False, True):
        html = exam.page(made, key)
        assert not re.search(r"https?://(?!www\.w3\.org)|<script|<link|url\((?!data:)", html)


def test_fewer_questions_keep_their_numbers_and_order() -> None:
    few, all_ = exam.paper([4], 3, n=2), exam.paper([4], 3)
    assert len(few.tasks) == 2
    statements = [item.statement for _, item in all_.tasks]
    places = [statements.index(item.statement) for _, item in few.tasks]
    assert places == sorted(places)
    assert {exam.paper([4], seed, n=1).tasks[0][0].number for seed in range(60)} == {
        question.number for question in questions(4)
    }


def test_chapters_are_asked_in_order_and_once() -> None:
    made = exam.paper([4, 4], 0, n=1)
    assert made.chapters == (4,)
    assert len(made.tasks) == 1


@pytest.mark.parametrize(
    ("chapters", "n", "said"),
    [
        ([44], None, "there is no chapter 44; there are 0, 1, 2"),
        ([4], 0, "chapter 4 has 6 questions; 0 are asked for"),
        ([4], 7, "chapter 4 has 6 questions; 7 are asked for"),
    ],
)
def test_bad_input_is_a_sentence(chapters, n, said) -> None:
    with pytest.raises((FileNotFoundError, ValueError), match=re.escape(said)):
        exam.paper(chapters, 0, n)


def test_paper_is_written_and_never_over_another(tmp_path) -> None:
    folder, made = tmp_path / "new" / "exam", exam.paper([4], 1, n=1)
    written = exam.write(made, folder)
    assert [path.name for path in written] == ["sheet.html", "sheet.md", "key.html", "key.md"]
    texts = [exam.page(made, False), exam.sheet(made), exam.page(made, True), exam.key(made)]
    assert [path.read_text(encoding="utf-8") for path in written] == texts
    before = {path: path.read_bytes() for path in written}
    assert exam.write(made, folder) == written
    for other in (exam.paper([4], 2, n=1), exam.paper([4], 1)):
        with pytest.raises(FileExistsError, match=r"sheet\.html is there already"):
            exam.write(other, folder)
    (folder / "key.md").write_text("Mine.")
    with pytest.raises(FileExistsError, match=r"key\.md is there already"):
        exam.write(made, folder)
    (folder / "key.md").write_bytes(before[folder / "key.md"])
    assert {path: path.read_bytes() for path in written} == before


def test_command_says_what_it_wrote_and_draws_a_seed_of_its_own(tmp_path, capsys) -> None:
    for name in ("one", "two"):
        assert main(["exam", "04", "--questions", "1", "--to", str(tmp_path / name)]) == 0
        assert f"wrote {tmp_path / name / 'key.html'}" in capsys.readouterr().out
    keys = [(tmp_path / name / "key.md").read_text(encoding="utf-8") for name in ("one", "two")]
    seeds = {found for key in keys for found in re.findall(r"seed (\d+)", key)}
    assert len(seeds) == 2


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (["44"], "there is no chapter 44"),
        ([], "an exam needs a chapter, make exam CH=04"),
        (["04", "--seed", "-1"], "a seed of 0 or more"),
        (["04", "--questions", "7"], "6 questions; 7 are asked for"),
        (["04", "--seed", "2"], "is there already and says something else"),
    ],
)
def test_command_refuses_in_a_sentence_and_writes_nothing(tmp_path, capsys, asked, said) -> None:
    (tmp_path / "key.md").write_text("Mine.", encoding="utf-8")
    assert main(["exam", *asked, "--to", str(tmp_path)]) == 2
    assert said in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["key.md"]
    assert (tmp_path / "key.md").read_text(encoding="utf-8") == "Mine."


# What questions are made with


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (3.0, "3"),
        (-0.5, r"-\tfrac{1}{2}"),
        (1 / 3, r"\tfrac{1}{3}"),
        (np.array([1, 0.25]), r"(1, \tfrac{1}{4})"),
        (np.array([[1, 2], [0, -1]]), r"\begin{bmatrix} 1 & 2 \\ 0 & -1 \end{bmatrix}"),
        ("B", "B"),
    ],
)
def test_numbers_are_written_exactly(value, text) -> None:
    assert tex(value) == text


@pytest.mark.parametrize("value", [np.pi, 1 / 12345, 12345, 1e-9, np.nan, np.inf])
def test_what_does_not_fit_on_paper_is_refused(value) -> None:
    with pytest.raises((ValueError, OverflowError)):
        tex(value)


def test_same_is_strict() -> None:
    assert same(0.1 + 0.2, 0.3)
    assert not same(0.3, 0.3 + 1e-9)
    assert not same(np.ones(3), 1.0)
    assert not same("A", "B")
    assert not same("1", 1)


def test_draw_that_a_trap_hits_is_drawn_again() -> None:
    def made(rng) -> Item:
        x = int(rng.integers(0, 2))
        return Item(f"{x}", f"{x}", ((1, "it"),), {}, {"x": x}, {"always 1": ("x", 1)})

    drawn = [Question("9.1", "T", 5, "why", made).item(seed).values["x"] for seed in range(20)]
    assert drawn == [0] * 20


def test_hopeless_condition_is_reported() -> None:
    with pytest.raises(RuntimeError, match="10000 tries"):
        draw(lambda: 1, lambda x: x > 1)


def test_choices_are_lettered() -> None:
    assert choices(["one", "two"]) == "- **A** one\n- **B** two"
