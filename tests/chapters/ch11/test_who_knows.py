"""Who can know whom, in Python: the masks of the library, what was trained, what it refuses."""

import numpy as np
import pytest

from tformer import reference
from tformer.chapters.ch11 import tasks
from tformer.chapters.ch11.who_knows import NAMES, STORIES, WhoKnows


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
    assert "encoder–decoder, “because” after 2 layers" in WhoKnows(place=7).fallback()


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
