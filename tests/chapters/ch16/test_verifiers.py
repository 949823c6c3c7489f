"""Verifiers of chapter 16 look at what their theorems say: each dies of a library that is wrong."""

import numpy as np
import pytest

from tformer.reference import blockwise
from tformer.reference.blockwise import SoftmaxState
from tformer_book.chapters.ch16 import claims, claims_deeper
from tformer_book.claims.registry import ClaimFailed


def test_blocks_are_merged_in_thm_blockwise(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blockwise, "merge_states", lambda a, b: b)
    with pytest.raises(ClaimFailed, match="row 1 is"):
        claims.blockwise()


@pytest.mark.parametrize("always", [True, False])
def test_both_ways_of_the_library_are_tried(always: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (blockwise, claims):
        monkeypatch.setattr(module, "_exp_in_range", lambda *_: always)
    with pytest.raises(ClaimFailed, match="row 1 is" if always else "with a maximum and without"):
        claims.blockwise()


def test_the_order_of_merging_is_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    def only_upwards(a: SoftmaxState, b: SoftmaxState) -> SoftmaxState:
        one = blockwise.merge_states(a, b)
        return (
            one if (b.output[:, 0] >= a.output[:, 0]).all() else one._replace(total=2 * one.total)
        )

    monkeypatch.setattr(claims, "merge_states", only_upwards)
    with pytest.raises(ClaimFailed, match="total"):
        claims.merging()


def test_the_counter_example_to_a_bound_without_the_values_size() -> None:
    """Products e^-80 · 1e-9 are below the normal numbers of float32: almost 1 in 100 is lost."""
    scores, v = np.full((1, 3), -80, np.float32), np.array([[1], [0.5], [0.3]], np.float32)
    terms = np.exp(scores)
    got = terms @ (v * np.float32(1e-9)) / terms.sum()
    assert abs(got.item() / 6e-10 - 1) > 5e-3
    with pytest.raises(ClaimFailed, match="the largest value"):
        claims_deeper.safe_shift(sized=False)
