"""First parameters: the size of rows at any depth, and biases that are seen."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from test_models import GPT, SMALL, T, in_torch, tokens
from tformer import fast, reference
from tformer.configuration import Configuration
from tformer.models.sizes import initialise
from tformer.parameters import leaves


def test_first_parameters_keep_the_size_of_rows_at_any_depth() -> None:
    """Of the sum of 2 L branches the variance is that of two whole ones, whatever L."""
    sizes = replace(SMALL, d_model=64, d_ff=256, n_layers=16)
    rng, words = np.random.default_rng(0), tokens(4, T)
    grown = []
    for n_layers in (1, 16):
        p = initialise(replace(sizes, n_layers=n_layers), GPT, rng, std=0.1)
        p = replace(p, norm=None)
        grown.append(np.var(reference.encoder(words, p, GPT)))
    assert grown[1] / grown[0] < 1.5
    with pytest.raises(ValueError, match="n_groups must divide 4 heads; got 3"):
        initialise(replace(SMALL, n_groups=3), GPT, rng)
    with pytest.raises(ValueError, match="d_model must be a multiple of 4 heads; got 22"):
        initialise(replace(SMALL, d_model=22), GPT, rng)


def test_first_parameters_can_be_spread_so_that_every_bias_is_seen() -> None:
    sizes = replace(SMALL, has_cross_attention=True, n_positions=7)
    c = Configuration(positions="relative")
    bare = initialise(sizes, c, np.random.default_rng(0))
    assert any((x == 0).all() for x in leaves(bare))
    made = initialise(sizes, c, np.random.default_rng(0), spread=0.1)
    for one, other in zip(leaves(made), leaves(bare), strict=True):
        assert 0.01 < np.std(one - other) < 0.2
        assert len(np.unique(one)) == one.size


@pytest.mark.parametrize("module", [reference, fast], ids=["reference", "fast"])
def test_a_bias_is_added_once(module: Any) -> None:
    """Of a layer that passes nothing on but its bias, whatever the number of heads."""
    for n_heads in (1, 2, 4):
        sizes = replace(SMALL, n_heads=n_heads, n_layers=1)
        p = initialise(sizes, GPT, np.random.default_rng(0), spread=0.1)
        one = p.blocks[0]
        silent = replace(one.heads, w_o=0 * one.heads.w_o)
        shut = replace(one.feed_forward, w_out=0 * one.feed_forward.w_out)
        p = replace(p, norm=None, blocks=(replace(one, heads=silent, feed_forward=shut),))
        words, rows = tokens(5), p.embedding[tokens(5)] + p.positions[:5]
        want = rows + one.heads.b_o + one.feed_forward.b_out
        given = (words, p) if module is reference else (torch.from_numpy(words), in_torch(p))
        np.testing.assert_allclose(module.encoder(*given, GPT), want, rtol=0, atol=1e-12)
