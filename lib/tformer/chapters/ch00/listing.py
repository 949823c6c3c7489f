"""What the page prints: the forty lines, how training goes, and what other runs gave."""

from __future__ import annotations

import json
import textwrap
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np
from IPython.display import Markdown

__all__ = ["forty", "progress", "results", "variants", "worst_cut"]

STEPS, BAR = 1000, 40


def forty() -> Markdown:
    """The lines of `forty.py` as the output of a cell."""
    text = (files(__package__) / "forty.py").read_text(encoding="utf-8")
    return Markdown(f"```python\n{text.strip()}\n```")


def progress(step: int, loss: float, text: str) -> str:
    """A bar of training with the loss, and below it what the machine writes by now."""
    done = round(BAR * step / STEPS)
    written = textwrap.fill(
        text.removeprefix(". "), 70, initial_indent="  ", subsequent_indent="  "
    )
    return f"{'█' * done}{'░' * (BAR - done)} step {step:4d}  loss {loss:5.2f}\n{written}"


@cache
def results() -> dict[str, dict[str, dict[str, float]]]:
    """What `benchmarks/whole_machine.py variants` has found, by variant and seed."""
    found: dict[str, Any] = json.loads(
        (files(__package__) / "results.json").read_text(encoding="utf-8")
    )
    return found


def variants() -> Markdown:
    """The table of the variants: loss and share of right patients, a number for each seed."""
    lines = ["| | loss, nats a story | right patients, % |", "| --- | --- | --- |"]
    for name, seeds in results().items():
        ordered = [seeds[seed] for seed in sorted(seeds, key=int)]
        losses = ", ".join(f"{one['loss']:.2f}" for one in ordered)
        shares = ", ".join(f"{np.floor(100 * one['patient'] + 0.5):.0f}" for one in ordered)
        lines.append(f"| {name} | {losses} | {shares} |")
    return Markdown("\n".join(lines))


def worst_cut(here: bool = False) -> float:
    """What the worst of the four cuts costs of the answers of its kind: here, or in other runs."""
    drops = [
        one[f"cut nothing: {noun}"] - share
        for seed, one in results()["as it is"].items()
        for name, share in one.items()
        for noun in ("first", "second")
        if (seed == "0") is here and name.startswith("cut ") and name.endswith(noun)
    ]
    return max(drops)
