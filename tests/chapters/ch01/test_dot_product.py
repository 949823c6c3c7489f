"""The widget of two vectors in Python: its numbers, what it refuses and what it says."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tformer import reference
from tformer_book.chapters.ch01.dot_product import DotProduct

coordinate = st.floats(-5, 5).map(lambda x: round(x, 3))
vector = st.lists(coordinate, min_size=2, max_size=2)


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
