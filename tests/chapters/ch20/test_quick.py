"""The quick sweep: that the table is the plan's, and what its law explains."""

from importlib.resources import files

import numpy as np
import pytest

from tformer_book.chapters.ch20 import figures_deeper, measured, quick
from tformer_book.experiments.scaling.sweep import SWEEPS


def test_the_table_holds_the_plan() -> None:
    runs, plans = quick.sweep(), SWEEPS["quick"].plans
    assert [*runs.n] == [plan.n for plan in plans]
    assert [*runs.d] == [plan.tokens for plan in plans]
    by_width = runs.loss.reshape(6, 4)
    assert (np.diff(by_width) < 0).all()
    assert (by_width[0] > by_width[-1]).all()
    text = (files("tformer_book.chapters.ch20") / "quick.csv").read_text("utf-8").splitlines()
    assert [line[0] for line in text[:2]] == ["#", "#"]


def test_the_law_explains_its_runs() -> None:
    runs, law = quick.sweep(), quick.law()
    off = np.log(runs.loss) - np.log(law.loss(runs.n, runs.d))
    assert quick.square() == pytest.approx(1 - (off**2).mean() / np.log(runs.loss).var())
    assert quick.square() == pytest.approx(0.9983, abs=5e-5)
    assert abs(off).max() < 0.0495
    assert quick.miss() == pytest.approx(off)


def test_the_run_that_was_held_out_lies_where_the_law_says() -> None:
    out, plan = quick.held_out(), SWEEPS["quick"].held_out
    assert (out.n[0], out.d[0]) == (plan.n, plan.tokens)
    middle, low, high = quick.expected()
    assert (middle, low, high) == pytest.approx((0.0315, 0.0292, 0.0344), abs=1e-4)
    assert low < out.loss[0] < high


def test_dots_are_runs_and_lines_are_both_laws() -> None:
    lines = figures_deeper.quick().axes[0].lines
    for dots, own, other in zip(lines[::3], lines[1::3], lines[2::3], strict=True):
        n = float(str(own.get_label()).removeprefix("N = ").replace(",", ""))
        these = quick.sweep().n == n
        np.testing.assert_array_equal(dots.get_xdata(), quick.sweep().d[these])
        np.testing.assert_array_equal(dots.get_ydata(), quick.sweep().loss[these])
        for line, law in ((own, quick.law()), (other, measured.law())):
            assert line.get_ydata() == pytest.approx(law.loss(n, line.get_xdata()))
