"""A vector of four numbers on the bench: change them, and see what a norm lets through."""

from typing import Any

import numpy as np
import traitlets

from tformer import reference
from tformer_book.chapters.ch08.rows import PLAIN
from tformer_book.widgets.base import BookWidget, finite

NORMS = ("LayerNorm", "RMSNorm")
WIDTH, MOST = 4, 10.0
START = (3.0, 1.0, -1.0, 2.0)


class NormBench(BookWidget):
    """Four numbers, to be moved one by one or together, and what a norm makes of them.

    Parameters
    ----------
    x : list of four floats
        From −10 to 10.
    norm : str
        "LayerNorm" or "RMSNorm", without gain and bias.

    Raises
    ------
    ValueError
        If an argument is outside what is said above.
    """

    norms = traitlets.List(traitlets.Unicode(), list(NORMS)).tag(sync=True)
    x = traitlets.List(traitlets.Float(), list(START)).tag(sync=True)
    norm = traitlets.Unicode(NORMS[0]).tag(sync=True)

    def __init__(
        self, x: list[float] | tuple[float, ...] = START, norm: str = NORMS[0], **kwargs: Any
    ) -> None:
        super().__init__(x=list(x), norm=norm, **kwargs)

    @traitlets.validate("x")
    def _four(self, proposal: dict[str, Any]) -> list[float]:
        x = finite("NormBench: x", proposal["value"])
        if len(x) != WIDTH:
            raise ValueError(f"NormBench: x must hold {WIDTH} numbers; got {len(x)}")
        if max(map(abs, x)) > MOST:
            raise ValueError(f"NormBench: x must be from −{MOST:g} to {MOST:g}; got {x}")
        return x

    @traitlets.validate("norm")
    def _known(self, proposal: dict[str, Any]) -> str:
        if proposal["value"] not in NORMS:
            known = " or ".join(NORMS)
            raise ValueError(f"NormBench: norm must be {known}; got {proposal['value']}")
        return str(proposal["value"])

    @property
    def normed(self) -> np.ndarray:
        """What the norm makes of the vector, (4,)."""
        norm = reference.layer_norm if self.norm == NORMS[0] else reference.rms_norm
        return norm(np.array([self.x]), PLAIN)[0]

    @property
    def size(self) -> float:
        """What the norm divides by."""
        x = np.array(self.x)
        x = x - x.mean() if self.norm == NORMS[0] else x
        return float(np.sqrt((x * x).mean() + 1e-5))

    def __repr__(self) -> str:
        given, made = (", ".join(f"{one:.2f}" for one in row) for row in (self.x, self.normed))
        return f"NormBench: {self.norm} of ({given}), size {self.size:.2f}\n({made})"

    def fallback(self) -> str:
        moved = NormBench([one + 2 for one in self.x], self.norm) if max(self.x) <= 8 else self
        said = (self.__repr__(), moved.__repr__())
        lines = "".join(f"<li>{text.removeprefix('NormBench: ')}</li>" for text in said)
        return (
            "<p>Interactive figure, needs JavaScript: a vector of four numbers and its norm, here "
            f"and with 2 added to each:</p><ul>{lines}</ul>"
        )
