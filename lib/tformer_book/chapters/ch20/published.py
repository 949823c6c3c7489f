"""The runs and the constants that were published, and what a refit makes of them.

The runs lie in `published.csv`, which says where they come from. Their tokens are not published:
they are FLOPs / (6 parameters).
"""

import math
from functools import cache
from importlib.resources import files

import numpy as np

from tformer_book.experiments.scaling import Law, Runs, bootstrap, columns, fit

__all__ = [
    "LEFT_OUT",
    "PRINTED",
    "REPLICATION",
    "SAID",
    "SOURCE",
    "laws",
    "middle",
    "refit",
    "runs",
]

LEFT_OUT = 5
"""The replication leaves out so many runs, those of the largest loss."""
PRINTED = Law(1.69, 406.4, 410.7, 0.34, 0.28)
"""As the paper of the runs prints them [hoffmann2022]."""
SOURCE = Law(math.exp(0.5267228), math.exp(6.0073404), math.exp(6.0179186), 0.33917084, 0.2849083)
"""The same with more digits: they stand in the paper's TeX, not in the paper [besiroglu2024]."""
REPLICATION = Law(1.8172, 482.01, 2085.43, 0.3478, 0.3658)
"""From the same points as here, by others [besiroglu2024]."""

SAID = {
    "Kaplan and others 2020": (0.73, "no embeddings, 768 to 1.5e9 parameters"),
    "Hoffmann and others 2022, first way": (0.50, "lowest loss at each FLOP"),
    "second way": (0.49, "parabolas through runs of one budget"),
    "third way": (0.46, "a law of N and D"),
    "Besiroglu and others 2024": (0.51, "the third way again, 240 runs"),
}
"""Who printed which exponent of the best size, and how it was found [kaplan2020, hoffmann2022]."""


@cache
def runs() -> Runs:
    """All 245."""
    file = files(__package__) / "published.csv"
    n, flops, loss = columns(file, "parameters", "training_flop", "loss")
    return Runs(n, flops / (6 * n), loss)


def middle(left_out: int = LEFT_OUT) -> Runs:
    """All but so many of the largest loss."""
    every = runs()
    return every.keep(np.sort(np.argsort(every.loss)[: len(every.loss) - left_out]))


@cache
def refit(left_out: int = LEFT_OUT) -> Law:
    """The law of all but so many of the largest loss."""
    return fit(middle(left_out))


@cache
def laws(times: int = 200) -> list[Law]:
    """The law of 240 runs, drawn again and again from 240."""
    return bootstrap(middle(), times, np.random.default_rng(0))
