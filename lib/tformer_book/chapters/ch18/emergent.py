"""What a change of metric does to a smooth curve: the sweep of chapter 20, scored by k tokens.

`python -m tformer_book.chapters.ch18.emergent` writes `emergent.csv`: of each size the run with the
most tokens, and its excess over the entropy of the source.
"""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

import numpy as np

from tformer_book.experiments.scaling import read

__all__ = ["FILE", "MANY", "runs", "score"]

FILE = Path(__file__).with_name("emergent.csv")
MANY = (1, 10, 30, 100)
"""How many tokens an answer has."""


def runs() -> tuple[np.ndarray, np.ndarray]:
    """Parameters, and the excess in nats a token, of six runs."""
    n, excess = np.loadtxt(FILE, delimiter=",", skiprows=1).T
    return n, excess


def score(excess: np.ndarray, k: int) -> np.ndarray:
    """The model's probability of k tokens over the source's, as a geometric mean."""
    return np.exp(-k * excess)


if __name__ == "__main__":
    sweep = read(files("tformer_book") / "chapters/ch20/sweep.csv")
    most = sweep.d == sweep.d.max()
    lines = [f"{n:.0f},{e:.5f}" for n, e in zip(sweep.n[most], sweep.loss[most], strict=True)]
    FILE.write_text("\n".join(["parameters,excess", *lines]) + "\n", encoding="utf-8")
