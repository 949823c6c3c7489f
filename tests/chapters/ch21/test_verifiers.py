"""Verifiers of chapter 21 look at what their claims say: each dies of code that is wrong."""

import numpy as np
import pytest

from tformer_book.chapters.ch21 import claims, claims_images, graphs, sets
from tformer_book.chapters.ch21.claims_sets import sets_
from tformer_book.claims.registry import ClaimFailed


def test_the_library_without_masks_plays_no_life(monkeypatch: pytest.MonkeyPatch) -> None:
    block = claims.reference.block
    monkeypatch.setattr(claims.reference, "block", lambda x, p, c, mask=None: block(x, p, c))
    with pytest.raises(ClaimFailed, match="of 512 neighbourhoods are wrong"):
        claims.life()
    with pytest.raises(ClaimFailed, match=r"k = 1: \d+ more pairs are reached"):
        claims.graph_hops()


def test_an_edge_that_is_left_out_is_missed(monkeypatch: pytest.MonkeyPatch) -> None:
    mask = graphs.graph_mask
    monkeypatch.setattr(graphs, "graph_mask", lambda n, pairs: mask(n, pairs[1:]))
    with pytest.raises(ClaimFailed, match="k = 1: 2 pairs are not reached"):
        claims.graph_hops()


def test_positions_that_nobody_adds_are_missed(monkeypatch: pytest.MonkeyPatch) -> None:
    """If the last hidden states knew their place, logits would change with the order."""
    states = claims_images.hidden_states

    def placed(*given: object) -> np.ndarray:
        x = states(*given)
        return x * (1 + np.arange(x.shape[-2])[:, None])

    monkeypatch.setattr(claims_images, "hidden_states", placed)
    with pytest.raises(ClaimFailed, match="with both permuted"):
        claims_images.patch_permutation()


def test_a_constant_that_is_wrong_is_missed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sets, "constant", lambda size: 0.004)
    with pytest.raises(ClaimFailed, match=r"the best constant misses 0\.0027"):
        sets_()
