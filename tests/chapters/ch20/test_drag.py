"""Take runs out, in Python: its numbers, what it refuses and what it says."""

import numpy as np
import pytest

from tformer_book.chapters.ch20 import published
from tformer_book.chapters.ch20.drag import LEAST, DragRuns, below, largest, law_without


def test_without_the_five_it_is_the_refit() -> None:
    assert law_without(tuple(largest(5))) == published.refit()
    assert law_without(()) == published.refit(0)
    assert DragRuns().marked == largest(5)


def test_a_page_has_the_runs_to_nine_digits() -> None:
    every = published.runs()
    n, d, loss = np.array(DragRuns().runs).T
    np.testing.assert_array_equal(n, every.n)
    np.testing.assert_array_equal(loss, every.loss)
    np.testing.assert_allclose(d, every.d, rtol=1e-8)


def test_runs_are_chosen_by_tokens_a_parameter() -> None:
    ratio = published.runs().d / published.runs().n
    assert sorted(ratio[below(2.0)]) == sorted(ratio[ratio < 2])
    assert below(0.03) == []
    assert set(largest(5)) <= set(below(0.7))


def test_it_says_what_it_shows() -> None:
    assert repr(DragRuns(largest(5))) == (
        "DragRuns: 240 of 245 runs, exponent of N 0.514\nfloor 1.817, alpha 0.347, beta 0.367"
    )
    assert repr(DragRuns(list(range(245 - LEAST)))).startswith("DragRuns: 60 of 245 runs, exponent")
    few = DragRuns(list(range(246 - LEAST)))
    assert (few.law, repr(few)) == (None, "DragRuns: 59 of 245 runs, too few to fit a law")
    for number in ("0.565", "0.514", "0.459", "0.500", "0.523"):
        assert f"<td>{number}</td>" in DragRuns().fallback()


@pytest.mark.parametrize(
    ("out", "words"),
    [([245], "0 to 244; got 245"), ([-1], "0 to 244; got -1"), ([3, 3], "run 3 stands twice")],
)
def test_it_refuses_in_words(out: list[int], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        DragRuns(out)
