"""The Python side of the widgets: numbers, validation, and what they say without a browser."""

import math
import re

import numpy as np
import pytest
from docutils import nodes
from hypothesis import given
from hypothesis import strategies as st

from tformer import reference
from tformer.widgets import DotProduct, Quiz, SoftmaxTemperature
from tformer.widgets.base import WIDGET_VIEW
from tformer.widgets.page import keep_fallbacks

coordinate = st.floats(-5, 5).map(lambda x: round(x, 3))
vector = st.lists(coordinate, min_size=2, max_size=2)
QUESTION = {
    "question": "What is 10<sup>2</sup> if <i>a</i> < b?",
    "options": ["100", "20", "12"],
    "answer": 0,
    "why": ["Ten times ten.", "That is <b>twice</b> ten.", "That is a sum."],
}


# ---- dot product ------------------------------------------------------------------------


@given(vector, vector)
def test_dot_product_gives_the_numbers_of_the_library(q: list[float], k: list[float]) -> None:
    widget = DotProduct(q, k)
    assert widget.dot == reference.dot(np.array(q), np.array(k))
    assert widget.norms == (reference.norm(np.array(q)), reference.norm(np.array(k)))
    assert widget.cosine == reference.cosine_similarity(np.array(q), np.array(k))
    together = np.array(widget.projection) + np.array(widget.remainder)
    np.testing.assert_allclose(together, q, atol=1e-12)
    assert abs(np.dot(widget.remainder, k)) < 1e-12
    if np.any(q) and np.any(k):
        assert math.cos(math.radians(widget.angle)) == pytest.approx(widget.cosine, abs=1e-12)


def test_dot_product_worked_by_hand() -> None:
    widget = DotProduct(q=[3, 4], k=[4, 3])
    assert widget.dot == 24
    assert widget.norms == (5, 5)
    assert widget.angle == pytest.approx(16.2602047083)
    assert widget.projection == pytest.approx([3.84, 2.88])
    assert repr(widget) == "DotProduct: q = (3, 4), k = (4, 3), q·k = 24.00, angle 16.3°"


def test_a_zero_vector_has_no_angle() -> None:
    widget = DotProduct(q=[0, 0], k=[1, 2])
    assert math.isnan(widget.angle)
    assert widget.cosine == 0
    assert repr(widget).endswith("q·k = 0.00, no angle")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"q": [1, 2, 3]}, "q needs two coordinates; got 3"),
        ({"k": [1, math.nan]}, r"k\[1\] must be a finite number; got nan"),
        ({"k": [0, -7]}, r"k\[1\] is -7 but the plane reaches from -5 to 5"),
        ({"limit": 0}, "limit must be a positive number; got 0"),
    ],
)
def test_dot_product_refuses_in_words(arguments: dict, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        DotProduct(**arguments)


def test_a_refused_assignment_changes_nothing() -> None:
    widget = DotProduct()
    with pytest.raises(ValueError, match="reaches from"):
        widget.q = [9, 9]
    assert widget.q == [3, 4]


# ---- softmax ----------------------------------------------------------------------------


@given(
    st.lists(st.floats(-1e4, 1e4), min_size=1, max_size=6),
    st.floats(1e-3, 1e3),
    st.floats(-100, 100),
    st.integers(0, 63),
)
def test_softmax_gives_the_numbers_of_the_library(
    scores: list[float], temperature: float, shift: float, bits: int
) -> None:
    mask = [bool(bits >> i & 1) for i in range(len(scores))]
    widget = SoftmaxTemperature(scores, temperature=temperature, mask=mask, shift=shift)
    visible = np.where(mask, np.array(scores) + shift, -np.inf)
    weights = reference.softmax(visible, beta=1 / temperature)
    assert widget.weights == weights.tolist()
    assert widget.entropy == reference.entropy(weights)
    jacobian = reference.softmax_jacobian(weights, beta=1 / temperature)
    assert np.linalg.norm(jacobian, 2) <= widget.jacobian_bound * (1 + 1e-12)


def test_when_nothing_is_allowed_every_weight_is_zero() -> None:
    widget = SoftmaxTemperature([1, 2], mask=[False, False])
    assert widget.weights == [0, 0]
    assert widget.entropy == 0
    assert widget.jacobian_bound == 0


def test_softmax_says_what_it_shows() -> None:
    widget = SoftmaxTemperature([0, 0], labels=["cat", "<dog>"], temperature=0.5)
    assert repr(widget) == (
        "SoftmaxTemperature: temperature 0.5 (β = 2), "
        "weights cat 0.50, <dog> 0.50, entropy 0.69 nats"
    )
    assert "&lt;dog&gt; 0.50" in widget.fallback()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"scores": []}, "needs 1 to 6 scores; got 0"),
        ({"scores": [0] * 7}, "needs 1 to 6 scores; got 7"),
        ({"scores": [0, math.inf]}, r"scores\[1\] must be a finite number; got inf"),
        ({"scores": [0, 1], "labels": ["a"]}, "labels has 1 entries but there are 2 scores"),
        ({"scores": [0, 1], "mask": [True]}, "mask has 1 entries but there are 2 scores"),
        ({"temperature": 0}, "temperature must be a positive number; got 0"),
        ({"temperature": math.inf}, "temperature must be a positive number; got inf"),
        ({"shift": math.nan}, r"shift\[0\] must be a finite number; got nan"),
    ],
)
def test_softmax_refuses_in_words(arguments: dict, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        SoftmaxTemperature(**arguments)


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
        ({"hint": "x"}, ValueError, "needs the keys question, options, answer, why; got"),
        ({"question": "<script>alert(1)</script>"}, ValueError, "uses <script>; allowed are <sub>"),
        ({"question": '<b onclick="x()">a</b>'}, ValueError, "uses <b onclick"),
        ({"question": "a <b>c"}, ValueError, "<b> is never closed"),
        ({"question": "<b><i>c</b></i>"}, ValueError, "</b> closes nothing"),
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

ALL = [DotProduct, SoftmaxTemperature, lambda: Quiz([QUESTION])]


@pytest.mark.parametrize("make", ALL)
def test_outputs_are_the_same_on_every_run(make) -> None:
    one, two = make()._repr_mimebundle_()[0], make()._repr_mimebundle_()[0]
    assert one["text/plain"] == two["text/plain"]
    assert one["text/html"] == two["text/html"]
    assert " at 0x" not in one["text/plain"]
    assert one[WIDGET_VIEW]["model_id"]


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
