"""Said and there, in Python: its numbers are the library's, and what it refuses."""

import numpy as np
import pytest

from tformer import reference
from tformer.configuration import Configuration
from tformer.parameters import FeedForwardParameters
from tformer_book.chapters.ch09 import rows
from tformer_book.chapters.ch09.said_and_there import ACTIVATIONS, NAMES, SENTENCES, SaidAndThere


def widgets() -> list[SaidAndThere]:
    """Every sentence, activation and a few thresholds."""
    return [
        SaidAndThere(i, threshold, name)
        for i in range(len(SENTENCES))
        for threshold in (0.0, 0.5, 1.0, 1.35, 2.0)
        for name in ACTIVATIONS
    ]


def test_the_units_are_those_of_the_layer() -> None:
    for widget in widgets():
        sentence = SENTENCES[widget.sentence]
        layer = FeedForwardParameters(
            rows.AND.w_in, rows.AND.w_out, np.full(len(rows.KINDS), -widget.threshold)
        )
        x = rows.heard(sentence)[rows.tokenise(sentence).index("it")]
        y = reference.feed_forward(x, layer, Configuration(activation=widget.activation))
        np.testing.assert_allclose(widget.units, y[rows.features("is")], atol=1e-14)


def test_it_says_what_it_shows() -> None:
    assert repr(SaidAndThere()).endswith(
        "ReLU less 1.00: animate 0.000, place 0.326, cargo 0.000, opening 0.000, "
        "cloth 0.000, food 0.000"
    )
    assert "<tr><th>cargo</th><td>0.832</td><td>0.000</td><td>0.000</td></tr>" in (
        SaidAndThere().fallback()
    )
    assert len(NAMES) == len(SENTENCES)


@pytest.mark.parametrize(
    ("last", "found"), [("heavy", []), ("soft", ["cloth"]), ("wide", ["place", "cargo"])]
)
def test_sentences_leave_none_one_or_two_kinds(last: str, found: list[str]) -> None:
    sentence = {"heavy": 5, "soft": 4, "wide": 2}[last]
    units = SaidAndThere(sentence).units
    assert [k for k, u in zip(rows.KINDS, units, strict=True) if u > 0] == found


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"sentence": 6}, "sentence must be 0 to 5; got 6"),
        ({"threshold": 2.5}, "threshold must be 0 to 2; got 2.5"),
        ({"activation": "tanh"}, "activation must be one of relu, gelu_tanh, silu; got 'tanh'"),
    ],
)
def test_it_refuses_in_words(arguments: dict, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        SaidAndThere(**arguments)
