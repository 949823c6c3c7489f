"""Say that a wrong answer is the right one for other inputs: exchanged, turned, or without effect.

An answer that reads its inputs otherwise than it should gives, in every trial, what the right
function makes of other inputs. Which ones these are says what it does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np

from tformer_book.exercises import guard
from tformer_book.exercises.clock import Clock
from tformer_book.exercises.describe import show
from tformer_book.exercises.table import Table, Trial

Inputs = Mapping[str, Any]
Change = Callable[[Any], Any]
SECONDS, ONE = 2.0, 0.3  # for the whole search, and for one change of the inputs
BOUNDS = (1.0, 10.0, 20.0, 30.0, 50.0, 100.0, 500.0, 700.0, 1000.0)
LEAST = 3  # wrong trials that have to show it, where an answer has few values
KEPT = (
    "{} were still that of the first example: what one call leaves, in a default value or a "
    "variable outside, changes the next"
)


class Unchanged(Exception):  # noqa: N818  (no error: there is nothing to try)
    """An input cannot be changed in this way."""


def _along(axis: int, change: Change, least: int = 2) -> Change:
    """Make a change of arrays that have this axis, and so many places along it."""

    def changed(x: np.ndarray) -> np.ndarray:
        if x.ndim < -axis or x.shape[axis] < least:
            return x
        return np.moveaxis(change(np.moveaxis(x, axis, 0)), 0, axis)

    return changed


def _turned(x: np.ndarray) -> np.ndarray:
    if x.ndim < 2 or x.shape[-1] != x.shape[-2]:
        raise Unchanged
    return x.mT


def _all_the(place: int) -> Change:
    return lambda rows: np.repeat(rows[place : (place + 1) or None], len(rows), axis=0)


def _unit(x: np.ndarray) -> np.ndarray:
    length = np.linalg.norm(x, axis=-1, keepdims=True)
    return x / np.where(length > 0, length, 1)


def _bound(most: float) -> Change:
    return lambda x: np.clip(x, -most, most)


ARRAYS: dict[str, Change] = {
    "{} were transposed": _turned,
    "the entries of {} stood in reverse order": _along(-1, lambda x: x[::-1]),
    "the rows of {} stood in reverse order": _along(-2, lambda x: x[::-1]),
    "every row of {} were the first": _along(-2, _all_the(0)),
    "every row of {} were the last": _along(-2, _all_the(-1)),
    "every table of the stack {} were the first": _along(-3, _all_the(0)),
    "every entry of {} were the first": _along(-1, _all_the(0)),
    "every entry of {} were the last": _along(-1, _all_the(-1)),
    "the entries of {} stood one place later": _along(-1, lambda x: np.roll(x, 1, axis=0)),
    "the entries of {} stood one place earlier": _along(-1, lambda x: np.roll(x, -1, axis=0)),
    "the rows of {} stood one place later": _along(-2, lambda x: np.roll(x, 1, axis=0)),
    "the rows of {} stood one place earlier": _along(-2, lambda x: np.roll(x, -1, axis=0)),
    "the last entry of {} were not there": _along(-1, lambda x: x[:-1]),
    "the first entry of {} were not there": _along(-1, lambda x: x[1:]),
}
NUMBERS: dict[str, Change] = {  # of arrays of numbers, and of single ones
    "{} were 1: it has no effect": np.ones_like,
    "{} were 0: it has no effect": np.zeros_like,
    "{} had the other sign": np.negative,
    "{} had no sign": np.abs,
}
FLOATS: dict[str, Change] = {
    "all numbers below 0 in {} were 0": lambda x: np.maximum(x, 0),
    "{} were squared": np.square,
    "the root of {} had been taken": np.sqrt,
    "{} were doubled": lambda x: 2 * x,
    "{} were halved": lambda x: x / 2,
    "one over {} stood in its place": lambda x: 1 / x,
    "{} were cut to whole numbers": np.trunc,
    "{} were rounded to whole numbers": np.round,
    "{} had gone through float32": lambda x: np.asarray(x).astype(np.float32).astype(float),
    "{} had gone through float16": lambda x: np.asarray(x).astype(np.float16).astype(float),
}
VECTORS: dict[str, Change] = {
    "the mean of each row of {} had been taken off": lambda x: x - x.mean(axis=-1, keepdims=True),
    "the mean of each column of {} had been taken off": _along(-2, lambda x: x - x.mean(axis=0)),
    "the vectors of {} had length 1": _unit,
    "each row of {} were sorted": lambda x: np.sort(x, axis=-1),
    "each row of {} were sorted, the largest first": lambda x: -np.sort(-x, axis=-1),
}
COUNTS: dict[str, Change] = {
    "{} were one larger": lambda n: n + 1,
    "{} were one smaller": lambda n: n - 1,
    "{} were two larger": lambda n: n + 2,
    "{} were two smaller": lambda n: n - 2,
}


def for_other_inputs(
    table: Table, trials: Sequence[Trial], place: int, going_on: Callable[[], float]
) -> str:
    """Return a sentence on the inputs for which the answer would be right, or "".

    All trials have to agree in the part that failed, and two of the wrong ones at least. The
    search ends when no time is left: `going_on` says how many seconds are.
    """
    wrong = [trial for trial in trials if trial.text]
    if any(trial.error for trial in trials) or len(wrong) < (LEAST if table.kind.weak else 2):
        return ""
    if any(trial.case.want is not None for trial in trials):
        trials = [trial for trial in trials if _worked_out(table, trial, place)]
    ordered = [*wrong, *(trial for trial in trials if not trial.text)]
    changes, clock = list(_changes(trials[0].case.inputs)), Clock(SECONDS)

    def first_that_explains(first: int, end: int, tried: list[int]) -> str:
        for i in range(first, end):
            tried[:] = [i]
            words, change = changes[i]
            if all(_agrees(table, change, trial, place) for trial in ordered):
                return f"It comes out as if {words}."
        return ""

    # Inputs of another kind may hang our own function. What is being tried when the time for one
    # is over is tried once more by itself, and then left out.
    batches = [(0, len(changes))]
    while batches and (left := min(clock.left(), going_on())):
        first, end = batches.pop()
        tried = [first]
        search = partial(first_that_explains, first, end, tried)
        outcome = guard.in_thread(search, min(left, ONE))
        if outcome.value:
            return str(outcome.value)
        if outcome.timed_out and end - first > 1:
            batches += [(tried[0] + 1, end), (tried[0], tried[0] + 1)]
    return ""


def _worked_out(table: Table, trial: Trial, place: int) -> bool:
    """Tell whether our own function gives what was worked out by hand, to all digits."""
    made = table.made(table.right, trial.case)
    return not isinstance(made, str) and table.kind.same(made[place], trial.want[place])


def _agrees(table: Table, change: Callable[[Inputs], Inputs], trial: Trial, place: int) -> bool:
    """Tell whether the right answer to changed inputs is what came."""
    try:
        with np.errstate(all="ignore"):
            changed = change(trial.case.inputs)
        made = table.of(changed)
        return bool(table.kind.same(trial.got[place], made[place]))
    except Exception:  # the right function need not stand other inputs
        return False


def _changes(first: Inputs) -> Iterator[tuple[str, Callable[[Inputs], Inputs]]]:
    """Yield changes of inputs in words, and as functions; `first` are those of the first trial."""
    for one, other in combinations(first, 2):
        if type(first[one]) is type(first[other]) and _data(first[one]):
            yield f"{one} and {other} had changed places", _exchange(one, other)
    for name, value in first.items():
        if not _data(value):
            continue
        for words, change in _of(value):
            yield words.format(name), _replace(name, change)
    for name, value in first.items():
        if _data(value):
            yield KEPT.format(name), _replace(name, _always(value))


def _of(value: Any) -> Iterator[tuple[str, Change]]:
    """Yield what may be done to one input."""
    array = isinstance(value, np.ndarray)
    if isinstance(value, bool) or (array and value.dtype.kind == "b"):
        yield "True and False had changed places in {}", np.logical_not
        yield "all of {} were True: it has no effect", np.ones_like
        yield "all of {} were False: it has no effect", np.zeros_like
    if array and value.ndim:
        yield from ARRAYS.items()
    if isinstance(value, str) or (array and value.dtype.kind not in "iuf"):
        return
    yield from NUMBERS.items()
    if isinstance(value, int) or (array and value.dtype.kind in "iu"):
        yield from COUNTS.items()
        return
    yield from FLOATS.items()
    if array and value.ndim:
        yield from VECTORS.items()
        for most in BOUNDS:
            bound = show(most)
            yield f"no number of {{}} were larger than {bound} in size", _bound(most)


def _exchange(one: str, other: str) -> Callable[[Inputs], Inputs]:
    def changed(inputs: Inputs) -> Inputs:
        a, b = inputs[one], inputs[other]
        if isinstance(a, np.ndarray) and (a.shape != b.shape or a.dtype != b.dtype):
            raise Unchanged
        return {**inputs, one: b, other: a}

    return changed


def _replace(name: str, change: Change) -> Callable[[Inputs], Inputs]:
    def changed(inputs: Inputs) -> Inputs:
        value = inputs[name]
        made = change(value)
        if isinstance(value, int) and not isinstance(value, bool) and float(made).is_integer():
            made = int(made)
        return {**inputs, name: made}

    return changed


def _always(value: Any) -> Change:
    return lambda x: value


def _data(value: Any) -> bool:
    """Tell whether an input is a number, an array or a text, and no function, say."""
    return isinstance(value, bool | int | float | str | np.ndarray)
