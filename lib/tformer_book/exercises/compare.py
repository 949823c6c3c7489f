"""Compare what an answer returns with what is right, and say how the two differ."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from tformer_book.exercises import describe

Array = np.ndarray
TOLERANCES = {2: 2e-2, 4: 1e-4}  # of numbers of so many bytes, where such were handed over
LEAST = 1e-4  # numbers below this may be what is left where larger ones cancel
FEW_DIGITS = {2: "three", 4: "seven"}


def same(got: Array, want: Array) -> bool:
    """Tell whether two arrays agree in shape and, to the precision of `got`, in value.

    A list without entries cannot say how long they are: (0,) will do for (0, 4).
    """
    if got.size == want.size == 0:
        return got.shape == want.shape[: got.ndim]
    return got.shape == want.shape and bool(close(got, want).all())


def rounding(got: Array) -> float:
    """Return the relative error that a number of few digits may have: 0 for float64."""
    few = got.dtype.kind == "f" and got.dtype.itemsize < 8
    return 8 * float(np.finfo(got.dtype).eps) if few else 0.0


def close(got: Array, want: Array) -> Array:
    """Tell entry by entry whether two arrays of one shape agree, to the precision of `got`.

    Whole numbers agree if they are equal, or if what came as a float64 rounds to the right one. An
    `Answer` sees to it that `got` is no coarser than what was handed over.
    """
    few = got.dtype.kind == "f" and got.dtype.itemsize < 8
    near = _within(got, want, TOLERANCES[got.dtype.itemsize] if few else 1e-8)
    if want.dtype.kind not in "iu" or few:
        return near
    with np.errstate(all="ignore"):
        whole = np.rint(got) if got.dtype.kind == "f" else got
        return near & (whole.astype(want.dtype) == want)


def _within(got: Array, want: Array, tolerance: float) -> Array:
    """Compare beside each number, and beside the largest where all are below 1, or `LEAST`."""
    now, right = got.astype(float), want.astype(float)
    finite = np.isfinite(right)
    size = np.abs(right)
    largest = size.max(initial=0.0, where=finite)
    least = tolerance * (min(max(largest, LEAST), 1.0) if largest else 1.0)
    with np.errstate(all="ignore"):  # by hand: `np.isclose` takes longer
        near = finite & (np.abs(now - right) <= least + tolerance * size)
    return near | (now == right) | (np.isnan(now) & np.isnan(right))


def coarsest(arrays: Iterable[Array], most: np.dtype[Any] | None = None) -> np.dtype[Any]:
    """Return the type of the fewest digits among arrays of floats: `most`, float64, or fewer."""
    types = (array.dtype for array in arrays if array.dtype.kind == "f")
    return min((most or np.dtype(float), *types), key=lambda dtype: dtype.itemsize)


def coarser(got: Any, want: Any, coarse: np.dtype[Any], digits: np.dtype[Any]) -> str:
    """Say that numbers are right to the digits of a `coarse` type, and no more; "" if not."""
    if not all(isinstance(x, Array) and x.dtype.kind in "iuf" for x in (got, want)):
        return ""
    if got.shape != want.shape or not _within(got, want, TOLERANCES[coarse.itemsize]).all():
        return ""
    return f"{few(coarse)} Those of {digits} are asked for."


def few(coarse: np.dtype[Any]) -> str:
    """Say how many digits a coarse type has."""
    return f"The answer is of the type {coarse}, which holds {FEW_DIGITS[coarse.itemsize]} digits."


def last_digits(got: Array, want: Array) -> str:
    """Say that whole numbers are wrong only where a float cannot hold them; "" if otherwise."""
    if got.shape != want.shape or want.dtype.kind not in "iu" or got.dtype.kind not in "iuf":
        return ""
    wrong = ~close(got, want)
    if not (np.abs(want[wrong]) > 2**53).all() or not same(got.astype(float), want.astype(float)):
        return ""
    return (
        "Only the last digits are wrong: a float has 53 bits, and beyond 2⁵³ most whole numbers "
        "are none of its numbers. Compute with whole numbers."
    )


def wrapped(got: Array, want: Array) -> str:
    """Say that whole numbers are off by multiples of 2⁸, 2¹⁶ or 2³²; "" if they are not."""
    if got.shape != want.shape or not all(x.dtype.kind in "iuf" for x in (got, want)):
        return ""
    now, right = got.astype(float), want.astype(float)
    wrong = ~close(got, want)
    if not wrong.any() or not np.isfinite([now, right]).all() or (np.array([now, right]) % 1).any():
        return ""
    if not now[wrong].any():  # 0 is more likely to be nothing found than a multiple of 2⁸
        return ""
    for bits, power in {32: "2³²", 16: "2¹⁶", 8: "2⁸"}.items():
        size = 2.0**bits
        off, beyond = (now - right)[wrong] % size, np.abs(right[wrong]) >= size / 2
        if not off.any() and beyond.all() and (np.abs(now) < size).all():
            return (
                f"What is wrong is off by multiples of {power}: numbers pass through a type of "
                f"{bits} bits, which holds no larger ones."
            )
    return ""


def difference(got: Array, want: Array, said: str, part: str) -> str:
    """Say where a `part` of an answer differs from what it should be, and how."""
    if got.shape != want.shape:
        if min(got.size, want.size) > 0 and max(got.size, want.size) <= describe.FEW:
            return (
                f"With {said}, {part} is {describe.show(got)}; it should be {describe.show(want)}."
            )
        return misfit(got.shape, want.shape, said, part)
    if got.size <= describe.FEW:
        texts = describe.pair(got, want)
        return f"With {said}, {part} is {texts[0]}; it should be {texts[1]}."
    first = tuple(np.argwhere(~close(got, want))[0].tolist())
    texts = describe.pair(got[first], want[first])
    place = ", ".join(str(i) for i in first)
    return f"With {said}, entry [{place}] of {part} is {texts[0]}; it should be {texts[1]}."


def misfit(got: tuple[int, ...], want: tuple[int, ...], said: str, part: str) -> str:
    """Say that an answer has another shape than it should, without its numbers."""
    return f"With {said}, {part} is {_form(got)}; it should be {_form(want)}."


def axis_of_one(got: Array, want: Array) -> str:
    """Say that an axis of length one is missing or left over; "" if the difference is another."""
    if got.ndim == want.ndim or not same(got.squeeze(), want.squeeze()):
        return ""
    if got.ndim < want.ndim:
        return "The numbers are right; an axis of length one is missing."
    alone = "; the answer is a single number." if want.ndim == 0 else "."
    return f"An axis of length one is left over{alone}"


def form(got: Any, want: Any) -> str:
    """Say that an answer has another form than is asked for, before anything is said of content.

    Nothing is said where `difference` names the shapes.
    """
    if not all(isinstance(x, Array) for x in (got, want)) or got.shape == want.shape:
        return ""
    if not 0 < min(got.size, want.size) <= max(got.size, want.size) <= describe.FEW:
        return ""
    if got.ndim != want.ndim:
        return f"It has the wrong shape: {asked(want)} is asked for."
    if got.ndim == 1:
        return f"It has the length {got.size}, and {want.size} is asked for."
    side = " It is transposed." * same(got, want.T)
    return f"It has the shape {got.shape}, and {want.shape} is asked for.{side}"


def asked(want: Any) -> str:
    """Say what form is asked for, by the right answer."""
    if not isinstance(want, Array):
        return "a string" if isinstance(want, str) else ""
    kind = " of True and False" * (want.dtype.kind == "b")
    if want.ndim == 0:
        return "True or False" if kind else "a single number"
    return f"an array{kind} of shape {want.shape}"


def _form(shape: tuple[int, ...]) -> str:
    return f"an array of shape {shape}" if shape else "a single number"
