"""The real model with a window or a cache of few bits: the changes, and a part measured again."""

import numpy as np

from tformer import pretrained
from tformer.models.pretrained import from_checkpoint
from tformer_book.chapters.ch16 import figures_deeper, real
from tformer_book.figures.style import svg


def test_a_window_shows_a_query_itself_those_before_it_and_what_is_kept() -> None:
    mask = real.window(100, (7,))
    seen = [s for s in range(51) if mask[50, s]]
    assert seen == [7, *range(50 - real.WINDOW + 1, 51)]
    assert real.window(real.WINDOW).all()


def test_numbers_are_rounded_to_even_steps_between_their_ends() -> None:
    x = np.random.default_rng(0).standard_normal((2, 9, 6))
    for axis in (real.TOKEN, real.CHANNEL):
        got = real.rounded(2, axis)(x)
        low, high = x.min(axis, keepdims=True), x.max(axis, keepdims=True)
        steps = (got - low) / (high - low) * 3
        np.testing.assert_allclose(steps, np.round(steps), atol=1e-12)
        assert steps.min() > -1e-12
        assert steps.max() < 3 + 1e-12
        assert (abs(got - x) <= (high - low) / 6 + 1e-12).all()
    np.testing.assert_array_equal(real.rounded(4)(np.full((1, 2, 3), 5.0)), 5)


def test_a_scale_alone_has_seven_steps_on_each_side() -> None:
    x = np.random.default_rng(0).standard_normal((2, 9, 6))
    steps = real.scaled(4)(x) / abs(x).max(axis=-1, keepdims=True) * 7
    np.testing.assert_allclose(steps, np.round(steps), atol=1e-12)
    assert abs(steps).max() < 7 + 1e-12


ROUNDED = {"4 bits": 8e-3, "2 bits": 3e-2}
"""The share by which a loss may differ: on another processor some numbers fall to another step.

With the kernels of Haswell, SkylakeX and Nehalem the losses differ by up to 0.004 and 0.013.
"""


def test_the_real_model_still_gives_what_is_stored(checkpoint: pretrained.Checkpoint) -> None:
    again, found = real.measured(from_checkpoint(checkpoint), ["tale"]), real.stored()
    assert again.keys() == found.keys()
    for name, row in found.items():
        rtol = next((most for bits, most in ROUNDED.items() if bits in name), 1e-4)
        for key in ("loss", "late"):
            np.testing.assert_allclose(again[name][key], row[key][:1], rtol=rtol, err_msg=name)
    for part, ranges in found[real.WHOLE]["ranges"].items():
        np.testing.assert_allclose(again[real.WHOLE]["ranges"][part], ranges[:1], rtol=0.01)


def test_the_figure_is_drawn() -> None:
    assert svg(figures_deeper.keys_and_values()).startswith("<")
