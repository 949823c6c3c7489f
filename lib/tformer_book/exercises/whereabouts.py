"""Say where a wrong answer is wrong, and how it differs there: facts about one example."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tformer_book.exercises.compare import close, same
from tformer_book.exercises.describe import count, pair

Array = np.ndarray
REGIONS: dict[str, Callable[[int, int], Array]] = {  # of a table with T rows and S columns
    "on the diagonal": lambda T, S: np.eye(T, S, dtype=bool),
    "off the diagonal": lambda T, S: ~np.eye(T, S, dtype=bool),
    "above the diagonal": lambda T, S: ~np.tri(T, S, dtype=bool),
    "below the diagonal": lambda T, S: np.tri(T, S, -1, dtype=bool),
    "on the diagonal and above it": lambda T, S: ~np.tri(T, S, -1, dtype=bool),
    "on the diagonal and below it": lambda T, S: np.tri(T, S, dtype=bool),
}
NEARLY = 1e-3  # a factor as near to 1 is no factor
LISTED = 3  # places that are named one by one


def whereabouts(
    got: object, want: object, called: tuple[str, str] = ("entry", "entries"), start: int = 0
) -> str:
    """Return a sentence on which entries are wrong, or how rows are; "" where it says nothing.

    Entries of a list are `called` so, one and many, and counted from `start`.
    """
    if not isinstance(got, Array) or not isinstance(want, Array):
        return ""
    if got.dtype.kind not in "biuf" or want.dtype.kind not in "biuf":
        return ""
    if got.shape != want.shape or got.size < 2:
        return ""
    wrong = ~close(got, want)
    where = _named(wrong, *called, start) if wrong.ndim == 1 else _where(wrong)
    return " ".join(filter(None, [where, _how(got, want, wrong)]))


def _where(wrong: Array) -> str:
    """Name the entries of a table that are wrong, if some are right."""
    if wrong.all():
        return ""
    if wrong.ndim > 2:
        stacked = wrong.reshape(*wrong.shape[:-2], -1).any(axis=-1)
        if not stacked.all():
            first = ", ".join(str(i) for i in np.argwhere(stacked)[0].tolist())
            some = f"{count(int(stacked.sum())).capitalize()} of {count(stacked.size)}"
            return f"{some} tables in the stack are wrong, first the one at [{first}]."
        wrong = wrong.reshape(-1, *wrong.shape[-2:])
        if (wrong != wrong[0]).any():
            return ""
        wrong = wrong[0]
    for words, region in REGIONS.items():
        if min(wrong.shape) > 1 and np.array_equal(wrong, region(*wrong.shape)):
            return f"It is wrong {words}, and right elsewhere."
    for axis, (one, many) in {1: ("row", "rows"), 0: ("column", "columns")}.items():
        anywhere = np.asarray(wrong.any(axis=axis))
        if not anywhere.all():
            return _named(anywhere, one, many)
    return ""


def _named(wrong: Array, one: str, many: str, start: int = 0) -> str:
    """Name places along one axis, counted from `start`, if some are wrong and some right."""
    if wrong.all():
        return ""
    n, places = wrong.size, start + np.flatnonzero(wrong)
    ends = {start: f"the first {one}", start + n - 1: f"the last {one}"}
    for some, word in ((places, "wrong"), (start + np.flatnonzero(~wrong), "right")):
        if len(some) == 1:
            return f"Only {ends.get(int(some[0]), f'{one} {some[0]}')} is {word}."
    if len(places) <= LISTED:
        return f"{many.capitalize()} {_listed(places)} are wrong; the others are right."
    if (np.diff(places) == 1).all():
        return f"{many.capitalize()} {places[0]} to {places[-1]} are wrong; the others are right."
    return f"{count(len(places)).capitalize()} of {count(n)} {many} are wrong, first {places[0]}."


def _listed(places: Array) -> str:
    return f"{', '.join(map(str, places[:-1]))} and {places[-1]}"


def _how(got: Array, want: Array, wrong: Array) -> str:
    """Say how the wrong entries differ: True for False, signs, or rows that are multiples."""
    if want.dtype.kind == "b":
        if not np.isin(got, (0, 1)).all():
            return ""
        less = bool(want[wrong].all())
        return f"Every wrong one should be {less}." if less or not want[wrong].any() else ""
    got, want = got.astype(float), want.astype(float)
    if not (np.isfinite(got).all() and np.isfinite(want).all()):
        return ""
    if wrong.sum() > 1 and same(abs(got), abs(want)):
        return "The magnitudes are right, and signs are not."
    if got.ndim > 1 and got.shape[-1] > 1:
        return _rows(got, want)
    return ""


def _rows(got: Array, want: Array) -> str:
    sums, ours = got.sum(axis=-1), want.sum(axis=-1)
    if same(ours, np.ones_like(ours)) and not same(sums, ours):
        off = sums.flat[np.argmax(~close(sums, ours))]
        return f"The rows should add up to 1, and one adds up to {pair(off, np.float64(1))[0]}."
    squared = (want * want).sum(axis=-1, keepdims=True)
    if (squared > 0).all():
        factors = (got * want).sum(axis=-1, keepdims=True) / squared
        if (abs(factors - 1) > NEARLY).any() and factors.all() and same(factors * want, got):
            return "Each row is a multiple of the right one."
    added = (got - want).mean(axis=-1, keepdims=True)
    if same(want + added, got) and np.ptp(want, axis=-1).any():
        return "In each row, all entries are too large or too small by one number."
    return ""
