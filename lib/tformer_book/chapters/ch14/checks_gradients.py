"""Exercises 14.3 and 14.4: clipping, and parts of a batch."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tformer_book.exercises.kinds import Several
from tformer_book.exercises.promises import promised, whole
from tformer_book.exercises.registry import exercise
from tformer_book.exercises.table import Case, case

Array = np.ndarray


def _lengths() -> Iterator[Case]:
    small = "1 + 4 + 4 + 16 + 144 = 13²: everything is halved."
    w: Any = np.array([[1.0, 2], [2, 4]])
    b: Any = np.array([12.0, 0])
    yield case(w=w, b=b, largest=6.5, want=(w / 2, b / 2, 13.0), why=small)
    yield case(
        w=w, b=b, largest=20.0, want=(w, b, 13.0), why="13 is less than 20: nothing changes."
    )
    yield case(w=w, b=b, largest=13.0, want=(w, b, 13.0), why="13 is not larger than 13.")
    short = "0.866 is less than 2: nothing changes."
    few = np.array([[0.5, 0.5]]), np.array([0.5])
    yield case(w=few[0], b=few[1], largest=2.0, want=(*few, 0.75**0.5), why=short)
    none = "Gradients of 0 have no direction; they stay as they are."
    yield case(w=0 * w, b=0 * b, largest=1.0, want=(0 * w, 0 * b, 0.0), why=none)
    rng = np.random.default_rng(2)
    for size in (0.5, 3.0):
        w, b = (rng.normal(0, size, shape).round(2) for shape in ((3, 2), (2,)))
        why = f"A norm of {np.hypot(np.linalg.norm(w), np.linalg.norm(b)):.4g} against 2."
        yield case(w=w, b=b, largest=2.0, why=why)
    alone = "b may be far larger than w, and the other way round: the factor is one for both."
    yield case(w=np.array([[0.1, 0.2]]), b=np.array([30.0, 40]), largest=5.0, why=alone)
    yield case(w=np.array([[30.0, 40]]), b=np.array([0.1, 0.2]), largest=5.0, why=alone)
    many = "Five numbers of 3 are 6.708 long: none alone is above 5, and the vector is."
    yield case(w=np.full((2, 2), 3.0), b=np.array([3.0]), largest=5.0, why=many)
    yield case(w=np.array([[3.0, 3]]), b=np.array([3.0]), largest=5.0, why="5.196 is above 5.")
    huge = "Numbers of 1e200 have a norm, though their squares are beyond float64."
    yield case(w=np.array([[3e200]]), b=np.array([4e200]), largest=10.0, why=huge)
    yield case(w=np.array([[3e200]]), b=np.array([4e200]), largest=1e-6, why=huge)
    yield case(w=np.array([[6e180, 0]]), b=np.array([0, -8e180]), largest=1.0, why=huge)
    for one, other in ((-3.0, -4e200), (-4e200, 3.0)):
        yield case(w=np.array([[one]]), b=np.array([other]), largest=10.0, why=huge)
    for bad in (np.inf, -np.inf, np.nan):
        for w, b in (([[1.0, bad]], [2.0, 3]), ([[1.0, 3]], [2.0, bad])):
            why = "One number is not finite: no step is made, so all gradients become 0."
            yield case(w=np.array(w), b=np.array(b), largest=5.0, why=why)
    yield from promised(whole, w=np.array([[6.0, 0], [0, 2]]), b=np.array([0.0, 9]), largest=5)


def _length(*arrays: Array) -> float:
    return float(np.sqrt(sum((x**2).sum() for x in arrays)))


def _each_alone(w: Array, b: Array, largest: float) -> tuple[Array, Array, float]:
    if not np.isfinite(total := clipped(w, b, largest)[2]):
        return clipped(w, b, largest)
    return clipped(w, 0 * b, largest)[0], clipped(b, 0 * b, largest)[0], total


def _by_rows(w: Array, b: Array, largest: float) -> tuple[Array, Array, float]:
    if not np.isfinite(total := clipped(w, b, largest)[2]):
        return clipped(w, b, largest)
    rows = [clipped(row, 0 * b, largest)[0] for row in w]
    return np.array(rows), clipped(b, 0 * b, largest)[0], total


def _mended(w: Array, b: Array, largest: float) -> tuple[Array, Array, float]:
    total = clipped(w, b, largest)[2]
    w, b = (np.where(np.isfinite(x), x, 0) for x in (w, b))
    return *clipped(w, b, largest)[:2], total


def _by_max(w: Array, b: Array, largest: float) -> tuple[Array, Array, float]:
    top = max(np.abs(w).max(), np.abs(b).max()) or 1.0
    if not np.isfinite(top):
        return np.zeros(w.shape), np.zeros(b.shape), top
    total = top * _length(w / top, b / top)
    share = largest / total if total > largest else 1.0
    return share * w, share * b, total


def _large(w: Array, b: Array, largest: float) -> tuple[Array, Array, float]:
    return clipped(np.nan_to_num(w), np.nan_to_num(b), largest)


@exercise(
    "14.3",
    praise="Norms above, at and below the limit, gradients of 0, of 1e200, of ∞ and nan.",
    hints=(
        "One norm for both: how long is the vector of all numbers?",
        "The factor is largest / norm, but never above 1; what if the norm is 0?",
        "Divide by the largest number before you square, and multiply the root by it.",
    ),
    cases=_lengths,
    otherwise="One norm for all numbers together, and one factor for both.",
    kind=Several(names=("w", "b", "norm")),
    mutants={
        "You gave each array a norm of its own, so that the direction changes; one norm goes "
        "over both.": _each_alone,
        "You gave each row of w a norm of its own; one norm goes over all numbers.": _by_rows,
        "You set what is not finite to 0 and went on; the other numbers come from the same pass, "
        "and no step should be made.": _mended,
        "Python's max(3, nan) is 3, and max(nan, 3) is nan: look at all numbers with np.isfinite, "
        "and return ∞.": _by_max,
        "You made large numbers of what is not finite and went on; no step should be made.": _large,
    },
    slips="""
        top * _length(w / top, b / top) → _length(w, b)
            The square of 1e200 is 1e400, which is ∞ in float64: divide before you square. In
            float16 this happens from 256 on.
        max(np.abs(w).max(), np.abs(b).max()) or 1.0 → max(np.abs(w).max(), np.abs(b).max())
            You divide by the largest number, and all may be 0.
        max(np.abs(w).max(), np.abs(b).max()) or 1.0 → np.abs(w).max() or 1.0
            What is divided by before the squares has to be the largest of all in size: it may stand
            in b, and it may be below 0.
        min(1.0, largest / total) if total > 0 else 1.0 → largest / total
            You always scale to the limit: shorter gradients should stay as they are, and where all
            are 0 you divide by 0.
        min(1.0, largest / total) if total > 0 else 1.0 → largest / total if total > 0 else 1.0
            You always scale to the limit; shorter gradients should stay as they are.
        min(1.0, largest / total) → min(1.0, largest / (total + 1e-6))
            You add something small to the norm, as a library may do against a division by 0; then
            the norm ends below the limit.
        min(1.0, largest / total) → max(1.0, largest / total)
            Your factor is never below 1, so that gradients grow and are not shortened.
        min(1.0, largest / total) → min(1.0, largest / total**2)
            The norm stands in your factor twice.
        min(1.0, largest / total) → (1.0 if total <= largest else 0.0)
            A gradient that is too long is thrown away; it should be shortened.
        share * w, share * b, total → *(np.clip(x, -largest, largest) for x in (w, b)), total
            You clipped each number by itself, which turns the direction. One factor shortens
            them all.
        share * w, share * b, total → share * w, b, total
            b is a gradient as well, and is multiplied by the same factor.
        share * w, share * b, total → w, share * b, total
            w is a gradient as well, and is multiplied by the same factor.
        min(1.0, largest / total) if total > 0 else 1.0 → 1.0
            w and b come back as they were, although the norm of all their numbers is above
            `largest`.
        total > 0 → _length(w) > largest
            In your answer the norm of w alone decides whether anything is clipped; it is that of
            all.
        min(1.0, largest / total) → largest / total ;; total > 0 → total**2 > largest
            You compared the sum of squares with the limit; compare its root.
        total > 0 → top > largest
            No number is above `largest` by itself, and the norm of all of them is: it is the norm
            that decides.
        top * _length(w / top, b / top) → 1e200 * _length(w / 1e200, b / 1e200)
            Your norm of everyday numbers is 0. If all are divided by a fixed, huge number
            first, then their squares are too small for float64: divide by the largest that comes.
        share * w, share * b, total → share * w, share * b, share * total
            The exercise asks for the norm before clipping.
        share * w, share * b, total → share * w, share * b, share
            You return the factor where the norm is asked for.
        share * w, share * b, total → w / total, b / total, total
            You made the norm 1; it should be at most `largest`.
        share * w, share * b, total → share * w, share * b, total**2
            The norm is the root of the sum of squares.
        _length(w / top, b / top) → (np.abs(w / top).sum() + np.abs(b / top).sum())
            You added up sizes; the norm is the root of a sum of squares.
        top * _length(w / top, b / top) → top
            That is the largest number, and not the length of the vector.
        _length(w / top, b / top) → (_length(w / top) + _length(b / top))
            Norms do not add up: their squares do.
        _length(w / top, b / top) → max(_length(w / top), _length(b / top))
            That is the longer one of two; the vector of all numbers is longer than both.
        _length(w / top, b / top) → _length(w / top, b / top) / np.sqrt(w.size + b.size)
            You divided by the number of entries: that is the typical size of an entry.
        _length(w / top, b / top) → _length(w / top, b / top) ** 2
            The root is missing: 13² is the sum of squares, and 13 the norm.
        _length(w / top, b / top) → _length(w / top)
            Your norm is that of w alone.
        _length(w / top, b / top) → np.hypot(np.linalg.norm(w / top, 2), _length(b / top))
            NumPy's norm of a matrix with ord = 2 is its largest singular value; without ord it is
            the root of the sum of squares.
        if not finite → if False
            With a number that is not finite you go on: ∞ times 0 is nan, and everything is spoiled.
        *none, np.inf → w, b, np.inf
            What is not finite is handed on: after the step all parameters are.
        *none, np.inf → 0 * w, 0 * b, np.inf
            0 times ∞ is nan: make new zeros.
        *none, np.inf → *none, np.nan
            Where a number is not finite the norm to return is ∞, also where that
            is nan.
        *none, np.inf → *none, 0.0
            All became 0, and the norm should still tell that something was wrong: ∞.
        *none, np.inf → *none, max(np.abs(w).max(), np.abs(b).max())
            Where a number is nan the norm to return is ∞ as well.
    """,
)
def clipped(w: Array, b: Array, largest: float) -> tuple[Array, Array, float]:
    """Gradients of at most this norm, and the norm before."""
    none = np.zeros(w.shape), np.zeros(b.shape)
    finite = np.isfinite(w).all() and np.isfinite(b).all()
    if not finite:
        return *none, np.inf
    top = max(np.abs(w).max(), np.abs(b).max()) or 1.0
    total = top * _length(w / top, b / top)
    share = min(1.0, largest / total) if total > 0 else 1.0
    return share * w, share * b, total


def _counts() -> Iterator[Case]:
    small = "4 targets: 2 of them count 2/4, and the mean over 2 processes halves everything."
    want = np.array([[1.0, 0], [0.5, 0.5]])
    yield case(counts=np.array([[2, 0], [1, 1]]), want=want, why=small)
    one = "One process and one part: the loss is the mean already."
    yield case(counts=np.array([[5]]), want=np.array([[1.0]]), why=one)
    parts = "One process: the factors are the shares of the targets."
    yield case(counts=np.array([[1, 3, 4]]), want=np.array([[0.125, 0.375, 0.5]]), why=parts)
    three = "Three processes of one part each: the mean over processes divides by 3."
    yield case(counts=np.array([[6], [2], [4]]), want=np.array([[1.5], [0.5], [1.0]]), why=three)
    idle = "A process may have no target at all."
    yield case(counts=np.array([[0, 0, 0], [5, 1, 2]]), why=idle)
    rng = np.random.default_rng(3)
    for shape in ((2, 3), (4, 2), (3, 5)):
        why = f"{shape[0]} processes with {shape[1]} parts each."
        yield case(counts=rng.integers(0, 9, shape), why=why)
    yield case(counts=np.array([[300, 0], [90_000, 10**6]]), why="A part may have many targets.")


@exercise(
    "14.4",
    praise="One process and several, one part and several, parts and processes without targets.",
    hints=(
        "Write the mean over all targets as a sum over parts: what stands before each part's mean?",
        "A part's mean counts as its share of all targets: counts / counts.sum().",
        "The mean over R processes divides by R, so each factor is R times as large.",
    ),
    cases=_counts,
    otherwise="In the end each target has to count the same, wherever it lies.",
    slips="""
        R * counts / counts.sum() → counts / counts.sum()
            The gradients of the processes are averaged, which divides by their number; your factors
            suit a sum over processes.
        R * counts / counts.sum() → counts / counts.sum() / R
            The mean over processes divides by their number once more: the factors have to undo it.
        R * counts / counts.sum() → counts.shape[1] * counts / counts.sum()
            You multiplied by the number of parts; parts of a process are added up. It is processes
            that are averaged.
        R * counts / counts.sum() → counts.size * counts / counts.sum()
            Parts of one process are added up, not averaged: leave out their number.
        R * counts / counts.sum() → np.ones(counts.shape) / counts.shape[1]
            You weighted all parts equally: that is the mean of the parts' means, in which a target
            of a short part counts more.
        R * counts / counts.sum() → np.ones(counts.shape)
            Your factors are all 1: the gradients of K means are added up.
        R * counts / counts.sum() → counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
            Your shares are those within each process, so that a process with few targets counts as
            much as one with many.
        R * counts / counts.sum() → counts / counts.sum(axis=1, keepdims=True)
            You divided by the targets of each process; the mean is over those of all, and a process
            may have none.
        R * counts / counts.sum() → R * counts / np.maximum(counts.sum(axis=0, keepdims=True), 1)
            Your shares are those among processes, part by part; the mean is over the whole batch.
        R * counts / counts.sum() → counts / counts.sum(axis=0)
            You divided by the targets of the k-th parts of all processes; the mean is over the
            targets of all parts.
        R * counts / counts.sum() → R * np.sign(counts) / counts.sum()
            These factors suit the *sum* over a part's targets; its mean has been divided by their
            number already.
        R * counts / counts.sum() → R * np.ones(counts.shape) / counts.sum()
            In your answer all parts have one factor, which suits the *sum* over a part's targets,
            and not its mean.
        R * counts / counts.sum() → R * counts / counts.max()
            You divided by the largest number of targets, and not by that of all.
        R * counts / counts.sum() → counts
            The total of all targets is missing.
        R * counts / counts.sum() → R * np.sign(counts) / np.sign(counts).sum()
            You weighted all parts with a target equally: that is a mean of means.
        R * counts / counts.sum() → counts.sum() / (R * np.maximum(counts, 1)) * (counts > 0)
            The factors stand upside down: a part with more targets counts more.
        R * counts / counts.sum() → R * counts**2 / counts.sum()
            The number of targets stands in it twice.
        R * counts / counts.sum() → (R * counts / counts.sum()).sum(axis=1)
            Each part of each process has a factor.
        R * counts → (counts.sum(axis=1) > 0).sum() * counts
            You counted only processes that have targets; the gradients of all R are averaged.
        R * counts / counts.sum() → (counts > 0) / np.maximum((counts > 0).sum(axis=1)[:, None], 1)
            You gave every part with targets the same factor, however many targets it has.
        R * counts / counts.sum() → (counts > 0) / counts.shape[1]
            Each part counts the same, and each target does not: a part with more targets needs a
            larger factor.
    """,
)
def factors(counts: Array) -> Array:
    """By what the mean loss of each part is multiplied."""
    R = len(counts)
    return R * counts / counts.sum()
