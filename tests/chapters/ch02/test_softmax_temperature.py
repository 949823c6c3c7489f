"""The widget of scores and weights in Python: its numbers, what it refuses and what it says."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tformer import reference
from tformer_book.chapters.ch02.softmax_temperature import SoftmaxTemperature


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
