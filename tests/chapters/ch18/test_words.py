"""Documents with nonce words: what is drawn fits, and the answer can be told."""

import numpy as np
import pytest

from tformer_book.chapters.ch18.words import (
    ADJECTIVES,
    DAX,
    KINDS,
    NONCE_SENTENCE,
    WORDS,
    WUG,
    drawn,
    read,
)

NAMES = (*WORDS, "wug", "dax")


def texts(**options: object) -> list[tuple[list[str], list[str], int]]:
    """Documents as words, their nouns as words, and who is meant."""
    found = drawn(np.random.default_rng(0), 200, **options)  # type: ignore[arg-type]
    rows = [
        [NAMES[i] for i in row[: last + 1]]
        for row, last in zip(found.tokens, found.last, strict=True)
    ]
    nouns = [[NAMES[i] for i in pair] for pair in found.nouns]
    return list(zip(rows, nouns, found.meant.tolist(), strict=True))


def test_known_nouns_have_the_trouble_and_the_other_does_not() -> None:
    kind_of = {noun: kind for kind, nouns in KINDS.items() for noun in nouns.split()}
    for text, nouns, meant in texts(nonce=0.0):
        assert text[-1] == "the"
        trouble = text[text.index("too") + 1]
        fits = [trouble in ADJECTIVES[kind_of[noun]].split() for noun in nouns]
        assert fits == [meant == 0, meant == 1]


@pytest.mark.parametrize("introduced", [0, 1, 2])
def test_introductions_are_told_and_their_adjectives_fit_who_is_meant(introduced: int) -> None:
    for text, nouns, meant in texts(introduced=introduced):
        assert text.count("there") == introduced
        assert sorted(nouns) == ["dax", "wug"]
        told = {text[i + 4]: text[i + 3] for i, word in enumerate(text) if word == "there"}
        trouble = text[text.index("too") + 1]
        kinds = [kind for kind, words in ADJECTIVES.items() if trouble in words.split()]
        if nouns[meant] in told:
            assert any(told[nouns[meant]] in ADJECTIVES[kind].split() for kind in kinds)


def test_the_sentence_of_the_page_is_a_document() -> None:
    tokens = read(NONCE_SENTENCE.format("tired"))
    assert [NAMES[i] for i in tokens][:3] == ["<s>", "the", "wug"]
    assert (NAMES.index("wug"), NAMES.index("dax")) == (WUG, DAX)
