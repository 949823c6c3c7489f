"""What is asked of a text: nothing of it is lost, told or asked twice."""

from itertools import pairwise

import numpy as np
import pytest

from every import every
from tformer import reference
from tformer.models.objectives import masked_tokens, next_tokens, span_corruption

BLANK, N_VOCAB = 90, 80


def texts(n: int, length: int) -> np.ndarray:
    return np.random.default_rng(0).integers(0, N_VOCAB, (n, length))


def test_each_next_token_is_asked_once() -> None:
    tokens = np.array([[5, 6, 7, 8], [9, 4, -1, -1]])
    given, wanted = next_tokens(tokens)
    np.testing.assert_array_equal(given, [[5, 6, 7], [9, 4, 0]])
    np.testing.assert_array_equal(wanted, [[6, 7, 8], [4, -1, -1]])
    losses = reference.cross_entropy(np.zeros((2, 3, 10)), wanted)
    assert np.count_nonzero(losses) == 4
    assert tokens[1, 2] == -1  # what was given stays


def test_masked_tokens_are_asked_as_often_as_the_share_says() -> None:
    tokens = texts(400, 200)
    tokens[:, 150:] = -1
    given, wanted = masked_tokens(tokens, np.random.default_rng(1), BLANK, N_VOCAB, 0.3)
    there, asked = tokens >= 0, wanted >= 0
    np.testing.assert_array_equal(wanted[asked], tokens[asked])
    np.testing.assert_array_equal(given[there & ~asked], tokens[there & ~asked])
    assert not asked[~there].any()
    assert not given[~there].any()
    n = asked.sum()
    shares = {
        "asked": (n / there.sum(), 0.3, there.sum()),
        "blank": ((given[asked] == BLANK).mean(), 0.8, n),
        # One in ten is any token, and then the right one once in N_VOCAB times.
        "as it is": ((given[asked] == tokens[asked]).mean(), 0.1 + 0.1 / N_VOCAB, n),
    }
    for name, (found, p, of) in shares.items():
        assert abs(found - p) < 4 * np.sqrt(p * (1 - p) / of), name


@every("share", [0.0, 1.0])
def test_none_and_all_are_asked_at_the_ends(share: float) -> None:
    _, wanted = masked_tokens(texts(3, 20), np.random.default_rng(0), BLANK, N_VOCAB, share)
    assert (wanted >= 0).sum() == 60 * share


def woven(source: np.ndarray, target: np.ndarray, sentinels: np.ndarray) -> list[int]:
    """A text from its two halves, by reading the sentinels alone."""
    spans: dict[int, list[int]] = {}
    for token in target:
        if token in sentinels:
            spans[token] = span = []
        else:
            span.append(token)
    return [x for token in source for x in spans.get(token, [token])]


@every("length", [2, 3, 7, 20, 100])
def test_spans_go_back_to_where_they_were(length: int) -> None:
    tokens, sentinels = texts(50, length), np.arange(100, 160)
    for share, mean in [(0.15, 3.0), (0.5, 1.0), (1.0, 4.0), (0.0, 2.0)]:
        source, target = span_corruption(tokens, np.random.default_rng(2), sentinels, share, mean)
        taken = min(max(round(length * share), 1), length - 1)
        for row, left, gone in zip(tokens, source, target, strict=True):
            assert woven(left, gone, sentinels) == [*row]
            assert sum(x not in sentinels for x in gone) == taken
            used = [x for x in gone if x in sentinels]
            assert used == [*sentinels[: len(used)]]  # in order, the last one ends it
            assert [x for x in left if x in sentinels] == used[:-1]
            assert left[0] not in sentinels
            inner = [x in sentinels for x in left]
            assert not any(a and b for a, b in pairwise(inner))


def test_all_partings_are_alike() -> None:
    """Six tokens, three taken in two spans, so three stay in two pieces: four ways."""
    tokens = np.tile(np.arange(6), (4000, 1))
    source, _ = span_corruption(tokens, np.random.default_rng(3), np.array([7, 8, 9]), 0.5, 1.5)
    _, counts = np.unique(source, axis=0, return_counts=True)
    assert len(counts) == 4
    assert abs(counts / 4000 - 0.25).max() < 4 * np.sqrt(0.25 * 0.75 / 4000)


def test_what_cannot_be_asked_is_refused() -> None:
    rng = np.random.default_rng(0)
    with pytest.raises(ValueError, match=r"with T at least 2; got \(3, 1\)"):
        next_tokens(texts(3, 1))
    with pytest.raises(ValueError, match="share must be from 0 to 1; got nan"):
        masked_tokens(texts(3, 4), rng, BLANK, N_VOCAB, np.nan)
    with pytest.raises(ValueError, match="n_vocab must be above 0; got 0"):
        masked_tokens(texts(3, 4), rng, BLANK, 0)
    with pytest.raises(ValueError, match="5 spans need 6 sentinels; got 5"):
        span_corruption(texts(3, 100), rng, np.arange(100, 105))
    with pytest.raises(ValueError, match=r"length must be at least 1; got 0\.5"):
        span_corruption(texts(3, 9), rng, np.arange(9), length=0.5)
    with pytest.raises(ValueError, match="got padding"):
        span_corruption(next_tokens(np.array([[1, 2, -1]]))[1], rng, np.arange(9))
