"""A sentence, and where its words look in two attention layers whose weights are made by hand."""

import math
from collections.abc import Sequence
from dataclasses import replace
from html import escape
from typing import Any

import numpy as np
import traitlets

from tformer_book.widgets.base import BookWidget
from tformer_book.world import lexicon
from tformer_book.world.lexicon import hand_made_words

MOST = 24
NAMED = 3


class AttentionMap(BookWidget, uses="hand_made.js folds.js"):
    """Click a word of a sentence: how much does it look at each word, in layer 1 and in layer 2?

    Parameters
    ----------
    sentence : str
        At most 24 words. One that `tformer_book.world.lexicon` does not know has the zero vector.
    selected : int, optional
        Place of the word that looks, from 0; past the end it means the last word. By default the
        first pronoun, else the first word.
    layer : int
        1 or 2: the layer that is drawn as curves and put into words.
    biases : list of [layer, t, s, b]
        Each adds b to the score that word t gives word s in that layer, 1 or 2. Places count from
        0; where one lies past the end, nothing is added. A reader who changes the sentence drops
        them.

    Raises
    ------
    ValueError
        If there are too many words, or a number is outside what is said above.
    """

    hand_made = traitlets.Dict(hand_made_words()).tag(sync=True)
    examples = traitlets.List(traitlets.Unicode(), list(lexicon.SENTENCES)).tag(sync=True)
    sentence = traitlets.Unicode().tag(sync=True)
    selected = traitlets.Int(0).tag(sync=True)
    layer = traitlets.Int(2).tag(sync=True)
    biases = traitlets.List(traitlets.List()).tag(sync=True)

    def __init__(
        self,
        sentence: str = next(iter(lexicon.SENTENCES)),
        selected: int | None = None,
        layer: int = 2,
        **kwargs: Any,
    ) -> None:
        if selected is None:
            selected = first_pronoun(lexicon.tokenise(sentence))
        super().__init__(sentence=sentence, selected=selected, layer=layer, **kwargs)

    @traitlets.validate("sentence")
    def _short(self, proposal: dict[str, Any]) -> str:
        words = len(lexicon.tokenise(proposal["value"]))
        if words > MOST:
            raise ValueError(f"AttentionMap: sentence has {words} words; at most {MOST} fit")
        return proposal["value"]

    @traitlets.validate("selected")
    def _place(self, proposal: dict[str, Any]) -> int:
        if proposal["value"] < 0:
            raise ValueError(f"AttentionMap: selected must be 0 or more; got {proposal['value']}")
        return proposal["value"]

    @traitlets.validate("layer")
    def _one_or_two(self, proposal: dict[str, Any]) -> int:
        if proposal["value"] not in (1, 2):
            raise ValueError(f"AttentionMap: layer must be 1 or 2; got {proposal['value']}")
        return proposal["value"]

    @traitlets.validate("biases")
    def _four_numbers(self, proposal: dict[str, Any]) -> list[list[float]]:
        for i, one in enumerate(proposal["value"]):
            if not _is_bias(one):
                raise ValueError(
                    f"AttentionMap: biases[{i}] must be [layer, t, s, b]: 1 or 2, two places from "
                    f"0, a finite number; got {one}"
                )
        return proposal["value"]

    @property
    def layers(self) -> tuple[lexicon.Layer, ...]:
        """The layers of `tformer_book.world.lexicon` with `biases` in them."""
        n = len(lexicon.tokenise(self.sentence))
        tables = np.zeros((len(lexicon.LAYERS), n, n))
        for layer, t, s, b in self.biases:
            if max(t, s) < n:
                tables[layer - 1, t, s] += b
        both = zip(lexicon.LAYERS, tables, strict=True)
        return tuple(replace(layer, bias=table) for layer, table in both)

    @property
    def reading(self) -> lexicon.Reading:
        """What `lexicon.read` makes of the sentence in these layers."""
        return lexicon.read(self.sentence, self.layers)

    @property
    def weights(self) -> list[list[float]]:
        """How much the selected word looks at each word, in layer 1 and in layer 2."""
        reading = self.reading
        return reading.weights[:, self._at].tolist() if reading.tokens else [[], []]

    @property
    def ratios(self) -> tuple[float, ...] | None:
        """The weight on the first noun over that on the second; None without two nouns.

        In layer 1, in layer 2, and in layer 2 if it gets the words without layer 1.
        """
        reading = self.reading
        nouns = [token for token in reading.tokens if "noun" in lexicon.WORDS.get(token, ())]
        places = [reading.tokens.index(noun) for noun in dict.fromkeys(nouns)]
        if len(places) < 2:
            return None
        alone = lexicon.read(self.sentence, self.layers[1:])
        rows = [*reading.weights[:, self._at], alone.weights[0, self._at]]
        return tuple(float(row[places[0]] / row[places[1]]) for row in rows)

    @property
    def _at(self) -> int:
        return min(self.selected, len(lexicon.tokenise(self.sentence)) - 1)

    def __repr__(self) -> str:
        tokens = self.reading.tokens
        if not tokens:
            return "AttentionMap: no words"
        said = describe(tokens[self._at], tokens, self.weights[self.layer - 1])
        added = "; ".join(changes(tokens, self.biases))
        text = f"“{' '.join(tokens)}”" + (f" ({added})" if added else "")
        return f"AttentionMap: {text}: in layer {self.layer}, {said}"

    def fallback(self) -> str:
        rows = "".join(
            f"<tr><td>{escape(token)}</td><td>{one:.2f}</td><td>{two:.2f}</td></tr>"
            for token, one, two in zip(self.reading.tokens, *self.weights, strict=True)
        )
        return (
            "<p>Interactive figure, needs JavaScript: a sentence whose words can be clicked to "
            f"see where they look. As drawn, {escape(repr(self).removeprefix('AttentionMap: '))}."
            f"</p><table><tr><th>word</th><th>layer 1</th><th>layer 2</th></tr>{rows}</table>"
        )


def first_pronoun(tokens: tuple[str, ...]) -> int:
    pronouns = (i for i, token in enumerate(tokens) if "pronoun" in lexicon.WORDS.get(token, ()))
    return next(pronouns, 0)


def _is_bias(one: list[Any]) -> bool:
    if len(one) != 4 or not all(isinstance(number, int) for number in one[:3]):
        return False
    layer, t, s, b = one
    return layer in (1, 2) and min(t, s) >= 0 and isinstance(b, int | float) and math.isfinite(b)


def changes(tokens: Sequence[str], biases: Sequence[list[Any]]) -> list[str]:
    """Say what is added to which score."""
    return [
        f"layer {layer}: “{tokens[t]}” to “{tokens[s]}” {b:+z.1f}".replace("-", "−")
        for layer, t, s, b in biases
        if max(t, s) < len(tokens)
    ]


def describe(word: str, tokens: Sequence[str], weights: Sequence[float]) -> str:
    """Say where a word looks: the weights that stand out, largest first, and the least one."""
    billionths = [round(1e9 * weight) for weight in weights]
    least = min(billionths)
    above = sorted((s for s, b in enumerate(billionths) if b > least), key=lambda s: -billionths[s])
    if not above:
        return f"“{word}” looks alike at all words: 1/{len(tokens)} at each"
    shown = ", ".join(f"{weights[s]:.2f} at {tokens[s]}" for s in above[:NAMED])
    rest = f"{min(weights):.2f} at each" if len(above) <= NAMED else "no more than that at any"
    return f"“{word}” looks {shown} and {rest} other word"
