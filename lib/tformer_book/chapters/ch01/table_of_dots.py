"""A tall Q against a wide Kᵀ: every cell of their product is one row times one column."""

from typing import Any

import numpy as np
import traitlets

from tformer import reference
from tformer_book.widgets.base import BookWidget, finite

DEFAULT_Q = ((1, 0), (1, 1), (2, -1), (0, 2), (-1, 1), (3, 1))
DEFAULT_K = ((1, 2), (0, 1), (3, -1), (-2, 1), (2, 2))


class TableOfDots(BookWidget):
    """Choose a cell of QKᵀ; see the row of Q and the column of Kᵀ that meet in it.

    Parameters
    ----------
    queries, keys : lists of lists of floats
        The rows of Q and of K, all of one width, from 1 to 4; at most eight of each.
    cell : list of two ints
        The row and the column that stand out, from 0. It follows mouse and arrow keys.

    Raises
    ------
    ValueError
        If the rows differ in width, are too many or hold a number that is not finite, or if the
        cell lies outside the table.
    """

    queries = traitlets.List(traitlets.List(traitlets.Float())).tag(sync=True)
    rows_of_k = traitlets.List(traitlets.List(traitlets.Float())).tag(sync=True)
    cell = traitlets.List(traitlets.Int()).tag(sync=True)

    def __init__(
        self,
        queries: Any = DEFAULT_Q,
        keys: Any = DEFAULT_K,
        cell: list[int] | tuple[int, int] = (2, 2),
        **kwargs: Any,
    ) -> None:
        tables = {"Q": [list(map(float, q)) for q in queries]}
        tables["K"] = [list(map(float, k)) for k in keys]
        width = len(tables["Q"][0]) if tables["Q"] else 0
        for name, rows in tables.items():
            check_rows(name, rows, width)
        super().__init__(
            queries=tables["Q"], rows_of_k=tables["K"], cell=[int(i) for i in cell], **kwargs
        )

    @traitlets.validate("cell")
    def _inside(self, proposal: dict[str, Any]) -> list[int]:
        cell, shape = proposal["value"], (len(self.queries), len(self.rows_of_k))
        if len(cell) != 2 or not all(0 <= i < n for i, n in zip(cell, shape, strict=True)):
            raise ValueError(f"TableOfDots: no cell {tuple(cell)} in a table of shape {shape}")
        return cell

    @property
    def table(self) -> np.ndarray:
        """The dot products, (T, S): row t, column s is that of query t and key s."""
        return reference.pairwise_dot(np.array(self.queries), np.array(self.rows_of_k))

    def __repr__(self) -> str:
        t, s = self.cell
        width = len(self.queries[0])
        return (
            f"TableOfDots: Q ({len(self.queries)}, {width}), K ({len(self.rows_of_k)}, {width}); "
            f"row {t + 1}, column {s + 1}: {self.table[t, s]:g}"
        )

    def fallback(self) -> str:
        rows = "".join(
            "<tr>" + "".join(f"<td>{x:g}</td>" for x in row) + "</tr>" for row in self.table
        )
        said = repr(self).removeprefix("TableOfDots: ")
        return (
            "<p>Interactive figure, needs JavaScript: a table of dot products in which any cell "
            f"can be chosen. {said}.</p><table>{rows}</table>"
        )


def check_rows(name: str, rows: list[list[float]], width: int) -> None:
    """Raise unless these are 1 to 8 rows of `width` finite numbers, from 1 to 4 in each."""
    if not 1 <= len(rows) <= 8 or not 1 <= width <= 4:
        raise ValueError(
            f"TableOfDots: {name} needs 1 to 8 rows of 1 to 4 numbers; got {len(rows)} of {width}"
        )
    for i, row in enumerate(rows):
        if len(row) != width:
            raise ValueError(
                f"TableOfDots: row {i} of {name} has {len(row)} numbers, not {width}: queries and "
                "keys are equally wide"
            )
        finite(f"TableOfDots: {name}[{i}]", row)
