"""Life by one head: paint the cells of a board, and the stencil of the mask."""

from __future__ import annotations

from typing import Any

import numpy as np
import traitlets

from tformer_book.chapters.ch21.grids import GLIDER, life_step, play
from tformer_book.widgets.base import BookWidget

SIDE, REACH = 10, 2
"""The board has 10 × 10 cells, and the stencil 5 × 5: two rows and columns to each side."""
WIDTH = 2 * REACH + 1
NEAR = [6, 7, 8, 11, 12, 13, 16, 17, 18]
"""The 3 × 3 cells in the middle of a stencil, row by row."""


def start() -> list[int]:
    """A glider and a bar of three cells: the numbers of the living cells, row by row."""
    board = np.zeros((SIDE, SIDE), dtype=int)
    board[1:4, 1:4] = GLIDER
    board[7, 5:8] = 1
    return [int(i) for i in np.flatnonzero(board)]


class Stencil(BookWidget, uses="grid.js"):
    """A board of cells on a torus, and a mask in which each cell sees what a stencil says.

    Parameters
    ----------
    alive : list of int
        The numbers of the living cells of 10 × 10, row by row.
    stencil : list of int
        Which of 5 × 5 cells around it a cell sees, row by row; 12 is the cell itself.
    generation : int
        How many generations were made.

    Raises
    ------
    ValueError
        If a number is no cell, or stands twice, or the generation is below 0.
    """

    first = traitlets.List(start()).tag(sync=True)
    alive = traitlets.List(traitlets.Int(), start()).tag(sync=True)
    stencil = traitlets.List(traitlets.Int(), NEAR).tag(sync=True)
    generation = traitlets.Int(0).tag(sync=True)

    @traitlets.validate("alive", "stencil")
    def _places(self, proposal: dict[str, Any]) -> list[int]:
        name, value = proposal["trait"].name, proposal["value"]
        count = SIDE**2 if name == "alive" else WIDTH**2
        if len(set(value)) < len(value) or not all(0 <= i < count for i in value):
            raise ValueError(
                f"Stencil: {name} must be different numbers from 0 to {count - 1}; got {value}"
            )
        return sorted(value)

    @traitlets.validate("generation")
    def _counted(self, proposal: dict[str, Any]) -> int:
        if proposal["value"] < 0:
            raise ValueError(f"Stencil: generation must be 0 or more; got {proposal['value']}")
        return int(proposal["value"])

    @property
    def board(self) -> np.ndarray:
        """The cells (10, 10), 0 or 1."""
        board = np.zeros(SIDE**2, dtype=int)
        board[self.alive] = 1
        return board.reshape(SIDE, SIDE)

    @property
    def mask(self) -> np.ndarray:
        """Which cell sees which: (100, 100)."""
        row, column = np.divmod(np.arange(SIDE**2), SIDE)
        mask = np.zeros((SIDE**2, SIDE**2), dtype=bool)
        for place in self.stencil:
            down, right = np.array(divmod(place, WIDTH)) - REACH
            seen = (row + down) % SIDE * SIDE + (column + right) % SIDE
            mask[np.arange(SIDE**2), seen] = True
        return mask

    def next(self) -> np.ndarray:
        """What the block makes of the board, by the library: (10, 10) numbers."""
        return play(self.board, mask=self.mask)

    @property
    def wrong(self) -> int:
        """How many cells of the next generation are not as Life has them."""
        return int(((self.next() > 0.5) != life_step(self.board)).sum())

    def __repr__(self) -> str:
        cells = "1 living cell" if len(self.alive) == 1 else f"{len(self.alive)} living cells"
        return (
            f"Stencil: {cells}, a stencil of {len(self.stencil)}; in the next generation "
            f"{self.wrong} of {SIDE**2} cells differ from Life"
        )

    def fallback(self) -> str:
        """The board now, and what is said of the next."""
        lines = "\n".join("".join("■" if x else "□" for x in row) for row in self.board)
        said = repr(self).removeprefix("Stencil: ")
        return f"<p>Interactive figure, needs JavaScript: {said}.</p><pre>{lines}</pre>"
