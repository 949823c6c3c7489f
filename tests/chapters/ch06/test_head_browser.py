"""The head browser in Python: its numbers are the library's, and what it refuses."""

import numpy as np
import pytest

from tformer import reference
from tformer_book.chapters.ch06 import layers
from tformer_book.chapters.ch06.head_browser import LASTS, LAYERS, STEMS, HeadBrowser
from tformer_book.world.circuits import veto
from tformer_book.world.lexicon import FEATURES, KINDS, SENTENCES, embed


def browsers() -> list[HeadBrowser]:
    """Every layer, sentence and last word, with all heads on, one off, and none on."""
    found = []
    for name, heads in LAYERS.items():
        for off in ([], [1], [0, len(heads) - 1], list(range(len(heads)))):
            for stem in range(len(STEMS)):
                found += [HeadBrowser(name, last, stem=stem, off=off) for last in LASTS]
    return found


@pytest.mark.parametrize("sentence", list(SENTENCES)[:3])
def test_the_six_heads_are_those_of_chapter_3(sentence: str) -> None:
    *stem, last = sentence.lower().split()
    widget = HeadBrowser(last=last, stem=STEMS.index(tuple(stem)), off=[])
    np.testing.assert_allclose(widget.weights, veto(sentence), atol=1e-15)
    np.testing.assert_allclose(widget.total, veto(sentence).mean(axis=0), atol=1e-15)


def test_what_arrives_is_the_output_of_the_layer_without_the_heads_that_are_off() -> None:
    columns = [FEATURES.index(f"is {kind}") for kind in KINDS]
    for widget in browsers():
        w = layers.layer(LAYERS[widget.layer])
        w.w_o[widget.off] = 0
        y = reference.multi_head_attention(embed(widget.tokens), w)
        got = y[widget.tokens.index("it"), columns]
        np.testing.assert_allclose(widget.received, got, atol=1e-12)
        on = len(w.w_q) - len(widget.off)
        assert widget.total.sum() == pytest.approx(on / len(w.w_q))


def test_it_says_what_it_shows() -> None:
    assert repr(HeadBrowser()).endswith(
        "one a kind, without animate: it looks at animal 0.000, street 0.000, tired 0.833"
    )
    html = HeadBrowser("four heads, two a kind", off=[]).fallback()
    assert "<tr><th>sum</th><td>0.00</td><td>0.37</td>" in html


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"layer": "one head"}, "layer must be one of six heads, one a kind, four heads"),
        ({"last": "happy"}, "last must be one of tired"),
        ({"stem": 3}, "stem must be 0 to 2; got 3"),
        ({"head": 6}, "head must be 0 to 5; got 6"),
        ({"word": 12}, "word must be 0 to 11; got 12"),
        ({"layer": "four heads, two a kind", "off": [4]}, "off must be 0 to 3; got 4"),
    ],
)
def test_it_refuses_in_words(arguments: dict, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        HeadBrowser(**arguments)
