"""How wide should the middle be? Models of one size, trained alike, that spend it differently.

`python -m tformer.chapters.ch09.widths` makes `widths.json` again; some minutes on one core.
Every model has two blocks and the same number of parameters, to within 1 %. The narrower its rows,
the more hidden units it has. A seed draws the first parameters and the order of the stories. Each
width may choose its learning rate, by another seed than those that are reported.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from tformer import fast
from tformer.chapters.ch09.measured import WIDTHS
from tformer.configuration import Configuration
from tformer.experiments.threads import one_thread
from tformer.experiments.training import Adam, training
from tformer.models.sizes import Sizes, count_parameters, initialise
from tformer.parameters import ModelParameters, leaves, tree_map
from tformer.world.stories import Stories, stories

__all__ = ["excess", "measured", "sizes"]

D_MODEL = (16, 24, 32, 40, 48)
RATES = (0.006, 0.012)
CHOOSING, REPORTED = 0, (1, 2, 3, 4, 5)
"""A seed that chooses the learning rate, and others that are reported."""
STEPS, BATCH = 300, 16
CONFIGURATION = Configuration(norm="rms", activation="relu", positions="rope")


def sizes(d: int, n_vocab: int, d_ff: int | None = None) -> Sizes:
    """A model of rows of width d, as large as one of width 32 with 128 hidden units."""

    def sized(width: int, hidden: int) -> Sizes:
        return Sizes(n_vocab, width, n_layers=2, n_heads=2, d_ff=hidden, biased=False)

    if d_ff is not None:
        return sized(d, d_ff)
    most = count_parameters(sized(32, 128), CONFIGURATION)
    rest = most - count_parameters(sized(d, 0), CONFIGURATION)
    return sized(d, round(rest / (2 * 2 * d)))


@one_thread()
def excess(world: Stories, model: Sizes, rate: float, seed: int, steps: int = STEPS) -> float:
    """Nats a story above the world's exact entropy, behind training, estimated from 720 stories."""
    start = initialise(model, CONFIGURATION, np.random.default_rng(seed), std=0.1)
    parameters = tree_map(lambda x: torch.tensor(x, dtype=torch.float32), start)
    tuned = [x.requires_grad_() for x in leaves(parameters)]
    tokens = torch.from_numpy(world.tokens())
    draw = torch.Generator().manual_seed(seed)

    def gradients() -> Sequence[Tensor]:
        chosen = tokens[torch.randint(len(tokens), (BATCH,), generator=draw)]
        return torch.autograd.grad(_loss(chosen, parameters).mean(), tuned)

    def now(step: int) -> float:
        return rate * min(1, step / 40, (1 + steps - step) / (0.3 * steps))

    for _ in training(Adam(tuned, betas=(0.9, 0.98)), gradients, steps, now):
        pass
    with torch.no_grad():
        found = float(_loss(tokens[::4], parameters).mean())
    return round(found - float(world.entropies().sum()), 4)


def _loss(tokens: Tensor, parameters: ModelParameters) -> Tensor:
    """Nats of each story, (B,)."""
    log_p = fast.decoder(tokens[:, :-1], parameters, CONFIGURATION).log_softmax(dim=-1)
    return -log_p.gather(-1, tokens[:, 1:, None])[..., 0].sum(dim=-1)


def measured() -> Iterator[dict[str, Any]]:
    """For each width: sizes, the chosen rate, and what the reported seeds are above the entropy."""
    world = stories()
    for d in D_MODEL:
        model = sizes(d, len(world.words))
        tried = {rate: excess(world, model, rate, CHOOSING) for rate in RATES}
        rate = min(tried, key=lambda one: tried[one])
        yield {
            "d_model": d,
            "d_ff": model.d_ff,
            "parameters": count_parameters(model, CONFIGURATION),
            "rate": rate,
            "excess": [excess(world, model, rate, seed) for seed in REPORTED],
        }


def main() -> None:
    """Make the file."""
    lines = [json.dumps(one) for one in measured()]
    text = "[\n" + ",\n".join(lines) + "\n]\n"
    Path(__file__).with_name(WIDTHS).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
