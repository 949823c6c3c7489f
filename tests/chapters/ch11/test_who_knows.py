"""Who can know whom, in Python: the masks of the library, what was trained, what it refuses."""

from itertools import product

import numpy as np
import pytest

from tformer import reference
from tformer_book.chapters.ch11 import forms, tasks
from tformer_book.chapters.ch11.who_knows import NAMES, STORIES, WhoKnows, same_word


def widgets() -> list[WhoKnows]:
    """Every architecture and sentence, a few places, all numbers of layers."""
    return [
        WhoKnows(form=form, story=story, place=place, layers=layers)
        for form in NAMES
        for story in range(len(STORIES))
        for place in (0, tasks.IT, 12, 17)
        for layers in (0, 1, 2)
    ]


def test_what_is_known_is_what_the_mask_shows() -> None:
    for one in widgets():
        n = len(one.words)
        mask = {
            "encoder": np.ones((n, n), dtype=bool),
            "decoder": reference.causal_mask(n, n),
            "prefix": reference.prefix_mask(n, n, 13),
            "pair": reference.prefix_mask(n, n, 12),
        }[one.form]
        want = mask[one.at] if one.layers else np.arange(n) == one.at
        np.testing.assert_array_equal(one.knows, want)


@pytest.mark.parametrize("norm", ["layer", "rms"])
def test_one_head_is_enough_to_know_whom_the_mask_shows(norm: str) -> None:
    """The point at which the deeper page proves that no derivative is zero, under three masks."""
    p, c = forms.one_head(norm)
    documents = np.repeat([0, 1], [4, 5])
    masks = [forms.known("encoder", 9), forms.known("prefix", 9, 4)]
    masks.append(reference.packed_mask(documents, documents))
    for mask, found in zip(masks, forms.influence(p, np.stack(masks), c), strict=True):
        np.testing.assert_array_equal(found > 1e-9, mask)
        assert not found[~mask].any()


def test_it_says_what_a_trained_model_says_where_it_was_asked() -> None:
    assert repr(WhoKnows()).splitlines()[0] == "WhoKnows: encoder, “it” after 2 layers"
    for story, noun in enumerate(("animal", "street", "piano", "door")):
        assert WhoKnows(story=story).said[0][0] == noun
        assert WhoKnows(form="decoder", story=story, place=12).said[0][0] == noun
        assert WhoKnows(form="decoder", story=story, place=8).said == []
        pronoun = tasks.PRONOUNS[noun]
        assert WhoKnows(form="pair", story=story, place=13).said[0][0] == pronoun
        assert WhoKnows(form="prefix", story=story, place=13).said[0][0] == pronoun
    tired, wide = (WhoKnows(form="decoder", story=story).said for story in (0, 1))
    assert tired == wide
    assert "encoder–decoder, “street” after 2 layers" in WhoKnows(place=7).fallback()


def test_the_same_word_is_found_in_every_architecture() -> None:
    """By its word and not by its number, and back; a German word has only “it” in the others."""
    for form, other in product(NAMES, NAMES):
        words, others = (WhoKnows(form=one).words for one in (form, other))
        for place, word in enumerate(words):
            there = same_word(words, place, others)
            assert others[there] == (word if word in others else "it")
            if word in others:
                assert same_word(others, there, words) == place


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"form": "tower"}, "form must be one of encoder, prefix, decoder, pair; got 'tower'"),
        ({"story": 4}, "story must be 0 to 3; got 4"),
        ({"place": 18}, "place must be 0 to 17; got 18"),
        ({"layers": -1}, "layers must be 0 to 2; got -1"),
    ],
)
def test_it_refuses_in_words(arguments: dict, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        WhoKnows(**arguments)
