"""The last words, in Python: chances, what it refuses and what it says."""

import numpy as np
import pytest

from tformer_book.chapters.ch13.last_words import MOST, TALES, LastWords, chances
from tformer_book.world.stories import patient, stories


@pytest.mark.parametrize("tale", [0, 1])
@pytest.mark.parametrize("k", [0, 2, 11, MOST])
def test_chances_add_up_and_the_patient_has_one(tale: int, k: int) -> None:
    found = chances(TALES[tale], k)
    assert sum(found.values()) == pytest.approx(1)
    assert found[patient(TALES[tale])] > 0


def test_both_tales_are_stories() -> None:
    assert set(TALES) <= set(stories())


def test_what_the_page_gets_is_what_is_counted() -> None:
    widget = LastWords()
    for text, tale in zip(TALES, widget.tales, strict=True):
        for k in range(MOST + 1):
            got = dict(tale["lists"][tale["which"][k]])
            assert got == {noun: round(p, 6) for noun, p in chances(text, k).items()}


def test_less_is_left_the_more_is_shown() -> None:
    for tale in (0, 1):
        left = [LastWords(tale, k).left() for k in range(MOST + 1)]
        assert left == sorted(left, reverse=True)
        assert left[-1] == 0


def test_it_says_what_it_shows() -> None:
    assert repr(LastWords(1, 2)) == (
        "LastWords: the last 2 words, “narrowed the”\n"
        "6 nouns may come, first bridge with 0.167; open 1.792 nats, on average 2.208"
    )
    assert "6 nouns" not in repr(LastWords(1, MOST))
    np.testing.assert_allclose(LastWords().means[:2], 3.5045, atol=1e-4)


@pytest.mark.parametrize("wrong", [{"tale": 2}, {"tale": -1}, {"k": 18}, {"k": -1}])
def test_what_is_out_of_range_is_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(ValueError, match=r"LastWords: (tale|k) must be 0 to"):
        LastWords(**wrong)
