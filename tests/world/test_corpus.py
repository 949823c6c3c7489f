"""The corpus: plain sentences whose words find sensible neighbours."""

import re

import numpy as np
import pytest

from tformer.reference import cooccurrence, pairwise_cosine, ppmi, svd_embeddings
from tformer_book.world import corpus

PROMISED = "animal street tired wide cat mat soft buy milk eggs pack laptop charger it because"
LEAST, WINDOW, D_MODEL = 3, 5, 16


def test_every_line_is_one_plain_sentence() -> None:
    assert 150 <= len(corpus.sentences()) <= 250
    for line in corpus.sentences():
        assert re.fullmatch(r"[A-Z][a-zA-Z]*(,? [a-zA-Z]+)*\.", line), line


def test_no_sentence_stands_twice() -> None:
    assert len(set(corpus.sentences())) == len(corpus.sentences())


def test_the_words_of_the_book_are_there() -> None:
    assert set(PROMISED.split()) <= set(corpus.vocabulary())


@pytest.mark.parametrize(
    "sentence",
    [
        "The cat sat on the mat because it was soft.",
        "The animal did not cross the street because it was too tired.",
        "The animal did not cross the street because it was too wide.",
        "Buy milk and eggs.",
        "Pack laptop and charger.",
    ],
)
def test_the_examples_of_the_book_are_sentences_of_the_corpus(sentence: str) -> None:
    assert sentence in corpus.sentences()


def test_numbers_spell_the_sentences() -> None:
    words = np.array(corpus.vocabulary())
    for row, sentence in zip(corpus.ids(), corpus.tokens(), strict=True):
        assert tuple(words[row[row >= 0]]) == sentence
        assert (row[len(sentence) :] == -1).all()


def test_rare_words_have_no_number_and_keep_their_place() -> None:
    words = np.array([*corpus.vocabulary(LEAST), "?"])
    common = set(words)
    for row, sentence in zip(corpus.ids(LEAST), corpus.tokens(), strict=True):
        spelt = [word if word in common else "?" for word in sentence]
        assert list(words[row[: len(sentence)]]) == spelt
    everything = [word for sentence in corpus.tokens() for word in sentence]
    assert common - {"?"} == {w for w in everything if everything.count(w) >= LEAST}


def test_vocabulary_is_sorted() -> None:
    assert list(corpus.vocabulary()) == sorted(set(corpus.vocabulary()))


NEIGHBOURS = [
    ("milk", "bread"),
    ("eggs", "flour"),
    ("cat", "dog"),
    ("street", "road"),
    ("laptop", "charger"),
    ("screen", "keyboard"),
    ("rain", "snow"),
    ("ticket", "passport"),
    ("teacher", "book"),
    ("soup", "tomatoes"),
]


@pytest.mark.parametrize(("word", "neighbour"), NEIGHBOURS)
def test_words_of_one_theme_are_neighbours(word: str, neighbour: str) -> None:
    words = corpus.vocabulary(LEAST)
    counts = cooccurrence(corpus.ids(LEAST), len(words), WINDOW)
    vectors = svd_embeddings(ppmi(counts), D_MODEL)
    cosines = pairwise_cosine(vectors, vectors)[words.index(word)]
    nearest = [words[i] for i in np.argsort(-cosines)[1:6]]
    assert neighbour in nearest
