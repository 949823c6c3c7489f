"""Measure attention without the table, and a machine's roofline: python benchmarks/blockwise.py.

Written to benchmarks/results/blockwise-cpu.json and benchmarks/blockwise.md, and to the room of
chapter 16, whose page shows it. One thread, and time of the processor, so that others on the
machine count less. What is compared is timed in turns, and the smallest time of each counts. With
the word "quick" a tenth of the time is spent, and the result says that it is provisional.
"""

import json
import math
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
import torch  # noqa: E402
from attention import naive, yardstick  # noqa: E402

from tformer import fast, reference  # noqa: E402
from tformer.reference import blockwise  # noqa: E402
from tformer_book.chapters.ch16 import measured  # noqa: E402

HERE = Path(__file__).parent
RESULT = HERE / "results" / "blockwise-cpu.json"
LENGTHS = (512, 1024, 2048, 4096, 8192)
WIDTH = 64
WINDOW = 256
SECONDS = 16.0
"""For all that is compared forward, and backward, at the longest length; less at the others."""
SLOW = ("by the table", "by one table used again", "naive", "by the table, kept")
OWN_MEMORY = ("by one table used again", "fused kernel", "fused kernel, causal")
"""What has room made before, or memory that NumPy does not count."""
Calls = dict[str, Callable[[], Any]]


def arrays(n: int) -> Any:
    return np.random.default_rng(0).standard_normal((4, n, WIDTH)).astype(np.float32)


def shifted(look: Callable[..., Any], *arguments: Any, **settings: Any) -> Any:
    """With the running maximum, as if scores might be large."""
    kept, blockwise._exp_in_range = blockwise._exp_in_range, lambda *_: False
    try:
        return look(*arguments, **settings)
    finally:
        blockwise._exp_in_range = kept


def by_one_table(q: np.ndarray, k: np.ndarray, v: np.ndarray, room: np.ndarray) -> np.ndarray:
    """The passes of `reference.attention` over a table that is there already."""
    np.matmul(q, k.T, out=room)
    room *= 1 / math.sqrt(q.shape[-1])
    room -= room.max(axis=-1, keepdims=True)
    room *= 1.0  # beta
    np.exp(room, out=room)
    room /= room.sum(axis=-1, keepdims=True)
    return room @ v


def back_by_table(
    q: np.ndarray, k: np.ndarray, v: np.ndarray, grad: np.ndarray, kept: Any
) -> tuple[np.ndarray, ...]:
    """The gradients by whole tables, from the output and the logarithms of the sums."""
    (y, log_sums), scale = kept, 1 / math.sqrt(q.shape[-1])
    weights = np.exp(scale * (q @ k.T) - log_sums[:, np.newaxis])
    dscores = scale * weights * (grad @ v.T - np.vecdot(grad, y)[:, np.newaxis])
    return dscores @ k, dscores.T @ q, weights.T @ grad


def calls(n: int, backward: bool) -> Calls:
    """What is compared; the table of 8192 words backward needs a gigabyte."""
    q, k, v, grad = arrays(n)
    if backward:
        kept = blockwise.forward(q, k, v)
        return {
            "blockwise": lambda: reference.blockwise_attention_vjp(q, k, v, grad),
            "blockwise, kept": lambda: blockwise.backward(q, k, v, grad, kept),
            "by the table": lambda: reference.attention_vjp(q, k, v, grad),
            "by the table, kept": lambda: back_by_table(q, k, v, grad, kept),
        }
    x, look, room = [*map(torch.from_numpy, (q, k, v))], reference.blockwise_attention, _table(n)
    near = reference.window_attention
    return {
        "yardstick": lambda: yardstick(q, k, v),
        "blockwise": lambda: look(q, k, v),
        "blockwise, running maximum": lambda: shifted(look, q, k, v),
        "fused kernel": lambda: fast.attention(*x),
        "blockwise, causal": lambda: look(q, k, v, causal=True),
        "blockwise, running maximum, causal": lambda: shifted(look, q, k, v, causal=True),
        "fused kernel, causal": lambda: fast.causal_attention(*x),
        f"window of {WINDOW}": lambda: near(q, k, v, WINDOW),
        f"window of {WINDOW}, running maximum": lambda: shifted(near, q, k, v, WINDOW),
        "by the table": lambda: reference.attention(q, k, v),
        "by one table used again": lambda: by_one_table(q, k, v, room),
        "naive": lambda: naive(q, k, v),
    }


def _table(n: int) -> np.ndarray:
    return np.zeros((n, n), np.float32)


def mib(call: Callable[[], Any]) -> float:
    """Memory at the peak beyond what is returned."""
    tracemalloc.start()
    found = call()
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    several = found if isinstance(found, tuple) else (found,)
    return (most - sum(x.nbytes for x in several if x is not None)) / 2**20


def measure(n: int, seconds: float) -> dict[str, Any]:
    """Times and memory at one length; what is slow is timed by itself."""
    row: dict[str, Any] = {"length": n}
    budget = seconds * math.sqrt(n / max(LENGTHS))
    for name, backward in (("forward", False), ("backward", True)):
        chosen = calls(n, backward)
        groups = [{x: call for x, call in chosen.items() if (x in SLOW) == slow} for slow in (0, 1)]
        took = {}
        for group in groups:
            took |= measured.fastest(group, budget / len(groups), time.process_time)
        traced = {x: call for x, call in chosen.items() if x not in OWN_MEMORY}
        row[name] = {
            "seconds": took,
            "mib": {x: round(mib(call), 3) for x, call in traced.items()},
        }
    return row


def main(words: list[str]) -> None:
    """Measure each length in a process of its own, and the machine; then write the table."""
    torch.set_num_threads(1)
    quick = "quick" in words
    words = [x for x in words if x != "quick"]
    share = 0.1 if quick else 1.0
    if words == ["roof"]:
        print(json.dumps(measured.roof(budget=12 * share, clock=time.process_time)))
        return
    if words:
        print(json.dumps(measure(int(words[0]), SECONDS * share)))
        return
    about = machine.describe(("numpy", "torch")) | {"threads": 1}
    found: dict[str, Any] = {"machine": about} | ({"note": "Provisional."} if quick else {})
    also = ["quick"] if quick else []
    found["roof"] = _elsewhere("roof", *also)
    found["lengths"] = [_elsewhere(str(n), *also) for n in LENGTHS]
    text = json.dumps(found, indent=1, ensure_ascii=False) + "\n"
    RESULT.write_text(text, encoding="utf-8")
    measured.FILE.write_text(text, encoding="utf-8")
    (HERE / "blockwise.md").write_text(table(found), encoding="utf-8")


def _elsewhere(*words: str) -> Any:
    command = [sys.executable, __file__, *words]
    run = subprocess.run(command, capture_output=True, text=True, check=True, env=os.environ)
    print(*words, run.stdout.strip()[:300], flush=True)
    return json.loads(run.stdout)


def table(found: dict[str, Any]) -> str:
    """The page."""
    about, roof = found["machine"], found["roof"]
    text = [
        "# Attention without the table",
        "",
        "Written by `python benchmarks/blockwise.py`. One head of width 64, float32, one thread; "
        "the smallest of several times of the processor, taken in turns. The yardstick is two "
        "matrix products and one exponential, in strips of 256 rows. “By one table used again” "
        "makes the passes of the definition in memory that is there already. Backward, “kept” is "
        "given the output and the logarithms of the sums. Memory is the peak beyond what is given "
        "and returned.",
        "",
        f"{about['processor']}, {about['cores']} cores; Python {about['python']}, numpy "
        f"{about['packages']['numpy']}. Matrix products: {roof['flops'] / 1e9:.0f} Gflop/s; a "
        f"large table and one vector: {roof['bytes'] / 1e9:.1f} GB/s.",
        *([f"\n{found['note']}"] if "note" in found else []),
    ]
    for kind, base in (("forward", "yardstick"), ("backward", "by the table")):
        names = list(found["lengths"][0][kind]["seconds"])
        others = [name for name in names if name != base]
        text += ["", f"## {kind.capitalize()}: times over that of “{base}”", ""]
        text += [f"| T = S | {base} (ms) | {' | '.join(others)} |", "|--:" * (len(names) + 1) + "|"]
        for row in found["lengths"]:
            took = row[kind]["seconds"]
            ratios = [f"{took[x] / took[base]:.2f}" if x in took else "" for x in others]
            text.append(f"| {row['length']} | {1e3 * took[base]:.3g} | {' | '.join(ratios)} |")
        names = list(found["lengths"][0][kind]["mib"])
        text += ["", f"## {kind.capitalize()}: MiB", ""]
        text += [f"| T = S | {' | '.join(names)} |", "|--:" * (len(names) + 1) + "|"]
        for row in found["lengths"]:
            most = [f"{row[kind]['mib'][x]:.2f}" if x in row[kind]["mib"] else "" for x in names]
            text.append(f"| {row['length']} | {' | '.join(most)} |")
    return "\n".join(text) + "\n"


if __name__ == "__main__":
    main(sys.argv[1:])
