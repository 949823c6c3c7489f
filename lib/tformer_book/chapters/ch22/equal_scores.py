"""Keys with equal scores: how many there are, and the weight of each."""

from typing import Any

import numpy as np
import traitlets

from tformer import reference
from tformer_book.widgets.base import BookWidget

MOST = 12


class EqualScores22(BookWidget):
    """A number of keys, to be changed, and the weight that attention gives to each.

    Parameters
    ----------
    count : int
        From 1 to 12.

    Raises
    ------
    ValueError
        If there are fewer or more.
    """

    count = traitlets.Int(4).tag(sync=True)

    def __init__(self, count: int = 4, **kwargs: Any) -> None:
        super().__init__(count=count, **kwargs)

    @traitlets.validate("count")
    def _few(self, proposal: dict[str, Any]) -> int:
        if not 1 <= proposal["value"] <= MOST:
            raise ValueError(f"EqualScores: count must be 1 to {MOST}; got {proposal['value']}")
        return int(proposal["value"])

    @property
    def weight(self) -> float:
        """The weight of each key."""
        return float(reference.softmax(np.zeros(self.count))[0])

    def __repr__(self) -> str:
        keys = "key" if self.count == 1 else "keys"
        return f"EqualScores: {self.count} {keys}, weight {self.weight:.3f} each"

    def fallback(self) -> str:
        said = repr(self).removeprefix("EqualScores: ")
        return f"<p>Interactive figure, needs JavaScript: {said}.</p>"
