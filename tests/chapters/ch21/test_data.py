"""Boards, patches, graphs, scenes and windows: by hand, and by what must hold."""

import numpy as np
import pytest

from tformer_book.chapters.ch21 import captions, graphs, grids, images, recognise, series, sets
from tformer_book.chapters.ch21.stack import tensors

SQUARE = [(0, 1), (1, 2), (2, 3), (3, 0)]


def test_a_corner_of_a_torus_sees_the_other_corners() -> None:
    mask = grids.torus_mask(4, 5)
    assert np.flatnonzero(mask[0]).tolist() == [0, 1, 4, 5, 6, 9, 15, 16, 19]
    np.testing.assert_array_equal(grids.torus_mask(2, 3, 0), np.eye(6))
    assert grids.torus_mask(3, 7, 1)[0].sum() == 9
    assert grids.torus_mask(2, 2, 5).all()


def test_other_rules_are_played() -> None:
    """One rule with a birth from nothing, one without births."""
    rng = np.random.default_rng(0)
    boards = rng.integers(0, 2, (20, 6, 7))
    for births, survivals in (((3, 6), (2, 3)), ((0, 1, 8), (8,)), ((), (0, 4, 5))):
        block = grids.life_parameters(grids.rule_kinks(births, survivals))
        found = grids.play(boards, parameters=block)
        np.testing.assert_allclose(found, grids.life_step(boards, births, survivals), atol=1e-12)


def test_patches_of_an_image_that_is_not_square() -> None:
    image = np.arange(24).reshape(4, 6)
    cut = images.patches(image, 2)
    assert cut[0].tolist() == [0, 1, 6, 7]
    assert cut[4].tolist() == [14, 15, 20, 21]
    np.testing.assert_array_equal(images.unpatch(cut, 4, 6), image)
    with pytest.raises(ValueError, match="p must divide height and width; got 4 for 4 × 6"):
        images.patches(image, 4)


def test_the_digits_are_those_of_the_file() -> None:
    ink, labels = images.digits()
    assert ink.shape == (1797, 8, 8)
    assert (ink.min(), ink.max()) == (0, 1)
    assert labels[:12].tolist() == [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 1]
    assert np.bincount(labels).tolist() == [178, 182, 177, 183, 181, 182, 181, 179, 174, 180]


def test_a_graph_by_hand() -> None:
    mask = graphs.graph_mask(5, SQUARE)
    assert mask[0].tolist() == [True, True, False, True, False]
    apart = graphs.distances(5, SQUARE)
    assert apart[0].tolist() == [0, 1, 2, 1, np.inf]


def test_the_club_has_34_members_and_78_edges() -> None:
    n, edges = graphs.karate()
    assert (n, len(edges), len(set(edges))) == (34, 78, 78)
    assert all(u < v for u, v in edges)


def test_a_caption_says_where_the_digits_are() -> None:
    rng = np.random.default_rng(0)
    scene = captions.scenes(rng, 200)
    row, column = np.divmod(scene.corners, 2)
    for i in range(200):
        words = [captions.WORDS[w] for w in scene.captions[i]]
        (r, s), (c, d) = row[i], column[i]
        where = {
            "left": c < d and r == s,
            "right": c > d and r == s,
            "above": r < s and c == d,
            "below": r > s and c == d,
        }
        assert where[words[3]], words
        assert words[1] != words[6]
        quarters = scene.images[i].reshape(2, 8, 2, 8).sum((1, 3)).ravel()
        assert sorted(np.flatnonzero(quarters)) == sorted(scene.corners[i])


def test_a_corner_is_blanked_and_no_other() -> None:
    scene = captions.scenes(np.random.default_rng(1), 50)
    left = captions.blanked(scene.images, scene.corners[:, 1])
    quarters = left.reshape(50, 2, 8, 2, 8).sum((2, 4)).reshape(50, 4)
    assert (quarters > 0).sum() == 50
    np.testing.assert_array_equal(quarters.argmax(axis=1), scene.corners[:, 0])
    empty = captions.empty_corners(scene)
    assert (np.sort(np.concatenate([empty, scene.corners], axis=1)) == np.arange(4)).all()


def test_words_alone_lose_sight_of_what_is_hidden() -> None:
    hidden = (captions.corner_of_patch() == 3)[None]
    assert np.flatnonzero(hidden[0]).tolist() == [10, 11, 14, 15]
    (mask,) = captions.row_mask(hidden=hidden)
    assert mask[:16, :16].all()
    assert not mask[16:, [10, 11, 14, 15]].any()
    assert mask[16:, [0, 9, 12]].all()
    assert not mask[:16, 16:].any()


def test_no_month_of_the_test_is_in_the_training() -> None:
    """Windows are followed by their answers, and the last of training is December 1989."""
    y = series.anomalies()
    for ahead in series.AHEAD:
        (seen, asked), (new, later) = series.windows(ahead)
        assert len(seen) + len(new) == len(y) - series.WINDOW + 1 - ahead
        assert asked[-1] == y[series.N_TRAIN - 1]
        assert later[0] == y[series.N_TRAIN]
        np.testing.assert_array_equal(new[0], y[series.N_TRAIN - ahead - 23 :][:24])
        (_, early), (_, ten) = series.windows(ahead, series.N_FIT)
        assert (early[-1], ten[0]) == (y[series.N_FIT - 1], y[series.N_FIT])


def test_the_nearest_other_image_may_not_stand_beside() -> None:
    """Two pairs of like images in a row: without its neighbours, each finds only the other pair."""
    ink, labels = np.array([0.0, 0.1, 1.0, 0.9]).reshape(4, 1, 1), np.array([0, 0, 1, 1])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(recognise, "digits", lambda: (ink, labels))
        share = recognise.left_out.__wrapped__
        assert (share(), share(1)) == (1, 0)


def test_the_span_and_the_largest_weight_of_a_head_of_zeros() -> None:
    model = tensors(sets.begin("attention", 0))
    model["query"] = 0 * model["query"]
    assert sets.sharpness(model, 5) == (0, 0.2)
    model["query"] += 1
    span, weight = sets.sharpness(model, 5)
    assert span > 0
    assert 0.2 < weight <= 1 / (1 + 4 * np.exp(-span))


def test_the_best_constant_for_one_number_is_a_half() -> None:
    assert sets.constant(1) == pytest.approx(0.25, abs=1e-4)
