"""Nudge a score, in Python: its numbers, what it refuses and what it says."""

import numpy as np
import pytest

from tformer_book.chapters.ch12.nudge import CHOICES, Nudge
from tformer_book.chapters.ch12.row import row


@pytest.mark.parametrize("sentence", [0, 1])
def test_the_loss_is_that_of_the_two_layers(sentence: int) -> None:
    assert Nudge(sentence).loss() == pytest.approx(row(CHOICES[sentence]).loss, abs=1e-12)


@pytest.mark.parametrize("layer", [1, 2])
def test_the_quotient_comes_near_what_is_derived_until_it_rounds(layer: int) -> None:
    for word in range(12):
        errors = []
        for exponent in (1.0, 5.0, 13.0):
            one = Nudge(0, layer, word, exponent)
            errors.append(abs(one.quotient - one.derived))
        assert errors[1] < 1e-9
        assert errors[2] < 0.01
    found = [Nudge(0, layer, 11, exponent) for exponent in (1.0, 5.0)]
    assert abs(found[0].quotient - found[0].derived) > 1e-6


def test_it_says_what_it_shows() -> None:
    assert repr(Nudge()) == (
        "Nudge: tired, the score of it on animal in layer 2\n"
        "loss 0.2687; by a step of 1e-01 the quotient is -0.2358, derived -0.2356"
    )
    assert "<td>-0.236</td>" in Nudge().fallback()
    assert Nudge(1, 1, 11).fallback().count("<td>-0.075</td>") == 1


def test_the_data_of_a_page_are_small() -> None:
    for given in Nudge().readings:
        assert np.shape(given["keys"]) == np.shape(given["heard"]) == (12, 7)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"sentence": 2}, "sentence must be 0 to 1; got 2"),
        ({"layer": 0}, "layer must be 1 to 2; got 0"),
        ({"word": 12}, "word must be 0 to 11; got 12"),
        ({"exponent": 16.0}, "exponent must be 0 to 15; got 16"),
        ({"exponent": float("nan")}, r"exponent\[0\] must be a finite number; got nan"),
    ],
)
def test_it_refuses_in_words(arguments: dict, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        Nudge(**arguments)
