"""What the storyteller writes: searches again, mistakes, and what is stored."""

import itertools
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest

from tformer import reference
from tformer.models.generate import generate
from tformer.models.sizes import initialise
from tformer.pretrained import available
from tformer_book.chapters.ch15 import exactly, figures, real, speed, writing, wrong
from tformer_book.storyteller import load


def test_the_likeliest_text_is_found_again_where_all_can_be_read() -> None:
    """All texts of one trouble and what the storyteller thinks likeliest after it."""
    text, n_read = writing.likeliest(writing.MISSED)
    assert 10 < n_read < 100
    start, (_, p, c) = writing.begun(writing.MISSED), load()
    others = []
    for first in np.argsort(-writing.logits(writing.MISSED))[:8]:
        rest = generate(
            reference.cached_decoder, np.array([*start, first]), p, c, 20, None, writing.stop()
        )
        words = np.array([first, *rest])
        rows = reference.decoder(np.array([*start, *words])[:-1], p, c)[len(start) - 1 :]
        others.append(-float(reference.cross_entropy(rows.astype(float), words).sum()))
    assert text.log_probability == pytest.approx(max(others), abs=1e-4)


def test_what_was_searched_says_where_greedy_generation_misses() -> None:
    stored, unread = writing.searched(), writing.unread()
    assert stored["beginnings"] == len(unread)
    assert all(writing.missed(text) for text in stored["missed"])
    hit = next(text for text in unread if text not in stored["missed"])
    assert not writing.missed(hit)


def test_the_words_of_the_row_are_one_token_each() -> None:
    encode = load().tokens.encode
    assert [encode(f" {word}") for word in writing.WORDS] == [[n] for n in writing.numbers()]
    assert writing.WORDS[0] == "tired"
    assert "wide" in writing.STREET


def test_parameters_turned_back_read_a_word_where_it_stands_earlier() -> None:
    tokens, (_, p, c) = writing.begun(writing.ROW), load()
    waves = reference.sinusoidal(np.arange(3) + 40, 16, c.base)
    x, w = np.random.default_rng(0).standard_normal((2, 3, 64))[0], p.blocks[0].heads.w_q[0]
    back = wrong.turned_back(40).blocks[0].heads.w_q[0]
    one = reference.rope((x @ back).astype(float), waves, c.pairing)
    other = reference.rope(
        (x @ w).astype(float), reference.sinusoidal(np.arange(3), 16, c.base), c.pairing
    )
    np.testing.assert_allclose(one, other, rtol=0, atol=1e-4)
    assert len(tokens) == 16


def test_a_nucleus_that_drops_a_word_keeps_one_less() -> None:
    row = writing.logits(figures.FLAT)
    for p in (0.3, 0.9):
        right, mistaken = reference.top_p(row, p), wrong.dropped(row, p)
        assert np.isfinite(right).sum() == np.isfinite(mistaken).sum() + 1


def test_every_course_of_chance_is_taken_with_its_probability() -> None:
    def write(uniform):  # type: ignore[no-untyped-def]
        for _ in range(2):
            u = uniform()
            yield [int(np.sum(np.array([0.25, 0.5, 1.0]) <= u * 1.0))]
            yield [7] if u * 0.5 >= 0.375 else [8]

    found = exactly.distribution(write)
    one = {(0, 8): 4, (1, 8): 4, (2, 8): 4, (2, 7): 4}
    assert found == {(*a, *b): Fraction(one[a] * one[b], 256) for a in one for b in one}


def test_what_is_stored_of_writing_is_whole() -> None:
    stored = speed.stored()
    for name, way in itertools.product(("NumPy", "PyTorch"), ("full", "cached")):
        assert len(stored[name][way]) == len(speed.LENGTHS)
        assert [*stored[name]["written"]] == [*map(str, speed.TEXTS)]
    for name, n in itertools.product(("NumPy", "PyTorch"), speed.TEXTS):
        word, text = speed.gains(stored[name], n)
        assert 1 < text < word


def test_a_text_is_timed_that_both_ways_write_alike() -> None:
    p = initialise(speed.SIZES, speed.CONFIGURATION, np.random.default_rng(0))
    first = np.array([3])
    found = speed.written(reference, p, first, 6, np.concatenate)
    assert {*found} == {"full", "cached"}
    assert min(found.values()) > 0

    def others(*arguments: object) -> tuple[np.ndarray, object]:
        logits, caches = reference.cached_decoder(*arguments)  # type: ignore[arg-type]
        return -logits, caches

    broken = SimpleNamespace(decoder=reference.decoder, cached_decoder=others)
    with pytest.raises(ValueError, match="other words"):
        speed.written(broken, p, first, 6, np.concatenate)


@pytest.mark.skipif(not available(), reason="the real model is not on this machine: make model")
def test_the_real_model_writes_what_is_stored() -> None:
    from tformer.models.pretrained import from_pretrained

    found, stored = real.measured(from_pretrained(), n_tokens=8), real.stored()
    for way in real.WAYS:
        assert stored[way].startswith(found[way])
        assert len(found[way]) > 8
