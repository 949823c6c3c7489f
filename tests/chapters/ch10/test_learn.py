"""The trained decoders: what is stored, and the beginning of two trainings done again."""

from functools import cache
from typing import Any

import numpy as np
import pytest
import torch

from tformer import reference
from tformer.parameters import tree_map
from tformer_book.chapters.ch10 import learn

FOUND = learn.stored()
WORDS = learn._world()[0].words


@cache
def begun(kind: str) -> tuple[Any, list[tuple[int, float]], dict[str, Any]]:
    """A model after its first steps, what was heard, and what is measured."""
    heard: list[tuple[int, float]] = []
    model = learn.learned(kind, until=learn.EARLY, heard=lambda *said: heard.append(said))
    return model, heard, learn.measured(model)


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
    assert all(one["right"] > 5 * learn.guessed() for kind in FOUND.values() for one in kind)
    words = learn.PROMPTS["wide"].split()
    for one in FOUND["equal"]:
        np.testing.assert_allclose(one["wide"]["looks"], 1 / len(words), atol=1e-4)


def test_what_is_new_in_a_held_out_story_is_its_second_noun() -> None:
    second = learn.PROMPTS["wide"].split().index("street") - 1
    for kind, patient in (("free", 0.35), ("equal", 1.2)):
        for one in FOUND[kind]:
            more = np.array(one["held"]) - one["told"]
            assert more.argmax() == second
            assert more[second] > 0.6 * more.sum()
            assert more[-2] < patient


def test_the_first_drawing_finds_the_street_by_way_of_another_word() -> None:
    words, found = learn.PROMPTS["wide"].split(), FOUND["free"][0]["wide"]
    street, too = words.index("street"), words.index("too")
    assert max(row[street] for row in found["looks"]) < 0.05
    assert found["looks"][1][too] > 0.7
    assert found["too"][0][street] > 0.9
    kept, turned = found["cut"]
    assert abs(kept - found["p"]["street"]) < 0.01
    assert turned < 0.3


@pytest.mark.parametrize("kind", learn.KINDS)
def test_a_training_begins_as_the_stored_one_and_moves_what_it_should(kind: str) -> None:
    model, heard, found = begun(kind)
    assert heard == [(learn.EARLY, pytest.approx(FOUND[kind][0]["heard"], abs=1e-3))]
    asks = max(float(block.heads.w_q.abs().max()) for block in model.blocks)
    assert (asks == 0) == (kind == "equal")
    assert sum(found["told"]) < 25
    assert sum(found["held"]) > 7.7
    np.testing.assert_allclose(np.sum(found["tired"]["looks"], axis=1), 1, atol=2e-3)


def test_what_is_measured_is_what_the_reference_gives() -> None:
    model, _, found = begun("free")
    tokens = np.array([WORDS.index(word) for word in learn.PROMPTS["tired"].split()])
    numpy = tree_map(torch.Tensor.numpy, model)
    p = reference.softmax(reference.decoder(tokens, numpy, learn.CONFIGURATION)[-1])
    for word, share in found["tired"]["p"].items():
        assert p[WORDS.index(word)] == pytest.approx(share, abs=1e-4)


def test_a_cut_hides_one_word_from_one_other() -> None:
    tokens = torch.tensor([WORDS.index(word) for word in learn.PROMPTS["tired"].split()])
    model, _, _ = begun("free")
    (_, whole), (_, cut) = learn._read(tokens, model), learn._read(tokens, model, 5, 3)
    for table, other in zip(whole, cut, strict=True):
        assert not other.triu(1).any()
        assert other[5, 3] == 0 < table[5, 3]
    np.testing.assert_array_equal(np.flatnonzero((whole[0] != cut[0]).any(dim=1)), [5])


def test_chance_is_the_cures_alone() -> None:
    kinds = {"animal": 12, "wall": 6}
    assert 1 / kinds["animal"] < learn.guessed() < 1 / kinds["wall"]
