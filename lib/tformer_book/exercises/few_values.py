"""Say what wrong answers of few values, names or True and False, have in common in all trials."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tformer_book.exercises.compare import same
from tformer_book.exercises.table import Trial

Change = Callable[[np.ndarray], np.ndarray]
ALL: dict[str, Change] = {  # what an answer of True and False may always be
    "True and False are exchanged: yours are the right ones, turned round.": np.logical_not,
    "You say False of all, whatever is asked.": np.zeros_like,
    "You say True of all, whatever is asked.": np.ones_like,
}
TURNED = "The table is transposed: rows and columns are exchanged."
OFTEN = 2  # wrong trials that have to show it


def in_common(trials: Sequence[Trial], place: int) -> str:
    """Return a sentence that holds in all trials for one part of the answer, or ""."""
    if any(trial.error for trial in trials):
        return ""
    if sum(bool(trial.text) for trial in trials) < OFTEN:
        return ""
    pairs = [(trial.got[place], trial.want[place]) for trial in trials]
    if all(isinstance(x, str) for pair in pairs for x in pair):
        return _of_names(pairs)
    if all(isinstance(x, np.ndarray) and x.dtype.kind == "b" for pair in pairs for x in pair):
        return _of_truths(pairs)
    return ""


def _of_names(pairs: list[tuple[Any, Any]]) -> str:
    said, right = {got for got, _ in pairs}, [want for _, want in pairs]
    if len(said) == 1 < len(set(right)):
        return f"You say {said.pop()!r} each time."
    became = {want: {got for got, right in pairs if right == want} for _, want in pairs}
    for one in said:
        for other in said - {one}:
            if became.get(one) == {other} and became.get(other) == {one}:
                rest = (names == {want} for want, names in became.items())
                if sum(rest) == len(became) - 2:
                    return f"The names {one!r} and {other!r} have changed places."
    never = sorted(name for name in set(right) - said if right.count(name) >= OFTEN)
    if len(never) == 1:
        return f"In all that was tried you never say {never[0]!r}."
    return ""


def _of_truths(pairs: list[tuple[Any, Any]]) -> str:
    for sentence, change in ALL.items():
        if all(same(got, change(want)) for got, want in pairs):
            return sentence
    tables = all(want.ndim > 1 for _, want in pairs)
    if tables and all(same(got, _turned(want)) for got, want in pairs):
        return TURNED
    return ""


def _turned(want: np.ndarray) -> np.ndarray:
    return want.mT
