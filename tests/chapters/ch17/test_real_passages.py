"""What the deeper page measures on passages of prose: the changes, and a part measured again."""

from dataclasses import replace

import numpy as np
import pytest

from tformer import pretrained, reference
from tformer.configuration import Configuration
from tformer.models.pretrained import PretrainedModel, from_checkpoint
from tformer.models.sizes import Sizes, initialise
from tformer_book.chapters.ch17 import agreeing, left_out, parked, patterns
from tformer_book.experiments import passages

TEXT = np.array([3, 1, 4, 1, 5])


@pytest.fixture(scope="module")
def model(checkpoint: pretrained.Checkpoint) -> PretrainedModel:
    return from_checkpoint(checkpoint)


def test_the_first_token_is_hidden_from_all_others_and_nothing_else_is() -> None:
    want = [[1, 1, 1], [0, 1, 1], [0, 1, 1]]
    np.testing.assert_array_equal(parked.hidden(3), want)


def test_what_a_block_adds_is_taken_away_or_moved() -> None:
    y = np.random.default_rng(0).standard_normal((9, 4))
    for name, block, zero in zip(
        parked.CHANGES[1:], (11, 11, 10, 11), (0, parked.OTHER, 0, 0), strict=True
    ):
        (hook,) = parked._hooks()[name].items()
        got = hook[1](y)
        assert hook[0] == f"blocks.{block}.feed_forward"
        assert not got[zero].any()
        if name == parked.MOVED:
            np.testing.assert_array_equal(got[parked.OTHER], y[parked.OTHER] + y[0])
            got, zero = np.delete(got, parked.OTHER, 0), [0, parked.OTHER]
        else:
            got, zero = np.delete(got, zero, 0), [zero]
        kept = got[1:] if name == parked.MOVED else got
        np.testing.assert_array_equal(kept, np.delete(y, zero, 0))
    assert parked._hooks()[parked.HIDDEN] == {}


def test_even_patterns_share_among_all_up_to_a_position() -> None:
    np.testing.assert_allclose(patterns.even(3), [[1, 0, 0], [1 / 2] * 2 + [0], [1 / 3] * 3])


def test_a_block_is_left_out_and_no_other() -> None:
    configuration = Configuration(norm="rms", positions="rope")
    sizes = Sizes(n_vocab=7, d_model=8, n_layers=3, n_heads=2, d_ff=12)
    p = initialise(sizes, configuration, np.random.default_rng(0), std=0.5)
    model = PretrainedModel(None, p, configuration)
    run = passages.read(model, TEXT)
    for block in range(3):
        kept = [one for i, one in enumerate(p.blocks) if i != block]
        want = reference.decoder(TEXT, replace(p, blocks=tuple(kept)), configuration)
        got = left_out.without(model, TEXT, run, block)
        np.testing.assert_allclose(got, want, atol=1e-12)
        assert abs(got - run["logits"]).max() > 1e-3


def test_parked_weight_is_as_stored(model: PretrainedModel) -> None:
    again = parked.measured(model, ["tale"])
    assert again.keys() == parked.stored().keys()
    for name, row in parked.stored().items():
        for key, values in row.items():
            rtol, atol = (2e-3, 0.0) if key in ("loss", "late", "norms") else (0.0, 3e-3)
            found = again[name][key][0]
            np.testing.assert_allclose(found, values[0], rtol=rtol, atol=atol, err_msg=name)


def test_replaced_patterns_cost_as_much_as_stored(model: PretrainedModel) -> None:
    again = patterns.measured(model, ["tale"])
    assert again.keys() == patterns.stored().keys()
    for name, losses in patterns.stored().items():
        np.testing.assert_allclose(again[name], losses[:1], rtol=2e-3, err_msg=name)


def test_blocks_left_out_cost_as_much_as_stored(model: PretrainedModel) -> None:
    blocks = (11, 17, 29)
    again, found = left_out.measured(model, ["tale"], blocks), left_out.stored()
    np.testing.assert_allclose(again["whole"], found["whole"][:1], rtol=2e-3)
    want = [found["without"][0][i] for i in blocks]
    np.testing.assert_allclose(again["without"][0], want, rtol=2e-3)
    for name in ("renamed", "right"):
        np.testing.assert_allclose(again[name][0], found[name][0], atol=0.011)


@pytest.mark.parametrize("kind", agreeing.KINDS)
def test_repeats_go_on_as_stored(model: PretrainedModel, kind: str) -> None:
    row = agreeing.measured(model, [kind], seeds=agreeing.SEEDS[:1])[kind]
    n = len(agreeing.FROM)
    found = agreeing.stored()[kind]
    assert len(found["loss"]) == n * len(agreeing.SEEDS)
    np.testing.assert_allclose(row["loss"], found["loss"][:n], rtol=0.01, atol=0.02)
    assert np.not_equal(row["named"], found["named"][:n]).sum() <= 1


def test_a_text_comes_again_from_the_position_that_is_named(model: PretrainedModel) -> None:
    for kind in agreeing.KINDS:
        text = agreeing.drawn(model, kind, 0)
        assert len(set(text.tolist())) == 50
        assert text.min() >= agreeing.SPECIAL
    assert agreeing.named("any tokens")[0] == 0
