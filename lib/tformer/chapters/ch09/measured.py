"""What was measured once and is stored: GELU's tanh form at every number, and losses by width."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import Any

__all__ = ["FLOAT32", "WIDTHS", "binades", "widths"]

FLOAT32, WIDTHS = "float32.json", "widths.json"


def binades() -> list[dict[str, Any]]:
    """What `float32.sweep` said: a dictionary for each of 510 binades."""
    return _stored(FLOAT32)


def widths() -> list[dict[str, Any]]:
    """What `widths.measured` said: a dictionary for each width of the rows."""
    return _stored(WIDTHS)


@cache
def _stored(name: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(
        (files(__package__) / name).read_text(encoding="utf-8")
    )
    return found
