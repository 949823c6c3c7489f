"""One view of the machine: all arrays from a text to the next word, and each number of them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from html import escape
from typing import Any

import numpy as np
import traitlets

import tformer.reference as ref
from tformer.parameters import NormParameters
from tformer_book.chapters.ch00.engine import trained
from tformer_book.chapters.ch00.typed import EXAMPLES, tidy
from tformer_book.chapters.ch00.view_parts import GROUPS, PARTS
from tformer_book.widgets.base import BookWidget

__all__ = ["MachineView", "arrays"]

IDS = tuple(part["id"] for part in PARTS)


def arrays(text: str, cut: Sequence[Sequence[int]] = ()) -> dict[str, np.ndarray]:
    """Compute every array of the machine of the first page, with the functions of the library.

    Parameters
    ----------
    text : words of the machine, T of them.
    cut : triples (layer, asks, asked)
        In this layer, from 0, the word at the second place may not look at that at the third.

    Returns
    -------
    Names of `view_parts.PARTS`, in order, and arrays with a row for each word, (T, …).
    """
    machine = trained()
    tokens = machine.tokens(text)
    n, d = len(tokens), machine.E.shape[1]
    gain = NormParameters()

    def norm(h: np.ndarray) -> np.ndarray:
        return ref.rms_norm(h, gain, eps=1e-6)

    found = {"tokens": tokens[:, None], "E[x]": machine.E[tokens], "P": machine.P[:n]}
    found["h 0"] = h = found["E[x]"] + found["P"]
    for layer, (Q, K, V, O, A, B) in enumerate(machine.blocks):  # noqa: E741
        i, mask = layer + 1, ref.causal_mask(n, n)
        for _, asks, asked in (place for place in cut if place[0] == layer):
            mask[asks, asked] = False
        x = found[f"norm(h) {i}a"] = norm(h)
        found |= {f"q {i}": x @ Q, f"k {i}": x @ K, f"v {i}": x @ V}
        scores = found[f"scores {i}"] = found[f"q {i}"] @ found[f"k {i}"].T / np.sqrt(d)
        found[f"masked {i}"] = np.where(mask, scores, -np.inf)
        found[f"weights {i}"] = ref.attention_weights(found[f"q {i}"], found[f"k {i}"], mask)
        found[f"mixed {i}"] = found[f"weights {i}"] @ found[f"v {i}"]
        found[f"change {i}a"] = found[f"mixed {i}"] @ O
        h = found[f"h {i}a"] = h + found[f"change {i}a"]
        x = found[f"norm(h) {i}b"] = norm(h)
        found[f"units {i}"] = ref.relu(x @ A)
        found[f"change {i}b"] = found[f"units {i}"] @ B
        h = found[f"h {i}b"] = h + found[f"change {i}b"]
    found["norm(h) 3"] = norm(h)
    found["logits"] = found["norm(h) 3"] @ machine.U
    found["p"] = ref.softmax(found["logits"])
    return found


class MachineView(BookWidget, uses="machine.js grid.js", holds="trained.json"):
    """From a text to the next word: every array of the first page's machine, and every number.

    Parameters
    ----------
    text : str
        Words of the machine; the full stop of the story before stands in front.
    part : str
        The array that is opened, by its name in `view_parts.PARTS`; all arrays if it is empty.
    row, column : int
        The number that is read; -1 is the last row, and the largest number of that row.
    cut : list of triples (layer, asks, asked)
        Weights that are set to zero; layers and places from 0.

    Raises
    ------
    ValueError
        If a word is unknown, the text is too long, or there is no such array, place or weight.
    """

    text = traitlets.Unicode(EXAMPLES["wide"]).tag(sync=True)
    part = traitlets.Unicode("").tag(sync=True)
    row = traitlets.Int(-1).tag(sync=True)
    column = traitlets.Int(-1).tag(sync=True)
    cut = traitlets.List(traitlets.List(traitlets.Int(), minlen=3, maxlen=3)).tag(sync=True)
    examples = traitlets.Dict(EXAMPLES).tag(sync=True)
    parts = traitlets.List(traitlets.Dict(), list(PARTS)).tag(sync=True)
    groups = traitlets.List(traitlets.Unicode(), list(GROUPS)).tag(sync=True)

    @traitlets.validate("text")
    def _readable(self, proposal: dict[str, Any]) -> str:
        text = tidy(proposal["value"])
        trained().tokens(text)
        return text

    @traitlets.validate("part")
    def _known(self, proposal: dict[str, Any]) -> str:
        if proposal["value"] not in ("", *IDS):
            raise ValueError(
                f"MachineView: part must be one of {', '.join(IDS)}; got {proposal['value']!r}"
            )
        return str(proposal["value"])

    @traitlets.validate("row", "column")
    def _in_reach(self, proposal: dict[str, Any]) -> int:
        name, value = proposal["trait"].name, proposal["value"]
        most = len(trained().P) - 1 if name == "row" else trained().blocks[0][4].shape[1] - 1
        if not -1 <= value <= most:
            raise ValueError(f"MachineView: {name} must be -1 to {most}; got {value}")
        return int(value)

    @traitlets.validate("cut")
    def _possible(self, proposal: dict[str, Any]) -> list[list[int]]:
        layers, places = len(trained().blocks), len(trained().P)
        for layer, asks, asked in proposal["value"]:
            if not (0 <= layer < layers and 0 <= asked <= asks < places):
                raise ValueError(
                    f"MachineView: no word {asks} looks at word {asked} in layer {layer}"
                )
        for layer in range(layers):
            for asks in range(places):
                cut = {place[2] for place in proposal["value"] if place[:2] == [layer, asks]}
                if len(cut) == asks + 1:
                    raise ValueError(f"MachineView: word {asks} must see one word in layer {layer}")
        return list(proposal["value"])

    @cached_property
    def _words(self) -> tuple[str, ...]:
        return trained().words

    def __repr__(self) -> str:
        n = len(self.text.split())
        found = arrays(self.text, [place for place in self.cut if place[1] < n])
        p = found["p"][-1]
        top = ", ".join(f"{self._words[i]} {p[i]:.3f}" for i in p.argsort()[::-1][:3])
        said = f"MachineView: “{self.text}”: {len(found)} arrays, next {top}"
        if not self.part:
            return said
        array = found[self.part]
        row = array[min(self.row, n - 1)] if self.row >= 0 else array[-1]
        at = min(self.column, len(row) - 1) if self.column >= 0 else int(largest(row))
        return f"{said}; {self.part}, row {self.row}, column {at}: {row[at]:.3f}"

    def fallback(self) -> str:
        found = arrays(self.text)
        items = "".join(
            f"<li>{escape(GROUPS[part['group']])}: {escape(part['caption'])} = "
            f"{escape(part['formula'])}, {' × '.join(map(str, found[part['id']].shape))}</li>"
            for part in PARTS
        )
        return (
            "<p>Interactive figure, needs JavaScript: all arrays of the machine of the first page, "
            "each number with how it was computed. As drawn, "
            f"{escape(repr(self).removeprefix('MachineView: '))}.</p><ul>{items}</ul>"
        )


def largest(row: np.ndarray) -> int:
    """The place of the number farthest from zero, infinities apart."""
    return int(np.where(np.isfinite(row), np.abs(row), -1).argmax())
