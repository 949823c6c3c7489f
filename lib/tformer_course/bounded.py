"""Read, judge and show what a student sent in a process of its own, with limits.

Our own code may be slow on what somebody made to slow it down, and take as much memory as there is.
Here it ends with its process, which is made for one notebook: nothing stays for the next student.
"""

from __future__ import annotations

import math
import resource
import time
from collections.abc import Callable
from typing import Any

from tformer_book.exercises import process
from tformer_course import confinement

PATIENCE = 6
MEMORY = 2 << 30  # bytes beside those that are held already
Tell = Callable[..., None]


def bounded(work: Callable[[Tell], None], seconds: float, memory: int = MEMORY) -> dict[str, Any]:
    """Let `work` tell what it finds, as JSON by name, and return what it told before it ended.

    Its `seconds` are those of a processor. By the clock on the wall it may take `PATIENCE` times as
    long: a machine that does other things spoils nobody's marks.

    The keys beside its own are those of `process.run`: ``finished``, ``overdue`` and ``died``.
    """
    end = time.monotonic() + PATIENCE * seconds

    def inside(report: Tell) -> None:
        def tell(**told: Any) -> None:
            report(call={"limit": end - time.monotonic()}, **told)

        tell()
        confinement.spare(memory)
        spent, most = math.ceil(time.process_time() + seconds), resource.RLIMIT_CPU
        resource.setrlimit(most, (spent, resource.getrlimit(most)[1]))
        work(tell)

    told = process.run(inside)
    return told | {"overdue": True} if told.get("died") == "SIGXCPU" else told
