"""Decoders that learn to repeat: texts, what is stored, and a training begun again."""

import numpy as np
import pytest
import torch

from tformer_book.chapters.ch17 import induction


def test_a_text_is_a_row_of_words_again_and_again() -> None:
    rows = induction.texts(np.random.default_rng(0), 50, 20)
    assert rows.shape == (50, 48)
    assert (rows[:, 20:40] == rows[:, :20]).all()
    assert (rows[:, 40:] == rows[:, :8]).all()
    assert len({tuple(row[:20]) for row in rows}) == 50
    free = induction.texts(np.random.default_rng(0), 200)
    periods = [next(p for p in range(1, 48) if (row[p:] == row[:-p]).all()) for row in free]
    assert (min(periods), max(periods)) == (8, 24)


@pytest.mark.parametrize("layers", induction.LAYERS)
def test_a_training_begins_as_it_is_stored(layers: int) -> None:
    found = induction.trained(layers, 0, until=50)
    for told, wanted in zip(found, induction.stored()[str(layers)][0][:2], strict=True):
        for name, value in wanted.items():
            assert abs(told[name] - value) < 0.02, name


def test_the_cut_takes_the_diagonal_below_the_main_one_and_nothing_else() -> None:
    weights = torch.rand(2, 1, 6, 6)
    cut = induction.unseen(weights)
    assert (cut.diagonal(-1, dim1=-2, dim2=-1) == 0).all()
    rest = ~torch.eye(6, dtype=torch.bool).roll(1, 0)
    rest[0] = True
    assert (cut[..., rest] == weights[..., rest]).all()
