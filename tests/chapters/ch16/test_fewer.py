"""Fewer bits in the storyteller: rounding, and how far it moves the predictions."""

import numpy as np

from tformer import reference
from tformer_book.chapters.ch16 import fewer
from tformer_book.storyteller import load


def test_a_number_moves_by_half_a_step_of_its_block_at_most() -> None:
    x = np.random.default_rng(0).standard_normal((6, 64)) * np.geomspace(0.01, 10, 6)[:, None]
    for bits, steps in ((2, 1), (4, 7), (8, 127)):
        rows, got = x.reshape(-1, 32), fewer.quantised(x, bits).reshape(-1, 32)
        step = np.abs(rows).max(axis=1, keepdims=True) / steps
        assert (np.abs(got - rows) <= step / 2 * (1 + 1e-12)).all()
        np.testing.assert_allclose(got / step, np.round(got / step), atol=1e-9)
    np.testing.assert_array_equal(fewer.quantised(np.zeros((1, 32)), 4), 0)


def test_without_rounding_it_is_the_storyteller() -> None:
    tokens, teller = fewer.tales()[0], load()
    want = reference.decoder(tokens, teller.parameters, teller.configuration)
    np.testing.assert_allclose(fewer.logits(tokens, teller.parameters), want, atol=1e-4)


def test_more_bits_move_the_predictions_less_and_the_cache_needs_fewer() -> None:
    found = fewer.measured_bits()
    for kind in found.values():
        assert [*kind.values()] == sorted(kind.values(), reverse=True)
    assert all(found["cache"][bits] < found["matrices"][bits] for bits in fewer.BITS)
    assert found["matrices"][4] < 0.05 < 1 < found["matrices"][2]
    assert found["cache"][4] < 0.001 < 0.1 < found["cache"][2]
