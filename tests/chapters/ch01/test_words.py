"""Numbers that questions and exercises of the chapter quote, where no cell stands behind."""

from math import comb, exp

import numpy as np
import pytest

from tformer import reference
from tformer_book.world import corpus

WORDS = corpus.vocabulary(least=3)


@pytest.fixture(scope="module")
def rows() -> dict[str, np.ndarray]:
    counts = reference.cooccurrence(corpus.ids(least=3), len(WORDS), window=5)
    table = reference.svd_embeddings(reference.ppmi(counts), d_model=16)
    return dict(zip(WORDS, table, strict=True))


def test_cheese_is_just_long_enough_to_beat_milk(rows: dict[str, np.ndarray]) -> None:
    milk, cheese = rows["milk"], rows["cheese"]
    cosine = float(reference.cosine_similarity(milk, cheese))
    numbers = reference.norm(milk), reference.norm(milk) / cosine, reference.norm(cheese)
    assert [round(float(x), 2) for x in numbers] == [6.55, 7.39, 7.44]
    assert round(float(np.degrees(np.arccos(cosine)))) == 28
    best = max(WORDS, key=lambda word: reference.dot(milk, rows[word]))
    assert best == "cheese"


def test_the_longest_row_and_it_score_highest_with_themselves(rows: dict[str, np.ndarray]) -> None:
    longest = max(WORDS, key=lambda word: reference.norm(rows[word]))
    assert longest != "it"
    for word in ("it", longest):
        assert max(WORDS, key=lambda other: reference.dot(rows[word], rows[other])) == word


def test_fifty_of_a_hundred_signs_is_less_likely_than_one_in_a_million() -> None:
    assert sum(comb(100, agree) for agree in range(75, 101)) / 2**100 < 1e-6


def test_tens_of_millions_of_directions_fit() -> None:
    assert 1e7 < exp(768 * 0.09 / 4) < 1e8
