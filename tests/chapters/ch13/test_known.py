"""What is left open and what is reached: another count, a training begun again, the real model."""

import math
from collections import Counter

import numpy as np
import pytest

from tformer.pretrained import available
from tformer.tokens import ByteTokenizer
from tformer_book.chapters.ch13 import cut, known, reached, real
from tformer_book.world.stories import patient, stories


@pytest.mark.parametrize("k", [0, 1, 2, 5, 11, 16, 17])
def test_what_is_left_open_is_counted_again(k: int) -> None:
    pairs = Counter((tuple(text.split()[17 - k : 17]), patient(text)) for text in stories())
    told = Counter(words for words, _ in pairs.elements())
    n = told.total()
    want = -sum(times / n * math.log(times / told[words]) for (words, _), times in pairs.items())
    assert known.left(k) == pytest.approx(want, abs=1e-12)


def test_all_words_before_leave_what_the_world_says() -> None:
    assert known.ngrams(18) * 19 == pytest.approx(stories().entropies().sum(), abs=1e-9)
    assert known.masked().sum() < stories().entropies().sum()


def test_uncertainty_of_drawn_rows() -> None:
    rows = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    p = np.array([0.5, 0.25, 0.125, 0.125])
    want = [0.0, -0.75 * math.log(0.75) - 0.25 * math.log(0.25), -(p * np.log(p)).sum()]
    np.testing.assert_allclose(known.uncertainties(rows, p), want, atol=1e-12)


def test_what_is_stored_begins_like_a_training() -> None:
    """The loss before the first step, and that a few steps make it less."""
    first, last = reached.reached(2, 0, steps=12)
    assert first == pytest.approx(reached.stored()[2][0][0], abs=2e-3)
    assert last < first - 0.5


def test_words_are_a_tokenizer_of_the_stories() -> None:
    words = cut.cuts()["words"]
    assert all(words.decode(words.encode(text)) == text for text in known.world())


def test_a_model_that_counts_bytes_has_the_loss_of_a_text() -> None:
    told = cut.by_counting(ByteTokenizer().encode, 40)
    assert told.nats >= math.log(2880) - 1e-9
    assert told.tokens == told.bytes
    assert told.bits_a_byte == pytest.approx(math.log2(told.perplexity), abs=1e-12)


@pytest.mark.skipif(not available(), reason="the real model is not on this machine: make model")
def test_the_real_model_says_what_is_stored() -> None:
    from tformer.models.pretrained import from_pretrained

    found, stored = real.measured(from_pretrained()), real.stored()
    nats, want = found["read"].pop(), stored["read"].pop()
    assert nats == pytest.approx(want, abs=0.5)
    assert found == stored
