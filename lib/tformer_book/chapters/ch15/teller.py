"""The model in the page: type, see every head and what each half block says, and let it write."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from functools import cache
from html import escape
from typing import Any, NamedTuple, cast

import numpy as np
import traitlets

from tformer import reference as ref
from tformer.parameters import BlockParameters, ModelParameters
from tformer_book.storyteller import load
from tformer_book.storyteller.packed import PLACES, packed
from tformer_book.widgets.base import BookWidget

TROUBLE = "Mia came by. The animal did not cross the street because it was too tired."
TIRED = f"{TROUBLE} So Mia woke the"
EXAMPLES = {
    "tired": TIRED,
    "wide": TIRED.replace("tired", "wide").replace("woke", "narrowed"),
    "who helps?": f"{TROUBLE} So",
    "a name it has not met": f"{TROUBLE} So".replace("Mia", "Grace"),
    "nothing": "",
}
"""Texts to begin with, by what is said on their buttons."""
LAYERS, HEADS = 2, 4
SET = {"temperature": (0.0, 2.0), "p": (0.0, 1.0), "m": (0.0, 1.0)}
"""Between which values a control can be set."""


class Reading(NamedTuple):
    """What the model makes of T tokens.

    Attributes
    ----------
    tokens : (T,) integer array
    weights : (8, T, T) array
        Of each head, those of the first layer before those of the second.
    logits : (5, T, N) array
        Scores of the next token, as the vectors say them before the first block and after each
        half of a block.
    """

    tokens: np.ndarray
    weights: np.ndarray
    logits: np.ndarray

    @property
    def p(self) -> np.ndarray:
        """Probabilities of the next token after each place, (T, N)."""
        found: np.ndarray = ref.softmax(self.logits[-1])
        return found


class Teller(BookWidget, uses="storyteller.js"):
    """The storyteller reads a text and writes on, in the page.

    Parameters
    ----------
    text : str
        Any text. A new line is put before it; of more than 128 tokens the oldest tales are left
        out.
    selected : int
        Place of the token that asks, from 0; -1 is the last.
    head : int
        Whose weights colour the text, 0 to 7: the second layer begins at 4.
    off : list of int
        Heads that write nothing.
    temperature, p, m : float
        From 0 to 2, 1 and 1: how the next token is drawn. Temperature 0 takes the likeliest; p is
        that of top-p, and m that of min-p.
    k : int
        That of top-k; 0 is all, and the slider shows it at its right end.
    seed : int
        Of the numbers by which it draws.

    Raises
    ------
    ValueError
        If an argument is outside what is said above.
    """

    text = traitlets.Unicode(EXAMPLES["tired"]).tag(sync=True)
    selected = traitlets.Int(-1).tag(sync=True)
    head = traitlets.Int(2).tag(sync=True)
    off = traitlets.List(traitlets.Int()).tag(sync=True)
    temperature = traitlets.Float(1.0).tag(sync=True)
    k = traitlets.Int(0).tag(sync=True)
    p = traitlets.Float(1.0).tag(sync=True)
    m = traitlets.Float(0.0).tag(sync=True)
    seed = traitlets.Int(0).tag(sync=True)
    examples = traitlets.List([list(one) for one in EXAMPLES.items()]).tag(sync=True)

    @classmethod
    def held(cls) -> bytes:
        """The model."""
        return packed()

    @traitlets.validate("text")
    def _readable(self, proposal: dict[str, Any]) -> str:
        text: str = proposal["value"]
        text.encode()  # half of a pair is a ValueError
        return text

    @traitlets.validate("selected", "head", "k", "seed")
    def _in_reach(self, proposal: dict[str, Any]) -> int:
        name, value = proposal["trait"].name, proposal["value"]
        least = -1 if name == "selected" else 0
        tops = {"selected": PLACES - 1, "head": LAYERS * HEADS - 1, "k": 605, "seed": 2**32 - 1}
        if not least <= value <= tops[name]:
            raise ValueError(f"Teller: {name} must be {least} to {tops[name]}; got {value}")
        return int(value)

    @traitlets.validate("off")
    def _are_heads(self, proposal: dict[str, Any]) -> list[int]:
        for head in proposal["value"]:
            if not 0 <= head < LAYERS * HEADS:
                raise ValueError(f"Teller: off must hold 0 to {LAYERS * HEADS - 1}; got {head}")
        return sorted(set(proposal["value"]))

    @traitlets.validate(*SET)
    def _between(self, proposal: dict[str, Any]) -> float:
        name, value = proposal["trait"].name, proposal["value"]
        least, most = SET[name]
        if not least <= value <= most:
            raise ValueError(f"Teller: {name} must be {least:g} to {most:g}; got {value}")
        return float(value)

    @property
    def reading(self) -> Reading:
        """What the model makes of the text."""
        return read(window(self.text), frozenset(self.off))

    def __repr__(self) -> str:
        found = self.reading
        at = len(found.tokens) - 1 if self.selected < 0 else min(self.selected, len(found.p) - 1)
        p, decode = found.p[at], load().tokens.decode
        top = ", ".join(f"{decode([i])!r} {p[i]:.3f}" for i in np.argsort(-p)[:3])
        return f"Teller: {self.text[-40:]!r} of {len(found.tokens)} tokens: next {top}"

    def fallback(self) -> str:
        return (
            "<p>Interactive figure, needs JavaScript: type a text, see what each head looks at, "
            f"and let the model write. As drawn, {escape(repr(self).removeprefix('Teller: '))}.</p>"
        )


def window(text: str) -> tuple[int, ...]:
    """The tokens of a text that the model reads: at most 128, and from a new line on, if it can."""
    row = load().tokens.encode("\n" + text, control=False)
    line = row[0]
    starts = [i for i, token in enumerate(row) if token == line and len(row) - i <= PLACES]
    return tuple(row[starts[0] :] if starts else row[-PLACES:])


@cache
def read(tokens: tuple[int, ...], off: frozenset[int] = frozenset()) -> Reading:
    """Send tokens through the model, some of whose heads write nothing."""
    _, whole, c = load()
    row, p = np.array(tokens), cast(Any, without(whole, off))
    waves = ref.sinusoidal(np.arange(len(row)), p.blocks[0].heads.w_q.shape[2], c.base)
    x, seen = ref.embedding(row, p.embedding), ref.causal_mask(len(row), len(row))
    vectors, weights = [x], []
    for one in p.blocks:
        q, k, _ = ref.project(ref.rms_norm(x, one.heads_norm, c.eps), one.heads)
        q, k = (ref.rope(rows, waves[None], c.pairing) for rows in (q, k))
        weights.append(ref.attention_weights(q, k, seen))
        for part in (replace(one, feed_forward=None), one):
            vectors.append(ref.block(x, part, c, sinusoids=waves, causal=True))
        x = vectors[-1]
    logits = [ref.unembed(ref.rms_norm(one, p.norm, c.eps), p) for one in vectors]
    return Reading(row, np.concatenate(weights), np.array(logits))


def without(p: ModelParameters, off: Collection[int]) -> ModelParameters:
    """The parameters with nothing in the way from some heads to the vectors: their w_o is 0."""

    def silenced(number: int, one: BlockParameters) -> BlockParameters:
        kept = np.array([number * HEADS + i not in off for i in range(HEADS)])
        w_o = one.heads.w_o * kept[:, None, None].astype(one.heads.w_o.dtype)
        return replace(one, heads=replace(one.heads, w_o=w_o))

    return replace(p, blocks=tuple(silenced(i, one) for i, one in enumerate(p.blocks)))
