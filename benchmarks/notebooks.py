"""How long it takes to verify the notebooks, and where the time goes."""

import re
import subprocess
import sys
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

from tformer_book.pipeline.notebook.normalise import SANITISE, code_cells, load

LINE = re.compile(r"^([\d.]+)s (setup|call|teardown) +(\S+\.ipynb)::Cell (\d+)$", re.MULTILINE)


def measure(root: Path) -> dict[str, Any]:
    """Wall time with one and two workers; kernels, first cells, the rest; the slowest cells."""
    serial, report = _nbval(root, 1)
    pair, _ = _nbval(root, 2)
    parts: dict[str, float] = defaultdict(float)
    notebooks: dict[str, float] = defaultdict(float)
    cells = []
    for seconds, phase, path, number in LINE.findall(report):
        taken = float(seconds)
        notebooks[path] += taken
        kind = "first_cells_s" if number == "0" else "other_cells_s"
        parts[kind if phase == "call" else "kernels_s"] += taken
        if phase == "call":
            source = code_cells(load(root / path))[int(number)].source
            line = source.splitlines()[-1]
            cells.append({"seconds": taken, "notebook": path, "cell": int(number), "line": line})
    cells.sort(key=lambda cell: -cell["seconds"])
    parts["comparing_and_waiting_s"] = serial - sum(parts.values())
    return {
        "one_worker_s": serial,
        "two_workers_s": pair,
        "parts": {name: round(seconds, 1) for name, seconds in sorted(parts.items())},
        "notebooks": {path: round(seconds, 1) for path, seconds in sorted(notebooks.items())},
        "slowest_cells": cells[:10],
    }


def _nbval(root: Path, workers: int) -> tuple[float, str]:
    command = [
        *(sys.executable, "-m", "pytest", "chapters", "exercises/solutions", "-q"),
        *("--nbval", "--nbval-current-env", "--nbval-sanitize-with", str(SANITISE)),
        *("--durations", "0", "--durations-min", "0.005", "-vv", "--color", "no"),
        *("-n", str(workers), "--dist", "loadscope"),
    ]
    start = time.perf_counter()
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"the notebooks do not pass:\n{done.stdout[-2000:]}")
    return round(time.perf_counter() - start, 1), done.stdout
