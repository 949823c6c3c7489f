"""Measure attention without the table, and a machine's roofline: python benchmarks/blockwise.py.

Written to benchmarks/results/blockwise-cpu.json and benchmarks/blockwise.md, and to the room of
chapter 16, whose page shows it. One thread, and time of the processor, so that others on the
machine count less. What is compared is timed in turns, and the smallest time of each counts.
"""

import json
import os
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

ONE_THREAD = {f"{x}_NUM_THREADS": "1" for x in ("OMP", "OPENBLAS", "MKL", "VECLIB_MAXIMUM")}
os.environ.update(ONE_THREAD)

import machine  # noqa: E402
import numpy as np  # noqa: E402
from attention import floor, naive  # noqa: E402

from tformer import reference  # noqa: E402
from tformer.chapters.ch16 import measured  # noqa: E402
from tformer.reference import blockwise  # noqa: E402

HERE = Path(__file__).parent
RESULT = HERE / "results" / "blockwise-cpu.json"
LENGTHS = (512, 1024, 2048, 4096, 8192)
WIDTH = 64
SECONDS = 8.0
"""For all that is compared at one length."""
Calls = dict[str, Callable[[], Any]]


def arrays(n: int) -> Any:
    return np.random.default_rng(0).standard_normal((4, n, WIDTH)).astype(np.float32)


def shifted(q: np.ndarray, k: np.ndarray, v: np.ndarray) -> np.ndarray:
    """`blockwise_attention` with the running maximum, as if scores might be large."""
    kept, blockwise._fits = blockwise._fits, lambda *_: False
    try:
        return reference.blockwise_attention(q, k, v)
    finally:
        blockwise._fits = kept


def calls(n: int, backward: bool) -> Calls:
    """What is compared; the table of 8192 words backward needs a gigabyte."""
    q, k, v, grad = arrays(n)
    if backward:
        return {
            "blockwise": lambda: reference.blockwise_attention_vjp(q, k, v, grad),
            "by the table": lambda: reference.attention_vjp(q, k, v, grad),
        }
    return {
        "floor": lambda: floor(q, k, v),
        "blockwise": lambda: reference.blockwise_attention(q, k, v),
        "blockwise, running maximum": lambda: shifted(q, k, v),
        "blockwise, causal": lambda: reference.blockwise_attention(q, k, v, causal=True),
        "by the table": lambda: reference.attention(q, k, v),
        "naive": lambda: naive(q, k, v),
        "window of 256": lambda: reference.window_attention(q, k, v, 256),
    }


def mib(call: Callable[[], Any]) -> float:
    """Memory at the peak beyond what is returned."""
    tracemalloc.start()
    found = call()
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    several = found if isinstance(found, tuple) else (found,)
    return (most - sum(x.nbytes for x in several if x is not None)) / 2**20


def measure(n: int) -> dict[str, Any]:
    """Times and memory at one length."""
    row: dict[str, Any] = {"length": n}
    for name, backward in (("forward", False), ("backward", True)):
        chosen = calls(n, backward)
        slow = {x: chosen[x] for x in ("by the table", "naive") if x in chosen}
        quick = {x: call for x, call in chosen.items() if x not in slow}
        row[name] = {
            "seconds": measured.fastest(quick, SECONDS, time.process_time)
            | measured.fastest(slow, SECONDS / 4, time.process_time),
            "mib": {x: round(mib(call), 3) for x, call in chosen.items()},
        }
    return row


def main(words: list[str]) -> None:
    """Measure each length in a process of its own, and the machine; then write the table."""
    if words:
        print(
            json.dumps(
                measure(int(words[0]))
                if words[0] != "roof"
                else measured.roof(clock=time.process_time)
            )
        )
        return
    found: dict[str, Any] = {"machine": machine.describe(("numpy",)) | {"threads": 1}}
    found["roof"] = _elsewhere("roof")
    found["lengths"] = [_elsewhere(str(n)) for n in LENGTHS]
    text = json.dumps(found, indent=1, ensure_ascii=False) + "\n"
    RESULT.write_text(text, encoding="utf-8")
    measured.FILE.write_text(text, encoding="utf-8")
    (HERE / "blockwise.md").write_text(table(found), encoding="utf-8")


def _elsewhere(word: str) -> Any:
    command = [sys.executable, __file__, word]
    run = subprocess.run(command, capture_output=True, text=True, check=True, env=os.environ)
    print(word, run.stdout.strip()[:300], flush=True)
    return json.loads(run.stdout)


def table(found: dict[str, Any]) -> str:
    """The page."""
    about, roof = found["machine"], found["roof"]
    text = [
        "# Attention without the table",
        "",
        "Written by `python benchmarks/blockwise.py`. One head of width 64, float32, one thread; "
        "the smallest of several times of the processor, taken in turns. The floor is two matrix "
        "products and one exponential, in strips of 256 rows. Memory is the peak beyond what is "
        "returned.",
        "",
        f"{about['processor']}, {about['cores']} cores; Python {about['python']}, numpy "
        f"{about['packages']['numpy']}. Matrix products: {roof['flops'] / 1e9:.0f} Gflop/s; a "
        f"large table and one vector: {roof['bytes'] / 1e9:.1f} GB/s.",
    ]
    for kind, base in (("forward", "floor"), ("backward", "by the table")):
        names = list(found["lengths"][0][kind]["seconds"])
        others = [name for name in names if name != base]
        text += ["", f"## {kind.capitalize()}: times over that of “{base}”", ""]
        text += [f"| T = S | {base} (ms) | {' | '.join(others)} |", "|--:" * (len(names) + 1) + "|"]
        for row in found["lengths"]:
            took = row[kind]["seconds"]
            ratios = [f"{took[x] / took[base]:.2f}" if x in took else "" for x in others]
            text.append(f"| {row['length']} | {1e3 * took[base]:.3g} | {' | '.join(ratios)} |")
        text += ["", f"## {kind.capitalize()}: MiB", ""]
        text += [f"| T = S | {' | '.join(names)} |", "|--:" * (len(names) + 1) + "|"]
        for row in found["lengths"]:
            most = [f"{row[kind]['mib'][x]:.2f}" if x in row[kind]["mib"] else "" for x in names]
            text.append(f"| {row['length']} | {' | '.join(most)} |")
    return "\n".join(text) + "\n"


if __name__ == "__main__":
    main(sys.argv[1:])
