"""Scores, a temperature, and the weights that softmax makes of them."""

import math
from html import escape
from typing import Any

import numpy as np
import traitlets

from tformer import reference
from tformer_book.widgets.base import BookWidget, finite

MOST = 6


class SoftmaxTemperature(BookWidget, uses="folds.js"):
    """Move scores and temperature; watch the weights, their entropy and their slope.

    Parameters
    ----------
    scores : list of floats
        One to six finite scores.
    labels : list of str, optional
        A name for each score; "a", "b", … by default.
    temperature : float
        A positive number; the inverse temperature is β = 1/temperature.
    mask : list of bool, optional
        True = may be chosen; a score with False counts as −∞. All True by default.
    shift : float
        A constant added to every score, which changes nothing.

    Raises
    ------
    ValueError
        If the lengths differ, or a number is outside what is said above.
    """

    scores = traitlets.List(traitlets.Float()).tag(sync=True)
    labels = traitlets.List(traitlets.Unicode()).tag(sync=True)
    mask = traitlets.List(traitlets.Bool()).tag(sync=True)
    temperature = traitlets.Float(1.0).tag(sync=True)
    shift = traitlets.Float(0.0).tag(sync=True)

    def __init__(
        self,
        scores: list[float] | tuple[float, ...] = (2.0, 1.0, 0.0, -1.0),
        labels: list[str] | None = None,
        temperature: float = 1.0,
        mask: list[bool] | None = None,
        shift: float = 0.0,
        **kwargs: Any,
    ) -> None:
        self._size = len(scores)
        if not 1 <= self._size <= MOST:
            raise ValueError(f"SoftmaxTemperature: needs 1 to {MOST} scores; got {self._size}")
        super().__init__(
            scores=list(scores),
            labels=list("abcdef"[: self._size]) if labels is None else list(labels),
            mask=[True] * self._size if mask is None else list(mask),
            temperature=temperature,
            shift=shift,
            **kwargs,
        )

    @traitlets.validate("scores", "labels", "mask")
    def _one_each(self, proposal: dict[str, Any]) -> list[Any]:
        name, value = proposal["trait"].name, proposal["value"]
        if len(value) != self._size:
            raise ValueError(
                f"SoftmaxTemperature: {name} has {len(value)} entries but there are "
                f"{self._size} scores"
            )
        return finite("SoftmaxTemperature: scores", value) if name == "scores" else value

    @traitlets.validate("temperature")
    def _positive(self, proposal: dict[str, Any]) -> float:
        if not 0 < proposal["value"] < math.inf:
            raise ValueError(
                "SoftmaxTemperature: temperature must be a positive number; "
                f"got {proposal['value']}"
            )
        return proposal["value"]

    @traitlets.validate("shift")
    def _shift(self, proposal: dict[str, Any]) -> float:
        return finite("SoftmaxTemperature: shift", [proposal["value"]])[0]

    @property
    def beta(self) -> float:
        """The inverse temperature, 1/temperature."""
        return 1.0 / self.temperature

    @property
    def weights(self) -> list[float]:
        """softmax of the shifted scores; all zero if every score is masked."""
        shifted = np.array(self.scores) + self.shift
        visible = np.where(self.mask, shifted, -np.inf)
        return reference.softmax(visible, beta=self.beta).tolist()

    @property
    def entropy(self) -> float:
        """The entropy of the weights in nats; at most the log of their number."""
        return float(reference.entropy(np.array(self.weights)))

    @property
    def jacobian_bound(self) -> float:
        """β · 2 max p(1 − p), a bound on the spectral norm of the Jacobian ∂p/∂scores."""
        return self.beta * 2.0 * max(p * (1.0 - p) for p in self.weights)

    def __repr__(self) -> str:
        weights = ", ".join(
            f"{label} {p:.2f}" for label, p in zip(self.labels, self.weights, strict=True)
        )
        return (
            f"SoftmaxTemperature: temperature {self.temperature:g} (β = {self.beta:g}), "
            f"weights {weights}, entropy {self.entropy:.2f} nats"
        )

    def fallback(self) -> str:
        shown = escape(repr(self).removeprefix("SoftmaxTemperature: "))
        return (
            "<p>Interactive figure, needs JavaScript: sliders for scores and temperature, and "
            f"bars for the weights that softmax gives. As drawn, {shown}.</p>"
        )
