"""What the page says of the real model, measured again where it is installed."""

import numpy as np
import pytest

from tformer import pretrained
from tformer.models.pretrained import from_checkpoint
from tformer.models.sizes import count_parameters
from tformer_book.chapters.ch10 import figures, real

FOUND = real.stored()


def test_the_real_model_still_gives_what_is_stored(
    checkpoint: pretrained.Checkpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = from_checkpoint(checkpoint)
    again = real.measured(model)
    assert again["parameters"] == FOUND["parameters"]
    assert again["written"] == FOUND["written"]
    for text, one in FOUND["next"].items():
        words, p = zip(*one["likeliest"], strict=True)
        found, other = zip(*again["next"][text]["likeliest"], strict=True)
        assert set(found) == set(words)
        np.testing.assert_allclose(sorted(other), sorted(p), atol=5e-4)
    for name in ("odds", "cured"):
        for text, one in FOUND[name].items():
            np.testing.assert_allclose(again[name][text], one, atol=5e-3)
    monkeypatch.setattr(real, "ASKED", ("eggs", "qwertyuiop"))
    with pytest.raises(ValueError, match="'qwertyuiop' must be one token; got"):
        real.measured(model)


def test_what_is_stored_bears_what_the_page_says() -> None:
    assert FOUND["parameters"] == count_parameters(figures.SMOL, figures.LLAMA)
    assert list(FOUND["next"]) == list(real.LISTS)
    assert FOUND["next"]["Buy milk and"]["likeliest"][0][0] == " eggs"
    assert FOUND["next"]["Buy milk and"]["asked"][0][1] == 1
    assert FOUND["next"]["Pack laptop and"]["asked"][1][1] > 1000
    assert FOUND["next"]["Pack laptop and a"]["asked"][1][1] > 1000
    assert all(value > 0 for pair in FOUND["odds"].values() for value in pair)
    (woke, woke_alone), (narrowed, narrowed_alone) = FOUND["cured"].values()
    assert woke > woke_alone > 4
    assert narrowed < narrowed_alone < -4
