"""Read the row of *it* in blocks: the running maximum and sum, and the weights so far."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import traitlets

from tformer_book.chapters.ch16.row import IT, WORDS, after, scores
from tformer_book.widgets.base import BookWidget

LASTS = ("tired", "wide")


@cache
def rows() -> list[dict[str, Any]]:
    """The words of both sentences, and the scores of *it* with them."""
    return [
        {"words": [*WORDS[:-1], last], "scores": scores(last).round(4).tolist()} for last in LASTS
    ]


class Blocks(BookWidget):
    """The scores of a row come in blocks; what is known of those before is corrected.

    Parameters
    ----------
    tale : int
        0 for *tired*, 1 for *wide*.
    size : int
        Words of a block, 1 to 12.
    n : int
        How many blocks are read, 0 to 12; what is beyond the row changes nothing.

    Raises
    ------
    ValueError
        If an argument is outside what is said above.
    """

    rows = traitlets.List(rows()).tag(sync=True)
    tale = traitlets.Int(0).tag(sync=True)
    size = traitlets.Int(4).tag(sync=True)
    n = traitlets.Int(1).tag(sync=True)

    def __init__(self, tale: int = 0, size: int = 4, n: int = 1, **kwargs: Any) -> None:
        super().__init__(tale=tale, size=size, n=n, **kwargs)

    @traitlets.validate("tale", "size", "n")
    def _known(self, proposal: Any) -> int:
        name, value = proposal.trait.name, proposal.value
        least, most = {"tale": (0, 1), "size": (1, len(WORDS)), "n": (0, len(WORDS))}[name]
        if not least <= value <= most:
            raise ValueError(f"Blocks: {name} must be {least} to {most}; got {value}")
        return int(value)

    def state(self) -> dict[str, Any]:
        """The largest score, the sum below it, and the weight of each word, of what is read."""
        scores = np.array(self.rows[self.tale]["scores"])
        if not self.n:
            return {"top": -np.inf, "total": 0.0, "shares": [0.0] * len(scores)}
        found = after(scores, self.size, self.n)
        shares = (found.output[0] / found.total[0]).tolist()
        return {"top": float(found.top[0]), "total": float(found.total[0]), "shares": shares}

    def __repr__(self) -> str:
        found, last = self.state(), LASTS[self.tale]
        read = min(self.n * self.size, len(WORDS))
        if not read:
            return f"Blocks: … {last}, in blocks of {self.size}; nothing is read"
        return (
            f"Blocks: … {last}, in blocks of {self.size}; {read} of {len(WORDS)} words are read\n"
            f"largest score {found['top']:.2f}, sum {found['total']:.3f}, "
            f"weight of it {found['shares'][IT]:.3f}"
        )

    def fallback(self) -> str:
        """For both sentences, what is known after each block of this size."""
        body = ""
        for tale, last in enumerate(LASTS):
            for n in range(1, -(-len(WORDS) // self.size) + 1):
                found = Blocks(tale, self.size, n).state()
                numbers = (found["top"], found["total"], found["shares"][IT])
                body += f"<tr><th>{last}</th><td>{n}</td>" + "".join(
                    f"<td>{x:.3f}</td>" for x in numbers
                )
                body += "</tr>"
        return (
            "<p>Interactive figure, needs JavaScript: the scores of “it” come in blocks. After "
            "each block:</p><table><tr><th>sentence</th><th>blocks</th><th>largest score</th>"
            f"<th>sum</th><th>weight of it</th></tr>{body}</table>"
        )
