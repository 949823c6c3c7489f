"""Some of a chapter's questions, by name: a page asks them where they belong."""

import re
from collections import Counter
from pathlib import Path

import pytest

from tformer_book.chapters import numbers
from tformer_book.pipeline.notebook.normalise import code_cells, load
from tformer_book.widgets import Quiz

ROOT = Path(__file__).parents[1]

QUESTION = """
[[question]]
question = "{text}"
{key}
options = ["a", "b", "c"]
answer = 1
why = ["No.", "Yes.", "No."]
"""


def quiz_file(folder: Path, *ids: str) -> Path:
    """A quiz with one question for each id; for an empty one the question has none."""
    path = folder / "quiz.toml"
    keys = [f'id = "{name}"' if name else "" for name in ids]
    tables = [QUESTION.format(text=f"Why {i}?", key=key) for i, key in enumerate(keys)]
    path.write_text("".join(tables), encoding="utf-8")
    return path


def asked(quiz: Quiz) -> list[str]:
    return [question["question"] for question in quiz.questions]


def test_questions_come_in_the_order_in_which_they_are_named(tmp_path: Path) -> None:
    path = quiz_file(tmp_path, "scale", "", "mask")
    assert asked(Quiz.read(path)) == ["Why 0?", "Why 1?", "Why 2?"]
    assert asked(Quiz.read(path, "mask")) == ["Why 2?"]
    assert asked(Quiz.read(path, "mask", "scale")) == ["Why 2?", "Why 0?"]


def test_a_chapters_quiz_is_asked_in_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tformer_book.widgets.quiz.files", lambda package: tmp_path)
    (tmp_path / "ch07").mkdir()
    quiz_file(tmp_path / "ch07", "scale", "mask")
    assert asked(Quiz.of_chapter(7)) == ["Why 0?", "Why 1?"]
    assert asked(Quiz.of_chapter(7, "mask")) == ["Why 1?"]


@pytest.mark.parametrize(
    ("ids", "words"), [(("a", "", "b"), "there are: a, b"), (("",), "there are: none")]
)
def test_an_unknown_id_is_refused_with_the_known_ones(
    tmp_path: Path, ids: tuple[str, ...], words: str
) -> None:
    with pytest.raises(ValueError, match=f"no question has the id 'c'; {words}$"):
        Quiz.read(quiz_file(tmp_path, *ids), "c")


@pytest.mark.parametrize("wanted", [(), ("a",)])
def test_no_two_questions_have_one_id(tmp_path: Path, wanted: tuple[str, ...]) -> None:
    with pytest.raises(ValueError, match="2 questions have the id b"):
        Quiz.read(quiz_file(tmp_path, "a", "b", "b"), *wanted)


@pytest.mark.parametrize("chapter", numbers())
def test_neither_place_nor_length_gives_the_answer_away(chapter: int) -> None:
    questions = Quiz.of_chapter(chapter).questions
    places = Counter(question["answer"] for question in questions)
    assert len(places) > 2
    assert max(places.values()) <= len(questions) / 2
    longest = [max(q["options"], key=len) == q["options"][q["answer"]] for q in questions]
    assert sum(longest) <= len(questions) / 3


@pytest.mark.parametrize("chapter", numbers())
def test_every_question_is_asked_once_on_a_page_of_its_chapter(chapter: int) -> None:
    pages = (ROOT / "chapters").glob(f"{chapter:02d}_*.ipynb")
    code = "\n".join(cell.source for page in pages for cell in code_cells(load(page)))
    calls = re.findall(rf"Quiz\.of_chapter\({chapter}, (.*?)\)", code)
    found = Counter(name for call in calls for name in re.findall(r'"([\w-]+)"', call))
    assert found == Counter(question["id"] for question in Quiz.of_chapter(chapter).questions)
