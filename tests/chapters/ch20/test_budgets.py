"""Runs of one budget, their parabolas, and losses that stand still."""

import numpy as np
import pytest

from tformer_book.chapters.ch20 import budgets, figures_deeper, measured, plateaus, widths
from tformer_book.chapters.ch20.parabolas import vertex
from tformer_book.experiments.scaling import Law


def test_the_runs_of_a_budget_have_that_budget() -> None:
    for k, some in budgets.WIDTHS.items():
        runs = budgets.ours(k)
        assert [*runs.n] == [24 * width**2 for width in some]
        assert 6 * runs.n * runs.d == pytest.approx(budgets.compute(k), rel=2e-3)
    assert budgets.compute(3) == 6 * 384 * 2**22


def test_ten_runs_are_of_the_sweep_and_ten_are_planned_here() -> None:
    plans, seen = budgets.plans(), measured.sweep()
    assert len({plan.name for plan in plans}) == len(plans) == 10
    assert all(plan.steps * plan.batch * 32 == plan.tokens for plan in plans)
    found = [budgets.ours(k) for k in budgets.WIDTHS]
    pairs = {(n, d) for runs in found for n, d in zip(runs.n, runs.d, strict=True)}
    planned = {(plan.n, plan.tokens) for plan in plans}
    assert planned < pairs
    assert pairs - planned <= {*zip(seen.n, seen.d, strict=True)}


def test_a_vertex_is_where_the_formula_says() -> None:
    """On a law without scatter, with the windows of the runs; steep, so that it lies far off."""
    law = Law(0.0, 50.0, 900.0, 0.5, 0.9)
    for k in budgets.WIDTHS:
        n = np.log(budgets.ours(k).n)
        best = np.log(law.optimum(budgets.compute(k))[0])
        middle, width = (n[0] + n[-1]) / 2, (n[-1] - n[0]) / 2
        stated = best + vertex(law, budgets.compute(k), width, middle - best, points=5)
        assert np.log(budgets.bottom(k, law)) == pytest.approx(stated, abs=0.05)


def test_equal_exponents_spend_half_on_size() -> None:
    """With the best size in the middle of each window nothing is off by symmetry."""
    law = Law(0.0, 0.0527, 1.0, 0.6, 0.6)
    assert budgets.exponent(law) == pytest.approx(0.5, abs=0.01)
    for k in budgets.WIDTHS:
        best = law.optimum(budgets.compute(k))[0]
        assert budgets.bottom(k, law) == pytest.approx(best, rel=0.02)


def test_without_a_run_its_loss_has_no_say() -> None:
    four = [budgets.bottom(3, without=i) for i in range(5)]
    assert len({*four, budgets.bottom(3)}) == 6
    assert np.log(four) == pytest.approx(np.log(budgets.bottom(3)), abs=0.15)
    assert [*budgets.new().n] == [plan.n for plan in budgets.plans()]


def test_the_power_law_goes_through_both_ends() -> None:
    for kind in plateaus.TOLD:
        for step in plateaus.SEEN:
            said, found = plateaus.against(kind, step)
            assert said == pytest.approx(found)
    steps, loss = plateaus.losses("patient")
    assert [*steps[:3]] == [25, 50, 75]
    assert len(loss) == 140


def test_a_short_training_ends_as_it_was_measured() -> None:
    again = widths.ended(*widths.SHORT)
    for kind, loss in widths.short().items():
        assert again[kind] == pytest.approx(loss, abs=0.01), kind


def test_dots_are_trainings_and_lines_their_medians() -> None:
    ax = figures_deeper.sizes().axes[0]
    for kind, dots, line in zip(plateaus.TOLD, ax.lines[::2], ax.lines[1::2], strict=False):
        loss = widths.stored(kind)
        np.testing.assert_array_equal(dots.get_ydata(), loss.ravel())
        np.testing.assert_array_equal(line.get_ydata(), np.sort(loss)[:, 1])
        assert line.get_xdata() == pytest.approx(widths.WIDTHS, rel=0.05)
        assert loss.shape == (8, widths.SEEDS)
