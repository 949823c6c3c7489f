"""A gradient that is too long: what is stored bears what the page says, and is what it says."""

import pytest
import torch

from tformer import fast
from tformer.parameters import tree_map
from tformer_book.chapters.ch14 import spike, steps
from tformer_book.storyteller.stored import load, tokens
from tformer_book.storyteller.training import CONFIGURATION, batches, untrained

FOUND = spike.stored()


def test_other_batches_are_long_at_the_same_parameters_and_the_same_batch_is_not_before() -> None:
    assert len(FOUND["others"]) == spike.OTHERS
    assert len(FOUND["earlier"]) == len(spike.BEFORE)
    assert spike.SETTLED < FOUND["step"] == 143
    assert FOUND["length"] > spike.LONG
    assert min(FOUND["others"]) > 2 * max(FOUND["earlier"])
    assert FOUND["again"] < 0.2 < 30 < steps.norms()[spike.STEP - 1]


def test_a_length_is_that_of_the_gradient_of_this_batch_at_these_parameters() -> None:
    module = untrained(tokens())
    first = {name: x.detach().clone() for name, x in module.state_dict().items()}
    batch = batches(tokens())
    assert spike._length(module, first, batch(1)) == pytest.approx(steps.norms()[0], rel=5e-3)
    tree = tree_map(torch.tensor, load().parameters)
    state = fast.Module(fast.decoder, tree, configuration=CONFIGURATION).state_dict()
    found = spike._length(module, state, batch(spike.STEP))
    assert found == pytest.approx(steps.norm_of_batch(spike.STEP), rel=5e-3)
