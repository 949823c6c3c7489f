"""Small random models of released families, with the logits of their published classes.

The fixtures in `tests/released` are written by `tests/released/make.py` from transformers.
"""

import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

VERSION = "5.24.0"
"""Of transformers, whose classes gave the logits."""
FOLDER = Path(__file__).parent / "released"
NAMES = sorted(path.stem for path in FOLDER.glob("*.json"))


@cache
def fixture(name: str) -> dict[str, Any]:
    """The fixture of a family: config, tokens, logits, and what `arrays_of` needs."""
    found: dict[str, Any] = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    return found


def arrays_of(fixture: dict[str, Any]) -> dict[str, np.ndarray]:
    """The arrays of a fixture in float64, under the names of the model's file.

    A table of integers has different ones of the first n_choices in each row.
    """
    rng = np.random.default_rng(fixture["seed"])
    arrays = {
        name: mean + 0.2 * rng.standard_normal(shape)
        for name, (mean, *shape) in fixture["arrays"].items()
    }
    for name, (n_rows, n_columns) in fixture.get("tables", {}).items():
        rows = np.tile(np.arange(fixture["n_choices"]), (n_rows, 1))
        arrays[name] = np.ascontiguousarray(rng.permuted(rows, axis=1)[:, :n_columns])
    return arrays
