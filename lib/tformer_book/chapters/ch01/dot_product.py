"""Two vectors in the plane, to be dragged: what the dot product measures."""

import math
from typing import Any

import numpy as np
import traitlets

from tformer import reference
from tformer_book.widgets.base import BookWidget, finite


class DotProduct(BookWidget, uses="plane.js folds.js"):
    """Drag the tips of q and k; read their dot product, angle and projection.

    Parameters
    ----------
    q, k : list of two floats
        The vectors, each coordinate between `-limit` and `limit`. Both follow the mouse, and
        assigning to them moves the arrows.
    limit : float
        How far the plane reaches.

    Raises
    ------
    ValueError
        If a vector does not have two finite coordinates inside the plane.
    """

    q = traitlets.List(traitlets.Float()).tag(sync=True)
    k = traitlets.List(traitlets.Float()).tag(sync=True)
    limit = traitlets.Float(5.0).tag(sync=True)

    def __init__(
        self,
        q: list[float] | tuple[float, ...] = (3.0, 4.0),
        k: list[float] | tuple[float, ...] = (4.0, 3.0),
        limit: float = 5.0,
        **kwargs: Any,
    ) -> None:
        if not 0 < limit < math.inf:
            raise ValueError(f"DotProduct: limit must be a positive number; got {limit}")
        super().__init__(q=list(q), k=list(k), limit=limit, **kwargs)

    @traitlets.validate("q", "k")
    def _inside(self, proposal: dict[str, Any]) -> list[float]:
        name, value = proposal["trait"].name, proposal["value"]
        if len(value) != 2:
            raise ValueError(f"DotProduct: {name} needs two coordinates; got {len(value)}")
        for i, x in enumerate(finite(f"DotProduct: {name}", value)):
            if abs(x) > self.limit:
                raise ValueError(
                    f"DotProduct: {name}[{i}] is {x:g} but the plane reaches from "
                    f"{-self.limit:g} to {self.limit:g}; give a larger limit"
                )
        return value

    @property
    def dot(self) -> float:
        """The dot product q·k."""
        return float(reference.dot(np.array(self.q), np.array(self.k)))

    @property
    def norms(self) -> tuple[float, float]:
        """The lengths of q and of k."""
        return float(reference.norm(np.array(self.q))), float(reference.norm(np.array(self.k)))

    @property
    def cosine(self) -> float:
        """The cosine of the angle; 0 by definition if a vector is zero."""
        return float(reference.cosine_similarity(np.array(self.q), np.array(self.k)))

    @property
    def angle(self) -> float:
        """The angle in degrees, 0 to 180; NaN if a vector is zero."""
        if 0.0 in self.norms:
            return math.nan
        along = self.dot / self.norms[1]
        return math.degrees(math.atan2(math.hypot(*self.remainder), along))

    @property
    def projection(self) -> list[float]:
        """The projection of q onto k."""
        return reference.projection(np.array(self.q), np.array(self.k)).tolist()

    @property
    def remainder(self) -> list[float]:
        """What is left of q: q minus its projection, orthogonal to k."""
        return [a - b for a, b in zip(self.q, self.projection, strict=True)]

    def __repr__(self) -> str:
        angle = "no angle" if math.isnan(self.angle) else f"angle {self.angle:.1f}°"
        return (
            f"DotProduct: q = {_pair(self.q)}, k = {_pair(self.k)}, "
            f"q·k = {self.dot + 0.0:.2f}, {angle}"
        )

    def fallback(self) -> str:
        return (
            "<p>Interactive figure, needs JavaScript: two vectors whose tips can be dragged. "
            f"As drawn, {repr(self).removeprefix('DotProduct: ')}.</p>"
        )


def _pair(v: list[float]) -> str:
    return f"({v[0]:g}, {v[1]:g})"
