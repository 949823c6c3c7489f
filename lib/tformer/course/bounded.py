"""Read, judge and show what a student sent in a process of its own, with limits.

Our own code may be slow on what somebody made to slow it down, and take as much memory as there is.
Here it ends with its process, which is made for one notebook: nothing stays for the next student.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from tformer.course import confinement
from tformer.exercises import process

MEMORY = 2 << 30  # bytes beside those that are held already
Tell = Callable[..., None]


def bounded(work: Callable[[Tell], None], seconds: float, memory: int = MEMORY) -> dict[str, Any]:
    """Let `work` tell what it finds, as JSON by name, and return what it told before it ended.

    The keys beside its own are those of `process.run`: ``finished``, ``overdue`` and ``died``.
    """
    end = time.monotonic() + seconds

    def inside(report: Tell) -> None:
        def tell(**told: Any) -> None:
            report(call={"limit": end - time.monotonic()}, **told)

        tell()
        confinement.spare(memory)
        work(tell)

    return process.run(inside)
