"""One query asks, in Python: its tables are the lexicon's, and what it refuses."""

import numpy as np
import pytest

from tformer_book.chapters.ch03.one_query import ANIMAL, PIANO, OneQuery, tables
from tformer_book.world import lexicon


@pytest.mark.parametrize("sentence", lexicon.SENTENCES)
@pytest.mark.parametrize("layer", [1, 2])
def test_the_tables_are_those_of_the_lexicon(sentence: str, layer: int) -> None:
    found, reading = tables(sentence, layer), lexicon.read(sentence)
    np.testing.assert_array_equal(found.weights, reading.weights[layer - 1])
    before = lexicon.read(sentence, lexicon.LAYERS[: layer - 1]).vectors
    after = lexicon.read(sentence, lexicon.LAYERS[:layer]).vectors
    columns = [lexicon.FEATURES.index(name) for name in found.given]
    np.testing.assert_allclose(found.y, (after - before)[:, columns], atol=1e-15)
    rest = np.delete(after - before, columns, axis=1)
    assert not rest.any()
    assert found.q.shape == found.k.shape == (len(reading.tokens), len(found.sought))
    np.testing.assert_allclose(found.q @ found.k.T, found.scores * len(found.sought) ** 0.5)


def test_the_columns_carry_the_names_of_what_is_sought_and_given() -> None:
    first, second = (tables(ANIMAL[0], layer) for layer in (1, 2))
    assert first.sought == ("adjective",)
    assert first.given[0] == "says animate"
    assert second.sought[:2] == ("noun", "is animate")
    animal = lexicon.tokenise(ANIMAL[0]).index("animal")
    assert [name for name, x in zip(second.sought, second.k[animal], strict=True) if x] == [
        "noun",
        "is animate",
    ]


@pytest.mark.parametrize(
    ("pair", "nouns"), [(ANIMAL, ("animal", "street")), (PIANO, ("piano", "door"))]
)
def test_the_last_word_turns_layer_two(pair: tuple[str, str], nouns: tuple[str, str]) -> None:
    for which, noun in enumerate(nouns):
        widget = OneQuery(pair, which=which)
        row = widget.tables.weights[widget.selected]
        assert widget.tokens[int(row.argmax())] == noun
        assert f"at {noun}, 0.12 at" in repr(widget)
    assert "0.76 at animal, 0.12 at street" in repr(OneQuery())
    assert "0.83 at wide" in repr(OneQuery(which=1, layer=1))


def test_the_fallback_holds_the_row() -> None:
    html = OneQuery(compact=True).fallback()
    assert "<tr><td>animal</td><td>4.16</td><td>0.764</td></tr>" in html
    assert "<b>" not in OneQuery(("<b>it</b>", "<b>it</b>")).fallback()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"sentences": ("it was", "it")}, r"two sentences of one length; got \[2, 1\]"),
        ({"sentences": ("", "")}, r"two sentences of one length; got \[0, 0\]"),
        ({"which": 2}, "which must be 0 to 1; got 2"),
        ({"selected": 12}, "selected must be 0 to 11; got 12"),
        ({"layer": 0}, "layer must be 1 to 2; got 0"),
        ({"moment": 3.5}, "moment must be 0 to 3; got 3.5"),
        ({"moment": float("nan")}, "moment must be 0 to 3; got nan"),
    ],
)
def test_it_refuses_in_words(arguments: dict, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        OneQuery(**arguments)
