"""Sixteen bits: a part of what is stored is measured again, and rounding is what it says."""

import numpy as np
import pytest

from tformer_book.chapters.ch14 import half


def test_a_part_is_measured_again() -> None:
    found = half.stored()
    error, lost = half.at_scale(8)
    assert (error, lost) == pytest.approx(found["scales"]["8"], rel=0.05)
    small = np.abs(half.logits_gradient()) <= half.TINY
    assert small.mean() == pytest.approx(found["logits"], abs=2e-3)


def test_what_is_called_tiny_rounds_to_nothing() -> None:
    assert np.float16(half.TINY) == 0
    assert np.float16(half.TINY * 1.001) > 0


def test_logits_hear_of_each_target_alike() -> None:
    """The gradient of a mean over a whole batch: over its targets it adds up to -1 and 1."""
    found = half.logits_gradient()
    share = half.ROWS / half.BATCH
    assert found.sum() == pytest.approx(0, abs=1e-9)
    assert np.abs(found[found < 0]).sum() < share
