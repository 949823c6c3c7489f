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
from tformer.models.generate import generate
from tformer.models.sizes import Sizes

__all__ = [
    "CONFIGURATION",
    "FILE",
    "LENGTHS",
    "SIZES",
    "TEXTS",
    "costs",
    "gains",
    "stored",
    "written",
]

FILE = Path(__file__).with_name("speed.json")
SIZES = Sizes(605, 128, 4, 4, 344, biased=False, gated=True, tied=False)
CONFIGURATION = Configuration(norm="rms", activation="silu", positions="rope", pairing="half")
LENGTHS = (1, 32, 64, 128, 256, 400, 550, 700, 850, 1000)
"""How many words stand before the word that is timed, and this word."""
TEXTS = (32, 256, 1000)
"""Texts of so many words were written from first to last."""
ROW = 20


def stored() -> dict[str, Any]:
    """What was measured when the file was written."""
    return dict(json.loads(FILE.read_text(encoding="utf-8")))


def costs(
    cached: Callable[[int], Callable[[], Any]],
    full: Callable[[int], Callable[[], Any]],
    turns: int,
) -> dict[str, list[float]]:
    """Milliseconds of the processor for one more word at each of `LENGTHS`, both ways.

    They take turns, and the least of each counts. In a turn a word with the cache is written `ROW`
    times in a row, as in a text, where no pass over all words comes between; their mean counts.

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
            for name, times in (("full", 1), ("cached", ROW)):
                start = time.process_time()
                for _ in range(times):
                    each[name]()
                least[name] = min(least[name], (time.process_time() - start) / times)
        for name, seconds in least.items():
            found[name].append(round(1e3 * seconds, 3))
    return found


def written(
    module: Any, parameters: Any, first: Any, n: int, together: Callable[..., Any]
) -> dict[str, float]:
    """Seconds of the processor in which a text of n words is written after a first one, both ways.

    Parameters
    ----------
    module : module
        `reference` or `fast`.
    parameters : ModelParameters
    first : (1,) integer array
    n : int
    together : callable
        Takes a list of arrays; returns them one after the other.
    """

    def again(tokens: Any, parameters: Any, c: Configuration, before: Any) -> tuple[Any, Any]:
        words = tokens if before is None else together([before, tokens])
        return module.decoder(words, parameters, c), words

    found, texts = {}, []
    for way, reader in (("full", again), ("cached", module.cached_decoder)):
        start = time.process_time()
        texts.append([*generate(reader, first, parameters, CONFIGURATION, n)])
        found[way] = round(time.process_time() - start, 4)
    if texts[0] != texts[1]:
        raise ValueError("with the cache other words are written")
    return found


def gains(found: dict[str, Any], n: int) -> tuple[float, float]:
    """How many times as fast a cache makes word n, and a text of n words.

    Parameters
    ----------
    found : dict
        What is stored of a library.
    n : int
        One of `TEXTS`.
    """
    place, text = LENGTHS.index(n), found["written"][str(n)]
    return found["full"][place] / found["cached"][place], text["full"] / text["cached"]
