"""The real model from stored runs: what each block adds, what the lens reads, where heads look."""

from __future__ import annotations

from html import escape
from typing import Any

import traitlets

from tformer.models.known import SMOL
from tformer_book.chapters.ch00.real import TEXTS, seen, stored
from tformer_book.chapters.ch00.real_parts import GROUPS, PARTS, total
from tformer_book.widgets.base import BookWidget

__all__ = ["RealView"]


class RealView(BookWidget, uses="machine.js grid.js", holds="real.json"):
    """SmolLM2 reads one of four stored texts: a token and a block are chosen, and its arrays.

    Parameters
    ----------
    text : str
        A name in `real.TEXTS`.
    token : int
        The place of a token, from 0; -1, or a place after the end, is the last.
    block : int
        From 0.
    part : int
        The array of `real_parts.PARTS` that is described; -1 is none.

    Raises
    ------
    ValueError
        If there is no such text, place, block or array.
    """

    text = traitlets.Unicode("France").tag(sync=True)
    token = traitlets.Int(-1).tag(sync=True)
    block = traitlets.Int(0).tag(sync=True)
    part = traitlets.Int(-1).tag(sync=True)
    parts = traitlets.List(traitlets.Dict(), list(PARTS)).tag(sync=True)
    groups = traitlets.List(traitlets.Unicode(), list(GROUPS)).tag(sync=True)
    sizes = traitlets.Dict(
        {
            "layers": SMOL.n_layers,
            "heads": SMOL.n_heads,
            "groups": SMOL.groups,
            "perBlock": total(1),
            "total": total(),
        }
    ).tag(sync=True)

    @traitlets.validate("text")
    def _known(self, proposal: dict[str, Any]) -> str:
        if proposal["value"] not in TEXTS:
            raise ValueError(
                f"RealView: text must be one of {', '.join(TEXTS)}; got {proposal['value']!r}"
            )
        return str(proposal["value"])

    @traitlets.validate("token", "block", "part")
    def _in_reach(self, proposal: dict[str, Any]) -> int:
        name, value = proposal["trait"].name, proposal["value"]
        longest = max(map(len, stored()["texts"].values()))
        least = 0 if name == "block" else -1
        most = {"token": longest, "block": SMOL.n_layers, "part": len(PARTS)}[name] - 1
        if not least <= value <= most:
            raise ValueError(f"RealView: {name} must be {least} to {most}; got {value}")
        return int(value)

    def __repr__(self) -> str:
        at = self.token if self.token < len(stored()["texts"][self.text]) else -1
        here, last = (seen(self.text, at, block) for block in (self.block, SMOL.n_layers - 1))
        norms = here["norms"]
        named, answer = (f"{word!r} {p:.3f}" for word, p in (here["lens"][0], last["lens"][0]))
        return (
            f"RealView: “{TEXTS[self.text]}”, token {here['token']!r}, block {self.block}: "
            f"attention adds {norms['attention']:g}, feed-forward {norms['feed_forward']:g}, norm "
            f"after it {norms['after']:g}, the lens reads {named}; in the end {answer}"
        )

    def fallback(self) -> str:
        items = "".join(
            f"<li>{GROUPS[part['group']]}: {escape(part['caption'])}, {escape(part['name'])}, "
            f"{part['count']:,} parameters</li>"
            for part in PARTS
        )
        return (
            "<p>Interactive figure, needs JavaScript: a model of "
            f"{SMOL.n_layers} blocks and {total():,} parameters on four stored texts. As drawn, "
            f"{escape(repr(self).removeprefix('RealView: '))}.</p><ul>{items}</ul>"
        )
