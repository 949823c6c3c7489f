"""Make a mask: what it does to the weights, what leaks, and what a word can know through layers."""

from dataclasses import replace
from typing import Any

import numpy as np
import traitlets

from tformer import reference
from tformer_book.chapters.ch05.paths import reach
from tformer_book.widgets.base import BookWidget
from tformer_book.world import lexicon

STEM = "The animal did not cross the street because it was too"
LAST_WORDS = ("tired", "wide")
N, IT = 12, 8
BASES = ("all", "causal", "window")
REACH = {"window": (1, N), "prefix": (0, N), "document": (0, N - 1), "padding": (0, N)}
"""The smallest and the largest value of each number that shapes a mask."""


class MaskEditor(BookWidget, uses="hand_made.js grid.js folds.js"):
    """Make a mask from parts or cell by cell, and see what it hides and what it lets through.

    Parameters
    ----------
    last : str
        The last word of the sentence: "tired" or "wide".
    base : str
        What is seen before anything else is said: "all", "causal" or "window".
    window : int
        How many words a window shows, 1 to 12, the word itself included.
    prefix : int
        The first so many words are seen by all, 0 to 12.
    document : int
        Place, from 0, at which a second document begins; 0 if there is one alone.
    padding : int
        So many words at the end are padding, 0 to 12: no word may look at them.
    flips : list of [t, s]
        Cells that are the other way round, by places from 0.
    selected : int
        Place of the word whose row and paths are told.
    layer : int
        1 or 2: the layer of `tformer_book.world.lexicon` whose weights are drawn.
    n_layers : int
        Through so many layers, 1 to 4, the paths lead.
    guess : int
        How many pairs the reader expects to leak through one hole; 0 for no guess.

    Raises
    ------
    ValueError
        If an argument is outside what is said above.
    """

    hand_made = traitlets.Dict(lexicon.hand_made_words()).tag(sync=True)
    stem = traitlets.Unicode(STEM).tag(sync=True)
    last = traitlets.Unicode(LAST_WORDS[0]).tag(sync=True)
    base = traitlets.Unicode("causal").tag(sync=True)
    window = traitlets.Int(3).tag(sync=True)
    prefix = traitlets.Int(0).tag(sync=True)
    document = traitlets.Int(0).tag(sync=True)
    padding = traitlets.Int(0).tag(sync=True)
    flips = traitlets.List(traitlets.List(traitlets.Int())).tag(sync=True)
    selected = traitlets.Int(IT).tag(sync=True)
    layer = traitlets.Int(2).tag(sync=True)
    n_layers = traitlets.Int(2).tag(sync=True)
    guess = traitlets.Int(0).tag(sync=True)

    @traitlets.validate("last", "base")
    def _one_of(self, proposal: dict[str, Any]) -> str:
        name, value = proposal["trait"].name, proposal["value"]
        known = LAST_WORDS if name == "last" else BASES
        if value not in known:
            raise ValueError(f"MaskEditor: {name} must be one of {', '.join(known)}; got {value}")
        return value

    @traitlets.validate(*REACH, "selected", "layer", "n_layers")
    def _in_reach(self, proposal: dict[str, Any]) -> int:
        name, value = proposal["trait"].name, proposal["value"]
        others = {"selected": (0, N - 1), "layer": (1, 2), "n_layers": (1, 4)}
        low, high = (REACH | others)[name]
        if not low <= value <= high:
            raise ValueError(f"MaskEditor: {name} must be {low} to {high}; got {value}")
        return value

    @traitlets.validate("flips")
    def _pairs(self, proposal: dict[str, Any]) -> list[list[int]]:
        for i, pair in enumerate(proposal["value"]):
            if len(pair) != 2 or not all(0 <= place < N for place in pair):
                raise ValueError(f"MaskEditor: flips[{i}] must be two places 0 to 11; got {pair}")
        return proposal["value"]

    @property
    def tokens(self) -> tuple[str, ...]:
        """The words of the sentence."""
        return lexicon.tokenise(f"{self.stem} {self.last}")

    @property
    def mask(self) -> np.ndarray:
        """The (12, 12) mask: base or prefix, and document, and not padding; then the flips."""
        bases = {
            "all": np.ones((N, N), dtype=bool),
            "causal": reference.causal_mask(N, N),
            "window": reference.sliding_window_mask(N, N, self.window),
        }
        places = np.arange(N)
        documents = (places >= self.document).astype(int)
        mask = bases[self.base] | (places < self.prefix)
        mask = mask & reference.packed_mask(documents, documents)
        mask = mask & reference.padding_mask(np.array(N - self.padding), N)
        for t, s in self.flips:
            mask[t, s] = not mask[t, s]
        return mask

    @property
    def weights(self) -> np.ndarray:
        """The weights (2, 12, 12) of both layers under the mask."""
        bias = reference.to_additive(self.mask)
        layers = [replace(layer, bias=bias) for layer in lexicon.LAYERS]
        return lexicon.read(f"{self.stem} {self.last}", layers).weights

    @property
    def leaks(self) -> tuple[int, int]:
        """Pairs in which a word knows a later one: by the mask itself, and through the layers."""
        causal = reference.causal_mask(N, N)
        found = (self.mask, reach(self.mask, self.n_layers))
        one, all_ = (int(reference.count_leaks(pairs.astype(float), causal)) for pairs in found)
        return one, all_

    @property
    def known(self) -> np.ndarray:
        """Which of the twelve words the selected one can know through the layers."""
        return reach(self.mask, self.n_layers)[self.selected]

    def __repr__(self) -> str:
        row = self.weights[self.layer - 1, self.selected]
        nouns = f"animal {row[1]:.2f}, street {row[6]:.2f}, {self.last} {row[11]:.2f}"
        word, (one, through) = self.tokens[self.selected], self.leaks
        return (
            f"MaskEditor: {self.base}, {int(self.mask.sum())} of {N * N} cells open\n"
            f"{word} in layer {self.layer}: {nouns}\n"
            f"{word} can know {int(self.known.sum())} words through {self.n_layers} layers\n"
            f"leaks: {one} in one layer, {through} through {self.n_layers}"
        )

    def fallback(self) -> str:
        lines = "".join(f"<li>{line}</li>" for line in repr(self).split("\n"))
        later = "".join(f"<li>{line}</li>" for line in repr(MaskEditor(base="all")).split("\n"))
        return (
            "<p>Interactive figure, needs JavaScript: a mask that is made from parts or cell by "
            f"cell. As drawn:</p><ul>{lines}</ul><p>Without a mask:</p><ul>{later}</ul>"
        )
