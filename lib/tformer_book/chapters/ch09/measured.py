"""What was measured once and is stored: GELU's tanh form at every number."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import Any

__all__ = ["FLOAT32", "binades"]

FLOAT32 = "float32.json"


@cache
def binades() -> list[dict[str, Any]]:
    """What `float32.sweep` said: a dictionary for each of 510 binades."""
    text = (files(__package__) / FLOAT32).read_text(encoding="utf-8")
    found: list[dict[str, Any]] = json.loads(text)
    return found
