"""The deeper page of chapter 13: files, samples and held-out pairs, each counted another way."""

import math
from collections import Counter, defaultdict
from fractions import Fraction

import numpy as np
import pytest

from tformer_book.chapters.ch13 import coder, fit, reached, sampled
from tformer_book.chapters.ch13.known import LAST, contexts, tokens, world
from tformer_book.world.stories import Stories, patient


def test_a_file_names_the_interval_of_a_text() -> None:
    """As many bits as the loss, rounded up, and one to spare; from the interval's begin on."""
    shares = coder.laid({0: Fraction(1, 2), 1: Fraction(1, 4), 2: Fraction(1, 4)})
    assert coder.narrowed([1, 2], lambda seen: shares) == (Fraction(11, 16), Fraction(1, 16))
    assert coder.encoded([1, 2], lambda seen: shares) == "10110"
    assert coder.decoded("10110", lambda seen: shares, 2) == [1, 2]
    thirds = coder.laid(dict.fromkeys(range(3), Fraction(1, 3)))
    assert coder.encoded([1], lambda seen: thirds) == "011"


def test_a_model_of_many_texts_forgets_those_before() -> None:
    texts = [[0, 1], [1, 1], [0, 0]]
    model = coder.again(coder.counted(texts, 2), 2)
    _, length = coder.narrowed([0, 1, 1, 1], model)
    assert length == Fraction(2, 3) * Fraction(1, 2) * Fraction(1, 3)


@pytest.mark.parametrize("k", [0, 1, 3])
def test_contexts_are_equal_where_the_words_are(k: int) -> None:
    rows = np.random.default_rng(k).integers(-1, 2, (6, 5))
    found: defaultdict[int, set[tuple[int, ...]]] = defaultdict(set)
    wider = np.pad(rows, ((0, 0), (k, 0)), constant_values=-1)
    for (i, t), number in np.ndenumerate(contexts(rows, k)):
        found[int(number)].add(tuple(wider[i, t : t + k]))
    assert all(len(windows) == 1 for windows in found.values())
    assert len({window for windows in found.values() for window in windows}) == len(found)


@pytest.mark.parametrize("k", [1, 4])
def test_a_model_of_a_sample_is_counted_again(k: int) -> None:
    n, rows = 40, world().tokens()[:, 1:]
    drawn = rows[np.random.default_rng(0).integers(len(rows), size=n)].tolist()
    after: defaultdict[tuple[int, ...], Counter[int]] = defaultdict(Counter)
    places = [(tuple(row[max(t - k, 0) : t]), row[t]) for row in drawn for t in range(len(row))]
    for seen, word in places:
        after[seen][word] += 1
    own = -sum(math.log(after[seen][word] / after[seen].total()) for seen, word in places) / n
    every, size = 0.0, len(world().words)
    for row in rows.tolist():
        for t, word in enumerate(row):
            found = after.get(tuple(row[max(t - k, 0) : t]), Counter())
            share = found[word] / found.total() if found else 1 / size
            every -= math.log(0.999 * share + 0.001 / size) / len(rows)
    assert sampled.by_sample(n, k) == pytest.approx((own, every), abs=1e-9)


def test_held_out_pairs_are_counted_again() -> None:
    def of(stories: Stories) -> list[tuple[tuple[str, ...], str]]:
        return [(tuple(text.split()[LAST - 12 : LAST - 1]), patient(text)) for text in stories]

    def mean(
        pairs: list[tuple[tuple[str, ...], str]], known: list[tuple[tuple[str, ...], str]]
    ) -> float:
        both, seen = Counter(known), Counter(words for words, _ in known)
        return -float(np.mean([math.log(both[pair] / seen[pair[0]]) for pair in pairs]))

    told, held = map(of, world().split())
    want = (mean(told, told), mean(told, of(world())), mean(held, of(world())))
    assert sampled.held_out(11) == pytest.approx(want, abs=1e-9)


def test_what_is_stored_of_held_out_pairs_begins_like_a_training() -> None:
    first, last = reached.apart(400, steps=6)
    assert last[0] < first[0] - 0.2
    for stored, _ in reached.stored_apart().values():
        assert first == pytest.approx(stored, abs=2e-3)


def test_answers_that_fit_come_from_one_distribution() -> None:
    r = np.array([[0.4, 0.1], [0.2, 0.3]])
    for pairs in fit.drawn(*fit.conditionals(r)):
        np.testing.assert_allclose(pairs, r, atol=1e-12)


def test_stories_that_are_reached_word_by_word_are_found_by_walking() -> None:
    rows = [tuple(row) for row in tokens().tolist()]
    near: defaultdict[tuple[int, ...], set[int]] = defaultdict(set)
    for i, row in enumerate(rows):
        for t in range(len(row)):
            near[(t, *row[:t], *row[t + 1 :])].add(i)
    reached, waiting = {0}, [0]
    while waiting:
        row = rows[waiting.pop()]
        for t in range(len(row)):
            new = near[(t, *row[:t], *row[t + 1 :])] - reached
            reached |= new
            waiting += new
    found = fit.islands(tokens())
    assert len(reached) in found
    assert found.sum() == len(rows)
    assert sorted(fit.islands(np.array([[0, 0], [0, 1], [1, 1], [2, 2]]))) == [1, 3]
