"""Averages over rows of normal scores: quadrature agrees with sampling."""

import math

import numpy as np
import pytest

from tformer import reference
from tformer_book.experiments import intervals
from tformer_book.experiments.gaussian_rows import (
    expected_max,
    expected_row,
    inverse_norm,
    squared_norms,
)


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.mark.parametrize("sigma", [0.1, 1.0, 5.0])
@pytest.mark.parametrize("n", [2, 40])
def test_quadrature_agrees_with_sampling(rng, sigma, n):
    s = sigma * rng.standard_normal((40_000, n))
    p = reference.softmax(s)
    row = expected_row(sigma, n)
    sampled = reference.logsumexp(s), (p * s).sum(axis=-1), (p * p).sum(axis=-1)
    for values, want in zip(sampled, (row.lse, row.score, row.coincidence), strict=True):
        mean, half = intervals.mean_interval(values, 1 - 1e-6)
        assert abs(mean - want) <= half
    mean, half = intervals.mean_interval(reference.entropy(p), 1 - 1e-6)
    assert abs(mean - row.entropy) <= half


def test_expected_row_of_equal_scores_is_uniform():
    row = expected_row(1e-6, 64)
    assert row.entropy == pytest.approx(math.log(64), abs=1e-7)
    assert row.coincidence == pytest.approx(1 / 64, abs=1e-9)


def test_expected_max_is_known_for_few_scores():
    assert expected_max(1) == pytest.approx(0, abs=1e-9)
    assert expected_max(2) == pytest.approx(1 / math.sqrt(math.pi), abs=1e-9)
    assert expected_max(4) == pytest.approx(1.0293753730, abs=1e-9)


@pytest.mark.parametrize("d", [2, 3, 64, 4096])
def test_squared_norms_have_the_moments_of_chi_squared(d):
    x, weight = squared_norms(d)
    assert weight @ x == pytest.approx(d, rel=1e-6)
    assert weight @ x**2 == pytest.approx(d * d + 2 * d, rel=1e-6)


def test_mean_inverse_norm():
    assert inverse_norm(2) == pytest.approx(math.sqrt(math.pi / 2))
    assert inverse_norm(3) == pytest.approx(math.sqrt(2 / math.pi))
    squares, weights = squared_norms(64)
    assert inverse_norm(64) == pytest.approx(weights @ squares**-0.5, rel=1e-9)
