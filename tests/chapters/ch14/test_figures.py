"""What the figures of the chapter draw."""

import numpy as np
import pytest

from tformer_book.chapters.ch14 import bench, figures, half, steps
from tformer_book.chapters.ch14.claims import largest
from tformer_book.chapters.ch14.claims_measured import ends
from tformer_book.figures.style import svg


def test_the_strip_asks_and_tells() -> None:
    asked = [text.get_text() for part in figures.strip(told=False) for text in part.axes[0].texts]
    assert asked.count("?") == 4
    told = [text.get_text() for part in figures.strip() for text in part.axes[0].texts]
    assert told.count(".999") == 2
    assert "?" not in told


def test_floors_are_drawn_where_they_are_counted() -> None:
    lines = figures.on_steps().axes[0].lines
    level = {line.get_ydata()[0] for line in lines if [*line.get_xdata()] == [0, 615]}
    assert level == {steps.floor("name again"), steps.floor("patient, cure known")}
    assert "<svg" in svg(figures.on_steps())


def test_each_run_of_the_warm_up_is_a_dot() -> None:
    for order, part in zip(("pre", "post"), figures.warmed(), strict=True):
        lines = part.axes[0].lines
        dots = [line for line in lines if line.get_marker() == "o"]
        assert len(dots) == 2 * bench.SEEDS
        for line, warmup in zip(lines[::4], (0, bench.WARM), strict=False):
            want = [ends(rate=rate, warmup=warmup, order=order).mean() for rate in bench.RATES]
            assert line.get_ydata() == pytest.approx(want)


def test_scales_end_where_something_overflows() -> None:
    left, right = figures.scales()
    inside = [n for n in half.SCALES if np.isfinite(half.stored()["scales"][str(n)][0])]
    for part in (left, right):
        assert [*part.axes[0].lines[0].get_xdata()] == inside


def test_the_largest_gradient_is_marked() -> None:
    ax = figures.norms().axes[0]
    assert "step 505" in [text.get_text() for text in ax.texts]
    assert len(ax.lines[0].get_xdata()) == 3500


def test_gradients_of_all_tensors_of_a_block_are_drawn() -> None:
    found = [label.get_text() for label in figures.gradients().axes[0].get_yticklabels()]
    assert {"heads.w_q", "feed_forward.w_gate", "embedding", "unembedding"} <= set(found)
    assert len(found) == 12


def test_gradients_of_both_blocks_are_compared() -> None:
    found = figures.sizes()
    assert len(found) == 21
    after = [pair[1] for pair in found.values()]
    assert figures.groups()["after"] == pytest.approx(max(after) / min(after))


@pytest.mark.parametrize(("betas", "bound"), [((0.9, 0.95), 1.165), ((0.9, 0.999), 7.270)])
def test_the_bound_on_a_move_rises_to_its_limit(betas: tuple[float, float], bound: float) -> None:
    assert largest(*betas, 1) == pytest.approx(1)
    assert largest(*betas, 20000) == pytest.approx(bound, abs=6e-4)


def test_with_equal_betas_no_move_is_longer_than_the_rate() -> None:
    for t in (1, 5, 50):
        assert largest(0.9, 0.9, t) == pytest.approx(1)
