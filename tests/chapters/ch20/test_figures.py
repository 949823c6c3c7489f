"""What the figures of the chapter draw."""

import numpy as np
import pytest

from tformer.chapters.ch20 import figures, published
from tformer.figures.style import svg


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
