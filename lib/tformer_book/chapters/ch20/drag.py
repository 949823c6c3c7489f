"""Take runs out and put them back: the exponent that a refit of the others gives."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import traitlets

from tformer_book.chapters.ch20 import published
from tformer_book.experiments.scaling import Law, fit
from tformer_book.widgets.base import BookWidget

LEAST = 60
"""With fewer runs no law is fitted: five constants want more than a corner of the plane."""
BY_LOSS = (1, 3, 5, 10, 20, 30)
"""So many of the largest loss are taken out at once."""
BY_RATIO = (0.7, 1.0, 2.0, 5.0, 10.0)
"""All with fewer tokens a parameter are taken out at once."""


@cache
def _runs() -> list[list[float]]:
    """Parameters, tokens and loss of each run, as far as the published digits go."""
    every = published.runs()
    columns = zip(every.n.tolist(), every.d.tolist(), every.loss.tolist(), strict=True)
    return [[float(f"{x:.9g}") for x in one] for one in columns]


def largest(few: int) -> list[int]:
    """The numbers of so many runs of the largest loss."""
    return sorted(np.argsort(-published.runs().loss)[:few].tolist())


def below(ratio: float) -> list[int]:
    """The numbers of the runs with fewer tokens a parameter."""
    every = published.runs()
    return np.flatnonzero(every.d / every.n < ratio).tolist()


@cache
def law_without(out: tuple[int, ...]) -> Law:
    """The law of all runs but these."""
    every = published.runs()
    return fit(every.keep(np.setdiff1d(np.arange(len(every.n)), out)))


class DragRuns(BookWidget):
    """The published runs in the plane of tokens and parameters, some of them left out.

    Parameters
    ----------
    out : list of int
        The numbers of the runs that are left out, 0 to 244.

    Raises
    ------
    ValueError
        If a number is none of a run, or stands twice.
    """

    runs: Any = traitlets.List().tag(sync=True)
    starts: Any = traitlets.List().tag(sync=True)
    marked: Any = traitlets.List().tag(sync=True)
    by_loss = traitlets.List(list(BY_LOSS)).tag(sync=True)
    by_ratio = traitlets.List(list(BY_RATIO)).tag(sync=True)
    least = traitlets.Int(LEAST).tag(sync=True)
    out = traitlets.List(traitlets.Int()).tag(sync=True)

    def __init__(self, out: list[int] | None = None, **kwargs: Any) -> None:
        super().__init__(out=out or [], **kwargs)

    @traitlets.default("runs")
    def _all(self) -> list[list[float]]:
        return _runs()

    @traitlets.default("starts")
    def _from(self) -> list[dict[str, float]]:
        return [published.refit().digits(), published.refit(0).digits()]

    @traitlets.default("marked")
    def _five(self) -> list[int]:
        return largest(published.LEFT_OUT)

    @traitlets.validate("out")
    def _there(self, proposal: Any) -> list[int]:
        size = len(published.runs().n)
        for one in proposal.value:
            if not 0 <= one < size:
                raise ValueError(f"DragRuns: out must hold numbers of runs, 0 to 244; got {one}")
            if proposal.value.count(one) > 1:
                raise ValueError(f"DragRuns: run {one} stands twice in out")
        return sorted(proposal.value)

    @property
    def law(self) -> Law | None:
        """The law of the runs that are in; None if they are too few."""
        if len(self.runs) - len(self.out) < LEAST:
            return None
        return law_without(tuple(self.out))

    def __repr__(self) -> str:
        left, law = len(self.runs) - len(self.out), self.law
        if law is None:
            return f"DragRuns: {left} of {len(self.runs)} runs, too few to fit a law"
        return (
            f"DragRuns: {left} of {len(self.runs)} runs, exponent of N {law.share:.3f}\n"
            f"floor {law.floor:.3f}, alpha {law.alpha:.3f}, beta {law.beta:.3f}"
        )

    def fallback(self) -> str:
        """The exponent without some of the runs, chosen by loss and by tokens a parameter."""
        chosen: list[tuple[str, list[int]]] = [("none", [])]
        chosen += [(f"the {few} of the largest loss", largest(few)) for few in (5, 30)]
        chosen += [(f"fewer than {ratio:g} tokens a parameter", below(ratio)) for ratio in (1, 10)]
        body = "".join(
            f"<tr><th>{name}</th><td>{len(out)}</td>"
            f"<td>{law_without(tuple(out)).share:.3f}</td></tr>"
            for name, out in chosen
        )
        return (
            "<p>Interactive figure, needs JavaScript: published runs are taken out and put back, "
            "and the exponent of N is fitted again.</p><table><tr><th>left out</th><th>runs</th>"
            f"<th>exponent</th></tr>{body}</table>"
        )
