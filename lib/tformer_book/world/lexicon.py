"""A hundred words described by hand, and two attention layers that find out what *it* means.

Nothing here is learned, and the features are chosen so that the demonstration works: it shows what
attention can do with such embeddings, not what a trained model does. Positions play no part.

A noun *is* of some kinds, an adjective *says* of which kinds it speaks:

    place    what one crosses                         the street was too wide
    cargo    what has to fit through or into another  the piano was too wide
    opening  what another has to fit through or into  the door was too narrow

What these kinds do not tell apart stays undecided: in "The lorry did not cross the street because
it was too wide" both nouns get the same weight.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np

from tformer import reference as ref

__all__ = [
    "FEATURES",
    "GATHER",
    "KINDS",
    "LAYERS",
    "RESOLVE",
    "SENTENCES",
    "WORDS",
    "Layer",
    "Reading",
    "embed",
    "hand_made_words",
    "read",
    "tokenise",
]

KINDS = ("animate", "place", "cargo", "opening", "cloth", "food")
FEATURES = (
    *("noun", "pronoun", "adjective", "verb", "function"),
    *(f"is {kind}" for kind in KINDS),
    *(f"says {kind}" for kind in KINDS),
)
"""The D columns of an embedding. The words of each combination stand below, one line each."""

_TABLE = """
noun, is animate: animal bird boy cat child dog driver fox girl horse man mouse teacher woman
noun, is place: field garden lake river road street
noun, is cargo: ball box lorry parcel piano table trophy
noun, is cargo, is cloth: bed sofa
noun, is opening: bag door gate hole suitcase tunnel
noun, is cloth: blanket carpet cushion mat pillow rug
noun, is food: apple bread cake cheese milk soup
adjective, says animate: afraid angry happy hungry sleepy thirsty tired
adjective, says place: busy deep
adjective, says place, says cargo: big large wide
adjective, says cargo: heavy
adjective, says opening: locked narrow small
adjective, says cloth: soft warm
adjective, says food: fresh ripe sweet tasty
pronoun: it they
pronoun, says animate: he she
verb: ate chased cross crossed did drank fit go had is lay liked sat saw slept was were would
function: a an and because but in into not of on over so the through to too under very
"""
_FEATURES_OF = {
    word: tuple(features.split(", "))
    for features, words in (line.split(": ") for line in _TABLE.strip().splitlines())
    for word in words.split()
}
WORDS: Mapping[str, tuple[str, ...]] = MappingProxyType(_FEATURES_OF)
"""Each known word and the features it has. A feature that it has is 1, any other 0."""

SENTENCES: Mapping[str, str] = MappingProxyType(
    {
        "The animal did not cross the street because it was too tired": "animal",
        "The animal did not cross the street because it was too wide": "street",
        "The cat sat on the mat because it was tired": "cat",
        "The cat sat on the mat because it was soft": "mat",
        "The piano would not go through the door because it was too wide": "piano",
        "The piano would not go through the door because it was too narrow": "door",
    }
)
"""Sentences in pairs that differ in the last word, and the noun that *it* stands for."""


@dataclass(frozen=True, eq=False)
class Layer:
    """One attention layer with a residual connection: x + attention(x w_q, x w_k, x w_v).

    w_q and w_k have shape (d_model, d_k), w_v has shape (d_model, d_model). A bias of shape (T, T)
    is added to the scores; a layer that has one reads sentences of T words only.
    """

    w_q: np.ndarray
    w_k: np.ndarray
    w_v: np.ndarray
    bias: np.ndarray | None = None


def _wires(ends: Sequence[str], wires: Mapping[str, str], strength: float = 1.0) -> np.ndarray:
    """Return the (d_model, len(ends)) matrix that leads each feature to the end `wires` names."""
    matrix = np.zeros((len(FEATURES), len(ends)))
    for feature, end in wires.items():
        matrix[FEATURES.index(feature), ends.index(end)] = strength
    return matrix


_IS = [f"is {kind}" for kind in KINDS]
_SAYS = [f"says {kind}" for kind in KINDS]
_SOUGHT = ["noun", *_IS]

GATHER = Layer(  # A pronoun asks for adjectives; they hand over what they say.
    w_q=_wires(["adjective"], {"pronoun": "adjective"}, strength=4.0),
    w_k=_wires(["adjective"], {"adjective": "adjective"}),
    w_v=_wires(FEATURES, {says: says for says in _SAYS}),
)
RESOLVE = Layer(  # A pronoun asks for nouns, above all of the kind it has heard said.
    w_q=_wires(_SOUGHT, {"pronoun": "noun"} | dict(zip(_SAYS, _IS, strict=True)), strength=6.0),
    w_k=_wires(_SOUGHT, {sought: sought for sought in _SOUGHT}),
    w_v=_wires(FEATURES, {kind: kind for kind in _IS}),
)
LAYERS = (GATHER, RESOLVE)


@dataclass(frozen=True, eq=False)
class Reading:
    """What became of a sentence.

    Attributes
    ----------
    tokens : the T words, in lower case.
    unknown : those among them that have no embedding; theirs is zero.
    weights : (L, T, T) array; entry (l, t, s) is the weight in layer l of word t on word s.
    vectors : (T, d_model) array, the words after the last layer.
    """

    tokens: tuple[str, ...]
    unknown: tuple[str, ...]
    weights: np.ndarray
    vectors: np.ndarray

    def weight(self, word: str, other: str, layer: int = -1) -> float:
        """Return the weight of one word on another, in the last layer unless said otherwise."""
        return float(self.weights[layer, self.tokens.index(word), self.tokens.index(other)])


def tokenise(sentence: str) -> tuple[str, ...]:
    """Return the words of a sentence, in lower case and without punctuation."""
    return tuple(re.findall(r"[^\W\d_]+(?:['’][^\W\d_]+)*", sentence.lower()))


def embed(tokens: Sequence[str]) -> np.ndarray:
    """Return the (T, d_model) embeddings of some words; an unknown word has the zero vector."""
    ones = [[feature in WORDS.get(token, ()) for feature in FEATURES] for token in tokens]
    return np.array(ones, dtype=float).reshape(len(tokens), len(FEATURES))


def read(sentence: str, layers: Sequence[Layer] = LAYERS) -> Reading:
    """Send a sentence through attention layers, by default the two that resolve a pronoun.

    Every word may look at every word, also at later ones.
    """
    tokens = tokenise(sentence)
    weights = np.zeros((len(layers), len(tokens), len(tokens)))
    x = embed(tokens)
    for i, layer in enumerate(layers):
        q, k, v = x @ layer.w_q, x @ layer.w_k, x @ layer.w_v
        weights[i] = ref.attention_weights(q, k, bias=layer.bias)
        x = x + ref.attention(q, k, v, bias=layer.bias)
    unknown = [token for token in tokens if token not in WORDS]
    return Reading(tokens, tuple(dict.fromkeys(unknown)), weights, x)


def hand_made_words() -> dict[str, Any]:
    """The words, features and layers of this module, as a widget takes them into a page."""
    place = {feature: i for i, feature in enumerate(FEATURES)}
    return {
        "features": list(FEATURES),
        "words": {word: [place[f] for f in has] for word, has in WORDS.items()},
        "layers": [
            {name: _entries(getattr(layer, name)) for name in ("w_q", "w_k", "w_v")}
            for layer in LAYERS
        ],
    }


def _entries(matrix: np.ndarray) -> dict[str, Any]:
    """The width of a matrix and its few entries that are not zero, as [row, column, value]."""
    rows, columns = np.nonzero(matrix)
    entries = zip(rows.tolist(), columns.tolist(), matrix[rows, columns].tolist(), strict=True)
    return {"width": matrix.shape[1], "entries": [list(entry) for entry in entries]}
