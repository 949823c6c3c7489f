"""How fast a machine multiplies and reads; and what was measured once, kept in `measured.json`.

The page shows the stored figures with their machine, and measures the reader's own roughly; neither
is compared as text. `benchmarks/blockwise.py` writes the file.
"""

from __future__ import annotations

import json
import time
import tracemalloc
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

__all__ = ["FILE", "SIZES", "fastest", "peak", "roof", "stored", "told"]

FILE = Path(__file__).with_name("measured.json")
SIZES = (1, 2, 4, 8, 16, 32, 64, 128, 256)
"""Rows that are multiplied by one matrix."""
WIDE = 4096
"""Rows and columns of that matrix: 64 MiB in float32, more than most caches hold."""
BASES = {
    "forward": ("yardstick", "the yardstick"),
    "backward": ("by the table", "the definition's gradient"),
}
"""What times are compared with: two products and one exponential in strips of 256 rows, or this."""


@cache
def stored() -> dict[str, Any]:
    """What the benchmark measured: "machine", "roof", and a row for each of "lengths"."""
    return dict(json.loads(FILE.read_text(encoding="utf-8")))


def told(n_tokens: int, name: str = "blockwise", kind: str = "forward") -> str:
    """What was measured at one length: time over the yardstick's, or backward over the table's."""
    (one,) = (x[kind] for x in stored()["lengths"] if x["length"] == n_tokens)
    base, words = BASES[kind]
    ratio = f"{one['seconds'][name] / one['seconds'][base]:.1f} times {words}"
    return ratio + (f", {one['mib'][name]:.2f} mebibytes" if name in one["mib"] else "")


def peak(look: Callable[..., np.ndarray], n_tokens: int) -> float:
    """MiB at the peak beyond the output, for one head of width 64 in float32."""
    q, k, v = np.random.default_rng(0).standard_normal((3, n_tokens, 64)).astype(np.float32)
    tracemalloc.start()
    y = look(q, k, v)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return (most - y.nbytes) / 2**20


def fastest(
    calls: dict[Any, Callable[[], Any]],
    budget: float,
    clock: Callable[[], float] = time.perf_counter,
) -> dict[Any, float]:
    """The smallest time of each call, in seconds; in turns, for about so many seconds in all."""
    best = dict.fromkeys(calls, float("inf"))
    for call in calls.values():
        call()
    start = time.perf_counter()
    while time.perf_counter() - start < budget or float("inf") in best.values():
        for name, call in calls.items():
            before = clock()
            call()
            best[name] = min(best[name], clock() - before)
    return best


def roof(
    rows: tuple[int, ...] = SIZES,
    budget: float = 12.0,
    clock: Callable[[], float] = time.perf_counter,
) -> dict[str, Any]:
    """Measure this machine, for about so many seconds.

    Returns
    -------
    dict
        "flops": the most operations a second that were seen, in products of matrices. "bytes": the
        most bytes a second. "products": for each number of rows that a table of 4096 by 4096
        multiplies, that number and the seconds it takes.
    """
    rng = np.random.default_rng(0)
    small = rng.standard_normal((2, 512, 512)).astype(np.float32)
    room, vector = np.empty_like(small[0]), np.ones(WIDE, np.float32)
    table = rng.standard_normal((WIDE, WIDE)).astype(np.float32)
    x, y = np.ones((2, max(rows), WIDE), np.float32)
    took = fastest(
        {n: lambda n=n: np.matmul(x[:n], table, out=y[:n]) for n in rows}
        | {"flops": lambda: np.matmul(small[0], small[1], out=room)}
        | {"bytes": lambda: np.matmul(table, vector)},
        budget,
        clock,
    )
    speeds = [2 * n * WIDE**2 / took[n] for n in rows]
    reads = [(8 * n * WIDE + table.nbytes) / took[n] for n in rows]
    return {
        "flops": max(2 * 512**3 / took["flops"], *speeds),
        "bytes": max(table.nbytes / took["bytes"], *reads),
        "products": [[n, took[n]] for n in rows],
    }
