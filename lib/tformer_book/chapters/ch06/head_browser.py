"""Browse the heads of a layer that turns by veto: where each looks, what it brings, the sum."""

from typing import Any

import numpy as np
import traitlets

from tformer import reference
from tformer_book.chapters.ch06 import layers
from tformer_book.widgets.base import BookWidget
from tformer_book.world.lexicon import FEATURES, KINDS, SENTENCES, WORDS, embed, tokenise

LAYERS = {"six heads, one a kind": layers.SIX, "four heads, two a kind": layers.FOUR}
STEMS = tuple(dict.fromkeys(tokenise(sentence)[:-1] for sentence in SENTENCES))
LASTS = ("tired", "wide", "narrow", "soft")


def _layer(name: str) -> list[Any]:
    """A layer's name and its heads in order: their names, and the keys of features that have one.

    Lists, since a notebook is stored with the names of its dictionaries in order of the alphabet.
    """
    heads = [
        [head, {f: float(k) for f, k in zip(FEATURES, one.w_k[:, 0], strict=True) if k}]
        for head, one in LAYERS[name].items()
    ]
    return [name, heads]


class HeadBrowser(BookWidget, uses="grid.js folds.js"):
    """The row of *it* in every head of a layer, and in their sum; heads can be switched off.

    Parameters
    ----------
    layer : str
        One of the names of `LAYERS`.
    stem : int
        Which sentence, without its last word: a place in `STEMS`.
    last : str
        The last word, one of `LASTS`.
    off : list of int
        Heads that are switched off; they count from 0. At first it is the first, alone.
    head, word : int
        The head and the word that are told in full.

    Raises
    ------
    ValueError
        If an argument is outside what is said above.
    """

    layers = traitlets.List([_layer(name) for name in LAYERS]).tag(sync=True)
    stems = traitlets.List([list(stem) for stem in STEMS]).tag(sync=True)
    lasts = traitlets.List(traitlets.Unicode(), list(LASTS)).tag(sync=True)
    kinds = traitlets.List(traitlets.Unicode(), list(KINDS)).tag(sync=True)
    words = traitlets.Dict(
        {word: list(WORDS[word]) for word in sorted({*LASTS}.union(*STEMS))}
    ).tag(sync=True)
    layer = traitlets.Unicode().tag(sync=True)
    stem = traitlets.Int(0).tag(sync=True)
    last = traitlets.Unicode().tag(sync=True)
    off = traitlets.List(traitlets.Int(), [0]).tag(sync=True)
    head = traitlets.Int(0).tag(sync=True)
    word = traitlets.Int(1).tag(sync=True)

    def __init__(
        self, layer: str = next(iter(LAYERS)), last: str = LASTS[0], **kwargs: Any
    ) -> None:
        super().__init__(**({"stem": 0} | kwargs), layer=layer, last=last)
        for name, most in (("head", len(self._heads)), ("word", len(self.tokens))):
            self._below(name, getattr(self, name), most)
        for h in self.off:
            self._below("off", h, len(self._heads))

    @staticmethod
    def _below(name: str, value: int, most: int) -> None:
        if not 0 <= value < most:
            raise ValueError(f"HeadBrowser: {name} must be 0 to {most - 1}; got {value}")

    @traitlets.validate("stem")
    def _a_stem(self, proposal: dict[str, Any]) -> int:
        self._below("stem", proposal["value"], len(STEMS))
        return proposal["value"]

    @traitlets.validate("layer", "last")
    def _known(self, proposal: dict[str, Any]) -> str:
        name, known = proposal["trait"].name, {"layer": tuple(LAYERS), "last": LASTS}
        if proposal["value"] not in known[name]:
            given = f"one of {', '.join(known[name])}; got {proposal['value']}"
            raise ValueError(f"HeadBrowser: {name} must be {given}")
        return proposal["value"]

    @property
    def _heads(self) -> dict[str, Any]:
        return dict(LAYERS[self.layer])

    @property
    def tokens(self) -> tuple[str, ...]:
        """The words of the sentence."""
        return (*STEMS[self.stem], self.last)

    @property
    def weights(self) -> np.ndarray:
        """The weights of *it* in each head, (H, T), whether it is switched on or off."""
        tables = reference.multi_head_weights(embed(self.tokens), layers.layer(self._heads))
        return np.asarray(tables[:, self.tokens.index("it")])

    @property
    def total(self) -> np.ndarray:
        """The weights of *it* in the sum of the heads that are on, each with its share, (T,)."""
        on = [h not in self.off for h in range(len(self._heads))]
        return np.asarray(self.weights[on].sum(axis=0) / len(on))

    @property
    def received(self) -> np.ndarray:
        """What the row of *it* receives of each kind, (6,)."""
        whole = layers.layer(self._heads)
        on = [h for h in range(len(whole.w_q)) if h not in self.off]
        columns = [FEATURES.index(f"is {kind}") for kind in KINDS]
        parts = self.weights[on][:, None] @ embed(self.tokens) @ reference.ov_circuit(whole)[on]
        return np.asarray(parts.sum(axis=(0, 1))[columns])

    def __repr__(self) -> str:
        nouns = layers.places(" ".join(self.tokens))
        said = ", ".join(f"{self.tokens[i]} {self.total[i]:.3f}" for i in nouns)
        names = list(self._heads)
        off = f", without {', '.join(names[h] for h in self.off)}" if self.off else ""
        return f"HeadBrowser: “{' '.join(self.tokens)}”, {self.layer}{off}: it looks at {said}"

    def fallback(self) -> str:
        rows = "".join(
            f"<tr><th>{name}</th>{''.join(f'<td>{x:.2f}</td>' for x in row)}</tr>"
            for name, row in [*zip(self._heads, self.weights, strict=True), ("sum", self.total)]
        )
        words = "".join(f"<th>{token}</th>" for token in self.tokens)
        return (
            "<p>Interactive figure, needs JavaScript: where “it” looks in each of several heads, "
            "and in their sum; heads can be switched off.</p>"
            f"<table><tr><th>head</th>{words}</tr>{rows}</table>"
        )
