"""Compare what an answer returns with what is right, and say how the two differ."""

from __future__ import annotations

import numpy as np

from tformer.exercises import describe

Array = np.ndarray


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

    Whole numbers agree if they are equal, or if what came as a float64 rounds to the right one.
    """
    half, single = (got.dtype.kind == "f" and got.dtype.itemsize == size for size in (2, 4))
    tolerance = 2e-2 if half else 1e-4 if single else 1e-8
    with np.errstate(all="ignore"):
        near = np.isclose(
            got.astype(float), want.astype(float), rtol=tolerance, atol=tolerance, equal_nan=True
        )
        if want.dtype.kind not in "iu" or half or single:
            return near
        whole = np.rint(got) if got.dtype.kind == "f" else got
        return near & (whole.astype(want.dtype) == want)


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


def _form(shape: tuple[int, ...]) -> str:
    return f"an array of shape {shape}" if shape else "a single number"
