"""Documents with words that were born in them: who was too tired, the wug or the dax?

*there was a hungry wug . the wug did not touch the dax because it was too tired . the*: the next
word is *wug*, if one has read that a wug can be hungry. An adjective fits some kinds of noun; the
question's adjective fits one of the two kinds only. A noun may be a *nonce word*: it has no kind of
its own, and stands for another kind in each document.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

__all__ = [
    "ADJECTIVES",
    "DAX",
    "KINDS",
    "NONCE_SENTENCE",
    "NOUNS",
    "WORDS",
    "WUG",
    "Documents",
    "drawn",
    "read",
]

KINDS = {
    "animal": "animal bird boy cat child dog horse",
    "place": "field garden lake river road street",
    "load": "ball box lorry parcel piano table",
    "hole": "bag door gate suitcase tunnel window",
    "cloth": "blanket carpet cushion mat rug",
    "food": "apple bread cake cheese soup",
}
ADJECTIVES = {
    "animal": "tired hungry happy afraid sleepy",
    "place": "busy deep wide large",
    "load": "heavy wide large",
    "hole": "locked narrow small",
    "cloth": "soft warm",
    "food": "fresh ripe sweet warm",
}
"""What a noun of each kind can be too much of."""
NOUNS = tuple(noun for nouns in KINDS.values() for noun in nouns.split())
SAID = tuple(dict.fromkeys(word for words in ADJECTIVES.values() for word in words.split()))
VERBS = ("touch", "see", "reach", "like", "find")
OTHER = ("<s>", ".", "a", "because", "did", "it", "not", "the", "there", "too", "was")
WORDS = (*OTHER, *VERBS, *SAID, *NOUNS)
WUG, DAX = len(WORDS), len(WORDS) + 1
"""Numbers of the two nonce words of a document, behind those of all known words."""
NONCE_SENTENCE = "the wug did not touch the dax because it was too {} . the"
"""The sentence of the chapter, up to the noun that is asked for."""
_NUMBER = {word: i for i, word in enumerate((*WORDS, "wug", "dax"))}


class Documents(NamedTuple):
    """Some documents, each up to the word that is asked for.

    Attributes
    ----------
    tokens : (B, T) integer array
        Filled up with full stops.
    last : (B,) integer array
        The place of the last word, *the*, behind which the noun is asked for.
    nouns : (B, 2) integer array
        The nouns in the order of the sentence.
    meant : (B,) integer array
        Which of the two is right, 0 or 1.
    """

    tokens: np.ndarray
    last: np.ndarray
    nouns: np.ndarray
    meant: np.ndarray


def read(text: str) -> np.ndarray:
    """The numbers of words parted by spaces, *wug* and *dax* among them, after a start token."""
    return np.array([_NUMBER[word] for word in ("<s>", *text.split())])


def drawn(
    rng: np.random.Generator, count: int, nonce: float = 1.0, introduced: int | None = None
) -> Documents:
    """Draw documents.

    Parameters
    ----------
    rng : numpy generator
    count : int
    nonce : float
        How likely each noun is a nonce word.
    introduced : int, optional
        How many of the two nouns a sentence introduces; if omitted, 0, 1 or 2 by chance.
    """
    made = [_document(rng, nonce, introduced) for _ in range(count)]
    texts, nouns, meant = zip(*made, strict=True)
    rows = np.full((count, max(map(len, texts))), _NUMBER["."])
    for row, text in zip(rows, texts, strict=True):
        row[: len(text)] = text
    return Documents(rows, np.array([*map(len, texts)]) - 1, np.array(nouns), np.array(meant))


def _document(
    rng: np.random.Generator, nonce: float, introduced: int | None
) -> tuple[list[int], list[int], int]:
    kinds = [tuple(KINDS)[i] for i in rng.permutation(len(KINDS))[:2]]
    new = [(WUG, DAX)[i] for i in rng.permutation(2)]
    nouns = [
        new[i] if rng.random() < nonce else _NUMBER[_one(rng, KINDS[kind].split())]
        for i, kind in enumerate(kinds)
    ]
    text = ["<s>"]
    told = int(rng.integers(3)) if introduced is None else introduced
    for i in rng.permutation(2)[:told]:
        text += ["there", "was", "a", _one(rng, ADJECTIVES[kinds[i]].split()), str(i), "."]
    meant = int(rng.integers(2))
    fits, other = (ADJECTIVES[kinds[i]].split() for i in (meant, 1 - meant))
    trouble = _one(rng, [word for word in fits if word not in other])
    text += f"the 0 did not {_one(rng, VERBS)} the 1 because it was too {trouble} . the".split()
    return [nouns[int(word)] if word in "01" else _NUMBER[word] for word in text], nouns, meant


def _one(rng: np.random.Generator, words: list[str] | tuple[str, ...]) -> str:
    return words[int(rng.integers(len(words)))]
