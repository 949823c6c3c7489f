"""Measure masks, heads and positions: python benchmarks/layers.py [cpu] [cuda] [table] [part] ...

Without a word, the CPU and, if there is one, a CUDA device; without the name of a part, such as
"A causal layer", all of them, and with it the others stay as they were measured. Each device is
written to benchmarks/results/layers-<device>.json, and all that are there to benchmarks/layers.md.

What is compared is timed in turns, one call each, each round from another start, and the median
over all rounds of the ratio to the first counts, so that a busy moment falls on all alike. "The
same again" is the first a second time: what it differs from 1 is what the machine leaves uncertain.
"""

import json
import math
import os
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

import torch
from attention import ONE_THREAD, RESULTS, WIDTH, Calls, _machine, _time, _time_on_cuda
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from tformer import fast
from tformer.arguments import CALL
from tformer.parameters import HeadParameters, KVCache

SECONDS, ROUNDS = {"cpu": 1.0, "cuda": 0.2}, 15
SIZES = {"cpu": (1, 8), "cuda": (4, 16)}
DTYPES = {"cpu": ("float32",), "cuda": ("float32", "bfloat16")}
N_GROUPS = 2
Function = Callable[..., Tensor]


def main(chosen: list[str]) -> None:
    """Measure the chosen devices and write the table."""
    torch.set_num_threads(1)
    parts = [part for part in PARTS if part in chosen] or [*PARTS]
    devices = [x for x in chosen if x not in PARTS]
    for device in devices or ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]:
        if device != "table":
            path = RESULTS / f"layers-{device}.json"
            known = json.loads(path.read_text("utf-8"))["rows"] if path.exists() else []
            kept = [row for row in known if row["part"] in PARTS and row["part"] not in parts]
            rows = sorted(kept + measure(device, parts), key=lambda x: [*PARTS].index(x["part"]))
            found = {"machine": _machine(device), "rows": rows}
            found |= {"microseconds of checks": overheads()} if device == "cpu" else {}
            text = json.dumps(found, indent=1, ensure_ascii=False) + "\n"
            path.write_text(text, encoding="utf-8")
    results = [json.loads(x.read_text("utf-8")) for x in sorted(RESULTS.glob("layers-*.json"))]
    (RESULTS.parent / "layers.md").write_text(table(results), encoding="utf-8")


# What is compared: the first function of each is what the others are held to


def causal(n: int, device: str, options: Any) -> tuple[dict[str, Function], list[Tensor]]:
    """Attention that sees no later word."""
    q, k, v = torch.randn(3, *SIZES[device], n, WIDTH, **options)
    mask = torch.ones(n, n, dtype=torch.bool, device=device).tril()
    kernel = scaled_dot_product_attention
    return {
        "kernel, is_causal": lambda q, k, v: kernel(q, k, v, is_causal=True),
        "the same again": lambda q, k, v: kernel(q, k, v, is_causal=True),
        "fast.causal_attention": fast.causal_attention,
        "kernel, mask": lambda q, k, v: kernel(q, k, v, attn_mask=mask),
        "fast.attention, mask": lambda q, k, v: fast.attention(q, k, v, mask),
    }, [q, k, v]


def groups(n: int, device: str, options: Any) -> tuple[dict[str, Function], list[Tensor]]:
    """A layer of many heads, of which several share keys and values."""
    return _shared(n, n, device, options)


def one_query(n: int, device: str, options: Any) -> tuple[dict[str, Function], list[Tensor]]:
    """The same layer for one new word before n others."""
    return _shared(1, n, device, options)


def _shared(
    n_queries: int, n_keys: int, device: str, options: Any
) -> tuple[dict[str, Function], list[Tensor]]:
    n_batch, n_heads = SIZES[device]
    d_model = n_heads * WIDTH
    widths = (d_model, N_GROUPS * WIDTH, N_GROUPS * WIDTH, d_model)
    matrices = [torch.randn(d_model, width, **options) / d_model**0.5 for width in widths]
    x, memory = (torch.randn(n_batch, n, d_model, **options) for n in (n_queries, n_keys))

    def by_hand(repeat: bool) -> Function:
        def layer(x: Tensor, memory: Tensor, *w: Tensor) -> Tensor:
            q = (x @ w[0]).unflatten(-1, (n_heads, WIDTH)).transpose(1, 2)
            k, v = ((memory @ m).unflatten(-1, (N_GROUPS, WIDTH)).transpose(1, 2) for m in w[1:3])
            if repeat:
                k, v = (y.repeat_interleave(n_heads // N_GROUPS, 1) for y in (k, v))
            y = scaled_dot_product_attention(q, k, v, enable_gqa=not repeat)
            return y.transpose(1, 2).flatten(2) @ w[3]

        return layer

    def ours(x: Tensor, memory: Tensor, *w: Tensor) -> Tensor:
        parameters = HeadParameters.from_fused(*w, n_heads=n_heads, n_groups=N_GROUPS)
        return fast.multi_head_attention(x, parameters, memory)

    return {
        "kernel, enable_gqa": by_hand(False),
        "the same again": by_hand(False),
        "fast.multi_head_attention": ours,
        "keys and values repeated": by_hand(True),
    }, [x, memory, *matrices]


def rope_of_halves(n: int, device: str, options: Any) -> tuple[dict[str, Function], list[Tensor]]:
    """Rotary positions, coordinate i with i + d_k / 2."""
    x, sine, cosine, sinusoids = _turning(n, device, options)
    sines, cosines = (torch.cat([y, y], dim=-1) for y in (sine, cosine))

    def rotate_half(x: Tensor) -> Tensor:
        first, second = x.chunk(2, dim=-1)
        return x * cosines + torch.cat([-second, first], dim=-1) * sines

    def by_pairs(x: Tensor) -> Tensor:
        first, second = x.chunk(2, dim=-1)
        turned = [first * cosine - second * sine, first * sine + second * cosine]
        return torch.cat(turned, dim=-1)

    return {
        "by pairs": by_pairs,
        "the same again": by_pairs,
        "fast.rope": lambda x: fast.rope(x, sinusoids, "half"),
        "rotate half": rotate_half,
    }, [x]


def rope_of_neighbours(
    n: int, device: str, options: Any
) -> tuple[dict[str, Function], list[Tensor]]:
    """Rotary positions, coordinate 2i with 2i + 1; complex numbers need a table made for them."""
    x, sine, cosine, sinusoids = _turning(n, device, options)
    turns = torch.complex(cosine.float(), sine.float())

    def as_complex(x: Tensor) -> Tensor:
        pairs = torch.view_as_complex(x.float().unflatten(-1, (-1, 2)))
        return torch.view_as_real(pairs * turns).flatten(-2).to(x.dtype)

    def by_pairs(x: Tensor) -> Tensor:
        first, second = x[..., 0::2], x[..., 1::2]
        turned = [first * cosine - second * sine, first * sine + second * cosine]
        return torch.stack(turned, dim=-1).flatten(-2)

    return {
        "complex, table ready": as_complex,
        "the same again": as_complex,
        "fast.rope": lambda x: fast.rope(x, sinusoids),
        "by pairs": by_pairs,
    }, [x]


def _turning(n: int, device: str, options: Any) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Rows, and the sines and cosines by which they are turned, also as our sinusoids."""
    x = torch.randn(*SIZES[device], n, WIDTH, **options)
    sinusoids = fast.sinusoidal(torch.arange(n, device=device), WIDTH).to(x.dtype)
    sine, cosine = (sinusoids[..., i::2].contiguous() for i in (0, 1))
    return x, sine, cosine, sinusoids


def causal_layer(n: int, device: str, options: Any) -> tuple[dict[str, Function], list[Tensor]]:
    """A whole causal layer through the seams: projections, attention, and back to words."""
    n_batch, n_heads, d_model, matrices = _layer(device, options)
    x = torch.randn(n_batch, n, d_model, **options)

    def by_hand(x: Tensor, *w: Tensor) -> Tensor:
        q, k, v = ((x @ m).unflatten(-1, (n_heads, WIDTH)).transpose(1, 2) for m in w[:3])
        y = scaled_dot_product_attention(q, k, v, is_causal=True)
        return y.transpose(1, 2).flatten(2) @ w[3]

    def ours(x: Tensor, *w: Tensor) -> Tensor:
        parameters = HeadParameters.from_fused(*w, n_heads=n_heads)
        q, k, v = fast.project(x, parameters)
        return fast.merge(fast.grouped_attention(q, k, v, causal=True), parameters)

    def whole(x: Tensor, *w: Tensor) -> Tensor:
        parameters = HeadParameters.from_fused(*w, n_heads=n_heads)
        return fast.multi_head_attention(x, parameters, causal=True)

    return {
        "by hand": by_hand,
        "the same again": by_hand,
        "project, attend, merge": ours,
        "fast.multi_head_attention": whole,
    }, [x, *matrices]


def cached_word(n: int, device: str, options: Any) -> tuple[dict[str, Function], list[Tensor]]:
    """One new word after n in a cache: projections, cache, attention, and back to words."""
    n_batch, n_heads, d_model, matrices = _layer(device, options)
    x = torch.randn(n_batch, 1, d_model, **options)
    keys, values = (torch.randn(n_batch, n_heads, n, WIDTH, **options) for _ in range(2))
    parameters = HeadParameters.from_fused(*matrices, n_heads=n_heads)

    def by_hand(x: Tensor) -> Tensor:
        q, k, v = ((x @ m).unflatten(-1, (n_heads, WIDTH)).transpose(1, 2) for m in matrices[:3])
        k, v = torch.cat([keys, k], dim=2), torch.cat([values, v], dim=2)
        return scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2) @ matrices[3]

    def ours(x: Tensor) -> Tensor:
        q, k, v = fast.project(x, parameters)
        cache = fast.extend_cache(KVCache(keys, values), k, v)
        y = fast.grouped_attention(q, cache.k, cache.v, causal=True, offset=n)
        return fast.merge(y, parameters)

    def inside(x: Tensor) -> Tensor:
        CALL.checked = True  # as in a model, whose own call has been checked
        try:
            return ours(x)
        finally:
            CALL.checked = False

    def kernel(x: Tensor) -> Tensor:
        q = x.unflatten(-1, (n_heads, WIDTH)).transpose(1, 2)
        return scaled_dot_product_attention(q, keys, values).transpose(1, 2).flatten(2)

    return {
        "by hand": by_hand,
        "the same again": by_hand,
        "project, extend, attend, merge": ours,
        "inside a checked call": inside,
        "kernel alone": kernel,
    }, [x]


def _layer(device: str, options: Any) -> tuple[int, int, int, list[Tensor]]:
    """Batch, heads, width of the words, and the four matrices of a layer."""
    n_batch, n_heads = SIZES[device]
    d_model = n_heads * WIDTH
    shape = (d_model, d_model)
    return (
        n_batch,
        n_heads,
        d_model,
        [torch.randn(shape, **options) / d_model**0.5 for _ in range(4)],
    )


PARTS = {
    "Causal attention": (causal, (64, 256, 1024, 4096)),
    f"Heads in {N_GROUPS} groups": (groups, (64, 256, 1024)),
    f"Heads in {N_GROUPS} groups, one query": (one_query, (256, 1024, 4096)),
    "A causal layer": (causal_layer, (64, 256, 1024)),
    "One word with a cache": (cached_word, (256, 1024, 4096)),
    "Rotary positions, halves": (rope_of_halves, (64, 1024, 4096)),
    "Rotary positions, neighbours": (rope_of_neighbours, (64, 1024, 4096)),
}


# How it is measured


def measure(device: str, parts: list[str]) -> list[dict[str, Any]]:
    """Medians of the ratios to the first function of each of some parts."""
    rows = []
    for part in parts:
        make, lengths = PARTS[part]
        for dtype in DTYPES[device]:
            for direction in ("forward", "forward and backward"):
                for n in lengths:
                    torch.manual_seed(0)
                    options = {"device": device, "dtype": getattr(torch, dtype)}
                    calls = _calls(*make(n, device, options), direction == "forward")
                    row = {"part": part, "dtype": dtype, "pass": direction, "length": n}
                    rows.append(row | ratios(calls, device))
                    print(*rows[-1].values(), flush=True)
    return rows


def _calls(functions: dict[str, Function], arrays: list[Tensor], forwards: bool) -> Calls:
    """The functions on the arrays; with their gradients if asked."""
    if forwards:
        return {x: lambda f=f: torch.no_grad()(f)(*arrays) for x, f in functions.items()}
    leaves = [x.requires_grad_() for x in arrays]
    grad = torch.randn_like(next(iter(functions.values()))(*leaves))
    return {
        name: lambda f=f: torch.autograd.grad(f(*leaves), leaves, grad)
        for name, f in functions.items()
    }


def ratios(calls: Calls, device: str) -> dict[str, Any]:
    """The median time of the first call, and the medians of the ratios of the others to it."""
    timed = _time_on_cuda if device == "cuda" else _time
    taken: dict[str, list[float]] = {name: [] for name in calls}
    start = time.perf_counter()
    turns, rounds = list(calls.items()), 0
    while rounds < ROUNDS or time.perf_counter() - start < SECONDS[device] * len(calls):
        first = rounds % len(turns)
        for name, call in turns[first:] + turns[:first]:
            taken[name].append(timed(call))
        rounds += 1
    name, *others = taken
    base = taken[name][1:]  # the first round warms up
    found = {
        other: round(
            statistics.median(a / b for a, b in zip(taken[other][1:], base, strict=True)), 3
        )
        for other in others
    }
    return {"milliseconds": round(1000 * statistics.median(base), 4), "first": name, "of": found}


def overheads() -> dict[str, float]:
    """What the checks add to a call of small functions, in microseconds: least of many rounds."""
    q, mask = torch.randn(2, 20, 8), torch.ones(20, 20, dtype=torch.bool)
    calls: dict[str, tuple[Any, ...]] = {
        "dot": (q, q),
        "softmax": (q,),
        "pairwise_dot": (q, q),
        "attention_weights": (q, q),
        "attention": (q, q, q, mask),
        "causal_attention": (q, q, q),
        "rope": (q, q),
        "sinusoidal": (torch.arange(20), 8),
        "embedding": (torch.arange(20), q[0]),
        "grouped_attention": (q[None], q[None], q[None]),
    }
    found = {}
    for name, args in calls.items():
        checked = getattr(fast, name)
        least = {checked: math.inf, checked.__wrapped__: math.inf}
        for _ in range(200):
            for function in least:
                start = time.perf_counter()
                for _ in range(20):
                    function(*args)
                least[function] = min(least[function], (time.perf_counter() - start) / 20)
        found[name] = round(1e6 * (least[checked] - least[checked.__wrapped__]), 1)
    return found


# What is told


def table(results: list[dict[str, Any]]) -> str:
    """The tables for people, as Markdown."""
    parts = [
        "# Masks, heads and positions, measured\n",
        "Written by `python benchmarks/layers.py`, as are [the numbers in full](results).",
        "Medians of ratios of times measured in turns in one run; key and value width",
        f'{WIDTH}. "The same again" shows what the machine leaves uncertain.\n',
        "What a call costs whatever its size shows at small n: arguments are held to the",
        "docstring, and matrices laid side by side are viewed as heads. `fast.rope` on neighbours",
        "makes complex numbers of the sinusoids in each call, which the first column finds ready;",
        "the more heads are turned by them, the less that is.",
    ]
    for found in results:
        about = found["machine"]
        packages = ", ".join(f"{name} {number}" for name, number in about["packages"].items())
        parts += [f"\n## {about.get('device', about['processor'])}\n"]
        parts += [f"One CPU thread; Python {about['python']}, {packages}."]
        kinds = dict.fromkeys((r["part"], r["dtype"], r["pass"]) for r in found["rows"])
        for kind in kinds:
            rows = [r for r in found["rows"] if (r["part"], r["dtype"], r["pass"]) == kind]
            names = [f"{rows[0]['first']} (ms)", *rows[0]["of"]]
            parts += [f"\n### {kind[0]}: {kind[1]}, {kind[2]}\n", f"| n | {' | '.join(names)} |"]
            parts += ["|--:|" + "--:|" * len(names)]
            for r in rows:
                cells = [f"{r['milliseconds']:.3g}", *(f"{x:.2f}" for x in r["of"].values())]
                parts += [f"| {r['length']} | {' | '.join(cells)} |"]
        if small := found.get("microseconds of checks"):
            parts += ["\n### What the checks of a call cost, in microseconds\n"]
            parts += [f"| {' | '.join(small)} |", "|" + "--:|" * len(small)]
            parts += [f"| {' | '.join(f'{x:.0f}' for x in small.values())} |"]
    return "\n".join(parts) + "\n"


if __name__ == "__main__":
    if os.environ.get("OPENBLAS_NUM_THREADS") != "1":
        os.execve(sys.executable, [sys.executable, *sys.argv], os.environ | ONE_THREAD)
    main(sys.argv[1:])
