"""A query on a map of words: three ways to rank the words, side by side."""

import math
from typing import Any

import numpy as np
import traitlets

from tformer import reference
from tformer_book.widgets.base import BookWidget, finite

JUDGES = ("dot", "cosine", "distance")


class ThreeJudges(BookWidget, uses="plane.js"):
    """Drag a query over a map of keys; see how dot product, cosine and distance rank them.

    Parameters
    ----------
    words : list of str
        The names of the keys, up to about twelve of at most eight letters; no two alike.
    points : list of lists of two floats
        The keys, one a word, each coordinate between `-limit` and `limit`.
    q : list of two floats
        The query. It follows the mouse, and assigning to it moves the arrow.
    judge : str
        Whose verdict is drawn on the map: dot, cosine or distance.
    few : list of str
        The words that are there at first, some of `words`; by default all. A button adds the rest.
    whole : bool
        Whether all words are there.
    places : dict of str to list of two floats
        Queries to jump to, by the text of their button.
    limit : float
        How far the plane reaches.

    Raises
    ------
    ValueError
        If a point is not in the plane, if words and points differ in number, if a word stands
        twice, or if one of the few is none of the words.
    """

    words = traitlets.List(traitlets.Unicode()).tag(sync=True)
    points = traitlets.List(traitlets.List(traitlets.Float())).tag(sync=True)
    q = traitlets.List(traitlets.Float()).tag(sync=True)
    judge = traitlets.Enum(JUDGES, "dot").tag(sync=True)
    few = traitlets.List(traitlets.Unicode()).tag(sync=True)
    whole = traitlets.Bool(False).tag(sync=True)
    places = traitlets.Dict().tag(sync=True)
    limit = traitlets.Float(5.0).tag(sync=True)

    def __init__(
        self,
        words: list[str] | tuple[str, ...] = ("a", "b", "c"),
        points: Any = ((4.0, 3.0), (0.5, 0.0), (1.0, 0.3)),
        q: list[float] | tuple[float, ...] = (1.0, 0.0),
        limit: float = 5.0,
        places: dict[str, list[float]] | None = None,
        few: list[str] | tuple[str, ...] = (),
        **kwargs: Any,
    ) -> None:
        if not 0 < limit < math.inf:
            raise ValueError(f"ThreeJudges: limit must be a positive number; got {limit}")
        if len(words) != len(points):
            raise ValueError(f"ThreeJudges: {len(words)} words but {len(points)} points")
        if len(set(words)) < len(words):
            raise ValueError("ThreeJudges: a word stands twice")
        if not set(few) <= set(words):
            strange = next(word for word in few if word not in words)
            raise ValueError(f"ThreeJudges: few has {strange!r}, which is none of the words")
        points = [[float(x) for x in key] for key in points]
        for word, key in zip(words, points, strict=True):
            check_point(f"the key of {word}", key, limit)
        places = {name: [float(x) for x in point] for name, point in (places or {}).items()}
        for name, point in places.items():
            check_point(f"the place {name}", point, limit)
        super().__init__(
            words=list(words),
            points=points,
            q=list(q),
            limit=limit,
            places=places,
            few=list(few),
            **kwargs,
        )

    @traitlets.validate("q")
    def _inside(self, proposal: dict[str, Any]) -> list[float]:
        check_point("q", proposal["value"], self.limit)
        return proposal["value"]

    @property
    def shown(self) -> list[str]:
        """The words that are there, in the order in which they were given."""
        return [word for word in self.words if self.whole or not self.few or word in self.few]

    @property
    def scores(self) -> dict[str, np.ndarray]:
        """What each judge measures of every key shown: dot product, cosine, squared distance."""
        places = dict(zip(self.words, self.points, strict=True))
        q, keys = np.array(self.q), np.array([places[word] for word in self.shown])
        measures = (reference.dot, reference.cosine_similarity, reference.squared_distance)
        return {judge: of(q, keys) for judge, of in zip(JUDGES, measures, strict=True)}

    @property
    def rankings(self) -> dict[str, list[str]]:
        """The words shown, first to last, by each judge; of equals the earlier word is first."""
        scores = self.scores | {"distance": -self.scores["distance"]}
        orders = {
            judge: np.argsort(-np.round(x, 9), kind="stable").tolist()
            for judge, x in scores.items()
        }
        return {judge: [self.shown[i] for i in order] for judge, order in orders.items()}

    def __repr__(self) -> str:
        first = ", ".join(f"{judge} {words[0]}" for judge, words in self.rankings.items())
        return f"ThreeJudges: q = ({self.q[0]:g}, {self.q[1]:g}); first: {first}"

    def fallback(self) -> str:
        said = "; ".join(f"{judge}: {', '.join(order)}" for judge, order in self.rankings.items())
        return (
            "<p>Interactive figure, needs JavaScript: a query that can be dragged over a map of "
            f"words. For q = ({self.q[0]:g}, {self.q[1]:g}) the words rank by {said}.</p>"
        )


def check_point(name: str, point: list[float], limit: float) -> None:
    """Raise unless `point` has two finite coordinates in the plane."""
    if len(point) != 2:
        raise ValueError(f"ThreeJudges: {name} needs two coordinates; got {len(point)}")
    for i, x in enumerate(finite(f"ThreeJudges: {name}", point)):
        if abs(x) > limit:
            raise ValueError(
                f"ThreeJudges: {name}[{i}] is {x:g} but the plane reaches from "
                f"{-limit:g} to {limit:g}; give a larger limit"
            )
