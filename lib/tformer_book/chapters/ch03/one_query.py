"""One query asks: the whole of attention, watched as one word of a sentence goes through it."""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np
import traitlets

from tformer import reference as ref
from tformer_book.chapters.ch03.attention_map import describe, first_pronoun
from tformer_book.widgets.base import BookWidget
from tformer_book.world import lexicon
from tformer_book.world.lexicon import hand_made_words

ANIMAL, PIANO = (tuple(lexicon.SENTENCES)[i : i + 2] for i in (0, 4))


@dataclass(frozen=True, eq=False)
class Tables:
    """What a layer of `tformer_book.world.lexicon` makes of a sentence of T words.

    Attributes
    ----------
    sought, given : the features that the columns of the keys and of the values stand for.
    q, k : (T, d_k) arrays.
    v, y : (T, d_v) arrays; columns of the values that are zero for every word are left out.
    scores, weights : (T, T) arrays.
    """

    sought: tuple[str, ...]
    given: tuple[str, ...]
    q: np.ndarray
    k: np.ndarray
    v: np.ndarray
    scores: np.ndarray
    weights: np.ndarray
    y: np.ndarray


class OneQuery(BookWidget, uses="hand_made.js folds.js player.js heat.js"):
    """Take hold of a word: its query meets the keys, and values pour into its output.

    Parameters
    ----------
    sentences : sequence of two str
        They have as many words as each other; the reader changes between them.
    which : int
        0 or 1: the sentence that is shown.
    selected : int, optional
        Place of the word that asks, from 0; by default the first pronoun, else the first word.
    layer : int
        1 or 2: the layer of `tformer_book.world.lexicon` that is shown.
    moment : float
        0 to 3: how far the calculation has come. At 0 there is the query, at 1 there are all
        scores, at 2 all weights, at 3 the output. *Play* goes through it, the scrubber sets it.
    compact : bool
        Show the sentence and arcs of the weights, no tables.

    Raises
    ------
    ValueError
        If a number is outside what is said above, or the sentences are not of one length.
    """

    hand_made = traitlets.Dict(hand_made_words()).tag(sync=True)
    sentences = traitlets.List(traitlets.Unicode(), list(ANIMAL)).tag(sync=True)
    which = traitlets.Int(0).tag(sync=True)
    selected = traitlets.Int(0).tag(sync=True)
    layer = traitlets.Int(2).tag(sync=True)
    moment = traitlets.Float(3.0).tag(sync=True)
    compact = traitlets.Bool(False).tag(sync=True)

    def __init__(
        self, sentences: Sequence[str] = ANIMAL, selected: int | None = None, **kwargs: Any
    ) -> None:
        if selected is None:
            selected = first_pronoun(lexicon.tokenise(sentences[0]))
        super().__init__(sentences=list(sentences), selected=selected, **kwargs)

    @traitlets.validate("sentences")
    def _of_one_length(self, proposal: dict[str, Any]) -> list[str]:
        lengths = [len(lexicon.tokenise(sentence)) for sentence in proposal["value"]]
        if len(lengths) != 2 or lengths[0] != lengths[1] or not lengths[0]:
            raise ValueError(f"OneQuery: needs two sentences of one length; got {lengths} words")
        return proposal["value"]

    @traitlets.validate("which", "selected", "layer", "moment")
    def _in_reach(self, proposal: dict[str, Any]) -> float:
        name, value = proposal["trait"].name, proposal["value"]
        words = max(1, len(lexicon.tokenise(self.sentences[0])))
        low, high = {"which": (0, 1), "selected": (0, words - 1), "layer": (1, 2)}.get(name, (0, 3))
        if not low <= value <= high:
            raise ValueError(f"OneQuery: {name} must be {low} to {high}; got {value}")
        return value

    @property
    def tokens(self) -> tuple[str, ...]:
        """The words of the sentence that is shown."""
        return lexicon.tokenise(self.sentences[self.which])

    @property
    def tables(self) -> Tables:
        """What the layer makes of the sentence, computed by `tformer.reference`."""
        return tables(self.sentences[self.which], self.layer)

    def __repr__(self) -> str:
        tokens, found = self.tokens, self.tables
        said = describe(tokens[self.selected], tokens, found.weights[self.selected].tolist())
        return f"OneQuery: “{' '.join(tokens)}”: in layer {self.layer}, {said}"

    def fallback(self) -> str:
        found, at = self.tables, self.selected
        pairs = zip(self.tokens, found.scores[at], found.weights[at], strict=True)
        rows = "".join(
            f"<tr><td>{escape(token)}</td><td>{score:.2f}</td><td>{weight:.3f}</td></tr>"
            for token, score, weight in pairs
        )
        return (
            "<p>Interactive figure, needs JavaScript: the query of a word meets the keys of a "
            f"sentence. As drawn, {escape(repr(self).removeprefix('OneQuery: '))}.</p>"
            f"<table><tr><th>word</th><th>score</th><th>weight</th></tr>{rows}</table>"
        )


def tables(sentence: str, layer: int = 2) -> Tables:
    """Return what layer 1 or 2 of `tformer_book.world.lexicon` makes of a sentence."""
    before = lexicon.read(sentence, lexicon.LAYERS[: layer - 1])
    one = lexicon.LAYERS[layer - 1]
    sought = [lexicon.FEATURES[i] for i in one.w_k.argmax(axis=0)]
    used = np.flatnonzero(one.w_v.any(axis=0))
    x = before.vectors
    q, k, v = x @ one.w_q, x @ one.w_k, x @ one.w_v[:, used]
    return Tables(
        sought=tuple(sought),
        given=tuple(lexicon.FEATURES[i] for i in used),
        q=q,
        k=k,
        v=v,
        scores=ref.pairwise_dot(q, k) / np.sqrt(q.shape[-1]),
        weights=ref.attention_weights(q, k),
        y=ref.attention(q, k, v),
    )
