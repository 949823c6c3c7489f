"""A small bench: one model of the small world, trained in seconds under many recipes.

A decoder of two blocks reads stories of `tformer_book.world`. A run is told by what differs from
the usual one; what came of each is in `bench.json`, and the tests begin some of them again.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from tformer.configuration import Configuration
from tformer.models.objectives import next_tokens
from tformer.models.sizes import Sizes, initialise
from tformer.parameters import leaves, tree_map
from tformer_book.chapters.ch14.muon import Muon
from tformer_book.experiments.training import Adam, Descent, training
from tformer_book.world.stories import Stories, stories

__all__ = ["FILE", "PLANS", "SEEDS", "STEPS", "Run", "floor", "stored", "trained"]

FILE = Path(__file__).with_name("bench.json")
STEPS, BATCH, WIDTH, SEEDS, WARM = 200, 16, 32, 3, 40
RATES = (0.003, 0.01, 0.03, 0.06, 0.1, 0.2)
STDS = (0.0002, 0.002, 0.02, 0.2, 1.0)
STORIES = STEPS * BATCH
BATCHES = (4, 8, 16, 32, 64, 128)
FALLS = 0.8


@dataclass(frozen=True)
class Run:
    """What a run of the bench is, as far as it is not the usual one.

    Parameters
    ----------
    rate : float
        The largest learning rate.
    warmup : int
        Steps in which it rises from 0; a cosine down to a tenth follows.
    before : int
        So many steps are taken before, at the rate 0: only the moments learn.
    order : str
        "pre" or "post": where the norms are.
    std : float
        Of the first parameters.
    clip : float
        The largest norm of the gradients.
    smoothing : float
        The share of each target that is spread over all words.
    schedule : int
        If above 0: the inverse square root of [vaswani2017], risen in so many steps.
    betas : pair of floats
        Of Adam; without them the plain gradient is followed.
    muon : bool
        Whether the matrices of the blocks are moved by Muon, and only the rest by Adam.
    plateau : float
        If above 0: the rate stays at its largest up to this share of the steps, then falls in a
        line to a tenth.
    batch : int
        Stories in a step.
    steps : int
        How many are made, without those before.
    seed : int
    """

    rate: float = 0.01
    warmup: int = WARM
    before: int = 0
    order: str = "pre"
    std: float = 0.02
    clip: float = math.inf
    smoothing: float = 0.0
    schedule: int = 0
    betas: tuple[float, float] | None = (0.9, 0.95)
    muon: bool = False
    plateau: float = 0.0
    batch: int = BATCH
    steps: int = STEPS
    seed: int = 0

    def __str__(self) -> str:
        usual = asdict(Run())
        told = {name: x for name, x in asdict(self).items() if x != usual[name]}
        return ", ".join(f"{name} {x}" for name, x in told.items()) or "as usual"

    def learning_rate_at(self, step: int) -> float:
        """The learning rate of a step, from 1."""
        if self.schedule:
            return WIDTH**-0.5 * min(step**-0.5, step * self.schedule**-1.5)
        step -= self.before
        if step <= self.warmup:
            return self.rate * max(step, 0) / max(self.warmup, 1)
        if self.plateau:
            late = max(step / self.steps - self.plateau, 0.0) / (1 - self.plateau)
            return self.rate * (1 - 0.9 * late)
        done = (step - self.warmup) / (self.steps - self.warmup)
        return self.rate * (0.1 + 0.9 * (1 + math.cos(math.pi * done)) / 2)


@cache
def world() -> Stories:
    """The stories that are read."""
    return stories()


def floor() -> float:
    """The entropy of a story, in nats."""
    return float(world().entropies().sum())


def trained(run: Run) -> Iterator[float]:
    """Train; the loss of each batch, in nats a story, and last the mean over every fourth story.

    Parameters
    ----------
    run : Run
    """
    import torch

    from tformer import fast
    from tformer_book.experiments.threads import one_thread

    rows = world().tokens()
    asked = next_tokens(rows[::4])
    places = rows.shape[1] - 1
    c = Configuration(norm="rms", activation="relu", positions="rope", order=run.order)
    sizes = Sizes(len(world().words), WIDTH, 2, 4, 4 * WIDTH, biased=False, tied=False)
    drawn = initialise(sizes, c, np.random.default_rng(run.seed), run.std)
    model = tree_map(lambda x: torch.from_numpy(x.astype(np.float32)).requires_grad_(), drawn)
    numbers = leaves(model)
    told: list[float] = []

    def loss(given: Any, wanted: Any, smoothing: float = 0.0) -> Any:
        given, wanted = (torch.from_numpy(x) for x in (given, wanted))
        logits = fast.decoder(given, model, c).flatten(0, 1)
        score = torch.nn.functional.cross_entropy
        return places * score(logits, wanted.flatten(), label_smoothing=smoothing)

    def gradients() -> Any:
        rng = np.random.default_rng((run.seed, len(told)))
        batch = next_tokens(rows[rng.integers(len(rows), size=run.batch)])
        found = loss(*batch, smoothing=run.smoothing)
        told.append(found.item())
        grads = torch.autograd.grad(found / places, numbers)
        norm = math.sqrt(sum(float((g * g).sum()) for g in grads))
        return [min(1.0, run.clip / norm) * g for g in grads]

    if run.muon:
        optimiser: Descent = Muon(numbers, leaves(model.blocks))
    else:
        optimiser = Adam(numbers, run.betas) if run.betas else Descent(numbers)
    with one_thread():
        for _ in training(optimiser, gradients, run.before + run.steps, run.learning_rate_at):
            yield told[-1]
        with torch.no_grad():
            yield loss(*asked).item()


def _seeds(*runs: Run) -> list[Run]:
    return [Run(**{**asdict(run), "seed": seed}) for run in runs for seed in range(SEEDS)]


PLANS: dict[str, list[Run]] = {
    "warm-up": _seeds(
        *(
            Run(rate=rate, warmup=warmup, order=order)
            for order in ("pre", "post")
            for rate in RATES
            for warmup in (0, WARM)
        )
    ),
    "before": _seeds(
        *(Run(rate=0.1, warmup=0, before=WARM, order=order) for order in ("pre", "post"))
    ),
    "clipped": _seeds(*(Run(rate=0.1, warmup=0, clip=clip) for clip in (1.0, 0.1))),
    "start": _seeds(*(Run(std=std) for std in STDS)),
    "seeds": _seeds(*(Run(schedule=n) for n in (4000, WARM)), Run(rate=0.02)),
    "smoothing": _seeds(Run(smoothing=0.1)),
    "muon": _seeds(*(Run(rate=rate, muon=True) for rate in RATES)),
    "plateau": _seeds(*(Run(rate=rate, plateau=FALLS) for rate in RATES)),
    "batch": _seeds(
        *(
            Run(rate=rate, batch=n, steps=STORIES // n, warmup=STORIES // n // 5)
            for n in BATCHES
            for rate in RATES[:4]
        )
    ),
}
"""What was run, by what it asks."""


def stored() -> dict[str, dict[str, list[float]]]:
    """For each plan and run the losses of its first steps, and the last one."""
    return dict(json.loads(FILE.read_text(encoding="utf-8"))) if FILE.exists() else {}


if __name__ == "__main__":
    every = stored()
    for plan in sys.argv[1:]:
        every[plan] = {}
        for one in PLANS[plan]:
            losses = [round(x, 4) for x in trained(one)]
            every[plan][str(one)] = [*losses[:3], max(losses), losses[-1]]
        body = ",\n".join(
            f' "{name}": {{\n'
            + ",\n".join(f'  "{run}": {json.dumps(x)}' for run, x in found.items())
            + "\n }"
            for name, found in every.items()
        )
        FILE.write_text(f"{{\n{body}\n}}\n", encoding="utf-8")
