"""The published runs, and the numbers that a refit gives."""

import numpy as np
import pytest

from tformer_book.chapters.ch20 import published
from tformer_book.experiments.scaling import fit, objective


def test_the_runs_are_those_that_were_read_off() -> None:
    runs = published.runs()
    assert len(runs.n) == 245
    assert (runs.n[0], runs.loss[0]) == (6.7956e9, 5.005582)
    assert 6 * runs.n[0] * runs.d[0] == pytest.approx(9.99385e18)
    assert (runs.n.min(), runs.n.max()) == (57334200, 16183300000)
    assert runs.loss.sum() == pytest.approx(655.032084, abs=1e-6)


def test_a_refit_gives_the_numbers_of_the_replication() -> None:
    law = published.refit()
    assert (law.floor, law.a, law.b) == pytest.approx((1.8172, 477.8, 2143), abs=0.5)
    assert law.floor == pytest.approx(1.8172, abs=5e-5)
    assert (law.alpha, law.beta, law.share) == pytest.approx((0.3473, 0.3672, 0.5139), abs=5e-5)
    assert law.share == pytest.approx(published.REPLICATION.share, abs=2e-3)
    assert objective(law, published.middle()) == pytest.approx(0.00101828, abs=1e-8)


def test_five_runs_move_the_exponent() -> None:
    law = published.refit(0)
    assert (law.floor, law.beta, law.share) == pytest.approx((1.8913, 0.4531, 0.5646), abs=5e-5)


def test_five_others_do_not() -> None:
    every, rng = published.middle(), np.random.default_rng(0)
    for _ in range(10):
        counts = np.ones(240)
        counts[rng.choice(240, 5, replace=False)] = 0
        found = fit(every, counts=counts)
        assert found.share == pytest.approx(published.refit().share, abs=0.01)


def test_rounding_is_most_of_why_the_printed_law_fits_worse() -> None:
    runs, best = published.middle(), objective(published.refit(), published.middle())
    assert objective(published.PRINTED, runs) / best == pytest.approx(4.047, abs=1e-3)
    assert objective(published.SOURCE, runs) / best == pytest.approx(1.209, abs=1e-3)


def test_intervals_of_a_bootstrap() -> None:
    found = published.laws()
    share = np.quantile([law.share for law in found], [0.025, 0.975])
    floor = np.quantile([law.floor for law in found], [0.025, 0.975])
    assert share == pytest.approx((0.482, 0.561), abs=0.002)
    assert floor == pytest.approx((1.775, 1.873), abs=0.002)
    assert published.PRINTED.floor < floor[0]


def test_a_wrong_size_costs_a_third_as_much_at_the_budget_of_the_first_figure() -> None:
    law, costs = published.refit(), []
    for compute in (1e21, 5.76e23):
        n, d = law.optimum(compute)
        least = law.loss(n, d)
        costs.append([float(law.loss(n * part, d / part) - least) for part in (0.5, 0.1)])
    assert costs[0] == pytest.approx([0.015, 0.172], abs=5e-4)
    assert np.array(costs[1]) / costs[0] == pytest.approx(1 / 3, abs=0.03)
