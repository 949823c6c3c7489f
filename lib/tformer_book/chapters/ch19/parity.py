"""Decoders of two blocks learn the parity of bits: named at once, or after that of each prefix.

A text is the bits, the token `EQUALS`, and the answer: one bit, the parity of all, or as many bits
as were given, each the parity of all bits so far. Half of all lists of bits are held out. What came
of each training is in `parity.json`; the tests begin two of them again.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from tformer.configuration import Configuration
from tformer.models.sizes import Sizes, initialise
from tformer.parameters import ModelParameters, leaves, tree_map
from tformer_book.experiments.training import Adam, linear_schedule, training

__all__ = ["EARLY", "FILE", "LENGTHS", "SEEDS", "learned", "split", "stored", "texts", "written"]

FILE = Path(__file__).with_name("parity.json")
EQUALS, N_TOKENS = 2, 3
LENGTHS, SEEDS, STEPS, BATCH, RATE, WIDTH = (8, 12, 16), 3, 1000, 64, 0.003, 32
ASKED = 512
"""At most so many lists are asked after a training."""
EARLY = 20
"""The loss of this step is stored."""
CONFIGURATION = Configuration(norm="rms", activation="relu", positions="learned")


def split(n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """All lists of n bits in two halves, those of training and those held out, each (2ⁿ⁻¹, n)."""
    every = (np.arange(2**n)[:, None] >> np.arange(n)) & 1
    first, last = np.split(np.random.default_rng((n, seed)).permutation(every), 2)
    return first, last


def texts(bits: np.ndarray, steps: bool) -> np.ndarray:
    """Bits, `EQUALS` and the answer: with `steps` the parity of each prefix, otherwise the last."""
    parities = bits.cumsum(axis=1) % 2
    answer = parities if steps else parities[:, -1:]
    return np.concatenate([bits, np.full((len(bits), 1), EQUALS), answer], axis=1)


def learned(
    n: int,
    steps: bool,
    seed: int = 0,
    until: int = STEPS,
    heard: Callable[[float], object] = float,
) -> ModelParameters:
    """Train a decoder of two blocks with four heads, width 32; tensors in float64.

    Parameters
    ----------
    n : bits of a list.
    steps : whether the answer has the parity of each prefix.
    until : the step after which it stops; the rate falls as for all `STEPS`.
    heard : gets the mean loss of a token of the answer, in nats, after `EARLY` steps.
    """
    import torch

    from tformer import fast
    from tformer_book.experiments.threads import one_thread

    lessons, rng = texts(split(n, seed)[0], steps), np.random.default_rng((n, steps, seed))
    sizes = Sizes(N_TOKENS, WIDTH, 2, 4, 4 * WIDTH, n_positions=lessons.shape[1])
    drawn = initialise(replace(sizes, biased=False, tied=False), CONFIGURATION, rng)
    model = tree_map(lambda x: torch.from_numpy(x).requires_grad_(), drawn)
    moved, loss = leaves(model), torch.zeros(())

    def gradients() -> Any:
        nonlocal loss
        batch = torch.from_numpy(lessons[rng.integers(len(lessons), size=BATCH)])
        logits = fast.decoder(batch[:, :-1], model, CONFIGURATION)
        loss = fast.cross_entropy(logits[:, n:], batch[:, n + 1 :]).mean()
        return torch.autograd.grad(loss, moved)

    with one_thread():
        for step in training(Adam(moved), gradients, until, linear_schedule(RATE, STEPS)):
            if step == EARLY:
                heard(float(loss.detach()))
    return tree_map(torch.Tensor.detach, model)


def written(model: ModelParameters, bits: np.ndarray, steps: bool) -> np.ndarray:
    """The answers that a model writes, its likeliest token each time, (rows, 1) or (rows, n)."""
    import torch

    from tformer import fast

    n = bits.shape[1]
    read = torch.from_numpy(texts(bits, steps)[:, : n + 1])
    with torch.no_grad():
        for _ in range(n if steps else 1):
            likeliest = fast.decoder(read, model, CONFIGURATION)[:, -1:].argmax(dim=-1)
            read = torch.cat([read, likeliest], dim=1)
    return np.asarray(read[:, n + 1 :])


def stored() -> dict[str, list[dict[str, float]]]:
    """What was measured, a seed each, for names such as "16 at once" and "16 with steps".

    "known" and "held out": the share of lists whose parity, the last bit written, is right.
    """
    return dict(json.loads(FILE.read_text(encoding="utf-8")))


def _one(n: int, steps: bool, seed: int) -> dict[str, float]:
    losses: list[float] = []
    model, found = learned(n, steps, seed, heard=losses.append), {}
    for name, half in zip(("known", "held out"), split(n, seed), strict=True):
        bits = half[:ASKED]
        right = written(model, bits, steps)[:, -1] == bits.sum(axis=1) % 2
        found[name] = round(float(right.mean()), 4)
    return {"early": round(losses[0], 6), **found}


if __name__ == "__main__":
    runs = {
        f"{n} {'with steps' if steps else 'at once'}": [
            _one(n, steps, seed) for seed in range(SEEDS)
        ]
        for n in LENGTHS
        for steps in (False, True)
    }
    FILE.write_text(json.dumps(runs, indent=1) + "\n", encoding="utf-8")
