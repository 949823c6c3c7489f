"""Trained decoders name a parity: their texts, and the beginning of two trainings done again."""

import numpy as np
import pytest
import torch

from tformer import fast
from tformer_book.chapters.ch19 import parity

FOUND = parity.stored()


def test_a_text_holds_the_bits_and_the_parity_of_each_prefix_or_of_all() -> None:
    bits = np.array([[1, 0, 1, 1]])
    assert parity.texts(bits, steps=True).tolist() == [[1, 0, 1, 1, parity.EQUALS, 1, 1, 0, 1]]
    assert parity.texts(bits, steps=False).tolist() == [[1, 0, 1, 1, parity.EQUALS, 1]]


def test_what_is_held_out_is_in_no_lesson_and_nothing_is_lost() -> None:
    known, held_out = (half.tolist() for half in parity.split(8))
    assert len(known) == len(held_out) == 2**7
    assert len({*map(tuple, known + held_out)}) == 2**8
    assert parity.split(8, 1)[0].tolist() != known


@pytest.mark.parametrize("steps", [False, True])
def test_a_training_begins_as_the_stored_one(steps: bool) -> None:
    heard: list[float] = []
    parity.learned(8, steps, until=parity.EARLY, heard=heard.append)
    name = f"8 {'with steps' if steps else 'at once'}"
    assert heard == [pytest.approx(FOUND[name][0]["early"], abs=1e-6)]


def test_a_model_that_writes_reads_its_own_bits() -> None:
    """One pass over all that it wrote must name the same bits, from the first on."""
    bits = parity.split(8)[1][:20]
    for steps, n in ((False, 1), (True, 8)):
        model = parity.learned(8, steps, until=5)
        found = parity.written(model, bits, steps)
        assert found.shape == (20, n)
        read = np.hstack([parity.texts(bits, steps)[:, :9], found[:, :-1]])
        logits = fast.decoder(torch.from_numpy(read), model, parity.CONFIGURATION)[:, 8:]
        assert (logits.argmax(dim=-1).numpy() == found).all()


def test_with_steps_a_shorter_training_names_what_it_has_not_read() -> None:
    """Stored are 1,000 steps; of the three seeds the first is there after 400."""
    known, held_out = parity.split(8)
    model = parity.learned(8, True, until=400)
    for bits in (known, held_out):
        assert (parity.written(model, bits, True)[:, -1] == bits.sum(axis=1) % 2).mean() > 0.9
