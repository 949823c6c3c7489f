"""The widget of waves and phases, in Python: its numbers, what it refuses and what it says."""

import numpy as np
import pytest

from tformer import reference
from tformer_book.chapters.ch07.waves_and_phases import (
    BACK,
    BASE,
    HANDS,
    PLACES,
    WIDTH,
    WISHES,
    WavesAndPhases,
    wishes,
)


@pytest.mark.parametrize("wish", WISHES)
def test_parts_are_the_score_that_the_library_gives(wish: str) -> None:
    q, k = wishes()[wish]
    waves = reference.sinusoidal(np.arange(PLACES), WIDTH, base=BASE)
    one, two = (reference.rope(np.broadcast_to(x, waves.shape), waves) for x in (q, k))
    for t, s in ((0, 0), (12, 7), (3, 60), (63, 0)):
        widget = WavesAndPhases(t, s, wish)
        assert widget.score == pytest.approx(one[t] @ two[s], abs=1e-12)
        assert widget.parts.shape == (HANDS,)


@pytest.mark.parametrize("wish", WISHES)
def test_the_score_stays_if_both_move(wish: str) -> None:
    here = WavesAndPhases(12, 7, wish).parts
    np.testing.assert_allclose(WavesAndPhases(63, 58, wish).parts, here, atol=1e-12)
    assert abs(WavesAndPhases(13, 7, wish).parts - here).max() > 0.1


def test_each_wish_likes_what_it_says() -> None:
    own, back, nothing = (
        np.array([WavesAndPhases(t, 10, wish).score for t in range(PLACES)]) for wish in WISHES
    )
    assert own.argmax() == 10
    assert back.argmax() == 10 + BACK
    assert own.max() == pytest.approx(HANDS)
    assert back.max() == pytest.approx(HANDS, abs=1e-5)  # the query is rounded
    assert nothing.max() < 0.6 * HANDS


def test_it_says_what_it_shows() -> None:
    assert repr(WavesAndPhases()) == (
        "WavesAndPhases: query at 12, key at 7, the query prefers its own position\n"
        "distance 5, score 3.78, of the hands from fast to slow\n"
        "0.28, -0.95, -0.01, 0.63, 0.88, 0.96, 0.99, 1.00"
    )
    assert WavesAndPhases().fallback().count("distance 5, score 3.78") == 2
    assert "query at 22, key at 17" in WavesAndPhases().fallback()
    assert "query at 3, key at 60" in WavesAndPhases(3, 60).fallback()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"t": 64}, "t must be 0 to 63; got 64"),
        ({"s": -1}, "s must be 0 to 63; got -1"),
        (
            {"wish": "all"},
            "wish must be one of prefers its own position, prefers 5 positions back, prefers no",
        ),
        ({"guess": "2"}, "guess must be one of it grows, it shrinks, it stays; got 2"),
    ],
)
def test_it_refuses_in_words(arguments: dict, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        WavesAndPhases(**arguments)
