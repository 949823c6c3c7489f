"""How measured numbers are stored: to a few digits, in a file with a line for each key."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np

__all__ = ["by_lines", "short"]


def short(x: Any, digits: int = 5) -> Any:
    """A number to so many significant digits, or nested lists of each of an array."""
    return np.vectorize(lambda one: float(f"{one:.{digits}g}"), otypes=[float])(x).tolist()


def by_lines(rows: Mapping[str, Any]) -> str:
    """JSON with a line for each key."""
    lines = (json.dumps(x, ensure_ascii=False) for x in rows.values())
    keys = (json.dumps(key, ensure_ascii=False) for key in rows)
    return "{\n" + ",\n".join(f" {key}: {x}" for key, x in zip(keys, lines, strict=True)) + "\n}\n"
