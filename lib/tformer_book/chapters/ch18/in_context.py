"""A regression in context: points to drag, layers of linear attention, and the line they give."""

from __future__ import annotations

from typing import Any

import numpy as np
import traitlets

from tformer_book.chapters.ch18.regression import descend, least_squares, ridge
from tformer_book.widgets.base import BookWidget, finite

LIMIT, MOST_LAYERS, MOST_STEP, PENALTY = 3.0, 8, 2.0, 1.0
START = ((-2.0, -1.2), (-1.0, -0.6), (0.2, 0.5), (1.2, 0.3), (2.2, 1.8))


class InContext(BookWidget, uses="plane.js"):
    """Points in the plane, and the line that layers of linear attention make of them.

    A token holds the row x = (1, a) of a point and its residual, so w is height and slope of a
    line.

    Parameters
    ----------
    points : list of pairs of floats
        Two to eight of them, each number between -3 and 3.
    layers : int
        From 0 to 8.
    eta : float
        The step size of every layer, from 0 to 2.

    Raises
    ------
    ValueError
        If an argument is outside what is said above.
    """

    points = traitlets.List(traitlets.List(traitlets.Float())).tag(sync=True)
    layers = traitlets.Int(1).tag(sync=True)
    eta = traitlets.Float(0.3).tag(sync=True)
    penalty = traitlets.Float(PENALTY).tag(sync=True)

    def __init__(
        self, points: Any = START, layers: int = 1, eta: float = 0.3, **kwargs: Any
    ) -> None:
        points = [[float(x) for x in point] for point in points]
        super().__init__(points=points, layers=layers, eta=eta, **kwargs)

    @traitlets.validate("points")
    def _in_the_plane(self, proposal: Any) -> list[list[float]]:
        points = proposal["value"]
        if not 2 <= len(points) <= 8:
            raise ValueError(f"InContext: there must be 2 to 8 points; got {len(points)}")
        for i, point in enumerate(points):
            if len(point) != 2:
                raise ValueError(f"InContext: points[{i}] needs two numbers; got {len(point)}")
            for x in finite(f"InContext: points[{i}]", point):
                if abs(x) > LIMIT:
                    raise ValueError(f"InContext: points[{i}] must lie within -3 and 3; got {x}")
        return [*points]

    @traitlets.validate("layers")
    def _few(self, proposal: Any) -> int:
        if not 0 <= proposal["value"] <= MOST_LAYERS:
            raise ValueError(f"InContext: layers must be 0 to 8; got {proposal['value']}")
        return int(proposal["value"])

    @traitlets.validate("eta", "penalty")
    def _small(self, proposal: Any) -> float:
        name = proposal["trait"].name
        [value] = finite(f"InContext: {name}", [proposal["value"]])
        if not 0 <= value <= MOST_STEP:
            raise ValueError(f"InContext: {name} must be 0 to 2; got {value}")
        return float(value)

    @property
    def examples(self) -> tuple[np.ndarray, np.ndarray]:
        """The rows (1, a), (n, 2), and the targets, (n, 1)."""
        a, y = np.array(self.points).T
        return np.stack([np.ones_like(a), a], axis=1), y[:, None]

    @property
    def lines(self) -> dict[str, np.ndarray]:
        """Height and slope after the layers, by least squares and by ridge, (2,) each."""
        x, y = self.examples
        return {
            "layers": descend(x, y, self.eta, self.layers)[:, 0],
            "least squares": least_squares(x, y)[:, 0],
            "ridge": ridge(x, y, self.penalty)[:, 0],
        }

    def error(self, w: np.ndarray) -> float:
        """Half the mean squared residual of a line."""
        x, y = self.examples
        return float(((x @ w - y[:, 0]) ** 2).mean() / 2)

    @property
    def largest_step(self) -> float:
        """Below this step size more layers come to the line of least squares."""
        x, _ = self.examples
        return float(2 / np.linalg.eigvalsh(x.T @ x / len(x))[-1])

    def __repr__(self) -> str:
        lines = self.lines
        told = "\n".join(
            f"{name}: height {w[0]:.3f}, slope {w[1]:.3f}, half the mean square {self.error(w):.3f}"
            for name, w in lines.items()
        )
        layers = "1 layer" if self.layers == 1 else f"{self.layers} layers"
        return (
            f"InContext: {len(self.points)} points, {layers}, η = {self.eta:g}, "
            f"largest step {self.largest_step:.3f}\n{told}"
        )

    def fallback(self) -> str:
        """The line after 0, 1, 2, 4 and 8 layers, and that of least squares."""
        x, y = self.examples
        rows = [(f"{k} layers", descend(x, y, self.eta, k)[:, 0]) for k in (0, 1, 2, 4, 8)]
        rows.append(("least squares", least_squares(x, y)[:, 0]))
        body = "".join(
            f"<tr><th>{name}</th><td>{w[0]:.3f}</td><td>{w[1]:.3f}</td><td>{self.error(w):.3f}</td>"
            "</tr>"
            for name, w in rows
        )
        return (
            "<p>Interactive figure, needs JavaScript: the line that layers of linear attention "
            f"make of {len(self.points)} points, with step size {self.eta:g}.</p><table><tr>"
            "<th></th><th>height</th><th>slope</th><th>half the mean square</th></tr>"
            f"{body}</table>"
        )
