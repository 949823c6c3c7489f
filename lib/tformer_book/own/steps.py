"""Steps of training with their state outside, so that a checkpoint can hold it.

`train` keeps its moments inside. `training_step` makes one of its steps: it calls the reader's
`transformer`, `next_token_loss`, `learning_rate` and `adamw` in the order of the book's `train`,
to the same numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
import torch

LENGTH = 128
"""Tokens of a row of a batch."""
ROWS = 16
"""Rows that are read at once where no gradient is asked for."""

Batch = Callable[[int], torch.Tensor]


class State(NamedTuple):
    """A training after a step: parameters, and the two moments of their gradients, by name."""

    step: int
    p: dict[str, torch.Tensor]
    mean: dict[str, torch.Tensor]
    square: dict[str, torch.Tensor]

    def named(self) -> dict[str, torch.Tensor]:
        """Return all tensors under one name each."""
        kinds = self._asdict()
        return {
            f"{kind}.{name}": x
            for kind in ("p", "mean", "square")
            for name, x in kinds[kind].items()
        }

    def filled(self, step: int, named: dict[str, torch.Tensor]) -> State:
        """Return the state of a step from tensors under the names of this one, in its order."""
        p = {name: named[f"p.{name}"].requires_grad_() for name in self.p}
        mean, square = (
            {name: named[f"{kind}.{name}"] for name in self.p} for kind in ("mean", "square")
        )
        return State(step, p, mean, square)


def first_state(my: ModuleType, c: Any, seed: int, dtype: str) -> State:
    """Return the state before the first step: the reader's `initialise`, and moments of zero."""
    kind = getattr(torch, dtype)
    p = {name: x.detach().to(kind).requires_grad_() for name, x in my.initialise(c, seed).items()}
    mean, square = ({name: torch.zeros_like(x) for name, x in p.items()} for _ in range(2))
    return State(0, p, mean, square)


def batches(tokens: torch.Tensor, seed: int, n_rows: int) -> Batch:
    """Return a function of the step: rows of a text, which seed and step choose."""

    def batch(step: int) -> torch.Tensor:
        starts = np.random.default_rng((seed, step)).integers(len(tokens) - LENGTH + 1, size=n_rows)
        return tokens[torch.from_numpy(starts)[:, None] + torch.arange(LENGTH)]

    return batch


def training_step(
    my: ModuleType, state: State, c: Any, batch: Batch, steps: int, warmup: int, peak: float
) -> tuple[State, float]:
    """Return the next state and the loss before it; the state that is given stays as it is."""
    step, p = state.step + 1, state.p
    tokens, rate = batch(step), my.learning_rate(step, steps, warmup, peak)
    loss = my.next_token_loss(my.transformer(tokens, p, c)[0], tokens)
    grads = torch.autograd.grad(loss, list(p.values()))
    clip = min(1, 1 / (math.sqrt(sum(g.square().sum() for g in grads)) + 1e-6))
    new = State(step, {}, {}, {})
    with torch.no_grad():
        for (name, x), g in zip(p.items(), grads, strict=True):
            moments, decay = (state.mean[name], state.square[name]), 0.1 if x.ndim > 1 else 0
            x, new.mean[name], new.square[name] = my.adamw(
                x, clip * g, *moments, step, rate, decay=decay
            )
            new.p[name] = x.detach().requires_grad_()
    return new, loss.item()


def held_out_nats(
    my: ModuleType, p: dict[str, torch.Tensor], c: Any, before: int, tokens: torch.Tensor
) -> float:
    """Return the loss of all tokens of a text together, each predicted once, in nats.

    A row begins with the last token of the row before, the first one with the token `before` the
    text. So a token is predicted from at most `LENGTH` − 1 others, from fewer early in a row.
    """
    n, new = len(tokens), LENGTH - 1
    rows = torch.full((math.ceil(n / new), LENGTH), -1)
    for i, part in enumerate(tokens.split(new)):
        rows[i, 0] = tokens[i * new - 1] if i else before
        rows[i, 1 : 1 + len(part)] = part
    with torch.inference_mode():
        return sum(
            my.next_token_loss(my.transformer(some, p, c)[0], some).item()
            * int((some[:, 1:] >= 0).sum())
            for some in rows.split(ROWS)
        )
