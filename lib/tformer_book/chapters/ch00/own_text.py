"""A training of the book's own file on the book's prose: what `benchmarks/own_text.py` measured."""

from __future__ import annotations

import json
import math
from functools import cache
from pathlib import Path
from textwrap import fill
from typing import Any

__all__ = ["FILE", "bits", "costs", "record", "told", "written"]

FILE = Path(__file__).with_name("own_text.json")
WIDTH = 64


@cache
def record() -> dict[str, Any]:
    """What was measured: the plan, the curve, what it is compared with, and what was written."""
    return dict(json.loads(FILE.read_text(encoding="utf-8")))


def told() -> str:
    """Machine, model, plan and bill, a line each."""
    r = record()
    machine, plan = r["machine"], r["plan"]
    done = [
        f"{machine['processor']}, {plan['threads']} thread; {r['date']}",
        f"text: {r['bytes']:,} bytes, {r['tokens']:,} tokens",
        f"held out: {r['bytes_held_out']:,} bytes, {r['tokens_held_out']:,} tokens",
        f"width {plan['d_model']}, layers {plan['n_layers']}; {r['parameters']:,} parameters",
        f"steps: {plan['steps']:,}, the text {r['tokens_read'] / r['tokens']:.1f} times",
        f"planned: {r['flops_planned']:.2e} FLOPs; counted by PyTorch: {r['flops_counted']:.2e}",
        f"processor time: {r['processor_seconds'] / 60:.1f} minutes",
        f"by the clock, beside other work: {r['seconds'] / 60:.1f} minutes",
    ]
    return "\n".join(fill(line, WIDTH, subsequent_indent="  ") for line in done)


def bits() -> dict[str, list[tuple[int, float]]]:
    """Bits a byte by step: of the rows trained on, as a mean of some steps, and held out."""
    r = record()
    share = r["tokens"] / r["bytes"] / math.log(2)
    return {
        "trained on": [(int(step), share * loss) for step, loss in r["losses"].items()],
        "held out": [(int(step), found) for step, found in r["held_out"].items()],
    }


def costs() -> str:
    """What a byte held out costs, in bits: the model and what it is compared with."""
    r = record()
    found = {**r["baselines"], "the model": bits()["held out"][-1][1]}
    lines = sorted(found.items(), key=lambda pair: -pair[1])
    return "\n".join(f"{name:<10} {value:.2f}" for name, value in lines)


def written() -> str:
    """What the model wrote at each temperature, from one beginning."""
    r = record()
    return "\n\n".join(
        f"temperature {name}:\n"
        + "\n".join(fill(line, WIDTH) for line in text.splitlines() if line)
        for name, text in r["samples"].items()
    )
