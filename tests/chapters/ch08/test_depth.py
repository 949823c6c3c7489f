"""The experiments of chapter 8: what is measured, and what it is compared with."""

import numpy as np
import pytest

from tformer_book.chapters.ch08 import depth, rows


@pytest.mark.parametrize("order", ["pre", "post"])
def test_mean_squares_begin_at_one_and_gradients_end_there(order: str) -> None:
    found = depth.measured(order, 4, 3)
    assert found.shape == (4, 3, 4)
    np.testing.assert_allclose(found[:, 0, 0], 1, atol=0.2)
    np.testing.assert_allclose(found[:, 1, 3], 1, atol=0.2)
    assert (abs(found[:, 2]) <= 1 + 1e-12).all()
    if order == "post":
        np.testing.assert_allclose(found[:, 0, 1:], 1, atol=1e-4)
    else:
        assert (np.diff(found[:, 0]) > 0).all()


def test_narrow_matrices_add_less() -> None:
    wide, narrow = (depth.measured("pre", 2, 8, narrow=one)[:, 0, 8] for one in (False, True))
    assert (narrow < 2).all()
    assert (wide > 2 * narrow).all()


def test_small_rows_are_outgrown_and_become_alike_where_norms_stand_before() -> None:
    large, small = (depth.measured("pre", 3, narrow=True, size=one) for one in (1, 0.02))
    assert (small[:, 0, 0] < 1e-3).all()
    assert (small[:, 0, 64] > 0.3).all()
    assert large[:, 2, 64].max() < 0.4 < 0.9 < small[:, 2, 64].min()


def test_feed_forward_layers_alone_make_rows_alike() -> None:
    alone = depth.measured("pre", 2, 1, attends=False)
    assert not np.allclose(alone, depth.measured("pre", 2, 1))
    for order, least in (("pre", 0.4), ("post", 0.9)):
        assert depth.measured(order, 3, attends=False)[:, 2, 64].mean() > least


def test_two_words_that_look_at_each_other_melt_faster_if_they_are_added() -> None:
    a, x = np.array([[0.1, 0.9], [0.9, 0.1]]), np.array([0.0, 1.0])
    assert np.ptp((x + a @ x) / 2) < np.ptp(a @ x) / 5


def test_in_the_sentence_adding_melts_more_slowly_and_without_a_norm_stops() -> None:
    one, many = (
        {name: rows.alike(rows.run(name, n).rows[-1]) for name in rows.ORDERS} for n in (6, 60)
    )
    assert one["none"] < one["pre"] < one["post"] < one["no skip"]
    assert many["pre"] > 0.998
    assert 0.61 < many["none"] < 0.62


def test_an_order_is_what_its_name_says() -> None:
    x, w = (getattr(rows.run("pre", 0), name)[0] for name in ("rows", "weights"))
    n = x / np.sqrt(np.square(x).mean(axis=-1, keepdims=True) + 1e-5)
    np.testing.assert_allclose(rows.run("pre", 1).rows[1], x + w @ n)
    np.testing.assert_allclose(rows.run("no skip", 1).rows[1], w @ n)
    np.testing.assert_allclose(np.square(rows.run("post", 1).rows[1]).mean(axis=-1), 1, atol=1e-4)


def test_alike_is_the_mean_cosine_of_two_rows() -> None:
    x = np.array([[1.0, 0], [0, 2], [3, 3]])
    assert rows.alike(x) == pytest.approx((0 + 2 * 0.5**0.5) / 3)


def test_where_rows_have_melted_only_the_mean_of_the_gradients_arrives() -> None:
    own, mean = (depth.measured("post", 2, 40, width=16, shared=one)[:, 1] for one in (False, True))
    np.testing.assert_allclose(own[:, 0], mean[:, 0], rtol=1e-3)
    assert (own[:, 40] > 2 * mean[:, 40]).all()
