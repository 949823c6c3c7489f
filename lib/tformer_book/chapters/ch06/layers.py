"""Layers made by hand, each as the weights of one multi-head layer.

Their heads are those of `tformer_book.world.circuits`: a head prefers nouns of some kinds, and an
adjective that speaks of other kinds draws its weight away.
"""

from collections.abc import Collection, Iterable, Mapping
from itertools import combinations
from types import MappingProxyType

import numpy as np

from tformer import reference
from tformer.parameters import HeadParameters
from tformer_book.world.circuits import NOUNS, VETO, Head
from tformer_book.world.lexicon import FEATURES, KINDS, SENTENCES, embed, tokenise

__all__ = [
    "FOUR",
    "HIGH",
    "SETS",
    "SIX",
    "TIRED",
    "TWO",
    "WIDE",
    "full_scores",
    "layer",
    "mean_weights",
    "places",
    "set_head",
]

TIRED, WIDE = tuple(SENTENCES)[:2]
HIGH = 8.0
"""The score of a noun in a head that its kind belongs to; in any other its score is 0."""
SETS: Mapping[str, tuple[int, ...]] = MappingProxyType(
    dict(zip(KINDS, combinations(range(4), 2), strict=True))
)
"""Two of four heads for each of six kinds, no two kinds the same."""


def set_head(kinds: Collection[str], known: Iterable[str] = KINDS) -> Head:
    """Return the head that several kinds belong to; its keys have width 1.

    A noun of these kinds has the key `HIGH`; an adjective adds minus `HIGH` for each of them that
    it speaks of, and twice `HIGH` for each other kind of `known`.
    """
    keys = np.zeros((len(FEATURES), 1))
    for kind in known:
        keys[FEATURES.index(f"is {kind}")] = HIGH * (kind in kinds)
        keys[FEATURES.index(f"says {kind}")] = -HIGH if kind in kinds else 2 * HIGH
    asks = np.array([[float(feature == "pronoun")] for feature in FEATURES])
    return Head(asks, keys, next(iter(VETO.values())).w_v)


def _heads_of(sets: Mapping[str, tuple[int, ...]]) -> dict[str, Head]:
    n_heads = 1 + max(max(chosen) for chosen in sets.values())
    return {
        f"head {h + 1}": set_head([kind for kind, own in sets.items() if h in own], sets)
        for h in range(n_heads)
    }


SIX: Mapping[str, Head] = VETO
"""Chapter 3's heads: one for each kind."""
FOUR: Mapping[str, Head] = MappingProxyType(_heads_of(SETS))
"""Four heads for the same six kinds."""
TWO: Mapping[str, Head] = MappingProxyType(_heads_of({"animate": (0,), "place": (1,)}))
"""Two heads for two kinds."""


def layer(heads: Mapping[str, Head]) -> HeadParameters:
    """Return the multi-head layer of some heads; its W_O writes the mean of what they hand over.

    Each value has a column for each kind, and W_O writes it where a noun says what it is.
    """
    to_kinds = np.array(
        [[float(f"is {kind}" == feature) for feature in FEATURES] for kind in KINDS]
    )
    each = heads.values()
    return HeadParameters(
        np.stack([head.w_q for head in each]),
        np.stack([head.w_k for head in each]),
        np.stack([head.w_v for head in each]),
        np.stack([to_kinds / len(heads)] * len(heads)),
    )


def full_scores(sentence: str, heads: Mapping[str, Head]) -> np.ndarray:
    """Return the scores of *it* in each head, of shape (H, T)."""
    return np.array([(embed(tokenise(sentence)) @ head.w_k)[:, 0] for head in heads.values()])


def mean_weights(sentence: str, heads: Mapping[str, Head]) -> np.ndarray:
    """Return the weights of *it* in the mean of the heads, of shape (T,)."""
    tokens = tokenise(sentence)
    tables = reference.multi_head_weights(embed(tokens), layer(heads))
    return np.asarray(tables[:, tokens.index("it")].mean(axis=0))


def places(sentence: str) -> list[int]:
    """Return the places of the two nouns and of the last word."""
    tokens = tokenise(sentence)
    return [i for i, token in enumerate(tokens) if token in NOUNS] + [len(tokens) - 1]
