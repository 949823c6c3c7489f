"""The trained decoders: what is stored, and a short training done again."""

import numpy as np
import pytest
import torch

from tformer import reference
from tformer.chapters.ch10 import learn
from tformer.parameters import tree_map

FOUND = learn.stored()


def test_what_is_stored_bears_what_the_page_says() -> None:
    assert list(FOUND) == list(learn.KINDS)
    for kind, least in (("free", 0.89), ("equal", 0.81)):
        assert len(FOUND[kind]) == learn.SEEDS
        assert all(one["right"] >= least for one in FOUND[kind])
        both = [
            max(one["tired"]["p"], key=one["tired"]["p"].get) == "animal"
            and max(one["wide"]["p"], key=one["wide"]["p"].get) == "street"
            for one in FOUND[kind]
        ]
        assert sum(both) == 4
    words = learn.PROMPTS["wide"].split()
    looks = FOUND["free"][0]["wide"]["looks"]
    assert max(row[words.index("street")] for row in looks) < 0.05
    for one in FOUND["equal"]:
        np.testing.assert_allclose(one["wide"]["looks"], 1 / len(words), atol=1e-4)


@pytest.mark.parametrize("kind", learn.KINDS)
def test_training_lowers_the_loss_and_moves_what_it_should(kind: str) -> None:
    heard = []
    model = learn.learned(kind, steps=100, heard=lambda step, loss: heard.append((step, loss)))
    assert [step for step, _ in heard] == [100]
    assert heard[0][1] < 25
    asks = max(float(block.heads.w_q.abs().max()) for block in model.blocks)
    assert (asks == 0) == (kind == "equal")
    found = learn.measured(model)
    assert found["told"] < 25
    assert found["held"] > 7.7
    weights = np.array(found["tired"]["looks"])
    np.testing.assert_allclose(weights.sum(axis=1), 1, atol=2e-3)


def test_what_is_measured_is_what_the_reference_gives() -> None:
    model = learn.learned("free", steps=20)
    words = learn._world()[0].words
    tokens = np.array([words.index(word) for word in learn.PROMPTS["tired"].split()])
    numpy = tree_map(torch.Tensor.numpy, model)
    p = reference.softmax(reference.decoder(tokens, numpy, learn.CONFIGURATION)[-1])
    for word, share in learn.measured(model)["tired"]["p"].items():
        assert p[words.index(word)] == pytest.approx(share, abs=1e-4)
