"""What the page prints: the forty lines, how training goes, and what other runs gave."""

from __future__ import annotations

import json
import textwrap
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np
from IPython.display import Markdown

__all__ = ["minimal_gpt", "progress", "results", "sample", "variants", "whole", "worst_cut"]

STEPS, BAR = 1000, 40
PACKAGE = "from tformer_book.world.stories import stories\n\n"
OURS = """# Tokens: every word is a number.
told, held_out = stories().split()
words, lessons = told.words, torch.tensor(told.tokens())
"""
"""What in the forty lines takes the stories from this package."""


def minimal_gpt() -> Markdown:
    """Everything in one piece, as the output of a cell."""
    return Markdown(f"```python\n{whole()}\n```")


def whole() -> str:
    """The lines of `minimal_gpt.py`, with `minimal_gpt_stories.py` in place of our package."""
    model, world = (
        (files(__package__) / name).read_text(encoding="utf-8").strip()
        for name in ("minimal_gpt.py", "minimal_gpt_stories.py")
    )
    for ours, alone in ((PACKAGE, ""), (OURS, world.partition("\n\n")[2] + "\n")):
        if ours not in model:
            raise ValueError(f"the forty lines have no longer {ours!r}")
        model = model.replace(ours, alone)
    return model


def progress(step: int, loss: float) -> str:
    """A bar of training with the loss; it is written over the last one of the same line."""
    done = round(BAR * step / STEPS)
    return f"\r{'█' * done}{'░' * (BAR - done)} step {step:4d}  loss {loss:5.2f}"


def sample(text: str) -> str:
    """What the machine writes by now, below the bar."""
    written = textwrap.fill(
        text.removeprefix(". "), 70, initial_indent="  ", subsequent_indent="  "
    )
    return f"\n{written}"


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
