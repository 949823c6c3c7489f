"""The hand-made lexicon: the right noun wins in two layers, and one layer cannot tell."""

from dataclasses import replace

import numpy as np
import pytest

from tformer_book.world import lexicon
from tformer_book.world.lexicon import (
    FEATURES,
    KINDS,
    LAYERS,
    SENTENCES,
    WORDS,
    embed,
    read,
    tokenise,
)

PAIRS = list(SENTENCES.items())
MORE = {
    "The trophy did not fit into the suitcase because it was too big": "trophy",
    "The trophy did not fit into the suitcase because it was too small": "suitcase",
    "The boy ate the apple because it was ripe": "apple",
    "The boy ate the apple because he was hungry": "boy",
}


def nouns(tokens):
    return [token for token in tokens if "noun" in WORDS.get(token, ())]


@pytest.mark.parametrize(("sentence", "noun"), [*PAIRS, *MORE.items()])
def test_the_right_noun_wins_by_far(sentence, noun):
    reading = read(sentence)
    pronoun = "it" if "it" in reading.tokens else "he"
    (other,) = set(nouns(reading.tokens)) - {noun}
    assert reading.unknown == ()
    assert reading.weight(pronoun, noun) > 0.7
    assert reading.weight(pronoun, noun) > 6 * reading.weight(pronoun, other)
    assert reading.weight(pronoun, reading.tokens[-1], layer=0) > 0.8


@pytest.mark.parametrize(("one", "other"), list(zip(PAIRS[::2], PAIRS[1::2], strict=True)))
@pytest.mark.parametrize("layer", [0, 1], ids=["gather", "resolve"])
def test_one_layer_gives_the_same_ratio_whatever_the_last_word(one, other, layer):
    ratios = []
    for sentence, _ in (one, other):
        reading = read(sentence, LAYERS[layer : layer + 1])
        first, second = nouns(reading.tokens)
        ratios.append(reading.weight("it", first) / reading.weight("it", second))
    assert ratios[0] == pytest.approx(ratios[1], rel=1e-12)


@pytest.mark.parametrize(("sentence", "noun"), PAIRS)
def test_the_pronoun_takes_over_what_the_noun_is(sentence, noun):
    reading = read(sentence)
    it = dict(zip(FEATURES, reading.vectors[reading.tokens.index("it")], strict=True))
    kinds = [f"is {kind}" for kind in KINDS]
    assert max(kinds, key=it.__getitem__) in WORDS[noun]


@pytest.mark.parametrize(("sentence", "noun"), PAIRS)
def test_unknown_words_are_reported_and_do_not_matter(sentence, noun):
    reading = read(f"Gosh, {sentence} Zounds gosh!")
    assert reading.unknown == ("gosh", "zounds")
    assert not embed(reading.unknown).any()
    (other,) = set(nouns(reading.tokens)) - {noun}
    assert reading.weight("it", noun) > 5 * reading.weight("it", other)


def test_what_the_features_do_not_tell_apart_stays_undecided():
    reading = read("The lorry did not cross the street because it was too wide")
    assert reading.weight("it", "lorry") == pytest.approx(reading.weight("it", "street"))


def test_words_in_another_order_have_the_same_weights():
    forwards, backwards = (read(x) for x in ("the cat was tired", "tired was cat the"))
    np.testing.assert_allclose(backwards.weights, forwards.weights[:, ::-1, ::-1], atol=1e-15)


def test_a_word_that_asks_nothing_looks_everywhere_alike():
    np.testing.assert_allclose(read("the cat sat").weights[0], 1 / 3)


def test_reading_of_nothing_is_empty():
    for sentence in ("", "... !"):
        reading = read(sentence)
        assert (reading.tokens, reading.unknown) == ((), ())
        assert reading.weights.shape == (2, 0, 0)
        assert reading.vectors.shape == (0, len(FEATURES))


TIRED = next(iter(SENTENCES))


def with_bias(layer, word, other, b):
    """Both layers, and b added to the score that a word of TIRED gives another in one of them."""
    tokens = tokenise(TIRED)
    bias = np.zeros((len(tokens), len(tokens)))
    bias[tokens.index(word), tokens.index(other)] = b
    return [replace(one, bias=bias) if i == layer else one for i, one in enumerate(LAYERS)]


def ratio(reading, layer):
    return reading.weight("it", "animal", layer) / reading.weight("it", "street", layer)


@pytest.mark.parametrize("layer", [0, 1], ids=["gather", "resolve"])
@pytest.mark.parametrize("b", [-3.0, 0.7, 2.0])
def test_a_bias_multiplies_the_ratio_in_its_layer(layer, b):
    before, after = read(TIRED), read(TIRED, with_bias(layer, "it", "street", b))
    assert ratio(after, layer) == pytest.approx(ratio(before, layer) * np.exp(-b), rel=1e-12)
    np.testing.assert_allclose(after.weights.sum(axis=-1), 1)
    it = before.tokens.index("it")
    rest = np.delete(after.weights - before.weights, it, axis=1)
    assert not rest.any()


def test_a_bias_in_the_first_layer_changes_what_the_second_is_asked():
    ratios = [ratio(read(TIRED, with_bias(0, "it", "tired", b)), 1) for b in (-60.0, 0.0, 60.0)]
    assert ratios[0] == pytest.approx(1, rel=1e-12)
    assert ratios[1] == ratio(read(TIRED), 1)
    assert ratios[2] == pytest.approx(np.exp(6 / np.sqrt(7)), rel=1e-12)
    for b in (-60.0, 60.0):
        assert ratio(read(TIRED, with_bias(0, "it", "tired", b)), 0) == pytest.approx(1, rel=1e-12)


def test_every_row_sums_to_one():
    for sentence in SENTENCES:
        np.testing.assert_allclose(read(sentence).weights.sum(axis=-1), 1)


def test_words_have_features_that_exist_and_one_line_of_the_table_each():
    assert 80 <= len(WORDS) <= 120
    listed = [
        w for line in lexicon._TABLE.strip().splitlines() for w in line.split(": ")[1].split()
    ]
    assert len(listed) == len(set(listed)) == len(WORDS)
    for word, features in WORDS.items():
        assert set(features) <= set(FEATURES), word


def test_tokenise_drops_case_and_punctuation():
    assert tokenise("The Cat, sat;  on 2 mats.") == ("the", "cat", "sat", "on", "mats")
    assert tokenise("'It didn't'") == ("it", "didn't")
