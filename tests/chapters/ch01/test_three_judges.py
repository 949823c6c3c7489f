"""The map with three judges in Python: its numbers, what it refuses and what it says."""

import math

import numpy as np
import pytest

from tformer import reference
from tformer_book.chapters.ch01.three_judges import JUDGES, ThreeJudges


def test_scores_and_rankings_are_the_librarys() -> None:
    rng = np.random.default_rng(0)
    points, q = rng.uniform(-5, 5, size=(8, 2)), rng.uniform(-5, 5, size=2)
    widget = ThreeJudges(list("abcdefgh"), points.tolist(), q.tolist())
    best = {
        "dot": reference.dot(q, points),
        "cosine": reference.cosine_similarity(q, points),
        "distance": -reference.squared_distance(q, points),
    }
    assert list(widget.rankings) == list(JUDGES)
    for judge, score in best.items():
        assert widget.rankings[judge] == ["abcdefgh"[i] for i in np.argsort(-score)]


def test_the_counterexample_of_the_chapter_has_three_winners() -> None:
    widget = ThreeJudges()
    assert repr(widget) == "ThreeJudges: q = (1, 0); first: dot a, cosine b, distance c"
    assert "dot: a, c, b; cosine: b, c, a; distance: c, b, a" in widget.fallback()


def test_a_zero_query_leaves_two_judges_with_the_order_given() -> None:
    widget = ThreeJudges(q=[0, 0])
    assert widget.rankings["dot"] == widget.rankings["cosine"] == ["a", "b", "c"]
    assert widget.rankings["distance"] == ["b", "c", "a"]


def test_a_few_words_are_judged_until_the_whole_is_asked_for() -> None:
    points = [[4, 3], [0.5, 0], [1, 0.3], [5, 5]]
    widget = ThreeJudges(list("abcd"), points, few=["c", "a"])
    assert widget.shown == ["a", "c"]
    assert widget.rankings == {"dot": ["a", "c"], "cosine": ["c", "a"], "distance": ["c", "a"]}
    assert widget.scores["dot"].tolist() == [4, 1]
    widget.whole = True
    assert widget.shown == list("abcd")
    assert widget.rankings["dot"] == ["d", "a", "c", "b"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"q": [1]}, "q needs two coordinates; got 1"),
        ({"q": [1, math.nan]}, r"q\[1\] must be a finite number; got nan"),
        ({"words": ["a"]}, "1 words but 3 points"),
        ({"words": ["a", "b", "a"]}, "a word stands twice"),
        ({"points": [[0, 0], [0, 9], [0, 1]]}, r"the key of b\[1\] is 9 but the plane reaches"),
        ({"places": {"far": [6, 0]}}, r"the place far\[0\] is 6 but the plane reaches"),
        ({"few": ["a", "z"]}, "few has 'z', which is none of the words"),
        ({"limit": 0}, "limit must be a positive number; got 0"),
    ],
)
def test_it_refuses_in_words(arguments: dict, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        ThreeJudges(**arguments)
