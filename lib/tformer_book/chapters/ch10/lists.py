"""Two worked examples, end to end: "Buy milk and → eggs", and "Pack laptop and → charger".

The first is printed with all its numbers in *Transformer ML*; of the second the notes say only that
it would come out in the same way. `NOTES` is their model. `BOTH` is ours: one more coordinate, so
that food and technology have one each.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from tformer import reference
from tformer.configuration import Configuration
from tformer.parameters import (
    BlockParameters,
    FeedForwardParameters,
    HeadParameters,
    ModelParameters,
    NormParameters,
)
from tformer_book.world import buy_milk
from tformer_book.world.sources import BUY_MILK, WorkedExample

__all__ = [
    "BOTH",
    "LINE",
    "LOOKS",
    "MODELS",
    "NOTES",
    "PLACES",
    "PRINTED",
    "ListModel",
    "logits",
    "steps",
]

PLAIN = NormParameters(None, None)
EPS = 1e-12
PLACES = 6
"""Words of a sentence, at most; the notes have vectors for three places, the others are 0."""
LOOKS = ("as computed", "equal shares", "only itself")
RELU = Configuration(activation="relu")


@dataclass(frozen=True, eq=False)
class ListModel:
    """A block with one head, and what stands before and after it.

    Attributes
    ----------
    features : what the coordinates stand for, d of them.
    words : name of a word -> its vector, (d,).
    places : (n_ctx, d) array
    w_v, w_in, w_out, unembedding : (d, d), (d, d_ff), (d_ff, d) and (d, N) arrays
    answers : the N words that may come next.
    """

    features: tuple[str, ...]
    words: Mapping[str, tuple[float, ...]]
    places: np.ndarray
    w_v: np.ndarray
    w_in: np.ndarray
    w_out: np.ndarray
    unembedding: np.ndarray
    answers: tuple[str, ...]

    def block(self) -> BlockParameters:
        """The block as the library's functions take it: queries and keys are the vectors."""
        one = np.eye(len(self.features))[None]
        heads = HeadParameters(one, one, self.w_v[None], one)
        return BlockParameters(heads, FeedForwardParameters(self.w_in, self.w_out), PLAIN, PLAIN)

    def start(self, sentence: str) -> np.ndarray:
        """The vectors of a sentence before the block, (T, d)."""
        table, tokens = np.array(list(self.words.values())), self.tokens(sentence)
        return np.asarray(reference.embedding(tokens, table) + self.places[: len(tokens)])

    def tokens(self, sentence: str) -> np.ndarray:
        """The numbers of the words of a sentence, (T,)."""
        return np.array([list(self.words).index(word) for word in sentence.lower().split()])


def _places(d: int) -> np.ndarray:
    """No shift; a little less of the last coordinate; a little more: as the notes have it."""
    shift = np.append(np.full(d - 1, 0.1), -0.1)
    return np.stack([0 * shift, shift, -shift, *[0 * shift] * (PLACES - 3)])


NOTES = ListModel(
    ("food", "action"),
    {"buy": (0.1, 1.0), "pack": (0.1, 1.0), "milk": (1.0, 0.1), "bread": (1.0, 0.1)}
    | {"laptop": (0.0, 0.1), "phone": (0.0, 0.1), "and": (0.6, 0.6), "now": (0.1, 1.0)},
    _places(2),
    buy_milk.W_V,
    buy_milk.W_1,
    buy_milk.W_2,
    buy_milk.W_OUT.T,
    buy_milk.VOCABULARY,
)
"""The model of the notes, which have *buy*, *milk* and *and*; the other words are ours."""

BOTH = ListModel(
    ("food", "tech", "action"),
    {"buy": (0.1, 0.1, 1.0), "pack": (0.1, 0.1, 1.0), "milk": (1.0, 0.0, 0.1)}
    | {"bread": (1.0, 0.0, 0.1), "laptop": (0.0, 1.0, 0.1), "phone": (0.0, 1.0, 0.1)}
    | {"and": (0.6, 0.6, 0.6), "now": (0.1, 0.1, 1.0)},
    _places(3),
    np.diag([2.0, 2.0, 1.0]),
    np.eye(3),
    np.eye(3),
    np.eye(3),
    ("eggs", "charger", "now"),
)
"""Ours: *and* leans to neither list, and the layer only strengthens what is above the mean."""

MODELS = {"as printed": NOTES, "both lists": BOTH}


def steps(
    model: ListModel, sentence: str, look: str = LOOKS[0], doubled: bool = True
) -> dict[str, np.ndarray]:
    """Every table on the way from a sentence to the logits, by the library, norms after the sums.

    Parameters
    ----------
    look : one of `LOOKS`.
    doubled : whether `w_v` is what it is, or the identity.
    """
    x = model.start(sentence)
    v = x @ model.w_v if doubled else x
    mask = np.eye(len(x), dtype=bool) if look == "only itself" else np.tri(len(x), dtype=bool)
    asks = 0 * x if look == "equal shares" else x
    layer = FeedForwardParameters(model.w_in, model.w_out)
    dots = reference.pairwise_dot(x, x)
    found = {"x": x, "values": v, "dots": dots, "scores": dots / np.sqrt(x.shape[-1])}
    found["weights"] = reference.attention_weights(asks, x, mask=mask)
    found["outputs"] = reference.attention(asks, x, v, mask=mask)
    found["sum"] = x + found["outputs"]
    found["normed"] = reference.layer_norm(found["sum"], PLAIN, EPS)
    found["inner"] = found["normed"] @ model.w_in
    found["hidden"] = reference.relu(found["inner"])
    found["layer"] = reference.feed_forward(found["normed"], layer, RELU)
    found["sum 2"] = found["normed"] + found["layer"]
    found["rows"] = reference.layer_norm(found["sum 2"], PLAIN, EPS)
    found["logits"] = found["rows"] @ model.unembedding
    return found


def logits(
    model: ListModel, sentence: str, order: str = "post", last_norm: bool = False
) -> dict[str, float]:
    """The logits after the last word by the library's block, a name and a number each."""
    configuration = Configuration(order=order, activation="relu", eps=EPS)
    x = reference.block(model.start(sentence), model.block(), configuration, causal=True)
    x = reference.layer_norm(x, PLAIN, EPS) if last_norm else x
    z = reference.unembed(x[-1:], ModelParameters(model.unembedding.T, ()))[0]
    return {word: float(one) for word, one in zip(model.answers, z, strict=True)}


class _Whole(WorkedExample):
    """The example to its end."""

    def right(self) -> dict[str, np.ndarray]:
        """All tables, as they should be."""
        return steps(NOTES, "buy milk and")


PRINTED = _Whole(
    BUY_MILK.q,
    BUY_MILK.k,
    BUY_MILK.v,
    BUY_MILK.mask,
    {
        "x": ("0.1 1.0", "1.1 0.0", "0.5 0.7"),
        "values": ("0.2 1.0", "2.2 0.0", "1.0 0.7"),
        **BUY_MILK.printed,
        "sum": ("0.3 2.0", "2.6702 0.3149", "1.5844 1.2926"),
        "normed": ("-1 1", "1 -1", "1 -1"),
        "inner": ("-1 1 0", "1 -1 -2", "1 -1 -2"),
        "hidden": ("0 1 0", "1 0 0", "1 0 0"),
        "layer": ("0 1", "1 0.5", "1 0.5"),
        "sum 2": ("-1 2", "2 -0.5", "2 -0.5"),
        "rows": ("-1 1", "1 -1", "1 -1"),
    },
)
"""What the notes print, digit for digit, up to the final vectors; of the logits one line."""
LINE = ("eggs", 1.0), ("bread", -1.0), ("now", -2.0)
"""The printed logits after *and*."""
