"""The widget that widens a head, in Python: its numbers, what it refuses and what it says."""

from functools import cache

import numpy as np
import pytest

from tformer import reference
from tformer_book.chapters.ch04 import row
from tformer_book.chapters.ch04.scores import SCALES
from tformer_book.chapters.ch04.widen_head import (
    DRAWS,
    Column,
    WidenHead,
    columns,
    matrices,
    normal,
    uniform,
)


@cache
def drawn(draw: int, d: int) -> dict[str, Column]:
    """What the figure shows of the row for one draw and width."""
    return columns(row.normalised(), row.ASKS, draw, d)


def test_the_random_coordinates_are_standard_normal_and_independent() -> None:
    vectors = normal(96 * 4096).reshape(96, 4096)
    n = vectors.size
    assert abs(vectors.mean()) < 4 / n**0.5
    assert abs(vectors.var() - 1) < 4 * (2 / n) ** 0.5
    assert abs((vectors**4).mean() - 3) < 4 * (96 / n) ** 0.5
    correlations = np.corrcoef(vectors)[np.triu_indices(96, 1)]
    assert abs(correlations).max() < 5 / 4096**0.5
    assert abs(correlations.std() * 4096**0.5 - 1) < 0.05


def test_the_stream_can_be_entered_anywhere() -> None:
    assert np.array_equal(uniform(10)[6:], uniform(4, 6))
    assert np.array_equal(normal(10)[6:], normal(4, 6))


def test_a_narrower_head_is_the_front_of_a_wider_one_and_draws_differ() -> None:
    narrow, wide = matrices(3, 4, 16), matrices(3, 4096, 16)
    for front, whole in zip(narrow, wide, strict=True):
        assert np.array_equal(front, whole[:, :4])
        assert abs(whole.var() * 16 - 1) < 0.03
    others = matrices(4, 4096, 16)
    for one in (*wide, *others):
        for two in (*wide, *others):
            assert one is two or abs(np.corrcoef(one.ravel(), two.ravel())[0, 1]) < 0.02


@pytest.mark.parametrize("d", [4, 64, 4096])
def test_columns_agree_with_the_library(d: int) -> None:
    widget, x = WidenHead(d, draw=5), row.normalised()
    w_q, w_k = matrices(5, d, 16)
    v = np.eye(len(x))
    for name, found in widget.columns.items():
        c, q, k = SCALES[name](d), x[row.ASKS : row.ASKS + 1] @ w_q, x @ w_k
        p = reference.attention_weights(q, k, scale=c)
        np.testing.assert_allclose(found.weights, p[0], rtol=1e-12)
        assert found.entropy == pytest.approx(reference.entropy(p)[0])
        at_scores, at_query = np.zeros(2)
        for upstream in np.eye(len(x)):  # over an orthonormal basis, lengths add up in squares
            dq = reference.attention_vjp(q, k, v, upstream[None], scale=c)[0]
            at_scores += (reference.softmax_vjp(p, upstream[None]) ** 2).sum()
            at_query += (dq**2).sum()
        assert found.at_scores == pytest.approx(at_scores**0.5, rel=1e-9, abs=1e-12)
        assert found.at_query == pytest.approx(at_query**0.5, rel=1e-9, abs=1e-12)


def test_scores_through_random_matrices_spread_as_predicted() -> None:
    for d in (4, 64, 1024):
        found = np.array([drawn(draw, d)["1/√d"].scores for draw in range(DRAWS)])
        assert np.sqrt((found**2).mean()) == pytest.approx(1, rel=0.15)


def test_two_of_three_columns_go_dark() -> None:
    wide = [drawn(draw, 4096) for draw in range(DRAWS)]
    at_query = {name: np.array([found[name].at_query for found in wide]) for name in SCALES}
    at_scores = {name: np.array([found[name].at_scores for found in wide]) for name in SCALES}
    assert np.median(at_query["1"]) < 0.01
    assert at_query["1/d"].max() < 0.004
    assert at_query["1/√d"].min() > 0.15
    assert at_scores["1/d"].min() > 0.27


def test_the_widget_begins_with_three_lamps_alight_and_a_row_that_freezes_on_the_way() -> None:
    lamps = [(2 * found.at_query) ** 0.5 for found in WidenHead().columns.values()]
    assert min(lamps) > 1 / 3
    largest = [WidenHead(d).columns["1"].weights.max() for d in (4, 64, 1024)]
    assert largest[0] < 0.25 < 0.75 < largest[1] < 0.9 < 0.98 < largest[2]


def test_widen_head_says_what_it_shows() -> None:
    assert repr(WidenHead(4096)) == (
        "WidenHead: d = 4096, entropy of at most 2.48\n"
        "scale 1: largest weight 1.00, entropy 0.00, gradient at the scores 0.0000, at the query "
        "0.0000\n"
        "scale 1/√d: largest weight 0.29, entropy 2.02, gradient at the scores 0.3525, at the "
        "query 0.1617\n"
        "scale 1/d: largest weight 0.09, entropy 2.48, gradient at the scores 0.2764, at the query "
        "0.0030"
    )


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"d": 3}, "d must be 4 to 4096; got 3"),
        ({"draw": 32}, "draw must be 0 to 31; got 32"),
        ({"guess": "2"}, "guess must be one of 1, 1/√d, 1/d, 1 and 1/d; got 2"),
    ],
)
def test_widen_head_refuses_in_words(arguments: dict, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        WidenHead(**arguments)


def test_one_draw_is_luck_and_most_are_dark_in_the_end() -> None:
    """What the page says below the figure, and of the way from the scores to the query."""
    luck = WidenHead(512).columns
    assert luck["1"].at_query > 10 * luck["1/√d"].at_query
    wide = [drawn(draw, 4096) for draw in range(DRAWS)]
    dark = [found["1"].at_query < 0.1 * found["1/√d"].at_query for found in wide]
    assert 0.6 < np.mean(dark) < 0.7
    for d in (64, 1024, 4096):
        found = [drawn(draw, d) for draw in range(DRAWS)]
        for name in ("1/√d", "1/d"):
            ratio = [column[name].at_query / column[name].at_scores for column in found]
            assert np.median(ratio) / (SCALES[name](d) * d**0.5) == pytest.approx(2 / 3, abs=0.05)
