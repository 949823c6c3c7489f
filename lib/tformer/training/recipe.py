"""A recipe: every choice of a training but the model and its texts."""

import math
from dataclasses import dataclass

__all__ = ["Recipe", "learning_rate_at"]

CHOICES = {
    "schedule": ("constant", "cosine", "inverse_sqrt"),
    "precision": ("float32", "bfloat16", "float16"),
}


@dataclass(frozen=True)
class Recipe:
    """Every choice of a training but the model and its texts.

    Parameters
    ----------
    steps : int
        How many, counted from 1.
    rate : float
        The largest learning rate.
    warmup : int
        In so many steps the rate rises in a line from 0 to the largest.
    schedule : str
        What comes then: "constant"; "cosine", half a wave down to `last` [loshchilov2017]; or
        "inverse_sqrt", which needs a warm-up and knows no end [vaswani2017].
    last : float, from 0 to 1
        The share of the rate that a cosine ends at.
    betas : pair of floats
        Decay of the two moments of AdamW.
    eps : float
        Added to the root of the second.
    decay : float
        Weight decay of AdamW, of what has two axes or more; our biases and places have none.
    clip : float or None
        The largest norm that the gradients, all as one vector, may have; None lets them be.
    smoothing : float, from 0 to less than 1
        The share of each target that is spread over all tokens.
    accumulate : int
        A batch is read in so many parts, for want of memory. It changes no more than rounding.
    precision : str
        What products of matrices are computed in: "float32"; "bfloat16"; or "float16", whose losses
        are scaled. Parameters and sums stay in float32.
    recompute : bool
        Whether the backward pass computes each block again, so that of a block its input alone is
        kept for it: less memory for a second forward pass. It changes no more than rounding.
    fused : bool
        Whether AdamW makes one call for many tensors: less time a step, most of all for a small
        model. It changes no more than rounding.
    seed : int, 0 or more
        Of the masks of dropout, which a model has if its configuration says so.

    Raises
    ------
    ValueError
        If a choice has another value, or a number is out of range.
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
                raise _refused(name, several, getattr(self, name))
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
                raise _refused(name, expected, getattr(self, name))
        if self.schedule == "inverse_sqrt" and not self.warmup:
            raise _refused("warmup", 'above 0 for "inverse_sqrt"', 0)


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


def _refused(name: str, expected: str, found: object) -> ValueError:
    return ValueError(f"Recipe: {name} must be {expected}; got {found!r}")
