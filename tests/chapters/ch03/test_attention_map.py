"""The attention map in Python: its numbers, what it refuses and what it says."""

import math

import pytest

from tformer_book.chapters.ch03.attention_map import AttentionMap
from tformer_book.world import lexicon


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
