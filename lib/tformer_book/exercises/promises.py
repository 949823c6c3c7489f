"""Whatever a statement promises is tried at its limit: makers of cases, one for each promise.

`promised` takes promises, and inputs like those of a usual case; each yields cases that try it::

    yield from promised(whole, fractions, single, ties("x"), huge("x"), x=integers(3, (3, 4)))
    yield from sizes({"q": "T d", "k": "S d", "v": "S e"}, T=(0, 1), S=(1,), d=(1,))
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from tformer_book.exercises.samples import integers
from tformer_book.exercises.table import INTEGERS, Case, case

Inputs = Mapping[str, Any]
Promise = Callable[[Inputs], Iterator[Case]]
USUAL = (3, 4, 2, 5, 6)  # sizes of axes that are not at a limit, in the order of their letters


def promised(*promises: Promise, **inputs: Any) -> Iterator[Case]:
    """Yield the cases that try each promise at its limit."""
    for promise in promises:
        yield from promise(inputs)


def whole(inputs: Inputs) -> Iterator[Case]:
    """Whole numbers are allowed: the answer is handed integers, everywhere and beside fractions.

    Each array in turn is the only one of integers, and the only one of fractions.
    """
    rounded = _changed(inputs, np.round)
    yield case(**rounded, whole=True, why=INTEGERS)
    parts = _changed(inputs, lambda array: array / 4 if np.all(array % 1 == 0) else array)
    names = [
        name for name, x in inputs.items() if isinstance(x, np.ndarray) and x.dtype.kind == "f"
    ]
    for name in names if len(names) > 1 else ():
        yield case(**{**parts, name: rounded[name]}, whole=True, why=INTEGERS)
        if len(names) > 2:  # of two it is the other's
            yield case(**{**rounded, name: parts[name]}, whole=True, why=INTEGERS)


def fractions(inputs: Inputs) -> Iterator[Case]:
    """Numbers need not be whole: what cuts them to whole ones, or to few digits, is wrong."""
    yield case(**_changed(inputs, lambda array: array / 3), why="Numbers need not be whole.")


def single(inputs: Inputs) -> Iterator[Case]:
    """The type float32 is allowed, and gives results of as many digits."""
    yield case(**inputs, single=True, why="Numbers of the type float32 are allowed.")


def stacked(inputs: Inputs) -> Iterator[Case]:
    """Axes in front only stack: one of length one, one of two, two of them."""
    for front in ((1,), (2,), (2, 3)):
        rng = np.random.default_rng(len(front))

        def other(array: np.ndarray, front: tuple[int, ...] = front, rng: Any = rng) -> np.ndarray:
            return array + rng.integers(-2, 3, (*front, *array.shape))

        yield case(**_changed(inputs, other), why="Axes in front only stack.")


def ties(*names: str) -> Promise:
    """Equal numbers are allowed: all of them, and the two largest of each row."""

    def two(array: np.ndarray) -> np.ndarray:
        tied = array.copy()
        if array.shape[-1] > 1:
            tied[..., [0, -1]] = array.max(axis=-1, keepdims=True) + 1
        return tied

    return _each(names, {"All numbers may be equal.": np.ones_like, "Two numbers may tie.": two})


def zeros(*names: str) -> Promise:
    """Zeros are allowed, and rows of zeros among others."""

    def one_row(array: np.ndarray) -> np.ndarray:
        some = array.copy()
        some[..., :1, :] = 0.0
        return some if array.ndim > 1 else np.zeros_like(array)

    return _each(
        names,
        {"All numbers may be 0.": np.zeros_like, "A row may be all zeros.": one_row},
    )


def huge(*names: str, size: float = 1000.0) -> Promise:
    """Numbers as large as ±`size` are allowed, and rows far from one another."""

    def far(array: np.ndarray) -> np.ndarray:
        rows = np.arange(array.shape[-2])[:, None] if array.ndim > 1 else 1
        return array - size * rows

    why = f"Numbers may be as large as {size:g}."
    return _each(names, {why: lambda array: size * np.sign(array), f"{why} So may a row.": far})


def sizes(axes: Mapping[str, str], **limits: tuple[int, ...]) -> Iterator[Case]:
    """Yield cases in which one axis at a time has a size at its limit.

    Parameters
    ----------
    axes : mapping from name to letters
        The axes of each array, such as ``{"q": "T d", "k": "S d"}``.
    **limits : tuples of int
        The sizes that are tried, by letter: 0 where emptiness is promised, 1.
    """
    letters = list(dict.fromkeys(" ".join(axes.values()).split()))
    usual = dict(zip(letters, USUAL, strict=False))
    for letter, tried in limits.items():
        for size in tried:
            of = usual | {letter: size}
            shapes = {name: tuple(of[one] for one in spec.split()) for name, spec in axes.items()}
            given: dict[str, Any] = {
                name: integers(k, shape) for k, (name, shape) in enumerate(shapes.items())
            }
            said = ", ".join(f"{name} of shape {shape}" for name, shape in shapes.items())
            yield case(**given, said=said, why=f"{letter} = {size} is allowed.")


def _each(names: tuple[str, ...], changes: Mapping[str, Callable[[np.ndarray], Any]]) -> Promise:
    def promise(inputs: Inputs) -> Iterator[Case]:
        for why, change in changes.items():
            yield case(**{**inputs, **{n: change(inputs[n]) for n in names}}, why=why)

    return promise


def _changed(inputs: Inputs, change: Callable[[np.ndarray], Any]) -> dict[str, Any]:
    """Return the inputs with arrays of floats changed."""
    return {
        name: change(value) if isinstance(value, np.ndarray) and value.dtype.kind == "f" else value
        for name, value in inputs.items()
    }
