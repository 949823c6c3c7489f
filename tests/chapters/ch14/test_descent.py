"""Four descents, in Python: the surface, what the cures do, what it refuses and what it says."""

import numpy as np
import pytest

from tformer_book.chapters.ch14.descent import LOST, REACH, FourDescents, Momentum, gradient, loss

GD, MOMENTUM, ADAM, ADAMW = range(4)


def test_the_gradient_is_that_of_the_loss() -> None:
    rng, h = np.random.default_rng(0), 1e-6
    for x, y in rng.uniform(-4, 4, (60, 2)).tolist():
        by_x = (loss(x + h, y) - loss(x - h, y)) / (2 * h)
        by_y = (loss(x, y + h) - loss(x, y - h)) / (2 * h)
        np.testing.assert_allclose(gradient(x, y), (by_x, by_y), rtol=1e-5, atol=1e-6)


def test_momentum_adds_nine_tenths_of_the_sum() -> None:
    at = np.array([1.0, -2.0])
    optimiser = Momentum(at)
    for _ in range(2):
        optimiser.step(np.array([3.0, 4.0]), 0.5)
    np.testing.assert_allclose(at, [1 - 0.5 * (3 + 5.7), -2 - 0.5 * (4 + 7.6)])


def left(one: FourDescents) -> list[bool]:
    """Whether each of the four leaves the drawing."""
    return (np.abs(one.ways) > REACH).any(axis=(1, 2)).tolist()


def test_each_cure_does_what_its_button_shows() -> None:
    assert left(FourDescents()) == [False, True, False, False]
    assert left(FourDescents(rate=0.3)) == [True, True, False, False]
    assert not left(FourDescents(rate=0.3, warmup=60))[GD]
    assert not left(FourDescents(rate=0.3, clip=1.0))[GD]
    long, short = FourDescents().losses, FourDescents(beta2=0.9).losses
    assert long[ADAM, -1] > 50 * short[ADAM, -1]
    strong = FourDescents(beta2=0.9, decay=1.0).ways[ADAMW, -1]
    np.testing.assert_allclose(strong, [1, 0], atol=0.02)


def test_whoever_is_lost_stays_there() -> None:
    one = FourDescents([-4.0, 2.0], 1.0)
    way = one.ways[MOMENTUM]
    out = int(np.argmax(np.abs(way).max(axis=1) > LOST))
    assert out > 0
    assert out < 149
    assert (way[out:] == way[out]).all()
    assert np.isfinite(one.losses).all()


def test_it_says_what_it_shows() -> None:
    one = FourDescents(clip=0.5, step=20)
    first, second = repr(one).splitlines()
    assert first == "FourDescents: rate 0.1, warm-up 0, clipped at 0.5, beta2 0.99, decay 0.1"
    assert second.startswith("loss after 20 steps: gradient descent ")
    assert f"AdamW {one.losses[ADAMW, 20]:.3g} at (" in second
    assert "no clipping" in repr(FourDescents())
    largest = FourDescents(rate=0.3).losses[GD].max()
    assert f"({largest:.2g})</td>" in FourDescents().fallback()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"start": [5.0, 0.0]}, r"start must be a place, -4 to 4 and -2 to 2; got \[5.0, 0.0\]"),
        ({"start": [0.0]}, "start must be a place"),
        ({"start": [0.0, float("nan")]}, r"start\[1\] must be a finite number; got nan"),
        ({"rate": 0.0}, "rate must be above 0 and up to 1; got 0.0"),
        ({"warmup": 151}, "warmup must be 0 to 150; got 151"),
        ({"clip": 0.0}, "clip must be finite and above 0, or None; got 0.0"),
        ({"beta2": 1.0}, "beta2 must be from 0 to less than 1; got 1.0"),
        ({"decay": -0.1}, "decay must be 0 to 1; got -0.1"),
        ({"step": -1}, "step must be 0 to 150; got -1"),
    ],
)
def test_it_refuses_in_words(arguments: dict, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        FourDescents(**arguments)
