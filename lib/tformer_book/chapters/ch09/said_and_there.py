"""Turn the threshold of AND: what an adjective says, which nouns are there, which units answer."""

from __future__ import annotations

from typing import Any

import numpy as np
import traitlets

from tformer import reference
from tformer_book.chapters.ch09 import rows
from tformer_book.widgets.base import BookWidget
from tformer_book.world.lexicon import KINDS, tokenise

SENTENCES = (
    rows.WIDE,
    rows.TIRED,
    "The lorry did not cross the street because it was too wide",
    "The piano would not go through the door because it was too wide",
    "The cat sat on the mat because it was soft",
    "The animal did not cross the street because it was too heavy",
)
NAMES = (
    *("animal, street: wide", "… tired", "lorry, street: wide"),
    *("piano, door: wide", "cat, mat: soft", "animal, street: heavy"),
)
ACTIVATIONS = {"relu": "ReLU", "gelu_tanh": "GELU, tanh form", "silu": "SiLU"}


def _heard(sentence: str) -> list[list[float]]:
    """What is said of each kind and how much of it is there, in the vector of *it*."""
    x = rows.heard(sentence)[tokenise(sentence).index("it")]
    return [x[rows.features(verb)].tolist() for verb in ("says", "is")]


class SaidAndThere(BookWidget):
    """The hidden units of AND for the vector of *it*, a unit a kind.

    Parameters
    ----------
    sentence : int
        A place in `SENTENCES`.
    threshold : float
        What is taken off what is said and there, 0 to 2.
    activation : str
        One of the names of `ACTIVATIONS`.

    Raises
    ------
    ValueError
        If an argument is outside what is said above.
    """

    heard = traitlets.List([_heard(sentence) for sentence in SENTENCES]).tag(sync=True)
    names = traitlets.List(traitlets.Unicode(), list(NAMES)).tag(sync=True)
    sentences = traitlets.List(traitlets.Unicode(), list(SENTENCES)).tag(sync=True)
    kinds = traitlets.List(traitlets.Unicode(), list(KINDS)).tag(sync=True)
    activations = traitlets.List([list(pair) for pair in ACTIVATIONS.items()]).tag(sync=True)
    sentence = traitlets.Int(0).tag(sync=True)
    threshold = traitlets.Float(1.0).tag(sync=True)
    activation = traitlets.Unicode("relu").tag(sync=True)

    def __init__(
        self, sentence: int = 0, threshold: float = 1.0, activation: str = "relu", **kwargs: Any
    ) -> None:
        super().__init__(sentence=sentence, threshold=threshold, activation=activation, **kwargs)

    @traitlets.validate("sentence")
    def _valid_sentence(self, proposal: Any) -> int:
        if not 0 <= proposal.value < len(SENTENCES):
            most = len(SENTENCES) - 1
            raise ValueError(f"SaidAndThere: sentence must be 0 to {most}; got {proposal.value}")
        return int(proposal.value)

    @traitlets.validate("threshold")
    def _valid_threshold(self, proposal: Any) -> float:
        if not 0 <= proposal.value <= 2:
            raise ValueError(f"SaidAndThere: threshold must be 0 to 2; got {proposal.value}")
        return float(proposal.value)

    @traitlets.validate("activation")
    def _valid_activation(self, proposal: Any) -> str:
        if proposal.value not in ACTIVATIONS:
            names = ", ".join(ACTIVATIONS)
            raise ValueError(
                f"SaidAndThere: activation must be one of {names}; got {proposal.value!r}"
            )
        return str(proposal.value)

    @property
    def units(self) -> np.ndarray:
        """What the hidden units give, one a kind."""
        said, there = np.array(self.heard[self.sentence])
        found = getattr(reference, self.activation)(said + there - self.threshold)
        return np.asarray(found)

    def __repr__(self) -> str:
        units = ", ".join(f"{k} {u:.3f}" for k, u in zip(KINDS, self.units, strict=True))
        name = ACTIVATIONS[self.activation]
        last = SENTENCES[self.sentence]
        return f"SaidAndThere: “{last}”, {name} less {self.threshold:.2f}: {units}"

    def fallback(self) -> str:
        """The table of what is said, what is there, and what the units give."""
        said, there = self.heard[self.sentence]
        body = "".join(
            f"<tr><th>{k}</th><td>{p:.3f}</td><td>{q:.3f}</td><td>{u:.3f}</td></tr>"
            for k, p, q, u in zip(KINDS, said, there, self.units, strict=True)
        )
        return (
            f"<p>{SENTENCES[self.sentence]}: the vector of “it”, and "
            f"{ACTIVATIONS[self.activation]}(said + there − {self.threshold:.2f}).</p>"
            f"<table><tr><th></th><th>said</th><th>there</th><th>unit</th></tr>{body}</table>"
        )
