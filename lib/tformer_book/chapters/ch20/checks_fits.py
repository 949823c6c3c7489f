"""Exercises 20.2, 20.4 and 20.6: exponents, constants and intervals from runs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.optimize

from tformer_book.chapters.ch20.checks import Digits
from tformer_book.exercises.kinds import Number
from tformer_book.exercises.promises import promised, whole
from tformer_book.exercises.registry import exercise
from tformer_book.exercises.table import Case, case, each

Array = np.ndarray


def _short(numbers: Array) -> Array:
    """The numbers as a message shows them, so that they can be typed in."""
    return np.array([float(f"{x:.4g}") for x in numbers])


def _runs_above_a_floor() -> Iterator[Case]:
    small = "Above the floor stand 8, 2 and 1: logarithms 3, 1, 0 log 2, over 0, 1, 3 log 2."
    yield case(x=[1, 2, 8], loss=[9, 3, 2], floor=1.0, want=13 / 14, why=small)
    two = "Two runs: a line goes through both, whatever their order."
    yield case(x=[100, 1], loss=[2.5, 7.0], floor=2.0, want=0.5, why=two)
    rises = "Above the floor stand 1, 2 and 4 at sizes 1, 2 and 4: the loss rises, so -1."
    yield case(x=[1, 2, 4], loss=[2, 3, 5], floor=1.0, want=-1.0, why=rises)
    twice = "A size may stand twice, with two losses."
    yield case(x=[1, 4, 4, 64], loss=[5, 3.0, 2.9, 2.3], floor=2.0, why=twice)
    rng = np.random.default_rng(0)
    for floor, power in ((1.7, 0.34), (0.0, 0.5), (0.4, 0.07)):
        x = _short(10 ** rng.uniform(2, 6, 9))
        loss = _short(floor + 20 * x**-power * np.exp(rng.normal(0, 0.05, 9)))
        yield case(x=x, loss=loss, floor=floor, why="The floor is known: it is taken off.")
    near = "A loss may lie very near the floor: small differences count in a logarithm."
    yield case(x=[1, 10, 100], loss=[2.0001, 2.00001, 2.000002], floor=2.0, why=near)
    given: dict[str, Any] = {
        "x": np.array([2.0, 3.0, 10.0, 50.0]),
        "loss": np.array([40.25, 22.0, 9.0, 3.0]),
    }
    yield from promised(whole, **given, floor=1.0)


def _by_losses(x: Array, loss: Array, floor: float) -> float:
    u, v = np.log(x) - np.log(x).mean(), loss - floor

    def off(at: Array) -> Array:
        return np.asarray(np.exp(at[0] - at[1] * u) - v)

    return float(scipy.optimize.least_squares(off, [np.log(v.mean()), 0.5], ftol=1e-14).x[1])


def _by_pairs(x: Array, loss: Array, floor: float) -> float:
    u, v = np.log(x), np.log(loss - floor)
    pairs = [(i, j) for i in range(len(x)) for j in range(i) if x[i] != x[j]]
    return float(np.median([(v[j] - v[i]) / (u[i] - u[j]) for i, j in pairs]))


def _by_weights(x: Array, loss: Array, floor: float) -> float:
    return float(-np.polyfit(np.log(x), np.log(loss - floor), 1, w=1 / loss)[0])


@exercise(
    "20.2",
    praise="Losses that fall and rise, runs in any order, sizes that stand twice, no floor at all.",
    hints=(
        "What of the loss is a power of x? Take logarithms of that.",
        "The logarithm of loss − floor is a straight line over log x; its slope is −power.",
        "np.polyfit(log x, log of what lies above the floor, 1) gives slope and height.",
    ),
    cases=_runs_above_a_floor,
    kind=Number(relative=1e-4, within=1e-9, near=0.0),
    mutants={
        "You fitted the losses themselves: large ones count most, and they should count as their "
        "logarithms do.": _by_losses,
        "You gave runs of a lower loss more weight; here all count alike.": _by_weights,
        "A median of the slopes between pairs is not the line of least squares.": _by_pairs,
    },
    slips="""
        / (u @ u) → / ((v - v.mean()) @ (v - v.mean()))
            The line was drawn for sizes over losses; it is one for losses over sizes.
        np.log(loss - floor) → np.log(loss)
            The floor is still in the losses: their logarithms bend, and a line through them is too
            flat.
        np.log(loss - floor) → np.log(loss + floor)
            The floor was added once more; it has to go.
        np.log(loss - floor) → loss - floor
            The sizes went through the logarithm, and what lies above the floor did not.
        np.log(loss - floor) → np.log10(loss - floor)
            Two logarithms with different bases: the slope is too small by log 10 = 2.303.
        np.log(x) - np.log(x).mean() → x - x.mean()
            The sizes did not go through the logarithm.
        np.log(x) - np.log(x).mean() → np.log(x)
            A line through the origin is fitted; the height of the line is free.
        -(u @ v) / (u @ u) → u @ v / (u @ u)
            The loss falls with the size; the exponent of a falling power is positive here.
        -(u @ v) / (u @ u) → abs(u @ v) / (u @ u)
            The sign is lost: where the loss rises with the size, the exponent is negative.
        -(u @ v) / (u @ u) → -(v @ (v - v.mean())) / (u @ v)
            You fitted sizes by losses and turned the slope over: that is another line where runs
            scatter.
        -(u @ v) / (u @ u) → (v[0] - v[-1]) / (u[-1] - u[0])
            Only the first run and the last one are used.
        -(u @ v) / (u @ u) → np.mean(np.diff(v) / -np.diff(u))
            A mean of the slopes between neighbours is not the line of least squares.
        -(u @ v) / (u @ u) → -(u @ v) / np.sqrt((u @ u) * (v @ v - len(v) * v.mean() ** 2))
            That is the correlation, and not the slope.
        -(u @ v) / (u @ u) → (u @ v) / (u @ u) * np.log(x).mean() - v.mean()
            That is the height of the line with its sign turned; the exercise asks for the slope.
        -(u @ v) / (u @ u) → np.exp(-(u @ v) / (u @ u))
            The slope itself is the exponent.
        = -np.polyfit(np.log(x), np.log(loss - floor), 1, w=loss - floor)[0]
            You gave runs with a larger loss more weight; all runs should count the same.
        return -(u @ v) / (u @ u) → far = u - u[:, None]; return -(u @ v) / (u @ u)
        -(u @ v) / (u @ u) → -((v - v[:, None])[far != 0] / far[far != 0]).mean()
            That is the mean of the slopes between any two runs; in least squares distant runs count
            more.
    """,
)
def exponent(x: Array, loss: Array, floor: float) -> float:
    """The exponent by least squares above a known floor."""
    u = np.log(x) - np.log(x).mean()
    v = np.log(loss - floor)
    return -(u @ v) / (u @ u)


def _for_constants() -> Iterator[Case]:
    small = "E + A / n + B / d² with E = 1, A = 2, B = 4 gives these three losses."
    given: dict[str, Any] = {"alpha": 1.0, "beta": 2.0}
    want = (1.0, 2.0, 4.0)
    runs: dict[str, Any] = {"n": [1, 2, 1], "d": [1, 2, 2]}
    yield case(**runs, loss=[7, 3, 4], **given, want=want, why=small)
    rng = np.random.default_rng(1)
    n, d = map(_short, np.exp(rng.uniform(0, 4, (2, 7))))
    law = 1.8 + 5 * n**-0.4 + 9 * d**-0.6
    noisy = "Each difference counts as a share of the run's loss."
    for alpha, beta in ((0.4, 0.6), (0.7, 0.3)):
        loss = _short(law * np.exp(rng.normal(0, 0.2, 7)))
        yield case(n=n, d=d, loss=loss, alpha=alpha, beta=beta, why=noisy)
    steep = "What would come out negative is 0, and what is left is the best beside that."
    for seed in (2, 3):
        rng = np.random.default_rng(seed)
        loss = _short((6 * n**-0.3 + 4 * d**-0.2) * np.exp(rng.normal(0, 0.15, 7)))
        yield case(n=n, d=d, loss=loss, alpha=0.1, beta=0.1 * seed, why=steep)
    two = "With free signs E and A come out negative; with E = 0 alone A is above 0."
    few: dict[str, Any] = {
        "n": [12.78, 2.942, 1.178, 1.068, 25.87],
        "d": [38.51, 11.32, 18.5, 8.798, 42.11],
        "loss": [3.916, 6.888, 3.955, 7.934, 2.859],
    }
    yield case(**few, alpha=0.5, beta=0.25, why=two)
    useless = "Here the size has no effect: A is 0 where a free sign would make it negative."
    loss = _short((2 + 6 * d**-0.5 - 0.8 * n**-0.5) * np.exp(rng.normal(0, 0.05, 7)))
    yield case(n=n, d=d, loss=loss, alpha=0.5, beta=0.5, why=useless)
    real = (
        "Parameters and tokens are as many as of real models, so the columns differ "
        "a thousandfold: a search for the constants has to go on to the lowest point."
    )
    rng = np.random.default_rng(4)
    n, d = (_short(low * 10 ** rng.uniform(0, 3, 9)) for low in (1e7, 1e9))
    for a, b, alpha, beta in ((480, 2085, 0.35, 0.37), (1500, 90, 0.34, 0.28)):
        loss = _short((1.7 + a * n**-alpha + b * d**-beta) * np.exp(rng.normal(0, 0.02, 9)))
        yield case(n=n, d=d, loss=loss, alpha=alpha, beta=beta, why=real)
    flat = "The runs end close to the floor: E may be nearly as large as the smallest loss."
    n, d = n[:6], d[:6]
    for sizes, tokens in ((30.0, 40), (0.5, 200)):
        law = 2.9 + sizes * n**-0.34 + tokens * d**-0.28
        loss = _short(law * np.exp(rng.normal(0, 1e-4, 6)))
        yield case(n=n, d=d, loss=loss, alpha=0.34, beta=0.28, why=flat)
    runs = {"n": np.array([1.0, 2, 9, 4, 30]), "d": np.array([2.0, 5, 1, 16, 40])}
    losses = np.array([9.0, 7, 6, 5, 3])
    yield from promised(whole, **runs, loss=losses, alpha=0.5, beta=0.25)


def _at_once(
    rounds: int, n: Array, d: Array, loss: Array, alpha: float, beta: float
) -> tuple[float, float, float]:
    table = np.stack([np.ones(len(n)), n**-alpha, d**-beta], axis=1) / loss[:, None]
    found = np.ones(3)
    for _ in range(rounds):
        kept = found > 0
        found = np.zeros(3)
        found[kept] = np.linalg.lstsq(table[:, kept], np.ones(len(n)), rcond=None)[0]
    return found[0], found[1], found[2]


ROUNDS: dict[Any, int] = {
    "Several constants came out negative, and you set all of them to 0 at once. Without one of "
    "them another may be above 0.": 3,
    "What came out negative was set to 0, and the others were fitted again, once. So another one "
    "could come out negative.": 2,
}


def _by_logarithms(
    n: Array, d: Array, loss: Array, alpha: float, beta: float
) -> tuple[float, float, float]:
    terms = np.stack([np.ones(len(n)), n**-alpha, d**-beta], axis=1)

    def off(at: Array) -> Array:
        return np.asarray(np.log(terms @ at / loss))

    free = (1e-12, np.inf)
    return tuple(scipy.optimize.least_squares(off, np.ones(3), bounds=free, ftol=1e-13).x)


@exercise(
    "20.4",
    praise="Exact runs and scattered ones, and constants that no sign but 0 would fit.",
    hints=(
        "With known exponents the law is a sum of three columns: which?",
        "Divide each row, and its loss, by the loss: then squares of shares are added up.",
        "scipy.optimize.nnls(columns, target) keeps all three from falling below 0.",
    ),
    cases=_for_constants,
    otherwise="Least squares of relative errors, with none of the three below 0.",
    kind=Digits(names=("floor", "a", "b"), relative=1e-4, within=1e-6),
    mutants={
        "The squares that you made least are those of differences of logarithms; the exercise asks "
        "for shares of the loss.": _by_logarithms,
    }
    | each(_at_once, ROUNDS),
    slips="""
        terms / loss[:, None], loss / loss → terms, loss
            You added up squares of differences; the exercise asks for those of their shares of the
            loss.
        terms / loss[:, None], loss / loss → terms / loss[:, None], loss
            The columns are divided by the losses, and what they should give is not.
        terms / loss[:, None], loss / loss → terms, loss / loss
            What the columns should give is divided by the losses, and the columns are not.
        terms / loss[:, None], loss / loss → terms * loss[:, None], loss * loss
            Rows are multiplied by the loss; so the largest losses count most.
        terms / loss[:, None], loss / loss → terms / np.sqrt(loss)[:, None], np.sqrt(loss)
            Rows are divided by the root of the loss: it is the difference that is divided, and
            then it is squared.
        scipy.optimize.nnls( → np.linalg.lstsq(
            The signs are left free, and a constant came out negative.
        terms / loss[:, None], loss / loss → terms / loss[:, None] ** 2, 1 / loss
            Rows are divided by the loss twice: the lowest losses count most.
        terms / loss[:, None], loss / loss → terms, np.log(loss)
            The three columns add up to losses, and not to their logarithms.
        = (loss.min(), *scipy.optimize.nnls(
        np.stack([n**-alpha, d**-beta], axis=1) / loss[:, None], 1 - loss.min() / loss)[0])
            The floor lies below the least loss, and has to be found along with A and B.
        scipy.optimize.nnls(terms → np.abs(np.linalg.lstsq(terms
        loss / loss)[0] → loss / loss)[0])
            A constant came out negative, and lost its sign afterwards.
        scipy.optimize.nnls(terms → np.maximum(0, np.linalg.lstsq(terms
        loss / loss)[0] → loss / loss)[0])
            A negative constant was set to 0 afterwards; with a 0 there the other two are others.
        np.ones(len(n)), n**-alpha, d**-beta → n**-alpha, d**-beta, np.ones(len(n))
            The floor comes first, then A and B.
        np.ones(len(n)), n**-alpha, d**-beta → np.ones(len(n)), d**-beta, n**-alpha
            A and B have changed places.
        np.ones(len(n)), n**-alpha, d**-beta → np.ones(len(n)), n**-beta, d**-alpha
            The exponents have changed places: α belongs to parameters.
        np.ones(len(n)), n**-alpha, d**-beta → np.ones(len(n)), n**alpha, d**beta
            The terms grow with size; A / N^α falls.
        np.ones(len(n)), n**-alpha, d**-beta → np.zeros(len(n)), n**-alpha, d**-beta
            The floor has no column, and came out as 0.
        = tuple(np.maximum(np.linalg.solve(np.stack([n**0, n**-alpha, d**-beta], axis=1)[:3],
        loss[:3]), 0))
            Only the first three runs were used; all of them count.
    """,
)
def constants(
    n: Array, d: Array, loss: Array, alpha: float, beta: float
) -> tuple[float, float, float]:
    """Floor, A and B of least squared relative errors, none below 0."""
    terms = np.stack([np.ones(len(n)), n**-alpha, d**-beta], axis=1)
    return tuple(scipy.optimize.nnls(terms / loss[:, None], loss / loss)[0])
