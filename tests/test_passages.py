"""The passages on which the real model is measured, and how its loss is taken."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tformer import pretrained, reference
from tformer.configuration import Configuration
from tformer.models.pretrained import PretrainedModel, from_checkpoint
from tformer.models.sizes import Sizes, initialise
from tformer_book.experiments import passages

TEXT = np.array([3, 1, 4, 1, 5])


@pytest.fixture
def small() -> PretrainedModel:
    configuration = Configuration(norm="rms", positions="rope")
    sizes = Sizes(n_vocab=7, d_model=8, n_layers=2, n_heads=2, d_ff=12)
    rng = np.random.default_rng(0)
    return PretrainedModel(None, initialise(sizes, configuration, rng, std=0.5), configuration)


def test_passages_are_long_enough_and_of_ordinary_prose(checkpoint: pretrained.Checkpoint) -> None:
    model = from_checkpoint(checkpoint)
    found = passages.tokens(model)
    assert found.shape == (8, passages.LENGTH)
    for text, row in zip(passages.PASSAGES.values(), found, strict=True):
        assert text.startswith(model.tokenizer.decode(row.tolist()))
    assert passages.tokens(model, ["essay"]).tolist() == found[-1:].tolist()


def test_the_loss_is_that_of_the_token_that_comes(small: PretrainedModel) -> None:
    logits = reference.decoder(TEXT, small.parameters, small.configuration)
    np.testing.assert_allclose(passages.read(small, TEXT)["logits"], logits, atol=1e-12)
    p = np.exp(logits) / np.exp(logits).sum(axis=-1, keepdims=True)
    want = [-np.log(p[t, TEXT[t + 1]]) for t in range(4)]
    np.testing.assert_allclose(passages.losses(logits, TEXT), want, atol=1e-12)


def test_a_mask_hides_and_a_hook_is_in_each_block(small: PretrainedModel) -> None:
    mask = np.ones((5, 5), bool)
    mask[3, 1] = False
    run = passages.read(small, TEXT, mask=mask)
    assert not run["blocks.1.weights"][:, 3, 1].any()

    def half(x: Any) -> Any:
        return x / 2

    hooks: dict[str, Callable[[Any], Any]] = passages.everywhere(small, k=half, v=half)
    assert sorted(hooks) == [f"blocks.{i}.{part}" for i in (0, 1) for part in "kv"]
    whole, halved = passages.read(small, TEXT), passages.read(small, TEXT, hooks)
    np.testing.assert_allclose(halved["blocks.0.k"], whole["blocks.0.k"] / 2)


def test_weights_are_those_of_a_whole_run(small: PretrainedModel) -> None:
    run, got = passages.read(small, TEXT), passages.weights(small, TEXT)
    assert got.shape == (2, 2, 5, 5)
    for i, weights in enumerate(got):
        np.testing.assert_array_equal(weights, run[f"blocks.{i}.weights"])


@pytest.mark.parametrize(
    "parts", [["0.weights"], ["1.k"], ["1.feed_forward", "1.k"], ["0.v", "1.q"], []]
)
def test_a_run_goes_on_from_the_first_block_that_is_changed(
    parts: list[str], small: PretrainedModel
) -> None:
    hooks: dict[str, Callable[[Any], Any]] = {f"blocks.{part}": lambda x: x / 2 for part in parts}
    want = passages.read(small, TEXT, hooks)
    got = passages.again(small, TEXT, passages.read(small, TEXT), hooks)
    assert list(got) == list(want)
    for name, x in want.items():
        np.testing.assert_array_equal(got[name], x, err_msg=name)


def test_blocks_before_a_change_are_not_computed_again(small: PretrainedModel) -> None:
    run = passages.read(small, TEXT)
    run["blocks.0.after"] = 0 * run["blocks.0.after"]
    got = passages.again(small, TEXT, run, {"blocks.1.k": lambda k: k})
    assert not got["blocks.1.attention"].any()
