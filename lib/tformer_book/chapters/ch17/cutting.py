"""Cut single looks of a small trained model, and see what it then says of "it"."""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import traitlets

from tformer import reference as ref
from tformer.models.hooks import run_with_hooks
from tformer.parameters import ModelParameters
from tformer_book.chapters.ch17.circuits import (
    CONFIGURATION,
    IT,
    LENGTH,
    NOUNS,
    ORDER,
    ROW,
    SHOWN,
    TASKS,
    sentences,
    shown,
)
from tformer_book.widgets.base import BookWidget
from tformer_book.world.stories import CURES, DID, WHO, stories

SENTENCE = ROW.format("tired")
LIMITS = (2, 2, LENGTH, LENGTH)
"""A layer, a head, the place that looks and the place that it looks at are below these."""

Cuts = Sequence[Sequence[int]]


class Reading(NamedTuple):
    """What a model makes of a sentence.

    Attributes
    ----------
    weights : tuple of (H, 12, 12) arrays
        Of each layer, as they went on: 0 where a look is cut.
    nouns : (2,) array
        The probabilities of the two nouns at "it"; of a model that was trained on its weights
        their shares in the mean weight of "it" in the last layer, 0 if it looks at neither.
    likeliest : str
        The likeliest of all words at "it"; "" of a model that was trained on its weights.
    """

    weights: tuple[np.ndarray, ...]
    nouns: np.ndarray
    likeliest: str


class Cutting(BookWidget, uses="storyteller.js"):
    """A model reads a sentence, and single weights are put to 0 while the others stay.

    Parameters
    ----------
    name : str
        One of `tformer_book.chapters.ch17.circuits.SHOWN`.
    sentence : str
        The first twelve words of a story.
    word : int
        Whose row stands there of the first of two layers, 0 to 11; of the last it is that of "it".
    cuts : sequence of (layer, head, t, s)
        Weights that are 0: of the word at t on that at s. All are numbered from 0; what the model
        has not cannot be cut and changes nothing.

    Raises
    ------
    ValueError
        If an argument is outside what is said above.
    """

    name = traitlets.Unicode(next(iter(SHOWN))).tag(sync=True)
    sentence = traitlets.Unicode(SENTENCE).tag(sync=True)
    word = traitlets.Int(IT).tag(sync=True)
    cuts = traitlets.List(traitlets.List(traitlets.Int())).tag(sync=True)
    world = traitlets.Dict(
        {
            "verbs": {verb: list(kinds) for verb, kinds in DID.items()},
            "nouns": {kind: list(nouns) for kind, nouns in WHO.items()},
            "troubles": {kind: list(cures) for kind, cures in CURES.items()},
        }
    ).tag(sync=True)
    names = traitlets.List(list(SHOWN)).tag(sync=True)

    def __init__(
        self,
        name: str = next(iter(SHOWN)),
        sentence: str = SENTENCE,
        word: int = IT,
        cuts: Cuts = (),
        **kwargs: Any,
    ) -> None:
        given = [list(cut) for cut in cuts]
        super().__init__(name=name, sentence=sentence, word=word, cuts=given, **kwargs)

    @classmethod
    def held(cls) -> bytes:
        """The models."""
        return packed()

    @traitlets.validate("name")
    def _is_shown(self, proposal: dict[str, Any]) -> str:
        name: str = proposal["value"]
        if name not in SHOWN:
            raise ValueError(f"Cutting: name must be one of {', '.join(SHOWN)}; got {name!r}")
        return name

    @traitlets.validate("sentence")
    def _is_told(self, proposal: dict[str, Any]) -> str:
        sentence: str = proposal["value"]
        if sentence not in told():
            raise ValueError(
                "Cutting: sentence must be the first twelve words of a story, as in "
                f"tformer_book.world.stories; got {sentence!r}"
            )
        return sentence

    @traitlets.validate("word")
    def _is_place(self, proposal: dict[str, Any]) -> int:
        word: int = proposal["value"]
        if not 0 <= word < LENGTH:
            raise ValueError(f"Cutting: word must be 0 to {LENGTH - 1}; got {word}")
        return word

    @traitlets.validate("cuts")
    def _are_looks(self, proposal: dict[str, Any]) -> list[list[int]]:
        cuts: list[list[int]] = proposal["value"]
        for cut in cuts:
            fits = len(cut) == 4 and all(0 <= i < n for i, n in zip(cut, LIMITS, strict=True))
            if not fits:
                raise ValueError(
                    "Cutting: cuts must hold [layer, head, t, s], each from 0 to below "
                    f"{', '.join(map(str, LIMITS))}; got {cut}"
                )
        return [list(cut) for cut in sorted({tuple(cut) for cut in cuts})]

    @property
    def reading(self) -> Reading:
        """What the model makes of the sentence with the cuts."""
        return read(self.name, self.sentence, self.cuts)

    @property
    def before(self) -> Reading:
        """The same before any cut."""
        return read(self.name, self.sentence)

    def __repr__(self) -> str:
        words = self.sentence.split()
        n = len(self.cuts)
        now, before = self.reading, self.before
        said = [
            ", ".join(f"{words[t]} {x:.3f}" for t, x in zip(NOUNS, one.nouns, strict=True))
            for one in (now, before)
        ]
        if now.likeliest not in ("", *(words[t] for t in NOUNS)):
            said[0] += f", likeliest {now.likeliest}"
        return (
            f"Cutting: {self.name}, “{self.sentence}”, {n} look{'' if n == 1 else 's'} cut\n"
            f"{said[0]}; before any cut {said[1]}"
        )

    def fallback(self) -> str:
        """The rows that stand there as a table, and the two numbers."""
        words, tables = self.sentence.split(), self.reading.weights
        body = ""
        for layer, heads in enumerate(tables):
            t = IT if layer == len(tables) - 1 else self.word
            for head, table in enumerate(heads):
                body += f"<tr><th>{ORDER[layer]} layer, head {head}, “{words[t]}”</th>"
                body += "".join(f"<td>{x:.2f}</td>" for x in table[t]) + "</tr>"
        said = repr(self).splitlines()[1]
        top = "".join(f"<th>{word}</th>" for word in words)
        return (
            "<p>Interactive figure, needs JavaScript: cut single weights of a small trained "
            f"model. Model “{self.name}”: {said}. Its weights:</p>"
            f"<table><tr><th>who looks</th>{top}</tr>{body}</table>"
        )


@cache
def told() -> frozenset[str]:
    """The first twelve words of every story."""
    return frozenset(" ".join(text.split()[:LENGTH]) for text in stories().texts)


def asked(name: str) -> str:
    """What the model was trained on: "noun" or "weights"."""
    return TASKS[SHOWN[name][0]].asked


def read(name: str, sentence: str, cuts: Cuts = ()) -> Reading:
    """Send a sentence through one of the models, with some weights put to 0."""
    p, tokens = shown(name), sentences()[0].numbers(sentence)
    changes = {f"blocks.{i}.weights": _without(i, cuts) for i in range(len(p.blocks))}
    found = run_with_hooks(tokens, p, CONFIGURATION, changes, causal=False)
    weights = tuple(found[f"blocks.{i}.weights"] for i in range(len(p.blocks)))
    if asked(name) == "noun":
        chances = ref.softmax(found["logits"][IT])
        likeliest = sentences()[0].words[chances.argmax()]
        return Reading(weights, chances[tokens[list(NOUNS)]], likeliest)
    on = weights[-1][:, IT][:, list(NOUNS)].mean(axis=0)
    return Reading(weights, on / (on.sum() or 1.0), "")


def _without(layer: int, cuts: Cuts) -> Callable[[np.ndarray], np.ndarray]:
    """A change of the weights of a layer: those that are cut become 0."""

    def change(weights: np.ndarray) -> np.ndarray:
        y = weights + 0
        for i, head, t, s in cuts:
            if i == layer and head < len(y):
                y[head, t, s] = 0
        return y

    return change


@cache
def packed() -> bytes:
    """All models as the script reads them: a line of JSON, and the numbers in float16.

    As `tformer_book.storyteller.packed` writes it: the upper byte of each number, then the lower of
    each, compressed. What a model was not trained to say is left out.
    """
    about: dict[str, Any] = {"words": sentences()[0].words, "eps": CONFIGURATION.eps, "models": []}
    tables: list[np.ndarray] = []
    for name in SHOWN:
        p: ModelParameters = shown(name)
        heads, d, width = p.blocks[0].heads.w_q.shape
        about["models"].append({"name": name, "asked": asked(name), "layers": len(p.blocks)})
        about["models"][-1] |= {"heads": heads, "d": d, "dK": width}
        tables += [p.embedding, _there(p.positions)]
        for one in p.blocks:
            tables.append(_there(one.heads_norm).gain)
            tables += [one.heads.w_q, one.heads.w_k, one.heads.w_v, one.heads.w_o]
        if asked(name) == "noun":
            tables += [_there(p.norm).gain, _there(p.unembedding)]
    numbers = np.concatenate([x.ravel() for x in tables]).astype("<f2").view(np.uint8)
    planes = numbers[1::2].tobytes() + numbers[::2].tobytes()
    press = zlib.compressobj(9, zlib.DEFLATED, 31, 7, zlib.Z_FILTERED)  # 31: as gzip writes it
    return press.compress(json.dumps(about).encode() + b"\n" + planes) + press.flush()


def _there(part: Any) -> Any:
    assert part is not None
    return part
