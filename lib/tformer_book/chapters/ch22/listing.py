"""The lines of a block, and which of them the plain block has not."""

from __future__ import annotations

import difflib
import inspect
from functools import cache
from typing import NamedTuple

from tformer_book.chapters.ch22 import blocks, blocks_2026

__all__ = ["FAMILIES", "LATEST", "Lines", "block_of", "by_added", "changes", "counts", "lines"]

FAMILIES = {name: name for name in blocks.BLOCKS} | {"mistral": "llama", "olmo3": "olmo2"}
"""Name of a family -> the block it has; Mistral and OLMo 3 differ from these by masks alone."""
LATEST = ("flint", "mimo_v2_flash", "lfm3", "kimi_linear")
"""Families of 2026, which the deeper page reads."""


def block_of(family: str) -> blocks.Block:
    """The block of a family."""
    if family in LATEST:
        return getattr(blocks_2026, family)
    return blocks.BLOCKS[FAMILIES[family]]


class Lines(NamedTuple):
    """How many lines a block adds to the plain one, and how many it takes away."""

    added: int
    removed: int


@cache
def lines(family: str) -> tuple[str, ...]:
    """The body of a family's block, a line each."""
    return tuple(x[4:] for x in inspect.getsource(block_of(family)).splitlines()[1:])


@cache
def changes(family: str, plain: str = "llama") -> tuple[tuple[str, str], ...]:
    """The lines of both blocks in order, each with " " (both), "+" (added) or "-" (gone)."""
    found = difflib.ndiff(lines(plain), lines(family))
    return tuple((x[0], x[2:]) for x in found if x[0] != "?")


def counts(family: str) -> Lines:
    """How far the block of a family is from Llama's."""
    signs = [sign for sign, _ in changes(family)]
    return Lines(signs.count("+"), signs.count("-"))


def by_added() -> dict[int, list[str]]:
    """The families by the number of lines that they add."""
    found: dict[int, list[str]] = {}
    for family in FAMILIES:
        found.setdefault(counts(family).added, []).append(family)
    return dict(sorted(found.items()))
