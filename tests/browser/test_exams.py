"""The built book holds nothing of the exams: neither their texts nor their code."""

import ast
import html
import re
from pathlib import Path

import pytest

from tformer_book.chapters import load, numbers
from tformer_book.pipeline.rules.limits import limits

PUBLISHED = {".html", ".js", ".ipynb", ".md", ".txt", ".py", ".json"}


def phrases(code: str) -> set[str]:
    """What a reader would recognise in the strings of some code: runs of prose without formulas."""
    texts = [
        node.value
        for node in ast.walk(ast.parse(code))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    ]
    runs = (run for text in texts for run in re.split(r"[$*`“”:.()|\\]", plain(text)))
    return {run.strip() for run in runs if len(run.strip()) >= 40}


def plain(text: str) -> str:
    """Text as one line."""
    return re.sub(r"\s+", " ", text)


@pytest.fixture(scope="module")
def published(book: Path) -> str:
    """All that the book says, without tags."""
    files = [path for path in sorted(book.rglob("*")) if path.suffix in PUBLISHED]
    texts = [path.read_text(encoding="utf-8", errors="replace") for path in files]
    return plain(html.unescape(re.sub(r"<[^>]*>", "", "\n".join(texts))))


@pytest.mark.parametrize("chapter", numbers())
def test_nothing_of_an_exam_is_published(published: str, chapter: int) -> None:
    code = "\n".join(
        Path(str(module.__file__)).read_text(encoding="utf-8") for module in load("exam", chapter)
    )
    secret = phrases(code)
    assert len(secret) >= 8 * limits(chapter).questions
    assert sorted(phrase for phrase in secret if phrase in published) == []
    assert "tformer_book.exams" not in published


def test_it_would_be_found(published: str) -> None:
    assert "answer to a question that does not mention exponentials" in published
