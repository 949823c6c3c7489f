"""What a word costs, with the cache and without: measured in turns, kept in `speed.json`.

``python benchmarks/generation.py`` measures again, and writes the file and a table.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from tformer.configuration import Configuration
from tformer.models.sizes import Sizes

__all__ = ["CONFIGURATION", "FILE", "LENGTHS", "SIZES", "costs", "gains", "stored", "whole"]

FILE = Path(__file__).with_name("speed.json")
SIZES = Sizes(605, 128, 4, 4, 344, biased=False, gated=True, tied=False)
CONFIGURATION = Configuration(norm="rms", activation="silu", positions="rope", pairing="half")
LENGTHS = (1, 32, 64, 128, 256, 400, 550, 700, 850, 1000)
"""How many words stand before the word that is timed, and this word."""


def stored() -> dict[str, Any]:
    """What was measured when the file was written."""
    return dict(json.loads(FILE.read_text(encoding="utf-8")))


def costs(
    cached: Callable[[int], Callable[[], Any]],
    full: Callable[[int], Callable[[], Any]],
    turns: int,
) -> dict[str, list[float]]:
    """Milliseconds of the processor for one more word at each of `LENGTHS`, both ways.

    They take turns, and the least of each counts.

    Parameters
    ----------
    cached, full : callable
        Take a length; return what writes the word there.
    turns : int
    """
    found: dict[str, list[float]] = {"cached": [], "full": []}
    for n in LENGTHS:
        each = {"cached": cached(n), "full": full(n)}
        least = dict.fromkeys(each, np.inf)
        for _ in range(turns):
            for name, run in each.items():
                start = time.process_time()
                run()
                least[name] = min(least[name], time.process_time() - start)
        for name, seconds in least.items():
            found[name].append(round(1e3 * seconds, 3))
    return found


def whole(milliseconds: list[float], n: int) -> float:
    """Seconds for a text of n words, from the costs of some, by straight lines between them."""
    return float(np.interp(np.arange(1, n + 1), LENGTHS, milliseconds).sum() / 1e3)


def gains(found: dict[str, list[float]], n: int) -> tuple[float, float]:
    """How many times as fast a cache makes the word after n words, and a text of n words.

    Parameters
    ----------
    found : dict
        What `costs` returns.
    n : int
        One of `LENGTHS`.
    """
    place = LENGTHS.index(n)
    word = found["full"][place] / found["cached"][place]
    return word, whole(found["full"], n) / whole(found["cached"], n)
