"""Many post-norm stacks, narrow and wide, measured once and kept in `stacks.json`.

`python -m tformer_book.chapters.ch08.stacks` writes the file again, in half a minute of one core.
The page reads it; a test measures some of its stacks again.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from tformer_book.chapters.ch08 import depth
from tformer_book.experiments.storing import short

__all__ = ["BLOCKS", "FILE", "STACKS", "WIDTHS", "measured", "stored"]

FILE = Path(__file__).with_name("stacks.json")
STACKS, WIDTHS = 48, (32, 128)
BLOCKS = (*range(9), 16, 32)
"""Measured before block 1 and after these."""


def measured(width: int, stacks: int = STACKS) -> np.ndarray:
    """Gradients and cosines of the first of those stacks.

    Returns
    -------
    (stacks, 2, len(BLOCKS)) array
        The root mean square of a gradient that starts at the top with 1, and the mean cosine of
        two vectors, as `depth.measured` has them.
    """
    return depth.measured("post", stacks, width=width)[:, 1:, BLOCKS]


def stored(width: int) -> np.ndarray:
    """What `measured` returned when the file was written, to five digits."""
    return np.array(json.loads(FILE.read_text(encoding="utf-8"))[str(width)])


def _text(found: np.ndarray) -> str:
    """A list of stacks, each on a line."""
    return "[\n" + ",\n".join(json.dumps(one) for one in short(found)) + "\n]"


if __name__ == "__main__":
    tables = [f'"{width}": {_text(measured(width))}' for width in WIDTHS]
    FILE.write_text("{\n" + ",\n".join(tables) + "\n}\n", encoding="utf-8")
