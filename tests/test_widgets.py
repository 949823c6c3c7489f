"""The Python side of the widgets: numbers, validation, and what they say without a browser."""

import math
import re

import numpy as np
import pytest
from docutils import nodes
from hypothesis import given
from hypothesis import strategies as st

from tformer import reference
from tformer.chapters.ch01.dot_product import DotProduct
from tformer.chapters.ch02.softmax_temperature import SoftmaxTemperature
from tformer.chapters.ch03.attention_map import AttentionMap
from tformer.chapters.ch04.score_scale import ScoreScale, dot_products, normal
from tformer.widgets import Quiz
from tformer.widgets.base import WIDGET_VIEW
from tformer.widgets.page import keep_fallbacks
from tformer.world import lexicon

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


# ---- attention map ----------------------------------------------------------------------


@pytest.mark.parametrize("sentence", [*lexicon.SENTENCES, "A cat", "zounds gosh", "it"])
def test_the_map_gives_the_numbers_of_the_lexicon(sentence: str) -> None:
    reading = lexicon.read(sentence)
    for at in range(len(reading.tokens)):
        assert AttentionMap(sentence, selected=at).weights == reading.weights[:, at].tolist()


@pytest.mark.parametrize("sentence", lexicon.SENTENCES)
def test_the_map_looks_from_the_pronoun_and_only_two_layers_see_the_last_word(
    sentence: str,
) -> None:
    widget, noun = AttentionMap(sentence), lexicon.SENTENCES[sentence]
    tokens = lexicon.tokenise(sentence)
    assert tokens[widget.selected] == "it"
    first, both, alone = widget.ratios
    assert (first, alone) == pytest.approx((1, 1), rel=1e-12)
    nouns = [token for token in tokens if "noun" in lexicon.WORDS[token]]
    assert (both > 6) if nouns[0] == noun else (both < 1 / 6)


def test_the_map_adds_a_bias_to_a_score() -> None:
    plain, widget = AttentionMap(), AttentionMap(biases=[[2, 8, 6, 1.5], [2, 8, 6, 0.5]])
    factor = pytest.approx(math.exp(-2))
    pairs = zip(widget.ratios, plain.ratios, strict=True)
    assert [after / before for after, before in pairs] == [pytest.approx(1), factor, factor]
    assert widget.weights == widget.reading.weights[:, 8].tolist()
    widget.biases = [[1, 8, 11, -3]]
    assert widget.weights[0][11] < 0.25 < 0.8 < plain.weights[0][11]
    assert widget.weights[1][1] < plain.weights[1][1]
    assert repr(widget).startswith(
        "AttentionMap: “the animal did not cross the street because it was too tired” (layer 1: "
        "“it” to “tired” −3.0): in layer 2, “it” looks 0."
    )
    assert "(layer 1: “it” to “tired” −3.0)" in widget.fallback()


def test_a_bias_past_the_end_of_the_sentence_counts_for_nothing() -> None:
    widget = AttentionMap("he was tired", biases=[[2, 0, 3, 4], [1, 3, 0, 4]])
    assert widget.weights == AttentionMap("he was tired").weights
    assert repr(widget) == repr(AttentionMap("he was tired"))


def test_the_map_says_what_it_shows() -> None:
    widget = AttentionMap()
    assert repr(widget) == (
        "AttentionMap: “the animal did not cross the street because it was too tired”: in layer "
        "2, “it” looks 0.76 at animal, 0.12 at street and 0.01 at each other word"
    )
    assert "<tr><td>animal</td><td>0.02</td><td>0.76</td></tr>" in widget.fallback()
    widget.layer, widget.selected = 1, 0
    assert repr(widget).endswith("in layer 1, “the” looks alike at all words: 1/12 at each")
    widget.sentence = "they saw <b>cats, cat, dog, fox, bird</b>"
    widget.layer = 2
    assert repr(widget).endswith(
        "“they” looks 0.22 at cat, 0.22 at dog, 0.22 at fox and no more than that at any other word"
    )
    assert "<b>" not in widget.fallback()


def test_a_place_past_the_end_means_the_last_word_and_no_words_have_no_weights() -> None:
    widget = AttentionMap("the cat was tired", selected=99)
    assert widget.weights == AttentionMap("the cat was tired", selected=3).weights
    widget.sentence = "?"
    assert widget.weights == [[], []]
    assert widget.ratios is None
    assert repr(widget) == "AttentionMap: no words"


def test_what_the_page_sends_together_is_taken_together() -> None:
    widget = AttentionMap()
    widget.set_state({"sentence": "he was tired", "selected": 0, "layer": 1, "biases": []})
    assert widget.weights == lexicon.read("he was tired").weights[:, 0].tolist()
    widget.set_state({"biases": [[1, 0, 2, 0.5], [2, 0, 1, -6]]})
    assert widget.biases == [[1, 0, 2, 0.5], [2, 0, 1, -6]]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"sentence": "cat " * 25}, "sentence has 25 words; at most 24 fit"),
        ({"selected": -1}, "selected must be 0 or more; got -1"),
        ({"layer": 3}, "layer must be 1 or 2; got 3"),
        ({"biases": [[1, 0, 0, 1], [1, 0]]}, r"biases\[1\] must be \[layer, t, s, b\].*got \[1"),
        ({"biases": [[3, 0, 0, 1]]}, r"biases\[0\] must be .*got \[3, 0, 0, 1\]"),
        ({"biases": [[1, -1, 0, 1]]}, r"biases\[0\] must be .*got \[1, -1, 0, 1\]"),
        ({"biases": [[1, 0, 0.5, 1]]}, r"biases\[0\] must be .*got \[1, 0, 0.5, 1\]"),
        ({"biases": [[1, 0, 0, math.inf]]}, r"biases\[0\] must be .*got \[1, 0, 0, inf\]"),
        ({"biases": [[1, 0, 0, "2"]]}, r"biases\[0\] must be .*got \[1, 0, 0, '2'\]"),
    ],
)
def test_the_map_refuses_in_words(arguments: dict, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        AttentionMap(**arguments)


# ---- score scale ------------------------------------------------------------------------


def test_the_random_coordinates_are_standard_normal_and_independent() -> None:
    vectors = normal(96 * 4096).reshape(96, 4096)
    n = vectors.size
    assert abs(vectors.mean()) < 4 / n**0.5
    assert abs(vectors.var() - 1) < 4 * (2 / n) ** 0.5
    assert abs((vectors**4).mean() - 3) < 4 * (96 / n) ** 0.5
    correlations = np.corrcoef(vectors)[np.triu_indices(96, 1)]
    assert abs(correlations).max() < 5 / 4096**0.5
    assert abs(correlations.std() * 4096**0.5 - 1) < 0.05


@pytest.mark.parametrize("scale", ["1", "1/√d", "1/d"])
@pytest.mark.parametrize("d", [4, 64, 4096])
def test_scores_spread_as_predicted_and_facts_agree_with_the_library(d: int, scale: str) -> None:
    widget = ScoreScale(d=d, scale=scale, temperature=2.0, query=5)
    assert widget.deviation == pytest.approx(widget.predicted, rel=0.2)
    factor = {"1": 1.0, "1/√d": d**-0.5, "1/d": 1 / d}[scale]
    assert widget.predicted == pytest.approx(factor * d**0.5 / 2)
    p = reference.softmax(factor * dot_products(d), beta=0.5)
    np.testing.assert_allclose(widget.weights, np.sort(p[5])[::-1], rtol=1e-12)
    facts = widget.facts
    assert facts["entropy"] == pytest.approx(
        (reference.entropy(p[5]), reference.entropy(p).mean()), rel=1e-9
    )
    assert facts["largest"][0] == pytest.approx(p[5].max())
    assert 1 <= facts["effective"][0] <= 64
    norm = np.linalg.norm(reference.softmax_jacobian(p[5], beta=0.5), 2)
    assert facts["slope"][0] / 2 <= norm * (1 + 1e-9)
    assert norm <= facts["slope"][0] * (1 + 1e-9)


def test_a_narrower_vector_is_the_front_of_a_wider_one() -> None:
    vectors = normal(96 * 4096).reshape(96, 4096)
    np.testing.assert_allclose(dot_products(4)[3, 7], vectors[3, :4] @ vectors[39, :4])


def test_score_scale_says_what_it_shows() -> None:
    assert repr(ScoreScale(d=512, scale="1")) == (
        "ScoreScale: d = 512, scale 1, temperature 1: standard deviation of the scores 22.76; on "
        "average over 32 queries and 64 keys, largest weight 0.90, entropy 0.22 of at most 4.16 "
        "nats, effective number of keys 1.2"
    )


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"d": 3}, "d must be 4 to 4096; got 3"),
        ({"query": 32}, "query must be 0 to 31; got 32"),
        ({"scale": "2"}, "scale must be one of 1, 1/√d, 1/d; got 2"),
        ({"temperature": 0}, "temperature must be a positive number; got 0"),
    ],
)
def test_score_scale_refuses_in_words(arguments: dict, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        ScoreScale(**arguments)


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

ALL = [DotProduct, SoftmaxTemperature, AttentionMap, ScoreScale, lambda: Quiz([QUESTION])]


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
