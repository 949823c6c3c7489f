"""Four descents: a gorge and a cliff, and what a rate, a warm-up and clipping make of the way."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import traitlets

from tformer_book.experiments.training import Adam, Descent, training
from tformer_book.widgets.base import BookWidget, finite

STEPS = 150
"""How many steps are made."""
START = (-3.2, 0.8)
"""Between the walls of the gorge, before the cliff."""
REACH = (4.0, 2.0)
"""How far the drawing goes from the middle, to the side and up."""
LOST = 1000.0
"""Whoever is so far out stays there."""
SLOPE, LOWEST = 0.06, 2.0  # the floor's curvature, and where it is lowest
WALLS, GORGE = (16.0, 1.0), (-1.6, 0.35)  # curvature across, in the gorge and behind it
HEIGHT, CLIFF = 2.0, (-0.2, 0.05)  # how high the cliff is; where, and half of how wide
NAMES = ("gradient descent", "momentum", "Adam", "AdamW")


def _falls(x: float, at: tuple[float, float]) -> tuple[float, float]:
    """From 1 to 0 around a place, and the derivative; without exp, so all machines agree."""
    u = (x - at[0]) / at[1]
    long = 1 + u * u
    return (1 - u / math.sqrt(long)) / 2, -1 / (2 * at[1] * long * math.sqrt(long))


def loss(x: float, y: float) -> float:
    """The loss: a floor that slopes to the right, walls that open, and a cliff."""
    across = WALLS[1] + (WALLS[0] - WALLS[1]) * _falls(x, GORGE)[0]
    along = SLOPE * (x - LOWEST) * (x - LOWEST) / 2
    return along + across * y * y / 2 + HEIGHT * _falls(x, CLIFF)[0]


def gradient(x: float, y: float) -> tuple[float, float]:
    """Its derivatives."""
    share, change = _falls(x, GORGE)
    by_x = (WALLS[0] - WALLS[1]) * change * y * y / 2 + HEIGHT * _falls(x, CLIFF)[1]
    return SLOPE * (x - LOWEST) + by_x, (WALLS[1] + (WALLS[0] - WALLS[1]) * share) * y


class Momentum(Descent):
    """Descent along a sum of the gradients, in which each step counts 0.9 of the next one."""

    def __init__(self, parameters: Any) -> None:
        super().__init__(parameters)
        self.sums = [0 * x for x in self.leaves]

    def moves(self, gradients: list[Any]) -> list[Any]:
        """The sums."""
        for total, grad in zip(self.sums, gradients, strict=True):
            total *= 0.9
            total += grad
        return self.sums


@cache
def ways(
    start: tuple[float, float],
    rate: float,
    warmup: int,
    clip: float | None,
    beta2: float,
    decay: float,
) -> np.ndarray:
    """Where each of the four stands after every step.

    Returns
    -------
    (4, 1 + STEPS, 2) array
    """
    makers: list[Callable[[Any], Descent]] = [
        Descent,
        Momentum,
        lambda at: Adam(at, (0.9, beta2)),
        lambda at: Adam(at, (0.9, beta2), decay=decay),
    ]
    found = np.empty((len(NAMES), 1 + STEPS, 2))
    for way, make in zip(found, makers, strict=True):
        at = np.array(start)

        def clipped(at: np.ndarray = at) -> np.ndarray:
            x, y = gradient(*at.tolist())
            norm = math.sqrt(x * x + y * y)
            share = 1.0 if clip is None or norm <= clip else clip / norm
            return np.array([share * x, share * y])

        way[:] = at
        for step in training(
            make(at), clipped, STEPS, lambda step: rate * step / warmup if step < warmup else rate
        ):
            way[step:] = at
            if max(abs(at)) > LOST:
                break
    return found


class FourDescents(BookWidget):
    """Four ways down one surface, from one start, with one learning rate.

    Parameters
    ----------
    start : list of two floats
        Where all begin: -4 to 4 and -2 to 2.
    rate : float
        The learning rate, above 0 and up to 1.
    warmup : int
        In so many steps the rate rises in a line, 0 to 150.
    clip : float or None
        The largest norm of a gradient; None lets it be.
    beta2 : float
        Decay of Adam's mean of squares, from 0 to less than 1.
    decay : float
        Weight decay of AdamW, 0 to 1.
    step : int
        So many steps are shown, 0 to 150.

    Raises
    ------
    ValueError
        If an argument is outside what is said above.
    """

    start = traitlets.List(traitlets.Float(), list(START)).tag(sync=True)
    rate = traitlets.Float(0.1).tag(sync=True)
    warmup = traitlets.Int(0).tag(sync=True)
    clip = traitlets.Float(None, allow_none=True).tag(sync=True)
    beta2 = traitlets.Float(0.99).tag(sync=True)
    decay = traitlets.Float(0.1).tag(sync=True)
    step = traitlets.Int(STEPS).tag(sync=True)

    def __init__(self, start: list[float] | None = None, rate: float = 0.1, **kwargs: Any) -> None:
        super().__init__(start=[*START] if start is None else start, rate=rate, **kwargs)

    @traitlets.validate("start")
    def _inside(self, proposal: Any) -> list[float]:
        place = finite("FourDescents: start", proposal.value)
        if len(place) != 2 or any(abs(x) > most for x, most in zip(place, REACH, strict=True)):
            raise ValueError(
                f"FourDescents: start must be a place, -4 to 4 and -2 to 2; got {place}"
            )
        return place

    @traitlets.validate("rate", "warmup", "clip", "beta2", "decay", "step")
    def _within(self, proposal: Any) -> Any:
        name, x = proposal.trait.name, proposal.value
        said, holds = {
            "rate": ("above 0 and up to 1", lambda: 0 < x <= 1),
            "warmup": (f"0 to {STEPS}", lambda: 0 <= x <= STEPS),
            "clip": ("finite and above 0, or None", lambda: x is None or 0 < x < math.inf),
            "beta2": ("from 0 to less than 1", lambda: 0 <= x < 1),
            "decay": ("0 to 1", lambda: 0 <= x <= 1),
            "step": (f"0 to {STEPS}", lambda: 0 <= x <= STEPS),
        }[name]
        if not holds():
            raise ValueError(f"FourDescents: {name} must be {said}; got {x}")
        return x

    @property
    def ways(self) -> np.ndarray:
        """Where each of the four stands after every step, (4, 1 + STEPS, 2)."""
        place = (self.start[0], self.start[1])
        return ways(place, self.rate, self.warmup, self.clip, self.beta2, self.decay)

    @property
    def losses(self) -> np.ndarray:
        """The loss of each after every step, (4, 1 + STEPS)."""
        return np.array([[loss(*at) for at in way] for way in self.ways.tolist()])

    def __repr__(self) -> str:
        clip = "no clipping" if self.clip is None else f"clipped at {self.clip:g}"
        places = zip(NAMES, self.losses[:, self.step], self.ways[:, self.step], strict=True)
        said = [f"{name} {loss:.3g} at ({x:.2f}, {y:.2f})" for name, loss, (x, y) in places]
        return (
            f"FourDescents: rate {self.rate:g}, warm-up {self.warmup}, {clip}, "
            f"beta2 {self.beta2:g}, decay {self.decay:g}\n"
            f"loss after {self.step} steps: " + ", ".join(said)
        )

    def fallback(self) -> str:
        """The losses at the end without a cure and with each."""
        start = (START[0], START[1])
        cures: list[tuple[str, tuple[float, int, float | None, float, float]]] = [
            ("rate 0.1", (0.1, 0, None, 0.99, 0.1)),
            ("rate 0.3", (0.3, 0, None, 0.99, 0.1)),
            ("rate 0.3, warm-up of 60 steps", (0.3, 60, None, 0.99, 0.1)),
            ("rate 0.3, clipped at 1", (0.3, 0, 1.0, 0.99, 0.1)),
            ("rate 0.1, beta2 0.9", (0.1, 0, None, 0.9, 0.1)),
        ]
        body = ""
        for name, dials in cures:
            heights = [[loss(*at) for at in way] for way in ways(start, *dials).tolist()]
            ends = "".join(f"<td>{way[-1]:.2g} ({max(way):.2g})</td>" for way in heights)
            body += f"<tr><th>{name}</th>{ends}</tr>"
        head = "".join(f"<th>{name}</th>" for name in NAMES)
        return (
            "<p>Interactive figure, needs JavaScript: four optimisers on a surface with a gorge "
            f"and a cliff. The loss after {STEPS} steps, and in brackets the largest on the way:"
            f"</p><table><tr><th></th>{head}</tr>{body}"
            "</table>"
        )
