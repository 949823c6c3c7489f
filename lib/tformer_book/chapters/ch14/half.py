"""The storyteller's gradients in half precision, and its last steps: what sixteen bits lose.

`half.json` holds what `measured` said; the tests measure a part of it again.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.nn.functional import cross_entropy

from tformer import fast
from tformer.parameters import tree_map
from tformer_book.experiments.threads import one_thread
from tformer_book.experiments.training import Adam
from tformer_book.storyteller.stored import load, tokens
from tformer_book.storyteller.training import BATCH, CONFIGURATION, RECIPE, batches

__all__ = [
    "FILE",
    "SCALES",
    "at_scale",
    "last_moves",
    "logits_gradient",
    "measured",
    "moves_at_scale",
    "stored",
]

FILE = Path(__file__).with_name("half.json")
SCALES = (*range(0, 29, 2),)
"""Powers of two by which losses are multiplied."""
ROWS, AFTER, STEPS = 8, 40, 6
"""Rows of a batch that is looked at; steps of a training that is gone on with, and of moves."""
TINY = 2.0**-25
"""Half the smallest number of float16 above 0: what is at most so large rounds to 0."""


def _module() -> Any:
    parameters = load().parameters
    return fast.Module(
        fast.decoder, tree_map(lambda x: torch.tensor(x), parameters), configuration=CONFIGURATION
    )


@cache
def _batch(step: int = 1) -> tuple[torch.Tensor, torch.Tensor]:
    given, wanted = (torch.from_numpy(x[:ROWS]) for x in batches(tokens())(step))
    return given, wanted


def gradient(scale: float = 1.0, half: torch.dtype | None = None, step: int = 1) -> np.ndarray:
    """The gradient of a batch, all numbers in a row, divided by the scale of its loss."""
    model, (given, wanted) = _module(), _batch(step)
    with one_thread():
        with torch.autocast("cpu", dtype=half or torch.float16, enabled=half is not None):
            logits = model(given)
        # The mean of a whole batch is taken, although only some of its rows are read.
        loss = cross_entropy(logits.float().flatten(0, 1), wanted.flatten()) * ROWS / BATCH
        (scale * loss).backward()
    found = [x.grad.double().flatten() / scale for x in model.parameters()]
    return torch.cat(found).numpy()


@cache
def _exact() -> np.ndarray:
    return gradient()


def at_scale(power: int) -> tuple[float, float]:
    """A gradient by float16, its loss multiplied by a power of 2.

    Returns
    -------
    Its distance from that by float32, over the length of that one, infinite if a number
    overflowed; and the share of numbers that are 0 here and not there.
    """
    got, want = gradient(2.0**power, torch.float16), _exact()
    lost = float(((got == 0) & (want != 0)).sum() / (want != 0).sum())
    if not np.isfinite(got).all():
        return float("inf"), lost
    return float(np.linalg.norm(got - want) / np.linalg.norm(want)), lost


def moves_at_scale(power: int) -> tuple[list[float], float]:
    """What Adam makes of gradients by float16, and of the same by float32, of some batches.

    Returns
    -------
    For each step the distance of its moves from those by float32, over the length of those; and
    of the square of the first distance the share in numbers whose gradient has another sign.
    """
    given = zip(
        *(
            [gradient(scale, kind, step) for step in range(1, STEPS + 1)]
            for scale, kind in ((2.0**power, torch.float16), (1.0, None))
        ),
        strict=True,
    )
    adams = [Adam([np.zeros(len(_exact()))], RECIPE.betas, 1e-8) for _ in range(2)]
    errors: list[float] = []
    turned = 0.0
    for grads in given:
        got, want = (adam.moves([g.copy()])[0] for adam, g in zip(adams, grads, strict=True))
        square = (got - want) ** 2
        if not errors:
            turned = float(square[grads[0] * grads[1] < 0].sum() / square.sum())
        errors.append(float(np.linalg.norm(got - want) / np.linalg.norm(want)))
    return errors, turned


def logits_gradient() -> np.ndarray:
    """What the loss tells the logits of a batch, (p - e) over the number of targets, in a row."""
    model, (given, wanted) = _module(), _batch()
    with torch.no_grad(), one_thread():
        p = model(given).double().softmax(-1)
    e = torch.nn.functional.one_hot(wanted, p.shape[-1])
    return ((p - e) / (wanted.numel() * BATCH / ROWS)).flatten().numpy()


def last_moves() -> tuple[np.ndarray, np.ndarray]:
    """The parameters, and what a step adds to each after some more steps at the last rate."""
    model, batch = _module(), batches(tokens())
    adam = torch.optim.AdamW(
        model.parameters(), lr=RECIPE.rate * RECIPE.last, betas=RECIPE.betas, weight_decay=0.0
    )
    before: list[torch.Tensor] = []
    with one_thread():
        for step in range(1, AFTER + 1):
            given, wanted = (torch.from_numpy(x[:ROWS]) for x in batch(step))
            adam.zero_grad()
            cross_entropy(model(given).flatten(0, 1), wanted.flatten()).backward()
            before = [x.detach().clone() for x in model.parameters()]
            adam.step()
    after = [x.detach() for x in model.parameters()]
    old = torch.cat([x.flatten() for x in before])
    new = torch.cat([x.flatten() for x in after])
    return old.numpy(), (new - old).numpy()


def lost(kind: torch.dtype) -> float:
    """The share of these moves that a parameter of this kind would not notice."""
    old, moved = (torch.from_numpy(x) for x in last_moves())
    kept = old.to(kind)
    there = moved != 0
    stays = (kept.double() + moved.double()).to(kind) == kept
    return float((stays & there).sum() / there.sum())


def measured() -> dict[str, Any]:
    """All that the page says of sixteen bits."""
    logits, numbers = np.abs(logits_gradient()), np.abs(_exact())
    return {
        "scales": {str(power): [round(x, 5) for x in at_scale(power)] for power in SCALES},
        "logits": round(float((logits <= TINY).mean()), 4),
        "numbers": round(float((numbers[numbers > 0] <= TINY).mean()), 4),
        "moves": {
            str(power): [[round(x, 3) for x in errors], round(turned, 3)]
            for power in (0, 12)
            for errors, turned in [moves_at_scale(power)]
        },
        "lost": {name: round(lost(getattr(torch, name)), 4) for name in ("float16", "bfloat16")},
    }


@cache
def stored() -> dict[str, Any]:
    """What `measured` returned when the file was written."""
    return dict(json.loads(FILE.read_text(encoding="utf-8")))


if __name__ == "__main__":
    FILE.write_text(json.dumps(measured(), indent=1) + "\n", encoding="utf-8")
