"""Shapes: axis letters are bound to sizes; in one call a letter has one size."""

import re
from itertools import zip_longest
from typing import Any, NamedTuple

from tformer.axes import DIVIDES, LEGEND

__all__ = ["Axes", "Named", "ShapeError", "Sizes", "axes_of", "bind", "bind_all", "result_shape"]

Sizes = dict[str, Any]


class ShapeError(ValueError):
    """An array has the wrong number of axes, or an axis of a size that does not fit."""


class Axes(NamedTuple):
    """The axes of one array: the text, whether it begins with "...", and the letters.

    Each letter comes with whether its axis may also have size 1.
    """

    text: str
    dots: bool
    letters: tuple[tuple[str, bool], ...]


Named = tuple[str, Axes, Any]
"""The name of an array, its axes, and the array."""


def bind(where: str, spec: str, **arrays: Any) -> Sizes:
    """Bind the letters of `spec` to the sizes of `arrays`.

    Parameters
    ----------
    where : str
        Name of the function that is called; error messages begin with it.
    spec : str
        The axes of each array in turn, such as ``"... T d_k, ... S d_k -> ... T S"``; ``T|1`` is an
        axis that may also have size 1, which then does not bind T; ``S+T`` has the sum of both
        sizes, where a letter that no array has counts as 0. The part after the arrow describes the
        result and is ignored here.
    **arrays
        Objects with a `shape`, in the order of `spec`.

    Returns
    -------
    dict
        Size of every letter, and under ``"..."`` the leading axes after broadcasting.

    Raises
    ------
    ShapeError
        If an array has too few or too many axes, a letter gets two sizes, the leading axes do not
        broadcast, or a letter that must divide another does not.

    Examples
    --------
    >>> import numpy as np
    >>> bind("demo", "... T d_k, ... S d_k", q=np.ones((2, 3)), k=np.ones((5, 3)))
    {'T': 2, 'd_k': 3, 'S': 5, '...': ()}
    """
    return bind_all(where, list(zip(arrays, axes_of(spec), arrays.values(), strict=True)))


def axes_of(spec: str) -> list[Axes]:
    """Parse the axes of each array in a spec such as "... T|1 d_k, S"."""
    arrays = spec.split("->")[0]
    parts = [axes.strip() for axes in arrays.split(",")] if arrays.strip() else []
    pairs = [[x.partition("|") for x in axes.split() if x != "..."] for axes in parts]
    return [
        Axes(axes, "..." in axes, tuple((letter, bool(one)) for letter, one, _ in letters))
        for axes, letters in zip(parts, pairs, strict=True)
    ]


def bind_all(where: str, arrays: list[Named]) -> Sizes:
    """Do as `bind`, for arrays that come with their names and their axes from `axes_of`."""
    sizes: Sizes = {}
    leading: tuple[int, ...] = ()
    sums: list[tuple[str, int, str, Any]] = []
    for name, axes, array in arrays:
        shape = array.shape
        text, dots, letters = axes
        n_leading = len(shape) - len(letters)
        if n_leading < 0 or (n_leading and not dots):
            raise ShapeError(f"{where}: {_wrong_number(name, axes)}; got shape {tuple(shape)}")
        for i, (letter, or_1) in enumerate(letters, n_leading):
            size = shape[i]
            if or_1 and size == 1:
                continue
            if "+" in letter:
                sums.append((letter, size, name, array))
                continue
            if sizes.setdefault(letter, size) != size:
                raise ShapeError(
                    f"{where}: axis {letter} is {_elsewhere(letter, sizes[letter], name, arrays)} "
                    f"{size} in {name} ({text}); got shape {tuple(shape)}"
                )
        if n_leading and shape[:n_leading] != leading:
            leading = _broadcast(where, name, leading, tuple(shape[:n_leading]))
    for letters_, size, name, array in sums:
        if size != (total := sum(sizes.get(x, 0) for x in letters_.split("+"))):
            raise ShapeError(
                f"{where}: axis {letters_.replace('+', ' + ')} must be {total} in {name}; "
                f"got shape {tuple(array.shape)}"
            )
    for small, large in DIVIDES:
        if small in sizes and large in sizes:
            _require_divides(where, small, large, sizes)
    sizes["..."] = leading
    return sizes


def _require_divides(where: str, small: str, large: str, sizes: Sizes) -> None:
    if not sizes[small] or not sizes[large] or sizes[large] % sizes[small]:
        raise ShapeError(
            f"{where}: {small} must divide {large}; got {sizes[small]} {LEGEND[small]} for "
            f"{sizes[large]} {LEGEND[large]}"
        )


def _wrong_number(name: str, axes: Axes) -> str:
    n = len(axes.letters)
    least, plural = "at least " if axes.dots else "", "axis" if n == 1 else "axes"
    return f"{name} needs {least}{n} {plural} ({axes.text})"


def _elsewhere(letter: str, size: int, name: str, arrays: list[Named]) -> str:
    """Return which array gave a letter its size: "3 in q but", or "3 and" for the same array."""
    for other, axes, array in arrays:
        sizes = zip(reversed(axes.letters), reversed(array.shape), strict=False)
        if any(x == letter and not (or_1 and n == 1) for (x, or_1), n in sizes):
            return f"{size} and" if other == name else f"{size} in {other} but"
    raise AssertionError(f"{letter} has a size, so some array gave it")


def _broadcast(
    where: str, name: str, before: tuple[int, ...], leading: tuple[int, ...]
) -> tuple[int, ...]:
    """Broadcast the leading axes of the arrays so far with those of one more."""
    if not before:
        return leading
    pairs = list(zip_longest(reversed(before), reversed(leading), fillvalue=1))
    if any(one != other and 1 not in (one, other) for one, other in pairs):
        raise ShapeError(
            f"{where}: leading axes {leading} of {name} do not broadcast with "
            f"{before} of the arguments before it"
        )
    return tuple(other if one == 1 else one for one, other in reversed(pairs))


def result_shape(spec: str, sizes: Sizes, position: int = 0) -> tuple[int, ...]:
    """Return the shape of the right side of `spec` for the `sizes` that `bind` returned.

    `position` selects one of several results.

    Raises
    ------
    ShapeError
        If a letter of the result has no size.
    """
    axes = re.sub(r"\|1", "", spec.split("->")[1].split(",")[position]).split()
    sizes = sizes | {"1": 1}
    if missing := [x for axis in axes for x in axis.split("+") if x not in sizes]:
        raise ShapeError(f"axis {missing[0]} of the result ({spec}) has no size")
    return sum(
        (sizes["..."] if x == "..." else (sum(sizes[y] for y in x.split("+")),) for x in axes), ()
    )
