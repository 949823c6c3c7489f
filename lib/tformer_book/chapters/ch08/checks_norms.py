"""Exercises 8.1, 8.2, 8.4, 8.7 and 8.8: what norms do, forget and pass back."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from tformer import reference
from tformer_book.chapters.ch08.rows import PLAIN
from tformer_book.exercises import kinds
from tformer_book.exercises.kinds import Marks
from tformer_book.exercises.promises import fractions, promised, whole
from tformer_book.exercises.registry import exercise
from tformer_book.exercises.samples import integers
from tformer_book.exercises.table import Case, case

Array = np.ndarray


def _tables() -> Iterator[Case]:
    one = "The row (1, 3) has mean 2 and variance 1."
    yield case(x=[[1, 3]], eps=1e-12, want=[[-1, 1]], why=one)
    yield case(x=[[0, 4], [1, 3]], eps=5.0, why="Rows with variances 4 and 1, and an eps of 5.")
    equal = "A row of equal numbers has variance 0 and becomes 0."
    yield case(x=[[7, 7, 7]], eps=1e-5, want=[[0, 0, 0]], why=equal)
    for n, d in ((1, 3), (3, 1), (4, 4), (5, 8), (2, 64)):
        x = integers(n + d, (n, d))
        yield case(x=x, eps=0.1, want=reference.layer_norm(x.astype(float), PLAIN, 0.1))
    sizes = np.array([[1e-6, 3e-6, 8e-6], [1e6, 3e6, 8e6]])
    yield case(x=sizes, eps=1e-14, why="Very small numbers above very large ones.")
    far = np.array([[1.0, 2.0, 4.0]]) + 1e6
    yield case(x=far, eps=1e-5, why="The row (1000001, 1000002, 1000004), far from 0.")


@exercise(
    "8.1",
    praise="Rows of 1 to 64 numbers, equal ones, and ones far from 0.",
    hints=(
        "Two steps: take off the mean of each row, then divide each row by its size.",
        "Along which axis is a row? `keepdims=True` keeps the mean beside its row.",
        "The size is the root of (the mean of the squares of what is left, plus eps).",
    ),
    cases=_tables,
    otherwise="Each row less its mean, over the root of its variance plus eps.",
    slips="""
        centred / np.sqrt(variance + eps) → centred / np.sqrt(variance) + eps
            The eps was added to the result; it stands under the root, with the variance.
        x - mean → x
            The mean is not taken off: that is RMSNorm.
        mean = x.mean(axis=-1, keepdims=True) → mean = x.mean(axis=0, keepdims=True)
            The mean runs over the words; each word has a mean of its own, over its coordinates.
        mean = x.mean(axis=-1, keepdims=True) → mean = x.mean()
            One mean was taken of the whole table; each row has its own.
        square.mean(axis=-1, keepdims=True) → square.mean()
            One variance was taken of the whole table; each row has its own.
        mean = x.mean(axis=-1, keepdims=True) → mean = x.mean()
        square.mean(axis=-1, keepdims=True) → square.mean()
            One mean and one variance were taken of the whole table; each row has its own.
        square.mean(axis=-1, keepdims=True) → square.mean(axis=0, keepdims=True)
            The variance runs over the words; it belongs to a row.
        square.mean(axis=-1, keepdims=True) → square.sum(axis=-1, keepdims=True)
            The squares were added up and not averaged: rows come out with length 1, not √d.
        square.mean(axis=-1, keepdims=True) → (x**2).mean(axis=-1, keepdims=True) - mean**2
            The mean of the squares less the square of the mean is a small difference of two large
            numbers; take the mean off first.
        square = centred**2 → square = x**2
            The squares were taken before the mean was taken off.
        np.sqrt(variance + eps) → (np.sqrt(variance) + eps)
            The eps was added to the standard deviation; it belongs under the root.
        np.sqrt(variance + eps) → np.sqrt(variance + eps**2)
            The eps was squared; it is added to the variance as it is.
        np.sqrt(variance + eps) → (variance + eps)
            Rows were divided by the variance, not by its root.
        np.sqrt(variance + eps) → np.sqrt(variance * x.shape[-1] / max(x.shape[-1] - 1, 1) + eps)
            The variance has d − 1 in the denominator; here it has d.
        np.sqrt(variance + eps) → np.sqrt(variance + 1e-12)
            The eps has no effect.
        centred / np.sqrt(variance + eps) → centred
            The rows were not divided by their size.
        x.mean(axis=-1, keepdims=True) → x.mean(axis=0)
        square.mean(axis=-1, keepdims=True) → square.mean(axis=0)
            Mean and variance were taken down the columns; each row has its own.
        np.sqrt(variance + eps) → np.sqrt(np.maximum(variance, eps))
            The larger one of variance and eps was taken; the two are added.
        np.sqrt(variance + eps) → np.sqrt(variance + eps / x.shape[-1])
            The eps was added to the sum of the squares; it is added to their mean.
        centred / np.sqrt → x / np.sqrt
            The mean was taken off for the variance only; what is divided by the root needs it as
            well.
    """,
)
def normed(x: Array, eps: float) -> Array:
    """LayerNorm of every row."""
    mean = x.mean(axis=-1, keepdims=True)
    centred = x - mean
    square = centred**2
    variance = square.mean(axis=-1, keepdims=True)
    return centred / np.sqrt(variance + eps)


FORGOTTEN = {
    "double": (("layer", "rms"), "the size doubles too"),
    "negate": ((), "the size stays, and so every number of the result changes its sign"),
    "shift": (("layer",), "a mean takes it off, if there is one"),
    "raise one": ((), "the differences of the numbers are then no multiple of what they were"),
}


def _changes() -> Iterator[Case]:
    for norm in ("layer", "rms"):
        for change, (by, why) in FORGOTTEN.items():
            said = f"With {norm!r} and {change!r}: {why}."
            yield case(norm=norm, change=change, want=norm in by, why=said)


@exercise(
    "8.2",
    praise="All eight predictions are right.",
    hints=(
        "Which of mean and size does each change move, and by how much?",
        "A factor goes into the size. Is a size ever negative?",
        "Only LayerNorm has a mean to take off, so only it can forget a shift.",
    ),
    cases=_changes,
    kind=Marks(),
    slips="""
        norm in FORGOTTEN[change][0] → $ or change == "negate"
            You say that a negative factor is forgotten; a size has no sign.
        norm in FORGOTTEN[change][0] → $ or change == "shift"
            You say that RMSNorm forgets a shift; it takes no mean off.
        norm in FORGOTTEN[change][0] → $ and change != "shift"
            You say that LayerNorm does not forget a shift; its mean takes it off.
        norm in FORGOTTEN[change][0] → $ and change != "double"
            You say that a factor is not forgotten; it goes into the size as well.
        norm in FORGOTTEN[change][0] → $ and norm == "layer"
            You say that RMSNorm forgets nothing.
        norm in FORGOTTEN[change][0] → change != "raise one"
            You say that everything done to all numbers alike is forgotten.
        norm in FORGOTTEN[change][0] → not $
            Yes and no are exchanged.
    """,
)
def forgets(norm: str, change: str) -> bool:
    """Whether the norm gives the same for the changed vector."""
    return norm in FORGOTTEN[change][0]


def _gradients() -> Iterator[Case]:
    along = "A gradient along the vector: a longer vector gives the same, so nothing passes."
    yield case(x=[[1, 1]], dy=[[3, 3]], want=[[0, 0]], why=along)
    across = "A gradient across the vector (2, 2), whose size is 2, is halved."
    yield case(x=[[2, 2]], dy=[[1, -1]], want=[[0.5, -0.5]], why=across)
    for n, d in ((1, 3), (2, 2), (3, 5), (4, 16)):
        x, dy = integers(n, (n, d)) + 0.5, integers(n + d, (n, d))
        n_of = reference.rms_norm_vjp
        yield case(x=x, dy=dy, want=n_of(x, PLAIN, dy.astype(float), 1e-30)[0])
    small = (
        "A very small vector above a very large one; nothing stands beside the size in a norm, "
        "and no step of a difference quotient suits both."
    )
    yield case(x=[[1e-7, 3e-7], [1e7, 3e7]], dy=[[1, 2], [1e7, 2e7]], why=small)
    yield from promised(whole, x=np.array([[1.0, 2, 3], [3, -1, 2]]), dy=integers(4, (2, 3)))


@exercise(
    "8.4",
    praise="Gradients along the vector, across it and between, with sizes of many kinds.",
    hints=(
        "Which changes of a vector does RMSNorm not notice? Nothing is passed back along them.",
        "Take off from dy its part along n. What is the length of n?",
        "The squares of n have mean 1, so the part along n is n · mean(n · dy). Then divide.",
    ),
    cases=_gradients,
    otherwise="What lies along the normed vector does not pass; the rest is divided by the size.",
    slips="""
        dy - n * along → dy
            The part along the vector is still there; the norm does not notice it.
        (n * dy).mean → (n * dy).sum
            The part along the vector was taken off d times: the squares of n add up to d, not to 1.
        (dy - n * along) / size → dy - n * along
            It is not divided by the size of the vector.
        (dy - n * along) / size → (dy - n * along) * size
            It is multiplied by the size; a longer vector passes less back.
        (dy - n * along) / size → (dy - n * along) / size**2
            It is divided by the size twice.
        (x**2).mean → (x**2).sum
            The size is the length of the vector; RMSNorm divides by the root of the mean square.
        (dy - n * along) → (dy - dy.mean(axis=-1, keepdims=True) - n * along)
            The mean was taken off as well; that is LayerNorm.
        dy - n * along → dy - x * along
            The part taken off was a multiple of x; that along n is n · mean(n · dy).
        dy - n * along → dy - x * (x * dy).mean(axis=-1, keepdims=True)
            The part along x was taken off as if the squares of x had mean 1; those of n have.
        n * along → n * n * dy
            No mean was taken: the part along n is n times one number, the mean of n · dy.
        dy - n * along → dy + n * along
            The part along the vector was added once more; it should go.
        (n * dy).mean(axis=-1, keepdims=True) → (n * dy).mean()
            One mean was taken of the whole table; each row has its own.
        np.sqrt((x**2).mean(axis=-1, keepdims=True)) → x.std(axis=-1, keepdims=True)
        n = x / size → n = (x - x.mean(axis=-1, keepdims=True)) / size
        (dy - n * along) → (dy - dy.mean(axis=-1, keepdims=True) - n * along)
            That is the gradient of LayerNorm, which subtracts a mean; RMSNorm subtracts none.
    """,
)
def passed_back(x: Array, dy: Array) -> Array:
    """Gradient of RMSNorm with respect to its vectors."""
    size = np.sqrt((x**2).mean(axis=-1, keepdims=True))
    n = x / size
    along = (n * dy).mean(axis=-1, keepdims=True)
    return (dy - n * along) / size


@dataclass(frozen=True)
class Half(kinds.Array):
    """A vector of numbers of float16, whatever format they come in."""

    def same(self, got: Array, want: Array) -> bool:
        """Tell whether two vectors agree, and the first has no digits that float16 lacks.

        They agree number by number to eight bits, two fewer than float16 has after the first one.
        """
        x, y = got.astype(float), want.astype(float)
        near = x.shape == y.shape and np.allclose(x, y, rtol=2.0**-8, atol=2.0**-22)
        return bool(near and _in_half(got))

    def remark(self, got: Array, want: Array) -> str:
        """Say which promise is broken."""
        if got.shape != want.shape or not np.isfinite(got.astype(float)).all():
            return super().remark(got, want)
        x, y = got.astype(float), want.astype(float)
        if x @ y < 0.9999 * np.linalg.norm(x) * np.linalg.norm(y) or not x.any():
            return "It is no multiple of the vector by a factor above 0, so its norm is another."
        if not _in_half(got):
            return "These digits are more than float16 has; you have float16 arithmetic only."
        if abs(abs(x).max() - 1) < 2.0**-8:
            return "The small numbers beside the largest were rounded; float16 holds them as well."
        return (
            f"It is a multiple of the vector, but its largest absolute value is {abs(x).max():.4g} "
            "and not 1. No fixed divisor will do for all vectors, and nothing fixed added to it: "
            "it is found in the vector."
        )


def _in_half(x: Array) -> bool:
    with np.errstate(over="ignore"):
        return bool(np.all(x.astype(np.float16).astype(float) == x.astype(float)))


def _large() -> Iterator[Case]:
    row = np.array([300.0, 150.0], np.float16)
    yield case(x=row, want=[1, 0.5], why="The square of 300 does not fit into float16.")
    yield case(x=np.array([-60000, 30000, 0], np.float16), want=[-1, 0.5, 0], why="Signs stay.")
    yield case(x=np.array([0.5], np.float16), want=[1], why="A vector of one small number.")
    yield case(x=np.array([2.0, -8.0, 4.0, 1.0], np.float16), want=[0.25, -1, 0.5, 0.125])
    yield case(x=np.array([300.0, 7.0, -100.0], np.float16), why="Quotients are rounded.")
    yield case(x=np.array([60000, 100, -5], np.float16), why="Large and small, side by side.")
    tiny = "The smallest numbers of float16 are numbers too."
    yield case(x=np.array([2**-13, -(2**-14)], np.float16), want=[1, -0.5], why=tiny)
    yield case(x=np.array([2**-24, 0, -3 * 2**-24], np.float16), want=[1 / 3, 0, -1], why=tiny)


@exercise(
    "8.7",
    praise="Large vectors and small ones, numbers of either sign.",
    hints=(
        "A norm forgets a positive factor. Which factor makes all squares harmless?",
        "If no number is above 1 in absolute value, no square is.",
        "Divide by the largest absolute value.",
    ),
    cases=_large,
    kind=Half(),
    slips="""
        np.abs(x).max() → (np.abs(x).max() + np.float16(1e-3))
            A constant was added to the divisor: small vectors then stay below 1. There is always a
            number that is not 0.
        np.abs(x).max() → x.max()
            The largest number was taken, not the largest absolute value.
        np.abs(x).max() → 60000.0
            One number for all vectors: small vectors then become 0 in float16.
        np.abs(x).max() → np.sqrt((x * x).mean())
            The squares were taken first, and they overflow.
        np.abs(x).max() → np.abs(x).sum()
            The sum was taken; the largest number should become 1 or −1.
        x / np.abs(x).max() → np.abs(x) / np.abs(x).max()
            The signs are lost.
        x / np.abs(x).max() → x
            The vector is as it was.
        np.abs(x).max() → np.abs(x).mean()
            The mean was taken; the largest number should become 1 or −1.
        x / np.abs(x).max() → x / x[np.abs(x).argmax()]
            A negative factor is not forgotten: the signs have changed.
    """,
)
def fits(x: Array) -> Array:
    """The vector over its largest absolute value."""
    return x / np.abs(x).max()


def _folds() -> Iterator[Case]:
    own = "The gains 2 and 3 multiply the rows of w, and the bias goes through w."
    want = [[2, 4], [9, 12], [1, 2]]
    yield case(gain=[2, 3], bias=[1, 0], w=[[1, 2], [3, 4]], want=want, why=own)
    yield case(gain=[1, 1], bias=[0, 0], w=[[1, 2], [3, 4]], why="Nothing to fold: w and a zero.")
    for d, k in ((1, 3), (3, 1), (4, 4), (8, 2)):
        gain, bias = integers(d, (2, d))
        yield case(gain=gain, bias=bias, w=integers(k, (d, k)))
    yield from promised(whole, fractions, gain=gain, bias=bias, w=integers(k, (d, k)))


@exercise(
    "8.8",
    praise="Square tables and others, gains of 1 and of any sign.",
    hints=(
        "Multiply out: (gain * n + bias) @ w is a sum of two products.",
        "Which entries of w does coordinate i of n meet, and with which gain?",
        "Row i of w times gain i; and below all rows the one row bias @ w.",
    ),
    cases=_folds,
    otherwise="What gain and bias do to n is done to the matrix instead.",
    slips="""
        gain[:, None] * w → w
            The gain is missing.
        gain[:, None] * w → gain * w
            The gain multiplied the columns of w; coordinate i of n meets row i.
        (bias @ w)[None] → bias[None]
            The last line is the bias itself; it goes through w as n does.
        bias @ w → gain @ w
            The last line is made of the gain; it should be what the bias becomes.
        (bias @ w)[None] → 0 * (bias @ w)[None]
            The bias is missing.
        gain[:, None] * w, (bias @ w)[None] → (bias @ w)[None], gain[:, None] * w
            The vector that is added stands first; it should be the last line.
        bias @ w → (bias * gain) @ w
            The bias was multiplied by the gain; it is added after it.
        gain[:, None] * w → w / gain[:, None]
            The rows were divided by the gain.
        (bias @ w)[None] → -(bias @ w)[None]
            The sign of the vector that is added has changed.
        bias @ w → (bias / np.where(gain == 0, 1, gain)) @ w
            The bias was divided by the gain; it is added after the gain, which does not touch it.
        bias @ w → bias.sum() * w.sum(axis=0)
            Sums were multiplied with each other; each number of the bias meets its own row of w.
    """,
)
def folded(gain: Array, bias: Array, w: Array) -> Array:
    """The matrix with the gain in it, and the vector that the bias becomes."""
    return np.concatenate([gain[:, None] * w, (bias @ w)[None]])
