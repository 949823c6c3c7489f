"""What chapter 6 trains: its gradients, and that heads see what they are said to see."""

import numpy as np
import pytest

from tformer import reference
from tformer.parameters import HeadParameters
from tformer_book.chapters.ch06 import layers, slots, training
from tformer_book.world.lexicon import SENTENCES


class Slope:
    """In the place of Adam: keeps the first gradients and makes no step."""

    def __init__(self, parameters):
        self.parameters, self.gradients = [x.copy() for x in parameters], None

    def step(self, gradients, rate):
        self.gradients = gradients if self.gradients is None else self.gradients


def slope_of(monkeypatch, train, *arguments):
    """Return what is trained, and the gradient at the first step."""
    made = []
    monkeypatch.setattr(training, "Adam", lambda *a: made.append(Slope(*a)) or made[-1])
    train(*arguments)
    return made[0].parameters, made[0].gradients


@pytest.mark.parametrize(("n_kinds", "n_heads"), [(2, 1), (2, 2), (4, 3)])
def test_gradient_of_the_veto_is_that_of_its_loss(monkeypatch, n_kinds, n_heads):
    (tables,), (gradient,) = slope_of(monkeypatch, training.veto_tables, n_kinds, n_heads, 2, 1)

    def loss(x):
        return -np.log(training.veto_shares(x)).mean(axis=-1).sum()

    for at in np.ndindex(tables.shape):
        step = np.zeros_like(tables)
        step[at] = 1e-6
        difference = (loss(tables + step) - loss(tables - step)) / 2e-6
        assert gradient[at] == pytest.approx(difference, abs=1e-7)


@pytest.mark.parametrize("n_groups", [1, 2, 4])
def test_gradient_of_the_search_is_that_of_its_loss(n_groups):
    rng = np.random.default_rng(1)
    w_q, w_k = rng.standard_normal((1, 4, 32, 3)), rng.standard_normal((1, n_groups, 32, 3))

    def loss(q, k):
        words, queries, right = training._drawn(np.random.default_rng(2))
        q, k = training._projected(words, queries, q, k)
        p = reference.softmax(q @ k.mT / 3**0.5)
        return -np.log((p * right).sum(axis=-1)).mean(axis=(1, 3)).mean(axis=-1).sum() * 4

    gradients = training._gradients(np.random.default_rng(2), w_q, w_k)
    for place, (w, gradient) in enumerate(zip((w_q, w_k), gradients, strict=True)):
        for at in [tuple(rng.integers(w.shape)) for _ in range(12)]:
            ends = []
            for sign in (1e-6, -1e-6):
                moved = [w_q.copy(), w_k.copy()]
                moved[place][at] += sign
                ends.append(loss(*moved))
            assert gradient[at] == pytest.approx((ends[0] - ends[1]) / 2e-6, abs=1e-6)


def test_sentences_of_the_search_are_as_described():
    words, queries, right = training._drawn(np.random.default_rng(0))
    for rows in (words, queries):
        attributes = rows.reshape(8, 8, 4, 8)
        assert np.array_equal(attributes.sum(axis=-1), np.ones((8, 8, 4)))
        assert np.array_equal(attributes.sum(axis=1), np.ones((8, 4, 8)))
    for h in range(4):
        asked, has = (x.reshape(8, 8, 4, 8)[:, :, h].argmax(-1) for x in (queries, words))
        assert np.array_equal(right[h], asked[:, :, None] == has[:, None, :])


def test_equal_keys_find_by_chance():
    zero = np.zeros((1, 4, 32, 2))
    np.testing.assert_allclose(training.weight_found(zero, zero[:, :1]), 1 / 8)


def test_the_layer_of_two_heads_is_what_is_trained():
    table = np.array([head.w_k[[5, 6, 11, 12], 0] for head in layers.TWO.values()])
    shares = training.veto_shares(table)
    for sentence, share in zip(list(SENTENCES)[:2], shares, strict=True):
        nouns = layers.mean_weights(sentence, layers.TWO)[layers.places(sentence)[:2]]
        assert nouns.max() / nouns.sum() == pytest.approx(share, abs=1e-9)


def test_no_linear_read_out_saves_the_single_head():
    x, wanted = np.stack([slots.embedded(*pair) for pair in slots.SENTENCES]), slots.answers()
    rng = np.random.default_rng(0)
    for width in (1, 2, 8, 64):
        w_q, w_k, w_v = (rng.standard_normal((1, 9, width)) for _ in range(3))
        w_k[:, :2] = 0  # the scores do not see the contents
        y = reference.multi_head_attention(x, HeadParameters(w_q, w_k, w_v, np.ones((1, width, 9))))
        assert np.isfinite(y).all()
        a = reference.multi_head_weights(x, HeadParameters(w_q, w_k, w_v, w_v.mT))[:, 0, slots.VERB]
        mixed = np.concatenate([a[:, None] @ x, np.ones((16, 1, 1))], axis=-1)[:, 0]
        fitted = mixed @ np.linalg.lstsq(mixed, wanted)[0]
        assert ((wanted - fitted) ** 2).sum(axis=1).mean() >= 2 - 1e-9
