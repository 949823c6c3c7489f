"""The retrieval experiment: prediction and measurement belong together."""

import numpy as np
import pytest

from tformer.experiments.retrieval import capacity, expected_weight, interference, retrieved


def test_interference_is_the_mean_over_all_keys():
    d, beta = 3, 2.0
    signs = np.array(np.meshgrid(*[[-1.0, 1.0]] * d)).reshape(d, -1).T
    assert interference(d, beta) == pytest.approx(np.exp(beta * (signs.mean(axis=1) - 1)).mean())


def test_one_key_is_always_found():
    assert expected_weight(1, 8, 1.0) == 1
    np.testing.assert_allclose(retrieved(1, 8, 1.0, trials=5), 1)


@pytest.mark.parametrize("weight", [0.2, 0.5, 0.8])
def test_capacity_is_the_last_size_above_the_weight(weight):
    n = capacity(16, 8.0, weight)
    assert expected_weight(n, 16, 8.0) >= weight > expected_weight(n + 1, 16, 8.0)


def test_same_seed_same_trials():
    first, second = retrieved(20, 8, 4.0, trials=10), retrieved(20, 8, 4.0, trials=10)
    np.testing.assert_array_equal(first, second)
    assert not np.array_equal(first, retrieved(20, 8, 4.0, trials=10, seed=1))
