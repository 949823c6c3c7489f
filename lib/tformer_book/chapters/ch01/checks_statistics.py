"""Exercises 1.8 and 1.12: how far dot products spread, and how many directions fit."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from tformer_book.exercises import describe
from tformer_book.exercises.answer import Answer, Wrong
from tformer_book.exercises.kinds import Number
from tformer_book.exercises.registry import exercise
from tformer_book.exercises.table import Case, case

Array = np.ndarray


def _coordinates() -> Iterator[Case]:
    def of(*numbers: list[float], want: float | None = None, whole: bool = False) -> Case:
        names = ("mean_q", "var_q", "mean_k", "var_k")
        moments = [np.array(part, dtype=float) for part in numbers]
        inputs: dict[str, Any] = dict(zip(names, moments, strict=True))
        want = _by_enumeration(*moments) if want is None else want
        return case(want=want, whole=whole, **inputs)

    yield of([2], [3], [1], [5], want=38.0)
    yield of([1], [1], [0], [1], want=2.0)
    yield of([1, 2, 0], [1, 2, 3], [2, 1, -1], [0, 1, 4])
    yield of([0], [4], [0], [9])
    yield of([0.1], [0.2], [0.3], [0.7])
    yield of([3], [0], [2], [5])
    yield of([0, 0], [1, 1], [0, 0], [1, 1])
    yield of([0, 0], [1, 4], [0, 0], [9, 1])
    yield of([1, 2, 0], [1, 2, 3], [2, 1, -1], [0, 1, 4], whole=True)
    yield of([0.5, -1, 2, 0], [1, 0.25, 4, 1], [0, 3, -1, 1], [2, 1, 0.5, 1])
    yield of([-1, 30], [0.01, 0], [-20, 1], [100, 0])
    yield of([7, -7], [0, 0], [3, 2], [0, 0], want=0.0)


def _by_enumeration(mean_q: Array, var_q: Array, mean_k: Array, var_k: Array) -> float:
    """Var[q·k]: each coordinate is mean ± standard deviation, in all cases."""
    signs = np.array(list(itertools.product((-1, 1), repeat=2 * len(mean_q))))
    q = mean_q + np.sqrt(var_q) * signs[:, : len(mean_q)]
    k = mean_k + np.sqrt(var_k) * signs[:, len(mean_q) :]
    return float((q * k).sum(axis=-1).var())


@exercise(
    "1.8",
    praise="Compared with every outcome of coordinates that take two values each, for means and "
    "variances of all kinds.",
    hints=(
        "The coordinates are independent, so the variances of the products q_i k_i add up. One "
        "coordinate is enough to think about.",
        "Var[q k] = E[q² k²] − (E[q k])². Independence turns each expectation of a product into a "
        "product of expectations.",
        "E[q²] is not the variance unless the mean is zero. Multiply out, and see which of the "
        "four terms the subtraction removes.",
    ),
    cases=_coordinates,
    kind=Number(within=1e-8, relative=1e-8),
    slips="""
        + mean_q**2 * var_k + var_q * mean_k**2 →
            That is what zero means would give; a mean that is not zero adds to the spread.
        var_q * mean_k**2 → $ + mean_q**2 * mean_k**2
            That is E[q²k²]; subtract the square of the mean.
        = float(((var_q + mean_q**2) * (var_k + mean_k**2)).sum() - (mean_q * mean_k).sum() ** 2)
            The square of the mean is subtracted once for the whole sum; each coordinate loses its
            own.
        float → math.sqrt
            That is the standard deviation; the variance is its square.
        = predicted_variance(mean_q, var_q**2, mean_k, var_k**2)
            You squared the variances, but they are σ² already.
        = predicted_variance(mean_q, var_q**0.5, mean_k, var_k**0.5)
            You took the roots of the variances; the formula needs σ² itself.
        = float(mean_q.size)
            That is the number of coordinates, right only when every mean is 0 and every variance 1.
        = var_q.sum() * var_k.sum() + (mean_q**2).sum() * var_k.sum()
        + var_q.sum() * (mean_k**2).sum()
            Each coordinate of q meets only its own partner in k: multiply first, then add.
        + var_q * mean_k**2 →
            The mean of k matters as much as the mean of q.
        + mean_q**2 * var_k →
            The mean of q matters as much as the mean of k.
        var_q * var_k + →
            The product of the two variances is missing: both coordinates vary at once.
        mean_q**2 → mean_q ;; mean_k**2 → mean_k
            A mean enters with its square: it multiplies the other coordinate's deviation.
        mean_q**2 → abs(mean_q) ;; mean_k**2 → abs(mean_k)
            A mean enters with its square, and not with its magnitude.
        mean_q**2 * var_k → mean_q**2 * var_q ;; var_q * mean_k**2 → var_k * mean_k**2
            Each mean multiplies the deviation of the other vector, not of its own.
        var_q * var_k + mean_q**2 * var_k + var_q * mean_k**2 → var_q + var_k
            That is the variance of the sum of all coordinates; their products are added here.
        = (mean_q * mean_k).sum()
            That is the mean of q·k.
        sum → mean
            That is the mean over the coordinates; the variances of the products add up.
        = np.squeeze(var_q * var_k + mean_q**2 * var_k + var_q * mean_k**2)
            Those are the variances of the single products; q·k is their sum.
        = len(mean_q) * predicted_variance(mean_q[:1], var_q[:1], mean_k[:1], var_k[:1])
            That is the first coordinate, as many times as there are coordinates; each has a mean
            and a variance of its own.
        = len(mean_q) * (var_q.mean() * var_k.mean() + (mean_q**2).mean() * var_k.mean()
        + var_q.mean() * (mean_k**2).mean())
            You averaged before you multiplied: the mean of a product is not the product of the
            means.
        = len(mean_q) * (var_q.mean() * var_k.mean() + var_q.mean() * mean_k.mean() ** 2 +
        var_k.mean() * mean_q.mean() ** 2)
            The four arrays were averaged before they were multiplied; each coordinate has its own
            product.
    """,
    otherwise="Work out the variance of one product of independent coordinates, mean included.",
)
def predicted_variance(mean_q: Array, var_q: Array, mean_k: Array, var_k: Array) -> float:
    """Var[q·k] of independent coordinates."""
    return float((var_q * var_k + mean_q**2 * var_k + var_q * mean_k**2).sum())


@exercise(
    "1.12",
    praise="In more than a hundred tasks every vector had entries ±1 and every pair stayed within "
    "ε of a right angle, with as many vectors as the theorem promises.",
    hints=(
        "The proof of the theorem picks the vectors at random. It does not say that the first pick "
        "succeeds, only that it succeeds with a positive probability.",
        "Draw a table of signs, compute all its cosines at once, and look at the largest magnitude "
        "off the diagonal. If it is too large, draw again.",
        "With entries ±1 every vector has length √d, so all cosines are one matrix product divided "
        "by d. The loop ends soon: at the promised n most draws succeed.",
    ),
)
def crowd(f: Answer) -> None:
    """n sign vectors in d dimensions with all |cosines| below eps."""
    for n, d, eps in [(1, 4, 0.5), (2, 4, 0.9), (1, 1, 0.1), *_TASKS]:
        got = f.array(n=n, d=d, eps=eps)
        head = f"With n = {n}, d = {d} and eps = {eps:g}, {f.name} returns"
        if got.shape != (n, d):
            raise Wrong(f"{head} shape {got.shape}; {n} vectors of width {d} have shape {(n, d)}.")
        if not (np.abs(got) == 1).all():
            bad = got[np.abs(got) != 1][0]
            raise Wrong(
                f"{head} the entry {describe.show(bad)}; a sign vector holds only 1 and −1."
            )
        _check_angles(f, head, got, d, eps)


def _cosines(got: Array, d: int) -> Array:
    return np.triu(got.astype(float) @ got.T.astype(float) / d, k=1)


def _only_negative(f: Answer) -> bool:
    """Tell whether many cosines are too large in magnitude, and none with its sign."""
    too_large = np.empty(0)
    for n, d, eps in _TASKS:
        cosines = _cosines(f.array(n=n, d=d, eps=eps), d)
        too_large = np.append(too_large, cosines[abs(cosines) >= eps])
    return len(too_large) > 2 and bool((too_large < 0).all())


def _check_angles(f: Answer, head: str, got: Array, d: int, eps: float) -> None:
    cosines = _cosines(got, d)
    i, j = np.unravel_index(np.abs(cosines).argmax(), cosines.shape)
    worst = cosines[i, j]
    if abs(worst) < eps:
        return
    why = "Compare the magnitude of every pair before you return: a random draw can fail."
    if worst < 0 and cosines.max() < eps and _only_negative(f):
        why += " Among yours none is too large with its sign, and some are too far below 0."
    if worst == 1:
        why = "The two are the same vector."
    elif worst == -1:
        why = "Opposite directions are not nearly orthogonal: look at the magnitude of the cosine."
    tie = f", which is not below {eps:g}" if abs(worst) == eps else ""
    raise Wrong(f"{head} vectors {i} and {j} with cosine {describe.show(worst)}{tie}. {why}")


def _tasks() -> Iterator[tuple[int, int, float]]:
    """Yield as many vectors as the theorem promises for d dimensions and an angle eps.

    Where few vectors have many dimensions, and cosines can come close to eps, a first draw fails
    most often: once in ten tasks. Luck would have to last through all of them.
    """
    for i in range(58):
        d = 12 + i // 2
        eps = (0.9, 0.8)[i % 2] if d < 24 else (0.7, 0.6)[i % 2]
        yield int(math.exp(d * eps**2 / 4)), d, eps
    for d in (20, 25, 40, 50, 80, 100, 125, 200):
        for least in range(d % 2, d, 2):
            eps = (least - 0.5) / d
            if eps > 0 and 2 <= (n := int(math.exp(d * eps**2 / 4))) <= 40:
                yield n, d, eps


_TASKS = list(_tasks())
