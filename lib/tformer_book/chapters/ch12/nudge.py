"""Nudge a score of “it”: the difference quotient of the loss beside the derived gradient."""

from __future__ import annotations

from typing import Any

import numpy as np
import traitlets

from tformer import reference
from tformer_book.chapters.ch12.row import TIRED, WIDE, row
from tformer_book.widgets.base import BookWidget, finite
from tformer_book.world.lexicon import GATHER, KINDS, RESOLVE, SENTENCES, embed, tokenise

CHOICES = (TIRED, WIDE)
MOST = 15.0


def _reading(sentence: str) -> dict[str, Any]:
    """What the two layers need of a sentence for the row of *it*."""
    words = tokenise(sentence)
    x, it = embed(words), words.index("it")
    values = x @ GATHER.w_v
    return {
        "words": list(words),
        "noun": words.index(SENTENCES[sentence]),
        "scores": (x[it] @ GATHER.w_q @ (x @ GATHER.w_k).T).tolist(),
        "heard": (values @ RESOLVE.w_q).tolist(),
        "query": (x[it] @ RESOLVE.w_q).tolist(),
        "keys": (x @ RESOLVE.w_k).tolist(),
    }


class Nudge(BookWidget):
    """Two lines of scores of *it*, one a layer; one of them is moved by a step, up and down.

    Parameters
    ----------
    sentence : int
        0 for *tired*, 1 for *wide*.
    layer : int
        1 or 2.
    word : int
        The place of the word whose score is moved, 0 to 11.
    exponent : float
        The step is 10 to the power of minus this, 0 to 15.

    Raises
    ------
    ValueError
        If an argument is outside what is said above.
    """

    readings = traitlets.List([_reading(one) for one in CHOICES]).tag(sync=True)
    sentence = traitlets.Int(0).tag(sync=True)
    layer = traitlets.Int(2).tag(sync=True)
    word = traitlets.Int(1).tag(sync=True)
    exponent = traitlets.Float(1.0).tag(sync=True)

    def __init__(
        self,
        sentence: int = 0,
        layer: int = 2,
        word: int = 1,
        exponent: float = 1.0,
        **kwargs: Any,
    ) -> None:
        super().__init__(sentence=sentence, layer=layer, word=word, exponent=exponent, **kwargs)

    @traitlets.validate("sentence", "layer", "word")
    def _known(self, proposal: Any) -> int:
        name, value = proposal.trait.name, proposal.value
        low, high = {"sentence": (0, 1), "layer": (1, 2), "word": (0, 11)}[name]
        if not low <= value <= high:
            raise ValueError(f"Nudge: {name} must be {low} to {high}; got {value}")
        return int(value)

    @traitlets.validate("exponent")
    def _small(self, proposal: Any) -> float:
        [value] = finite("Nudge: exponent", [proposal.value])
        if not 0 <= value <= MOST:
            raise ValueError(f"Nudge: exponent must be 0 to {MOST:g}; got {value}")
        return float(value)

    @property
    def step(self) -> float:
        """How far the score is moved, up and down."""
        return float(10.0**-self.exponent)

    def loss(self, by: float = 0.0) -> float:
        """The loss if the chosen score is moved by that much."""
        given = self.readings[self.sentence]
        moves = np.zeros((2, len(given["words"])))
        moves[self.layer - 1, self.word] = by
        weights = reference.softmax(np.array(given["scores"]) + moves[0])
        query = np.array(given["query"]) + weights @ np.array(given["heard"])
        scores = np.array(given["keys"]) @ query / np.sqrt(len(KINDS) + 1) + moves[1]
        return float(-np.log(reference.softmax(scores)[given["noun"]]))

    @property
    def quotient(self) -> float:
        """The central difference quotient."""
        return (self.loss(self.step) - self.loss(-self.step)) / (2 * self.step)

    @property
    def derived(self) -> float:
        """The gradient of the loss with respect to the chosen score."""
        found = row(CHOICES[self.sentence])
        return float(found.dscores[self.layer - 1, found.it, self.word])

    def __repr__(self) -> str:
        given = self.readings[self.sentence]
        return (
            f"Nudge: {given['words'][-1]}, the score of it on {given['words'][self.word]} in layer "
            f"{self.layer}\nloss {self.loss():.4f}; by a step of {self.step:.0e} the quotient is "
            f"{self.quotient:.4f}, derived {self.derived:.4f}"
        )

    def fallback(self) -> str:
        """Both lines of gradients as a table, and what the quotient says of the chosen score."""
        found = row(CHOICES[self.sentence])
        head = "".join(f"<th>{word}</th>" for word in found.words)
        body = "".join(
            f"<tr><th>layer {i + 1}</th>"
            + "".join(f"<td>{one:.3f}</td>" for one in found.dscores[i, found.it])
            + "</tr>"
            for i in range(2)
        )
        said = self.__repr__().removeprefix("Nudge: ").replace("\n", ": ")
        return (
            "<p>Interactive figure, needs JavaScript: the gradient of the loss with respect to "
            f"each score of “it”.</p><table><tr><th></th>{head}</tr>{body}</table><p>{said}.</p>"
        )
