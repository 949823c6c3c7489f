"""Measure attention: python benchmarks/attention.py [cpu] [cuda] [table].

Without a word, the CPU and, if there is one, a CUDA device. Each is written to
benchmarks/results/attention-<device>.json, and all that are there to benchmarks/attention.md.

Everything that is compared is timed in turns, one call each, so that a busy moment falls on all
alike; the smallest time of each counts. "The same again" is the fused kernel a second time: what it
differs from 1 is what the machine leaves uncertain.
"""

import json
import math
import multiprocessing
import os
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import machine
import numpy as np
import torch
from torch.nn.functional import scaled_dot_product_attention

from tformer import fast, reference

HERE = Path(__file__).parent
RESULTS = HERE / "results"
LENGTHS = (64, 128, 256, 512, 1024, 2048, 4096)
WIDTH = 64
ROWS = 256
SECONDS = {"cpu": 1.0, "cuda": 0.2}
SIZES = {"cpu": (1, 4), "cuda": (4, 16)}
DTYPES = {"cpu": ("float32",), "cuda": ("float32", "bfloat16")}
ONE_THREAD = {f"{x}_NUM_THREADS": "1" for x in ("OMP", "OPENBLAS", "MKL", "VECLIB_MAXIMUM")}
Calls = dict[str, Callable[[], Any]]


def main(chosen: list[str]) -> None:
    """Measure the chosen devices and write the table."""
    torch.set_num_threads(1)
    RESULTS.mkdir(exist_ok=True)
    for device in chosen or ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]:
        if device == "table":
            continue
        found = {"machine": _machine(device), "torch": measure_torch(device)}
        if device == "cpu":
            found |= {"numpy": measure_numpy(), "memory": _memory_in_a_fresh_process()}
        text = json.dumps(found, indent=1, ensure_ascii=False) + "\n"
        (RESULTS / f"attention-{device}.json").write_text(text, encoding="utf-8")
    results = [json.loads(x.read_text("utf-8")) for x in sorted(RESULTS.glob("attention-*.json"))]
    (HERE / "attention.md").write_text(table(results), encoding="utf-8")


def _machine(device: str) -> dict[str, Any]:
    found = machine.describe(("numpy", "torch")) | {"threads": 1}
    if device == "cuda":
        found["device"] = torch.cuda.get_device_name()
    return found


# What is compared


def yardstick(q: np.ndarray, k: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Two matrix products and one exponential in strips of 256 rows: what all is compared with.

    No bound: smaller tiles stay in the caches of a processor, and PyTorch's kernel takes less.
    """
    strip, y = np.empty((ROWS, len(k)), q.dtype), np.empty((len(q), v.shape[1]), q.dtype)
    for start in range(0, len(q), ROWS):
        rows = slice(start, start + ROWS)
        terms = np.matmul(q[rows], k.T, out=strip[: len(q[rows])])
        np.exp(terms, out=terms)
        np.matmul(terms, v, out=y[rows])
    return y


def naive(q: np.ndarray, k: np.ndarray, v: np.ndarray) -> np.ndarray:
    """What textbooks print; with NumPy's square root it would go on in float64 under NumPy 2."""
    scores = q @ k.T / math.sqrt(q.shape[-1])
    terms = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return terms / terms.sum(axis=-1, keepdims=True) @ v


def loop(q: np.ndarray, k: np.ndarray, v: np.ndarray) -> np.ndarray:
    """One query at a time."""
    y = np.empty((len(q), v.shape[1]), q.dtype)
    for t in range(len(q)):
        scores = k @ q[t] / math.sqrt(q.shape[1])
        terms = np.exp(scores - scores.max())
        y[t] = terms @ v / terms.sum()
    return y


def numpy_calls(n: int) -> Calls:
    rng = np.random.default_rng(0)
    q, k, v = (rng.standard_normal((n, WIDTH), np.float32) for _ in range(3))
    causal = np.tri(n, dtype=bool)
    return {
        "yardstick": lambda: yardstick(q, k, v),
        "blockwise_attention": lambda: reference.blockwise_attention(q, k, v),
        "reference.attention": lambda: reference.attention(q, k, v),
        "naive": lambda: naive(q, k, v),
        "loop over queries": lambda: loop(q, k, v),
        "blockwise_attention, causal": lambda: reference.blockwise_attention(q, k, v, causal=True),
        "reference.attention, causal": lambda: reference.attention(q, k, v, causal),
    }


def by_hand(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, mask: torch.Tensor | None
) -> torch.Tensor:
    """Hand-written torch: scores, mask, softmax, product."""
    scores = q @ k.mT / math.sqrt(q.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~mask, -torch.inf)
    return torch.softmax(scores, dim=-1) @ v


def torch_calls(
    n: int, device: str, dtype: str, causal: bool, forwards: bool
) -> tuple[Calls, Calls]:
    """The functions, and the layers with their projections; each with its gradients if asked."""
    torch.manual_seed(0)
    n_batch, n_heads = SIZES[device]
    options: Any = {"device": device, "dtype": getattr(torch, dtype)}
    q, k, v, grad = (torch.randn(n_batch, n_heads, n, WIDTH, **options) for _ in range(4))
    x, x_grad = (torch.randn(n_batch, n, n_heads * WIDTH, **options) for _ in range(2))
    mask = torch.ones(n, n, dtype=torch.bool, device=device).tril() if causal else None
    hidden = None if mask is None else ~mask
    module = torch.nn.MultiheadAttention(n_heads * WIDTH, n_heads, batch_first=True, **options)
    module.train(not forwards)

    def layer() -> torch.Tensor:
        together = torch.nn.functional.linear(x, module.in_proj_weight, module.in_proj_bias)
        heads = together.unflatten(-1, (3, n_heads, WIDTH)).permute(2, 0, 3, 1, 4)
        return module.out_proj(fast.attention(*heads, mask).transpose(1, 2).flatten(2))

    functions: Calls = {
        "fused kernel": lambda: scaled_dot_product_attention(q, k, v, attn_mask=mask),
        "the same again": lambda: scaled_dot_product_attention(q, k, v, attn_mask=mask),
        "fast.attention": lambda: fast.attention(q, k, v, mask),
        "by hand": lambda: by_hand(q, k, v, mask),
    }
    layers: Calls = {
        "layer with fast.attention": layer,
        "nn.MultiheadAttention": lambda: module(x, x, x, attn_mask=hidden, need_weights=False)[0],
        "nn.MultiheadAttention with weights": lambda: module(x, x, x, attn_mask=hidden)[0],
    }
    if forwards:
        return tuple({a: _without_gradient(f) for a, f in c.items()} for c in (functions, layers))
    for array in (q, k, v, x):
        array.requires_grad_()
    inputs = [q, k, v], [x, *module.parameters()]
    return tuple(
        {name: _with_gradient(call, leaves, g) for name, call in calls.items()}
        for calls, leaves, g in zip((functions, layers), inputs, (grad, x_grad), strict=True)
    )


def _without_gradient(call: Callable[[], torch.Tensor]) -> Callable[[], Any]:
    return torch.no_grad()(call)


def _with_gradient(
    call: Callable[[], torch.Tensor], leaves: list[torch.Tensor], grad: torch.Tensor
) -> Callable[[], Any]:
    return lambda: torch.autograd.grad(call(), leaves, grad)


# How it is measured


def seconds(calls: Calls, device: str = "cpu") -> dict[str, float]:
    """The smallest time of each call, for about SECONDS a call, each round from another start."""
    best = dict.fromkeys(calls, math.inf)
    start = time.perf_counter()
    rounds = 0
    while rounds < 5 or time.perf_counter() - start < SECONDS[device] * len(calls):
        first = rounds % len(calls)
        for name, call in [*list(calls.items())[first:], *list(calls.items())[:first]]:
            taken = _time_on_cuda(call) if device == "cuda" else _time(call)
            best[name] = min(best[name], taken) if rounds else math.inf
        rounds += 1
    return best


def _time(call: Callable[[], Any]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def _time_on_cuda(call: Callable[[], Any], repeats: int = 10) -> float:
    first, last = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    torch.cuda.synchronize()
    first.record()
    for _ in range(repeats):
        call()
    last.record()
    torch.cuda.synchronize()
    return first.elapsed_time(last) / 1000 / repeats


def measure_numpy() -> list[dict[str, Any]]:
    """Times of the NumPy forms, one head, float32."""
    rows = []
    for n in LENGTHS:
        rows.append({"length": n, "seconds": seconds(numpy_calls(n))})
        print("numpy", _ratios(rows[-1]["seconds"]), n, flush=True)
    return rows


def measure_torch(device: str) -> list[dict[str, Any]]:
    """Times, and on CUDA memory, of the PyTorch forms."""
    rows = []
    for dtype in DTYPES[device]:
        for forwards in (True, False):
            for causal in (False, True):
                for n in LENGTHS:
                    row: dict[str, Any] = {"dtype": dtype, "length": n}
                    row |= {"mask": "causal" if causal else "none"}
                    row |= {"pass": "forward" if forwards else "forward and backward"}
                    functions, layers = torch_calls(n, device, dtype, causal, forwards)
                    row["seconds"] = seconds(functions, device)
                    row["layer_seconds"] = seconds(layers, device)
                    if device == "cuda":
                        row["mib"] = {x: _mib_on_cuda(f) for x, f in (functions | layers).items()}
                    rows.append(row)
                    print(*list(row.values())[:4], _ratios(row["seconds"]), flush=True)
    return rows


def _mib_on_cuda(call: Callable[[], Any]) -> float:
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    call()
    torch.cuda.synchronize()
    return round((torch.cuda.max_memory_allocated() - before) / 2**20, 1)


def _memory_in_a_fresh_process() -> list[dict[str, Any]]:
    """Peak memory on the CPU, where what is freed goes back to the system at once."""
    done = subprocess.run(
        [sys.executable, __file__, "memory"],
        env=os.environ | {"MALLOC_MMAP_THRESHOLD_": "65536", "MALLOC_TRIM_THRESHOLD_": "65536"},
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(done.stdout)


def measure_memory() -> list[dict[str, Any]]:
    """Peak of the memory in use beyond the inputs, output included, of each form on the CPU."""
    rows: list[dict[str, Any]] = []
    for n in LENGTHS:
        calls = {name: call for name, call in numpy_calls(n).items() if name != "loop over queries"}
        rows.append({"length": n, "kind": "NumPy, one head", "mib": _traced_peaks(calls)})
        for forwards in (True, False):
            calls, small = (
                functions | layers
                for functions, layers in (
                    torch_calls(length, "cpu", "float32", False, forwards) for length in (n, 16)
                )
            )
            kind = "PyTorch, 4 heads, " + ("forward" if forwards else "forward and backward")
            rows.append({"length": n, "kind": kind, "mib": _peaks(calls, small)})
    return rows


def _traced_peaks(calls: Calls) -> dict[str, float]:
    """In MiB, as NumPy reports its arrays to Python."""
    found = {}
    for name, call in calls.items():
        tracemalloc.start()
        call()
        found[name] = round(tracemalloc.get_traced_memory()[1] / 2**20, 1)
        tracemalloc.stop()
    return found


def _peaks(calls: Calls, small: Calls) -> dict[str, float]:
    """In MiB, by which the resident memory of a fresh process grows at most.

    A small call comes first, so that loading the library's code is not counted.
    """
    found = {}
    for name, call in calls.items():
        fresh = multiprocessing.get_context("fork").Pool(1, _prepare, (small[name], call))
        with fresh as pool:
            found[name] = pool.apply(_growth)
    return found


def _prepare(small: Callable[[], Any], call: Callable[[], Any]) -> None:
    small()
    globals()["prepared"] = call


def _growth() -> float:
    before = _status("VmRSS")
    globals()["prepared"]()
    return round((_status("VmHWM") - before) / 1024, 1)


def _status(field: str) -> int:
    lines = Path("/proc/self/status").read_text("ascii").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(field))


# What is told


def _ratios(found: dict[str, float]) -> dict[str, float]:
    """Each time over the first."""
    first = next(iter(found.values()))
    return {name: round(taken / first, 2) for name, taken in found.items()}


def table(results: list[dict[str, Any]]) -> str:
    """The tables for people, as Markdown."""
    parts = [
        "# Attention, measured\n",
        "Written by `python benchmarks/attention.py`, as are [the numbers in full](results).",
        "Ratios of times measured in turns in one run, of the smallest time of each;",
        f'key and value width {WIDTH}. "The same again" shows what the machine leaves uncertain.',
        "The yardstick is two matrix products and one exponential, in strips of 256 rows.",
    ]
    for found in results:
        about = found["machine"]
        where = about.get("device", about["processor"])
        packages = ", ".join(f"{name} {number}" for name, number in about["packages"].items())
        parts += [f"\n## {where}\n", f"One CPU thread; Python {about['python']}, {packages}."]
        parts += [f"\n{found['note']}"] if "note" in found else []
        if "numpy" in found:
            parts += ["\n### NumPy, float32, one head: time over the yardstick\n"]
            parts += _table(found["numpy"], "yardstick (ms)", "seconds", 1000)
        for kind in _kinds(found["torch"]):
            rows = [row for row in found["torch"] if _kind(row) == kind]
            parts += [f"\n### PyTorch, {kind}\n", *_table(rows, "kernel (ms)", "seconds", 1000)]
            parts += ["", *_table(rows, "our layer (ms)", "layer_seconds", 1000)]
        parts += _memory_tables(found)
    return "\n".join(parts) + "\n"


def _kind(row: dict[str, Any]) -> str:
    return f"{row['dtype']}, mask: {row['mask']}, {row['pass']}"


def _kinds(rows: list[dict[str, Any]]) -> list[str]:
    return list(dict.fromkeys(map(_kind, rows)))


def _memory_tables(found: dict[str, Any]) -> list[str]:
    unmasked = [row | {"kind": _kind(row)} for row in found["torch"] if row["mask"] == "none"]
    rows = found.get("memory") or unmasked
    parts = []
    for kind in dict.fromkeys(row["kind"] for row in rows):
        chosen = [row for row in rows if row["kind"] == kind]
        parts += [f"\n### Peak memory beyond the inputs, MiB: {kind}\n", *_header(chosen, "mib")]
        parts += [f"| {r['length']} | {_joined(r['mib'].values())} |" for r in chosen]
    return parts


def _table(rows: list[dict[str, Any]], first: str, field: str, unit: float) -> list[str]:
    lines = _header(rows, field, first)
    for row in rows:
        times = list(row[field].values())
        ratios = [f"{taken / times[0]:.2f}" for taken in times[1:]]
        lines.append(f"| {row['length']} | {_joined([f'{unit * times[0]:.3g}', *ratios])} |")
    return lines


def _header(rows: list[dict[str, Any]], field: str, first: str = "") -> list[str]:
    names = list(rows[0][field])
    names[0] = first or names[0]
    return [f"| T = S | {_joined(names)} |", "|--:|" + "--:|" * len(names)]


def _joined(cells: Any) -> str:
    return " | ".join(map(str, cells))


if __name__ == "__main__":
    if os.environ.get("OPENBLAS_NUM_THREADS") != "1":
        os.execve(sys.executable, [sys.executable, *sys.argv], os.environ | ONE_THREAD)
    if sys.argv[1:] == ["memory"]:
        print(json.dumps(measure_memory()))
    else:
        main(sys.argv[1:])
