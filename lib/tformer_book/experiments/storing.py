"""How measured numbers are stored: to a few digits, in a file with a line for each key."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np

__all__ = ["by_lines", "short"]


def short(x: Any, digits: int = 5) -> Any:
    """A number to so many significant digits, or nested lists of each of an array."""
    return np.vectorize(lambda one: float(f"{one:.{digits}g}"), otypes=[float])(x).tolist()


def by_lines(rows: Mapping[str, Any]) -> str:
    """JSON with a line for each key."""
    write = partial(json.dumps, ensure_ascii=False)
    return "{\n" + ",\n".join(f" {write(key)}: {write(x)}" for key, x in rows.items()) + "\n}\n"
