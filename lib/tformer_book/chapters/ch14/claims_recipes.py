"""The claims of chapter 14's deeper page on other recipes: Muon, a constant middle, batch sizes."""

from __future__ import annotations

from typing import Any

import numpy as np

from tformer_book.chapters.ch14 import bench
from tformer_book.chapters.ch14.claims_measured import ends, means_as_stated
from tformer_book.claims.registry import claim, require
from tformer_book.claims.tools import near

COMPARED = bench.RATES[:5]
RECIPES: dict[str, dict[str, Any]] = {
    "Adam": {},
    "constant middle": {"plateau": bench.FALLS},
    "Muon": {"muon": True},
}


def by_batch(batch: int) -> list[np.ndarray]:
    """The last losses of all trainings with this batch, a row of seeds for each rate."""
    steps = bench.STORIES // batch
    return [
        ends(rate=rate, batch=batch, steps=steps, warmup=steps // 5) for rate in bench.RATES[:4]
    ]


@claim(
    "exm-muon",
    "empirical",
    mutants={
        "Muon is better at every rate": {"apart": (0.003, 0.03, 0.06, 0.1)},
        "a constant middle ends lower": {"best": (10.37, 9.06, 10.50)},
    },
    scope="54 stored trainings of 200 steps, three a rate and recipe",
)
def muon(
    best: tuple[float, ...] = (10.37, 10.50, 9.06), apart: tuple[float, ...] = (0.03, 0.06, 0.1)
) -> str:
    """What is stored; the tests begin one run of each recipe again."""
    stated = {
        "Adam": (13.94, 10.50, 10.37, 11.05, 11.13),
        "constant middle": (11.83, 10.50, 10.58, 11.13, 11.63),
        "Muon": (14.07, 9.82, 9.06, 9.51, 9.79),
    }
    for name, differs in RECIPES.items():
        means_as_stated(name, [ends(rate=rate, **differs) for rate in COMPARED], stated[name])
    least = [min(ends(rate=rate, **x).mean() for rate in bench.RATES) for x in RECIPES.values()]
    require(near(least, best, 0.0051), f"the best means are {np.round(least, 3)}")
    for rate in apart:
        gap = float(ends(rate=rate).min() - ends(rate=rate, muon=True).max())
        require(gap > 0, f"rate {rate}: one run of Muon ends {-gap:.2f} above one of Adam")
    return (
        "means of five rates, three seeds each; at three rates all runs of Muon below all of Adam"
    )


@claim(
    "exm-batch",
    "empirical",
    mutants={
        "twice the batch is always as good": {"even": 32},
        "small batches end lower": {"spread": 0.1},
    },
    scope="72 stored trainings on 3,200 stories, three a rate and batch",
)
def batches(even: int = 16, spread: float = 0.36) -> str:
    """What is stored of each batch at its best rate."""
    best = {n: min(by_batch(n), key=np.mean) for n in bench.BATCHES}
    stated = (10.25, 10.02, 10.37, 12.87, 14.79, 20.20)
    means_as_stated("the best rates", [*best.values()], stated)
    small = [float(x.mean()) for n, x in best.items() if n <= even]
    require(max(small) - min(small) < spread, f"up to {even} they are {np.round(small, 2)}")
    return "the best mean of four rates for each of six batches"
