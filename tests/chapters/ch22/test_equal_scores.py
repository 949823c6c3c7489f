"""Keys with equal scores, in Python: the weight, what is refused and what is said."""

import pytest

from tformer_book.chapters.ch22.equal_scores import MOST, EqualScores22


@pytest.mark.parametrize("count", range(1, MOST + 1))
def test_weights_add_up_to_one(count: int) -> None:
    assert count * EqualScores22(count).weight == pytest.approx(1)


def test_it_says_what_it_shows() -> None:
    assert repr(EqualScores22()) == "EqualScores: 4 keys, weight 0.250 each"
    assert "1 key, weight 1.000 each" in EqualScores22(1).fallback()


@pytest.mark.parametrize("count", [0, MOST + 1])
def test_it_refuses_in_words(count: int) -> None:
    with pytest.raises(ValueError, match=f"count must be 1 to 12; got {count}"):
        EqualScores22(count)
