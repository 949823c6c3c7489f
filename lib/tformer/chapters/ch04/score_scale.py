"""Scores of random queries and keys: their spread, and the weights that softmax makes of them."""

import math
from functools import lru_cache
from typing import Any

import numpy as np
import traitlets

from tformer import reference
from tformer.widgets.base import BookWidget

QUERIES, KEYS = 32, 64
NARROWEST, WIDEST = 4, 4096
SCALES = {"1": 0.0, "1/√d": -0.5, "1/d": -1.0}
"""Each scale that can be chosen, and the power of d that it is."""


class ScoreScale(BookWidget):
    """Choose a width, a scale and a temperature: what becomes of the scores and the weights?

    The scores are dot products of 32 queries and 64 keys whose coordinates are independent
    standard normal numbers, always the same ones: a narrower vector is the front of a wider one.

    Parameters
    ----------
    d : int
        Width of queries and keys, 4 to 4096.
    scale : str
        "1", "1/√d" or "1/d": the factor of the dot products.
    temperature : float
        A positive number; the scaled scores are divided by it.
    query : int
        The query whose weights are shown, 0 to 31.

    Raises
    ------
    ValueError
        If an argument is outside what is said above.
    """

    d = traitlets.Int(64).tag(sync=True)
    scale = traitlets.Unicode("1/√d").tag(sync=True)
    temperature = traitlets.Float(1.0).tag(sync=True)
    query = traitlets.Int(0).tag(sync=True)

    def __init__(
        self,
        d: int = 64,
        scale: str = "1/√d",
        temperature: float = 1.0,
        query: int = 0,
        **kwargs: Any,
    ) -> None:
        super().__init__(d=d, scale=scale, temperature=temperature, query=query, **kwargs)

    @traitlets.validate("d", "query")
    def _whole(self, proposal: dict[str, Any]) -> int:
        name, value = proposal["trait"].name, proposal["value"]
        low, high = (NARROWEST, WIDEST) if name == "d" else (0, QUERIES - 1)
        if not low <= value <= high:
            raise ValueError(f"ScoreScale: {name} must be {low} to {high}; got {value}")
        return value

    @traitlets.validate("scale")
    def _one_of(self, proposal: dict[str, Any]) -> str:
        if proposal["value"] not in SCALES:
            raise ValueError(
                f"ScoreScale: scale must be one of {', '.join(SCALES)}; got {proposal['value']}"
            )
        return proposal["value"]

    @traitlets.validate("temperature")
    def _positive(self, proposal: dict[str, Any]) -> float:
        if not 0 < proposal["value"] < math.inf:
            raise ValueError(
                f"ScoreScale: temperature must be a positive number; got {proposal['value']}"
            )
        return proposal["value"]

    @property
    def scores(self) -> np.ndarray:
        """(32, 64) table of scores: scale · q·k / temperature, what softmax gets."""
        return dot_products(self.d) * (float(self.d) ** SCALES[self.scale] / self.temperature)

    @property
    def deviation(self) -> float:
        """The standard deviation of all 2048 scores."""
        return float(self.scores.std())

    @property
    def predicted(self) -> float:
        """The standard deviation by the theorem: scale · √d / temperature."""
        return float(self.d) ** (SCALES[self.scale] + 0.5) / self.temperature

    @property
    def weights(self) -> list[float]:
        """The weights of the query that is shown, largest first."""
        return sorted(reference.softmax(self.scores[self.query]).tolist(), reverse=True)

    @property
    def facts(self) -> dict[str, tuple[float, float]]:
        """For the query that is shown, and on average over all 32.

        largest : the largest weight.
        entropy : the entropy of the weights in nats, at most log 64.
        effective : the effective number of keys, 1/Σp².
        slope : 2 max p(1 − p)/temperature, a bound on the norm of ∂p/∂s, s = scale · q·k.
        """
        p = reference.softmax(self.scores)
        each = {
            "largest": p.max(axis=-1),
            "entropy": reference.entropy(p),
            "effective": 1 / (p * p).sum(axis=-1),
            "slope": 2 * (p * (1 - p)).max(axis=-1) / self.temperature,
        }
        return {name: (float(x[self.query]), float(x.mean())) for name, x in each.items()}

    def __repr__(self) -> str:
        largest, entropy, effective, _ = (mean for _, mean in self.facts.values())
        return (
            f"ScoreScale: d = {self.d}, scale {self.scale}, temperature {self.temperature:g}: "
            f"standard deviation of the scores {self.deviation:.2f}; on average over {QUERIES} "
            f"queries and {KEYS} keys, largest weight {largest:.2f}, entropy {entropy:.2f} of at "
            f"most {math.log(KEYS):.2f} nats, effective number of keys {effective:.1f}"
        )

    def fallback(self) -> str:
        return (
            "<p>Interactive figure, needs JavaScript: width, scale and temperature against the "
            "histogram of the scores of random queries and keys and the weights that softmax "
            f"gives. As drawn, {repr(self).removeprefix('ScoreScale: ')}.</p>"
        )


def uniform(n: int) -> np.ndarray:
    """The first n numbers of a fixed stream, above 0 and below 1: T. Ettinger's Mulberry32."""
    t = np.arange(1, n + 1, dtype=np.uint32) * np.uint32(0x6D2B79F5)
    t = (t ^ (t >> 15)) * (t | 1)
    t ^= t + (t ^ (t >> 7)) * (t | 61)
    return ((t ^ (t >> 14)).astype(float) + 0.5) / 2**32


def normal(n: int) -> np.ndarray:
    """The first n of a fixed stream of standard normal numbers, n even: Box and Muller's way."""
    one, two = uniform(n).reshape(-1, 2).T
    radius, angle = np.sqrt(-2 * np.log(one)), 2 * np.pi * two
    return np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=-1).ravel()


@lru_cache(maxsize=8)
def dot_products(d: int) -> np.ndarray:
    """(32, 64) table of q·k for vectors of width d."""
    vectors = normal((QUERIES + KEYS) * WIDEST).reshape(-1, WIDEST)[:, :d]
    return reference.pairwise_dot(vectors[:QUERIES], vectors[QUERIES:])
