"""The mask editor in Python: its masks, its weights, what it counts, refuses and says."""

import numpy as np
import pytest

from tformer import reference
from tformer_book.chapters.ch05.mask_editor import MaskEditor
from tformer_book.chapters.ch05.paths import reach
from tformer_book.world import lexicon

ALL = np.ones((12, 12), dtype=bool)
CAUSAL = np.tri(12, dtype=bool)


def test_a_mask_is_made_of_its_parts() -> None:
    assert np.array_equal(MaskEditor(base="all").mask, ALL)
    assert np.array_equal(MaskEditor().mask, CAUSAL)
    window = CAUSAL & ~np.tri(12, k=-4, dtype=bool)
    assert np.array_equal(MaskEditor(base="window", window=4).mask, window)
    first, second = np.arange(12) < 5, np.arange(12) >= 5
    prefix = MaskEditor(base="causal", prefix=5).mask
    assert np.array_equal(prefix, CAUSAL | first)
    document = MaskEditor(base="causal", prefix=6, document=5, padding=2).mask
    same = np.outer(first, first) | np.outer(second, second)
    want = (CAUSAL | (np.arange(12) < 6)) & same & (np.arange(12) < 10)
    assert np.array_equal(document, want)
    flipped = MaskEditor(base="causal", flips=[[8, 11], [3, 0]]).mask
    assert np.argwhere(flipped != CAUSAL).tolist() == [[3, 0], [8, 11]]


def test_without_a_mask_the_weights_are_those_of_the_lexicon() -> None:
    sentence = next(iter(lexicon.SENTENCES))
    np.testing.assert_array_equal(MaskEditor(base="all").weights, lexicon.read(sentence).weights)


def test_the_row_of_it_does_not_know_what_follows_until_a_hole_lets_it() -> None:
    tired, wide = (MaskEditor(base="causal", last=word).weights[1] for word in ("tired", "wide"))
    np.testing.assert_array_equal(tired[:11], wide[:11])
    assert tired[8, 1] == pytest.approx(tired[8, 6], abs=1e-15)
    hole = MaskEditor(base="causal", flips=[[8, 11]]).weights[1]
    assert hole[8, 1] > 6 * hole[8, 6]


def test_leaks_and_what_a_word_knows() -> None:
    assert MaskEditor(base="all").leaks == (66, 66)
    assert MaskEditor(base="causal", n_layers=4).leaks == (0, 0)
    assert MaskEditor(base="causal", flips=[[8, 11]]).leaks == (1, 5)
    assert MaskEditor(base="causal", flips=[[8, 11]], n_layers=3).leaks == (1, 6)
    for n_layers in (1, 2, 3, 4):
        known = MaskEditor(base="window", selected=11, n_layers=n_layers).known
        assert known.sum() == 2 * n_layers + 1
        assert known[-1]


def test_paths_add_up_over_layers_and_broadcast() -> None:
    masks = np.random.default_rng(0).random((2, 3, 6, 6)) < 0.2
    known = reach(masks, 2)
    np.testing.assert_array_equal(
        reach(masks, 0), np.broadcast_to(np.eye(6, dtype=bool), known.shape)
    )
    np.testing.assert_array_equal(reach(masks, 5), reach(masks, 2) @ reach(masks, 3))
    for index in np.ndindex(2, 3):
        np.testing.assert_array_equal(known[index], reach(masks[index], 2))


def test_a_word_that_may_look_nowhere_has_no_weights() -> None:
    found = MaskEditor(padding=12)
    assert not found.weights.any()
    assert found.known.sum() == 1
    assert "animal 0.00, street 0.00" in repr(found)


def test_mask_editor_says_what_it_shows() -> None:
    assert repr(MaskEditor(base="causal")) == (
        "MaskEditor: causal, 78 of 144 cells open\n"
        "it in layer 2: animal 0.37, street 0.37, tired 0.00\n"
        "it can know 9 words through 2 layers\n"
        "leaks: 0 in one layer, 0 through 2"
    )
    assert "<li>leaks: 66 in one layer, 66 through 2</li>" in MaskEditor().fallback()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"last": "small"}, "last must be one of tired, wide; got small"),
        ({"base": "none"}, "base must be one of all, causal, window; got none"),
        ({"window": 0}, "window must be 1 to 12; got 0"),
        ({"document": 12}, "document must be 0 to 11; got 12"),
        ({"padding": 13}, "padding must be 0 to 12; got 13"),
        ({"n_layers": 5}, "n_layers must be 1 to 4; got 5"),
        ({"selected": -1}, "selected must be 0 to 11; got -1"),
        ({"flips": [[0, 12]]}, r"flips\[0\] must be two places 0 to 11; got \[0, 12\]"),
    ],
)
def test_mask_editor_refuses_in_words(arguments: dict, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        MaskEditor(**arguments)


def test_count_of_the_library_agrees() -> None:
    found = MaskEditor(base="window", window=2, flips=[[0, 5], [2, 11]])
    above = np.triu(found.mask, k=1)
    assert found.leaks[0] == above.sum() == 2
    assert found.leaks[0] == reference.count_leaks(found.mask.astype(float), CAUSAL)
