"""What the figures of the chapter draw."""

import numpy as np
import pytest

from tformer_book.chapters.ch20 import figures, measured, published
from tformer_book.figures.style import svg


def test_the_five_are_marked_and_the_exponent_falls() -> None:
    left, right = figures.five()
    (_, dots, marked) = left.axes[0].lines
    assert (len(dots.get_xdata()), len(marked.get_xdata())) == (245, 5)
    assert np.max(marked.get_xdata()) < 0.41
    exponents = np.asarray(right.axes[0].lines[0].get_ydata())
    assert (np.diff(exponents) < 0).all()
    assert exponents[[0, -1]] == pytest.approx([0.5646, 0.5139], abs=5e-5)
    assert "<svg" in svg(left, right)


def test_the_advice_is_that_of_each_law() -> None:
    lines = figures.advice().axes[0].lines[:4]
    nearest = np.abs(np.log(figures.BUDGETS / 1e23)).argmin()
    found = [np.asarray(line.get_ydata())[nearest] for line in lines]
    assert found == pytest.approx([78.2, 50.6, 18.8, 8.5], abs=0.1)


def test_the_vertex_is_drawn_where_it_is_found() -> None:
    true, found = figures.parabola().axes[0].lines[3:]
    assert true.get_xdata() == [1]
    assert 0.5 < found.get_xdata()[0] < 0.97
    assert published.PRINTED.share < 0.5


def test_the_strip_asks_and_tells() -> None:
    asked = [text.get_text() for part in figures.strip(told=False) for text in part.axes[0].texts]
    assert asked.count("?") == 6
    told = [text.get_text() for part in figures.strip() for text in part.axes[0].texts]
    assert [text for text in told if text.startswith("2.")] == [
        f"{loss:.3f}" for loss in figures.losses()
    ]
    assert "83.3 billion" in told


def test_each_run_of_the_sweep_is_a_dot_and_the_lines_are_the_law() -> None:
    runs, law = measured.sweep(), measured.law()
    for part, given, along in zip(figures.sweep(), (runs.n, runs.d), (runs.d, runs.n), strict=True):
        dots, lines = part.axes[0].lines[::2], part.axes[0].lines[1::2]
        assert sum(len(one.get_xdata()) for one in dots) == 24
        for one, line, size in zip(dots, lines, np.unique(given), strict=True):
            assert set(one.get_xdata()) == set(along[given == size])
            n, d = (size, line.get_xdata()) if given is runs.n else (line.get_xdata(), size)
            assert line.get_ydata() == pytest.approx(law.loss(n, d))


def test_half_of_a_block_is_attention_at_six_widths() -> None:
    for dot in figures.attention().axes[0].lines[1::2]:
        assert dot.get_xdata()[0] % (6 * 256) == 0
        assert dot.get_ydata() == [0.5]


def test_lines_through_a_law_with_a_floor_are_flatter_than_it() -> None:
    exponents = [figures.straight(*ends)[0] for ends in figures.STRETCHES]
    assert exponents == pytest.approx([0.1376, 0.0410], abs=5e-5)


def test_the_optimum_of_each_budget_is_drawn_on_it() -> None:
    left, right = figures.spend()
    diamonds = [line for line in left.axes[0].lines if line.get_marker() == "D"]
    products = [6 * line.get_xdata()[0] * line.get_ydata()[0] for line in diamonds]
    assert products == pytest.approx([1e19, 1e21, 1e23])
    for line in right.axes[0].lines:
        assert np.argmin(line.get_ydata()) == 60
        assert line.get_xdata()[60] == pytest.approx(1)
