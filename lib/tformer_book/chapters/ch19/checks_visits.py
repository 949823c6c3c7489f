"""Exercise 19.4: what a mean over earlier writes reads, and the change of each step."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tformer_book.exercises.kinds import Several
from tformer_book.exercises.registry import exercise
from tformer_book.exercises.table import Case, case


def _halfway(cells: np.ndarray, writes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    means, changes = second_visits(cells, writes)
    for t, cell in enumerate(cells):
        read = 0.0
        for k, symbol in enumerate(writes[:t][cells[:t] == cell]):
            read = (read + symbol) / 2 if k else symbol
        means[t] = read
    return means, changes


def _after(cells: np.ndarray, writes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    seen = [writes[: t + 1][cells[: t + 1] == cell] for t, cell in enumerate(cells)]
    return np.array([symbols.mean() for symbols in seen]), second_visits(cells, writes)[1]


def _apart(cells: np.ndarray, writes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return second_visits(np.abs(cells), writes)


def _run(cells: list[int], writes: list[int], **known: Any) -> Case:
    return case(cells=np.array(cells), writes=np.array(writes), **known)


def _histories() -> Iterator[Case]:
    why = (
        "Before step 3 the cell 0 has got 1 and then 3: their mean is 2, but it holds 3. Writing 0 "
        "there changes it by −3."
    )
    want = np.array([0.0, 0, 1, 2]), np.array([1.0, 2, 2, -3])
    yield _run([0, 1, 0, 0], [1, 2, 3, 0], want=want, why=why)
    why = (
        "A cell that is new holds 0, also to the left of the first one. As an index of an array, "
        "−1 is the last place."
    )
    want = np.array([0.0, 0, 0, 0]), np.array([2.0, 1, 0, 3])
    yield _run([0, -1, -2, 5], [2, 1, 0, 3], want=want, why=why)
    why = "Writing the same symbol once more changes nothing."
    want = np.array([0.0, 2, 2, 2]), np.array([2.0, 0, 0, -1])
    yield _run([4, 4, 4, 4], [2, 2, 2, 1], want=want, why=why)
    yield _run([3], [5], want=(np.zeros(1), np.array([5.0])), why="One step.")
    why = "Before step 2 the cell 1 is new. Before step 3 the cell −1 has got 4."
    want = np.array([0.0, 0, 0, 4]), np.array([4.0, 1, 2, -1])
    yield _run([-1, 0, 1, -1], [4, 1, 2, 3], want=want, why=why)
    rng = np.random.default_rng(0)
    for n, wide, most in ((6, 2, 2), (8, 3, 3), (12, 3, 4), (30, 5, 3), (200, 9, 10)):
        walk = np.cumsum(rng.integers(-1, 2, n)) % wide - wide // 2
        yield case(cells=walk, writes=rng.integers(0, most, n))
    yield case(cells=rng.integers(-3, 4, 40), writes=rng.integers(0, 4, 40))


@exercise(
    "19.4",
    praise="Cells visited once and often, symbols written again, and cells left of the first.",
    hints=(
        "Before step t, which steps have written into the cell of step t?",
        "The mean weighs all of these alike. What stands in the cell is what the last of them "
        "wrote, or 0 if there is none.",
        "The change at step t is the symbol of step t less what stands in the cell before it.",
    ),
    cases=_histories,
    kind=Several(names=("array of averages", "array of changes")),
    mutants={
        "You left the sign of the cells out: the cells 1 and −1 are two cells.": _apart,
        "Each new symbol has as much weight in it as all before it together. A mean weighs all "
        "visits alike.": _halfway,
        "Your mean has the symbol in it that the step itself writes; it is read before that.": (
            _after
        ),
    },
    slips="""
        changes[t] = writes[t] - content → $; means[t] = writes[:t].mean() if t else 0.0
            You took the mean over all earlier steps; only those at the same cell count.
        means, changes = np.zeros(len(cells)) → means, changes = np.full(len(cells), np.nan)
            A new cell reads 0, as no symbol was written there.
        writes[:t][cells[:t] == cell] → writes[: t + 1][cells[: t + 1] == cell]
            What is written at step t was read along: only the steps before it are seen.
        writes[:t][cells[:t] == cell] → writes[cells == cell]
            Steps that come later were read along.
        writes[:t][cells[:t] == cell] → writes[:t]
            All cells were read along, where only the cell of step t is looked at.
        earlier.mean() → earlier.sum()
            You added up what was written. The weights of the visits add up to one.
        earlier.mean() → earlier.sum() / (len(earlier) + 1)
            One visit too many was counted: a further token with the value 0 is not there.
        earlier.mean() → earlier.sum() / t
            The steps at other cells have no weight; you divided by all of them.
        earlier.mean() → earlier[-1]
            That is what stands in the cell. A mean cannot tell the last visit from the others.
        earlier.mean() → earlier[-2:].mean()
            You took the last two visits; a mean takes all of them.
        earlier.mean() → earlier[0]
            That is what the first visit wrote; a mean takes all of them.
        earlier.mean() → earlier[-1] / len(earlier)
            That is the mean of the changes. The values of this head are the written symbols.
        earlier.mean() → np.unique(earlier).mean()
            A symbol that was written twice counts twice.
        earlier.mean() → np.median(earlier)
            That is a median.
        content = earlier[-1] → content = means[t]
            The change is taken from what really stands in the cell, and not from the mean.
        content = earlier[-1] → content = earlier[0]
            The content of a cell is what the last visit wrote, and you took the first.
        content = earlier[-1] → content = earlier.sum()
            Each visit replaces what stood there; you added up all that was written.
        content = earlier[-1] → content = earlier.max()
            The content of a cell is what the last visit wrote, and you took the largest symbol.
        writes[t] - content → writes[t]
            The changes are the written symbols themselves; what stood there is to be subtracted.
        writes[t] - content → content - writes[t]
            The sign of the changes is turned: new less old.
        writes[t] - content → writes[t] - (writes[t - 1] if t else 0)
            You subtracted what the step before wrote, into whatever cell.
        writes[t] - content → content
            That is what stands in the cell before the step; asked for is by how much it changes.
        writes[t] - content → float(writes[t] != content)
            You marked whether the cell changes; what is asked for is by how much.
        writes[t] - content → writes[t] - content if len(earlier) else 0.0
            The first visit of a cell changes it from 0 to what is written.
    """,
)
def second_visits(cells: np.ndarray, writes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """What a mean over earlier writes reads at each step, and by how much the cell changes."""
    means, changes = np.zeros(len(cells)), np.zeros(len(cells))
    for t, cell in enumerate(cells):
        earlier = writes[:t][cells[:t] == cell]
        content = 0.0
        if len(earlier):
            means[t] = earlier.mean()
            content = earlier[-1]
        changes[t] = writes[t] - content
    return means, changes
