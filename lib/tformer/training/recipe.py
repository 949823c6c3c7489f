"""A recipe: all hyperparameters of a training run, except for the model and the data."""

import math
from dataclasses import dataclass

__all__ = ["Recipe", "learning_rate_at"]

CHOICES = {
    "schedule": ("constant", "cosine", "inverse_sqrt"),
    "precision": ("float32", "bfloat16", "float16"),
}


@dataclass(frozen=True)
class Recipe:
    """All hyperparameters of a training run, except for the model and the data.

    Parameters
    ----------
    steps : int
        The number of optimiser steps, counted from 1.
    rate : float
        The peak learning rate.
    warmup : int
        The number of steps in which the rate rises linearly from 0 to its peak.
    schedule : str
        After the warm-up: "constant"; "cosine", a half cosine down to `last` [loshchilov2017]; or
        "inverse_sqrt", which needs a warm-up and does not depend on `steps` [vaswani2017].
    last : float, from 0 to 1
        The final learning rate of "cosine", as a share of the peak.
    betas : pair of floats
        Decay rates of the two moments of AdamW.
    eps : float
        Of AdamW, added to the square root of the second moment.
    decay : float
        Weight decay of AdamW, for parameters of two axes or more, but not for biases and position
        parameters of a `fast.Module`.
    clip : float or None
        Gradients are clipped to this global norm; None does not clip.
    smoothing : float, from 0 to less than 1
        Label smoothing: the share of each target that is spread over all tokens.
    accumulate : int
        Gradient accumulation: a batch is read in so many parts, to save memory. Results differ by
        rounding only.
    precision : str
        Of matrix products: "float32"; "bfloat16"; or "float16", with loss scaling. Parameters and
        sums are in float32.
    recompute : bool
        Gradient checkpointing: the backward pass computes each block again from its input, so that
        other activations are not stored. Results differ by rounding only.
    fused : bool
        Whether AdamW is PyTorch's fused kernel: faster, most of all for small models. Results
        differ by rounding only.
    seed : int, 0 or more
        Of the dropout masks, if the model's configuration has dropout.

    Raises
    ------
    ValueError
        If a string is none of the choices, or a number is out of range.
    """

    steps: int
    rate: float
    warmup: int = 0
    schedule: str = "cosine"
    last: float = 0.1
    betas: tuple[float, float] = (0.9, 0.95)
    eps: float = 1e-8
    decay: float = 0.1
    clip: float | None = 1.0
    smoothing: float = 0.0
    accumulate: int = 1
    precision: str = "float32"
    recompute: bool = False
    fused: bool = False
    seed: int = 0

    def __post_init__(self) -> None:
        for name, choices in CHOICES.items():
            if getattr(self, name) not in choices:
                several = " or ".join(map(repr, choices))
                raise _error(name, several, getattr(self, name))
        ranges = [
            ("steps", "0 or more", self.steps >= 0),
            ("rate", "finite and 0 or more", 0 <= self.rate < math.inf),
            ("warmup", f"from 0 to steps, {self.steps}", 0 <= self.warmup <= self.steps),
            ("last", "from 0 to 1", 0 <= self.last <= 1),
            ("betas", "two from 0 to less than 1", all(0 <= x < 1 for x in self.betas)),
            ("eps", "finite and above 0", 0 < self.eps < math.inf),
            ("decay", "finite and 0 or more", 0 <= self.decay < math.inf),
            ("clip", "above 0, or None", self.clip is None or self.clip > 0),
            ("smoothing", "from 0 to less than 1", 0 <= self.smoothing < 1),
            ("accumulate", "1 or more", self.accumulate >= 1),
            ("recompute", "True or False", isinstance(self.recompute, bool)),
            ("fused", "True or False", isinstance(self.fused, bool)),
            ("seed", "0 or more", self.seed >= 0),
        ]
        for name, expected, holds in ranges:
            if not holds:
                raise _error(name, expected, getattr(self, name))
        if self.schedule == "inverse_sqrt" and not self.warmup:
            raise _error("warmup", 'above 0 for "inverse_sqrt"', 0)


def learning_rate_at(recipe: Recipe, step: int) -> float:
    """The learning rate of a step.

    Parameters
    ----------
    recipe : Recipe
    step : int
        From 1 to `recipe.steps`.
    """
    r = recipe
    if step < r.warmup:
        return r.rate * step / r.warmup
    if r.schedule == "cosine":
        done = (step - r.warmup) / max(r.steps - r.warmup, 1)
        return r.rate * (r.last + (1 - r.last) * (1 + math.cos(math.pi * done)) / 2)
    if r.schedule == "inverse_sqrt":
        return r.rate * math.sqrt(r.warmup / step)
    return r.rate


def _error(name: str, expected: str, found: object) -> ValueError:
    return ValueError(f"Recipe: {name} must be {expected}; got {found!r}")
