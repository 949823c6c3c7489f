"""What the page says of the real model, measured again where it is installed."""

import numpy as np

from tformer import pretrained
from tformer.chapters.ch10 import figures, real
from tformer.models.real import model_of
from tformer.models.sizes import count_parameters

FOUND = real.stored()


def test_the_real_model_still_gives_what_is_stored(checkpoint: pretrained.Checkpoint) -> None:
    model = model_of(checkpoint)
    again = real.measured(model)
    assert again["parameters"] == FOUND["parameters"]
    assert again["written"] == FOUND["written"]
    for text, one in FOUND["next"].items():
        words, p = zip(*one["likeliest"], strict=True)
        found, other = zip(*again["next"][text]["likeliest"], strict=True)
        assert set(found) == set(words)
        np.testing.assert_allclose(sorted(other), sorted(p), atol=5e-4)
    for text, one in FOUND["odds"].items():
        np.testing.assert_allclose(again["odds"][text], one, atol=5e-3)
    asked = [word for words in real.LISTS.values() for word in words]
    asked += [f" {noun}" for nouns, _ in real.PAIRS.values() for noun in nouns]
    assert all(len(model.tokenizer.encode(word)) == 1 for word in asked)


def test_what_is_stored_bears_what_the_page_says() -> None:
    assert FOUND["parameters"] == count_parameters(figures.SMOL, figures.LLAMA)
    assert FOUND["next"]["Buy milk and"]["likeliest"][0][0] == " eggs"
    assert FOUND["next"]["Buy milk and"]["asked"][0][1] == 1
    assert FOUND["next"]["Pack laptop and"]["asked"][1][1] > 1000
    assert all(value > 0 for pair in FOUND["odds"].values() for value in pair)
