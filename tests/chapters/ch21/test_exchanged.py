"""Scenes whose digits change places: the images, and what words see of them."""

import numpy as np
import torch

from tformer import fast
from tformer_book.chapters.ch21 import captions
from tformer_book.chapters.ch21.stack import tensors


def test_the_digits_change_places() -> None:
    scene = captions.scenes(np.random.default_rng(3), 20)
    other = captions.exchanged(scene)
    quarters, moved = (
        x.reshape(20, 2, 8, 2, 8).swapaxes(2, 3).reshape(20, 4, 8, 8) for x in (scene.images, other)
    )
    for i, (first, second) in enumerate(scene.corners):
        np.testing.assert_array_equal(moved[i, first], quarters[i, second])
        np.testing.assert_array_equal(moved[i, second], quarters[i, first])
        assert moved[i].sum() == quarters[i].sum()


def test_words_see_one_image_the_other_or_a_mixture() -> None:
    """Nowhere the other: the logits of the image; everywhere: those of the other."""
    scene = captions.scenes(np.random.default_rng(4), 5)
    other, words = captions.exchanged(scene), scene.captions[:, :-1]
    model = tensors(captions.begin(0))
    with torch.no_grad():
        own, others = (
            captions.logits(x, words, model, library=fast) for x in (scene.images, other)
        )
        for place, want in ((np.zeros((5, 16), bool), own), (np.ones((5, 16), bool), others)):
            found = captions.logits_with(scene.images, other, words, model, place)
            np.testing.assert_allclose(found, want, atol=1e-5)
        some = captions.corner_of_patch() == scene.corners[:, :1]
        mixed = captions.logits_with(scene.images, other, words, model, some)
    assert abs(mixed - own).max() > 1e-3
    assert abs(mixed - others).max() > 1e-3


def test_the_first_model_says_what_is_stored() -> None:
    """Float16 moves a share by a hundredth at most."""
    found, stored = captions.measured(tensors(captions.model())), captions.stored()[0]
    assert found.keys() == stored.keys()
    for name, shares in stored.items():
        for word, share in shares.items():
            assert abs(found[name][word] - share) <= 0.01, (name, word)
