"""The retrieval experiment: prediction and measurement belong together."""

import numpy as np
import pytest
from scipy.stats import binom

from tformer import reference
from tformer_book.chapters.ch03.retrieval import capacity, expected_weight, interference, retrieved
from tformer_book.experiments.intervals import bernstein_margin


def test_interference_is_the_mean_over_all_keys():
    d, beta = 3, 2.0
    signs = np.array(np.meshgrid(*[[-1.0, 1.0]] * d)).reshape(d, -1).T
    assert interference(d, beta) == pytest.approx(np.exp(beta * (signs.mean(axis=1) - 1)).mean())


def test_one_key_is_always_found():
    assert expected_weight(1, 8, 1.0) == 1
    np.testing.assert_allclose(retrieved(1, 8, 1.0, trials=5), 1)


def test_weights_are_those_of_attention_over_random_keys():
    n, d, beta, trials = 5, 8, 4.0, 20_000
    keys = np.random.default_rng(1).choice([-1.0, 1.0], size=(trials, n, d))
    attended = reference.attention_weights(keys[:, :1], keys, scale=beta / d)[:, 0, 0]
    drawn = retrieved(n, d, beta, trials)
    for power in (1, 2):
        one, other = attended**power, drawn**power
        assert abs(one.mean() - other.mean()) <= bernstein_margin(one) + bernstein_margin(other)


@pytest.mark.parametrize("beta", [4.0, 16.0])
def test_mean_weight_agrees_with_quadrature(beta):
    n, d, t = 64, 32, np.linspace(0, 40, 40_001)
    signs = np.arange(d + 1)
    one_key = np.exp(-np.outer(t, np.exp(-2 * beta * signs / d))) @ binom.pmf(signs, d, 0.5)
    want = np.trapezoid(np.exp(-t) * one_key ** (n - 1), t)  # E[1/(1 + R)] = ∫ E[exp(-t(1 + R))] dt
    found = retrieved(n, d, beta)
    assert abs(found.mean() - want) <= bernstein_margin(found)


@pytest.mark.parametrize("weight", [0.2, 0.5, 0.8])
def test_capacity_is_the_last_size_above_the_weight(weight):
    n = capacity(16, 8.0, weight)
    assert expected_weight(n, 16, 8.0) >= weight > expected_weight(n + 1, 16, 8.0)


def test_same_seed_same_trials():
    first, second = retrieved(20, 8, 4.0, trials=10), retrieved(20, 8, 4.0, trials=10)
    np.testing.assert_array_equal(first, second)
    assert not np.array_equal(first, retrieved(20, 8, 4.0, trials=10, seed=1))
