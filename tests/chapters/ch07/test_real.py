"""What the deeper page says of the real model, measured again where it is installed."""

import numpy as np

from tformer import pretrained
from tformer.models.pretrained import from_checkpoint
from tformer_book.chapters.ch07 import real

FOUND = real.stored()


def test_the_real_model_still_gives_what_is_stored(checkpoint: pretrained.Checkpoint) -> None:
    again = real.measured(from_checkpoint(checkpoint))
    assert again.keys() == FOUND.keys()
    for name, loss in FOUND.items():
        np.testing.assert_allclose(again[name], loss, rtol=1e-3, err_msg=name)


def test_what_is_stored_bears_what_the_page_says() -> None:
    right, *wrong = FOUND.values()
    assert FOUND["as it was trained"] == right == min(FOUND.values())
    for name in ("the other pairing, coordinates reordered", "all places 1,000 further on"):
        assert abs(FOUND[name] - right) < 2e-4, name
    for name in ("base 10,000 for 100,000", "base 1,000,000"):
        assert 0.01 < FOUND[name] - right < 0.1, name
    assert 1.5 < FOUND["the other pairing"] - right < FOUND["all places 0"] - right
    assert len(wrong) == 6
