"""The page shows a reader's own file, and that computes what the library computes."""

from itertools import product

import numpy as np
import torch

from own_listings import listed
from tformer import reference
from tformer.configuration import Configuration
from tformer.models.state_dicts import from_state_dict
from tformer_book.own import my_transformer as own
from tformer_book.own.samples import parameters, small


def test_the_page_shows_the_lines_of_the_file() -> None:
    assert listed("10_block") == ["block", "self_attention", "transformer"]


def test_logits_and_caches_are_those_of_the_library() -> None:
    tokens = torch.tensor([[3, 1, 4, 1, 5, 9], [2, 6, 5, 3, 5, 8]])
    for n_groups, base, tied in product((1, 2, 4), (0.0, 500.0), (False, True)):
        c = small(own, n_groups=n_groups, base=base, tied=tied)
        p = parameters(own, c)
        form = Configuration(
            norm="rms",
            activation="silu",
            positions="rope" if base else "none",
            pairing="adjacent",
            base=base or 1.0,
        )
        arrays = {name: x.numpy() for name, x in p.items()}
        same = from_state_dict("llama", arrays, c.n_heads, c.n_groups)
        logits, caches = own.transformer(tokens, p, c)
        want, wanted_caches = reference.cached_decoder(tokens.numpy(), same, form)
        np.testing.assert_allclose(logits, want, rtol=1e-9, atol=1e-9)
        for cache, wanted in zip(caches, wanted_caches, strict=True):
            for x, y in zip(cache, (wanted.k, wanted.v), strict=True):
                np.testing.assert_allclose(x, y, rtol=1e-9, atol=1e-9)
