"""Intervals and margins cover as often as they say."""

import numpy as np
import pytest

from tformer_book.experiments import intervals


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def test_student_interval_covers_as_often_as_it_says(rng):
    samples = rng.standard_normal((100, 4000)) ** 2
    mean, half = intervals.mean_interval(samples, confidence=0.9)
    assert np.mean(abs(mean - 1) <= half) == pytest.approx(0.9, abs=0.03)
    wider = intervals.mean_interval(samples, confidence=0.9, points=10)[1]
    assert np.allclose(wider, intervals.mean_interval(samples, confidence=0.99)[1])


def test_median_interval_covers_at_least_as_often_as_it_says(rng):
    found = np.array([intervals.median_interval(rng.standard_cauchy(99), 0.9) for _ in range(2000)])
    middle, low, high = found.T
    assert ((low < middle) & (middle < high)).all()
    assert 0.9 <= np.mean((low <= 0) & (high >= 0)) < 0.95


def test_median_interval_refuses_too_few_draws():
    with pytest.raises(ValueError, match="median_interval: 5 draws are too few"):
        intervals.median_interval(np.arange(5.0), 0.99)


@pytest.mark.parametrize("failure", [0.5, 0.1])
def test_margins_fail_no_more_often_than_they_say(rng, failure):
    coins = rng.random((4000, 100)) < 0.1
    off = abs(coins.mean(axis=-1) - 0.1)
    assert np.mean(off > intervals.hoeffding_margin(100, failure=failure)) <= failure
    bernstein = [intervals.bernstein_margin(row * 1.0, failure=failure) for row in coins[:500]]
    assert np.mean(off[:500] > bernstein) <= failure
    ordered = np.sort(rng.random((4000, 100)), axis=-1)
    gap = np.abs(ordered - np.arange(100) / 100).max(axis=-1)
    assert np.mean(gap > intervals.cdf_margin(100, failure)) <= failure
    assert intervals.hoeffding_margin(100, 3, failure) == 3 * intervals.cdf_margin(100, failure)


def test_gap_between_distribution_functions():
    even = np.array([0.625, 0.125, 0.875, 0.375])
    assert intervals.cdf_gap(even, lambda x: x) == 0.125
    assert intervals.cdf_gap(even + 0.1, lambda x: x) == pytest.approx(0.225)
    assert intervals.cdf_gap(even**2, np.sqrt) == 0.125
