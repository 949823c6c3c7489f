"""How long a call may take: seconds that it computes, whatever else the machine does meanwhile."""

from __future__ import annotations

import dis
import importlib
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from types import CodeType
from typing import Any

WALL = 6.0  # seconds on the wall's clock that count as one: for what waits, and busy machines
LOOK = 0.01  # seconds between two looks, at least
SLOW_TO_LOAD = ("matplotlib", "pandas", "scipy", "sklearn", "sympy", "torch")


class Clock:
    """The time of one call.

    Parameters
    ----------
    limit : float
        Seconds of computing that it may take, or `WALL` times as many of waiting.
    computed : callable
        Returns how many seconds whoever makes the call has computed so far.
    """

    def __init__(self, limit: float, computed: Callable[[], float] = time.process_time) -> None:
        self.limit = limit
        self.computed = computed
        self.begin = time.monotonic(), computed()

    def used(self) -> float:
        """Return how much of the time is used up, in seconds."""
        waited = time.monotonic() - self.begin[0]
        return max(self.computed() - self.begin[1], waited / WALL)

    def left(self) -> float:
        """Return in how many seconds to look again; 0 when the time is up."""
        left = self.limit - self.used()
        return max(left, LOOK) if left > 0 else 0.0


def computed_by(process: int) -> float:
    """Return the seconds that a process, its threads and its ended children have computed.

    Where a system does not tell, that is the time on the clock.
    """
    try:
        stat = Path(f"/proc/{process}/stat").read_text(encoding="utf-8", errors="replace")
        ticks = sum(map(int, stat.rpartition(")")[2].split()[11:15]))
    except (OSError, ValueError):
        return time.monotonic()
    return ticks / os.sysconf("SC_CLK_TCK")


def load_imports(function: Any) -> None:
    """Load the packages that a function, or one that it calls by name, imports when it is called.

    Loading torch takes seconds that are no part of an answer. Only packages that are slow to load
    are loaded, and nothing else of the function is run.
    """
    missing = set(SLOW_TO_LOAD).difference(sys.modules)
    names = {name for code in _codes(function) for name in _imported(code, missing)}
    for name in sorted(names):
        with suppress(Exception):  # the call itself will say so
            importlib.import_module(name)


def _codes(function: Any) -> Iterator[CodeType]:
    """Yield the code of a function, of functions inside it, and of those that it names."""
    seen: set[int] = set()
    todo = [function]
    while todo:
        thing = todo.pop()
        code = thing if isinstance(thing, CodeType) else getattr(thing, "__code__", None)
        if not isinstance(code, CodeType) or id(code) in seen:
            continue
        seen.add(id(code))
        yield code
        todo += [part for part in code.co_consts if isinstance(part, CodeType)]
        around = getattr(thing, "__globals__", None)
        todo += [around[name] for name in code.co_names if around and name in around]


def _imported(code: CodeType, packages: set[str]) -> set[str]:
    """Return which of the packages the code imports; few codes name one, and only they are read."""
    if packages.isdisjoint(name.partition(".")[0] for name in code.co_names):
        return set()
    steps = dis.get_instructions(code)
    names = {str(step.argval) for step in steps if step.opname == "IMPORT_NAME"}
    return packages.intersection(name.partition(".")[0] for name in names)
