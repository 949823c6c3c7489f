"""Capacity of experts, with numbers by hand."""

from types import ModuleType
from typing import Any

import numpy as np
import pytest
import torch

from tformer import fast, reference

LIBRARIES = pytest.mark.parametrize("module", [reference, fast], ids=["reference", "fast"])
ONE = [[0.9, 0], [0.8, 0], [0, 0.7], [0.6, 0], [0, 0.5]]
"""The expert of each of five tokens."""
TWO = [[0.6, 0.4, 0], [0.3, 0.7, 0], [0, 0.8, 0.2], [0.9, 0, 0.1]]
"""Two experts for each of four tokens."""


def of(module: ModuleType, x: Any) -> Any:
    array = np.array(x, dtype="float64")
    return array if module is reference else torch.from_numpy(array)


@LIBRARIES
def test_one_expert_a_token_takes_the_first_tokens(module: ModuleType) -> None:
    for capacity, left in ((0, []), (1, [0, 2]), (2, [0, 1, 2, 4]), (3, [0, 1, 2, 3, 4])):
        found = np.asarray(module.drop_overflow(of(module, ONE), capacity))
        expected = [row if t in left else [0, 0] for t, row in enumerate(ONE)]
        np.testing.assert_array_equal(found, expected)


@LIBRARIES
def test_first_choices_come_before_second_ones(module: ModuleType) -> None:
    """With room for two, the second expert is full of tokens 1 and 2, which rank it first."""
    found = np.asarray(module.drop_overflow(of(module, TWO), 2))
    expected = [[0.6, 0, 0], [0, 0.7, 0], [0, 0.8, 0.2], [0.9, 0, 0.1]]
    np.testing.assert_array_equal(found, expected)
    grad = 1 + np.arange(12.0).reshape(4, 3)
    found = module.drop_overflow_vjp(of(module, TWO), 2, of(module, grad))
    expected = [[1, 0, 0], [0, 5, 0], [0, 8, 9], [10, 0, 12]]
    np.testing.assert_array_equal(np.asarray(found), expected)


@LIBRARIES
def test_each_text_of_a_batch_has_its_own_places(module: ModuleType) -> None:
    batch = of(module, [ONE, ONE[::-1]])
    found = np.asarray(module.drop_overflow(batch, 2))
    for one, alone in zip(found, batch, strict=True):
        np.testing.assert_array_equal(one, np.asarray(module.drop_overflow(alone, 2)))
