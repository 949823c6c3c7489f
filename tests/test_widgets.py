"""What all widgets share, in Python; the quiz; and what they say without a browser."""

import re

import pytest
import traitlets
from bs4 import BeautifulSoup
from docutils import nodes

import chapters
from tformer_book.widgets import Quiz
from tformer_book.widgets.base import WIDGET_VIEW
from tformer_book.widgets.page import keep_fallbacks

QUESTION = {
    "question": "What is 10<sup>2</sup> if <i>a</i> < b?",
    "options": ["100", "20", "12"],
    "answer": 0,
    "why": ["Ten times ten.", "That is <b>twice</b> ten.", "That is a sum."],
}


# ---- quiz -------------------------------------------------------------------------------


def test_quiz_says_its_questions_and_counts_right_answers() -> None:
    quiz = Quiz([QUESTION, {**QUESTION, "answer": 2}])
    assert repr(quiz).splitlines()[:3] == [
        "Quiz of 2 questions",
        "1. What is 10^2 if a < b?",
        "   a) 100",
    ]
    assert quiz.score == 0
    quiz.chosen = [0, 0]
    assert quiz.score == 1


def test_quiz_reads_toml(tmp_path) -> None:
    path = tmp_path / "quiz.toml"
    path.write_text(
        '[[question]]\nquestion = "Why?"\noptions = ["a", "b", "c"]\nanswer = 1\n'
        'why = ["No: …", "Yes.", "No."]\n',
        encoding="utf-8",
    )
    assert repr(Quiz.read(path)).startswith("Quiz of 1 question\n1. Why?")
    path.write_text("title = 'x'\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"must hold \[\[question\]\] tables only"):
        Quiz.read(path)


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        ({"options": ["a", "b"]}, ValueError, "needs at least 3 options; got 2"),
        ({"options": ["a", "b", "a"]}, ValueError, "says the same in two options"),
        ({"answer": 3}, ValueError, "answer must be 0 to 2; got 3"),
        ({"answer": -1}, ValueError, "answer must be 0 to 2; got -1"),
        ({"answer": [0, 1]}, TypeError, "answer must be of type int; got list"),
        ({"answer": True}, TypeError, "answer must be of type int; got bool"),
        ({"why": ["a", "b"]}, ValueError, "explain every option: 3 options, 2 explanations"),
        ({"why": ["a", " ", "c"]}, ValueError, r"why\[1\] is empty"),
        ({"why": ["a", 2, "c"]}, TypeError, r"why\[1\] must be of type str; got int"),
        ({"id": 7}, TypeError, "id must be of type str; got int"),
        ({"hint": "x"}, ValueError, "needs the keys question, options, answer, why; got"),
        ({"question": "<script>alert(1)</script>"}, ValueError, "uses <script>; allowed are <sub>"),
        ({"question": '<b onclick="x()">a</b>'}, ValueError, "uses <b onclick"),
        ({"question": "a <b>c"}, ValueError, "<b> is never closed"),
        ({"question": "<b><i>c</b></i>"}, ValueError, "</b> closes nothing"),
        ({"question": "a $b$"}, ValueError, "write <sup> and <sub>"),
    ],
)
def test_quiz_refuses_in_words(change: dict, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=re.escape(words) if "[" not in words else words) as caught:
        Quiz([QUESTION, {**QUESTION, **change}])
    assert str(caught.value).startswith("Quiz: question 2")


def test_quiz_needs_a_question() -> None:
    with pytest.raises(ValueError, match="at least one question"):
        Quiz([])


# ---- all of them ------------------------------------------------------------------------


def quiz() -> Quiz:
    return Quiz([QUESTION])


ALL = [*chapters.widgets(), quiz]
each = pytest.mark.parametrize("make", ALL, ids=lambda make: make.__name__)


@each
def test_outputs_are_the_same_on_every_run(make) -> None:
    one, two = make()._repr_mimebundle_()[0], make()._repr_mimebundle_()[0]
    assert one["text/plain"] == two["text/plain"]
    assert one["text/html"] == two["text/html"]
    assert " at 0x" not in one["text/plain"]
    assert one[WIDGET_VIEW]["model_id"]


@each
def test_the_fallback_is_sound_html_that_says_something(make) -> None:
    html = make().fallback()
    page = BeautifulSoup(html, "html.parser")
    assert len(page.get_text().split()) >= 5
    assert not page.find_all(["script", "style", "img", "iframe"])
    for tag in {tag.name for tag in page.find_all()}:
        assert html.count(f"<{tag}>") + html.count(f"<{tag} ") == html.count(f"</{tag}>"), tag


@each
def test_a_value_of_another_type_is_refused_and_changes_nothing(make) -> None:
    widget = make()
    traits = widget.traits(sync=True).items()
    own = [
        name for name, trait in traits if trait.this_class.__module__.startswith("tformer_book.")
    ]
    assert own
    for name in own:
        before = getattr(widget, name)
        with pytest.raises(traitlets.TraitError):
            setattr(widget, name, object())
        assert getattr(widget, name) == before


def test_the_fallback_of_a_quiz_escapes_everything_but_its_tags() -> None:
    html = Quiz([QUESTION]).fallback()
    assert "10<sup>2</sup> if <i>a</i> &lt; b?" in html
    assert "(a) is right" in html
    assert "That is <b>twice</b> ten." in html


def output(**parts: str) -> nodes.container:
    bundle = nodes.container(nb_element="mime_bundle")
    for mime_type, text in parts.items():
        bundle += nodes.container("", nodes.raw("", text, format="html"), mime_type=mime_type)
    return bundle


def test_a_page_keeps_the_fallback_of_a_widget_only() -> None:
    document = nodes.document(None, None)
    document += output(**{WIDGET_VIEW: "<script></script>", "text/html": "<p>two vectors</p>"})
    document += output(**{"image/png": "<img>", "text/html": "<p>a table</p>"})
    keep_fallbacks(None, document)
    widget, other = document.children
    assert widget.children[0].astext().endswith("<noscript><p>two vectors</p></noscript>")
    assert "noscript" not in other.astext()
