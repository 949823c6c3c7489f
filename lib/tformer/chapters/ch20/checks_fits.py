"""Exercises 20.2, 20.4 and 20.6: exponents, constants and intervals from runs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.optimize

from tformer.chapters.ch20.checks import Digits
from tformer.exercises.kinds import Number
from tformer.exercises.promises import promised, whole
from tformer.exercises.registry import exercise
from tformer.exercises.table import Case, case, each

Array = np.ndarray
TIMES = 2000


def _short(numbers: Array) -> Array:
    """The numbers as a message shows them, so that they can be typed in."""
    return np.array([float(f"{x:.4g}") for x in numbers])


def _runs_above_a_floor() -> Iterator[Case]:
    small = "Above the floor stand 8, 2 and 1: logarithms 3, 1, 0 log 2, over 0, 1, 3 log 2."
    yield case(x=[1, 2, 8], loss=[9, 3, 2], floor=1.0, want=13 / 14, why=small)
    two = "Two runs: a line goes through both, whatever their order."
    yield case(x=[100, 1], loss=[2.5, 7.0], floor=2.0, want=0.5, why=two)
    twice = "A size may stand twice, with two losses."
    yield case(x=[1, 4, 4, 64], loss=[5, 3.0, 2.9, 2.3], floor=2.0, why=twice)
    rng = np.random.default_rng(0)
    for floor, power in ((1.7, 0.34), (0.0, 0.5), (0.4, 0.07)):
        x = _short(10 ** rng.uniform(2, 6, 9))
        loss = _short(floor + 20 * x**-power * np.exp(rng.normal(0, 0.05, 9)))
        yield case(x=x, loss=loss, floor=floor, why="The floor is known: it is taken off.")
    given: dict[str, Any] = {
        "x": np.array([2.0, 3.0, 10.0, 50.0]),
        "loss": np.array([40.0, 22.0, 9.0, 3.0]),
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
    praise="Two runs and more, in any order, sizes that stand twice, and no floor at all.",
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
        "Runs count more with you the lower their loss; here all count alike.": _by_weights,
        "A median of the slopes between pairs is not the line of least squares.": _by_pairs,
    },
    slips="""
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
            That is the height of the line with its sign turned; asked for is the slope.
        -(u @ v) / (u @ u) → np.exp(-(u @ v) / (u @ u))
            The slope itself is the exponent.
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
    useless = "Here the size has no effect: A is 0 where a free sign would make it negative."
    loss = _short((2 + 6 * d**-0.5 - 0.8 * n**-0.5) * np.exp(rng.normal(0, 0.05, 7)))
    yield case(n=n, d=d, loss=loss, alpha=0.5, beta=0.5, why=useless)
    runs = {"n": np.array([1.0, 2, 9, 4, 30]), "d": np.array([2.0, 5, 1, 16, 40])}
    losses = np.array([9.0, 7, 6, 5, 3])
    yield from promised(whole, **runs, loss=losses, alpha=0.5, beta=0.25)


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
    kind=Digits(names=("floor", "a", "b"), relative=1e-4, within=1e-6),
    mutants={
        "The squares that you made least are those of differences of logarithms; asked for are "
        "shares of the loss.": _by_logarithms
    },
    slips="""
        terms / loss[:, None], loss / loss → terms, loss
            You added up squares of differences; asked for are those of their shares of the loss.
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
    """,
)
def constants(
    n: Array, d: Array, loss: Array, alpha: float, beta: float
) -> tuple[float, float, float]:
    """Floor, A and B of least squared relative errors, none below 0."""
    terms = np.stack([np.ones(len(n)), n**-alpha, d**-beta], axis=1)
    return tuple(scipy.optimize.nnls(terms / loss[:, None], loss / loss)[0])


def _groups() -> Iterator[Case]:
    small = "Both groups once: slope 1/2; the first one twice: 0; the second one twice: 1."
    given: dict[str, Any] = {"times": TIMES, "rng": np.random.default_rng(0)}
    pairs: dict[str, Any] = {"x": [0, 1, 1, 2], "y": [0, 0, 0, 1], "group": np.array([3, 3, 1, 1])}
    yield case(**pairs, **given, want=1.0, why=small)
    three = (
        "Three groups of slopes 0, 1 and 3: one in 27 draws has the first alone, as many the last."
    )
    means: dict[str, Any] = {"x": [0, 1, 0, 1, 0, 1], "y": [0, 0, 0, 1, 0, 3]}
    often: dict[str, Any] = given | {"times": 8000}
    yield case(**means, group=np.array([5, 5, 2, 2, 9, 9]), **often, want=3.0, why=three)
    four = "Four groups of slopes 0, 0, 0 and 1: one in 256 draws has the last alone."
    ones: dict[str, Any] = {"x": [0, 1] * 4, "y": [0, 0, 0, 0, 0, 0, 0, 1]}
    yield case(**ones, group=np.repeat([1, 2, 3, 4], 2), **often, want=0.75, why=four)
    # the others by 400,000 draws
    rng = np.random.default_rng(5)
    x, names = np.linspace(0, 4, 20), np.arange(20)
    alone = "Each run is a group of its own: the slope is that of all 20 drawn runs together."
    y = -0.5 * x + rng.normal(0, 0.1 + 0.2 * x, 20)
    yield case(
        x=x,
        y=y,
        group=names,
        **given,
        want=0.3208,
        said="20 runs, each a group of its own",
        why=alone,
    )
    of_four = np.repeat(rng.permutation(14), 4)
    x = np.repeat(rng.uniform(0, 4, 14), 4) + np.tile(np.arange(4) / 20, 14)
    y = -0.5 * x + np.repeat(rng.normal(0, 0.3, 14), 4) + rng.normal(0, 0.01, 56)
    curves = "14 groups of 4 runs that nearly repeat each other: they say little more than 14 runs."
    given["rng"] = np.random.default_rng(1)
    yield case(
        x=x, y=y, group=of_four, **given, want=0.3065, said="56 runs in 14 groups of 4", why=curves
    )
    sizes = np.array([9, 1, 2, 1, 6, 1, 3, 1, 1, 2, 1, 4])
    group = np.repeat(rng.permutation(12) * 7, sizes)
    x = rng.uniform(0, 4, len(group))
    y = -0.5 * x + np.repeat(rng.normal(0, 0.5, 12), sizes) * x + rng.normal(0, 0.1, len(group))
    shuffled = rng.permutation(len(group))
    uneven = "All runs of a drawn group come along, however many; runs stand in any order."
    some: dict[str, Any] = {"x": x[shuffled], "y": y[shuffled], "group": group[shuffled]}
    yield case(**some, **given, want=0.5647, said="32 runs in 12 groups of 1 to 9", why=uneven)


def _drawn(x: Array, y: Array, group: Array, draws: int, times: int, rng: Any) -> Array:
    """Slopes by sums over groups, so many groups a draw."""
    names = np.unique(group)
    columns = np.stack([np.ones(len(x)), x, y, x * x, x * y])
    sums = np.stack([columns[:, group == name].sum(axis=1) for name in names])
    shares = np.full(len(names), 1 / len(names))
    n, sx, sy, sxx, sxy = (rng.multinomial(draws, shares, size=times) @ sums).T
    with np.errstate(all="ignore"):
        return np.asarray((n * sxy - sx * sy) / (n * sxx - sx * sx))


def _otherwise_drawn(
    how: str, x: Array, y: Array, group: Array, times: int, rng: np.random.Generator
) -> float:
    """The width by draws that go wrong in one way."""
    names, each_run, u = np.unique(group), np.arange(len(x)), x - x.mean()
    slope = u @ y / (u @ u)
    found: Array
    if how == "runs":
        found = _drawn(x, y, each_run, len(x), times, rng)
    elif how == "means":
        ones = np.array([[z[group == name].mean() for name in names] for z in (x, y)])
        found = _drawn(ones[0], ones[1], np.arange(len(names)), len(names), times, rng)
    elif how == "residuals":
        left = (y - y.mean() - slope * u)[rng.integers(len(x), size=(times, len(x)))]
        found = slope + left @ u / (u @ u)
    elif how in ("once", "within"):
        columns = np.stack([np.ones(len(x)), x, y, x * x, x * y], axis=1)
        counts: Array = np.zeros((times, len(x)))
        for name in names:
            here = group == name
            even = np.full(here.sum(), 1 / here.sum())
            counts[:, here] = rng.multinomial(here.sum(), even, size=times)
        if how == "once":
            drawn = rng.multinomial(len(names), np.full(len(names), 1 / len(names)), size=times)
            counts = 1.0 * (drawn > 0)[:, np.searchsorted(names, group)]
        n, sx, sy, sxx, sxy = (counts @ columns).T
        with np.errstate(all="ignore"):
            found = (n * sxy - sx * sy) / (n * sxx - sx**2)
    elif how == "apart":
        one, other = rng.integers(len(x), size=(2, times, len(x)))
        away = x[one] - x[one].mean(axis=1, keepdims=True)
        found = (away * y[other]).sum(axis=1) / np.maximum((away**2).sum(axis=1), 1e-300)
    else:
        draws = {"half": (len(names) + 1) // 2, "as many as runs": len(x)}[how]
        found = _drawn(x, y, group, draws, times, rng)
    low, high = np.quantile(found[np.isfinite(found)], [0.025, 0.975])
    return float(high - low)


OTHERWISE: dict[Any, str] = {
    "Single runs were drawn, as if each knew something of its own. Runs of one group are nearly "
    "one run.": "runs",
    "Residuals were drawn, and all sizes kept: so every run scatters like every other.": (
        "residuals"
    ),
    "Each group became the mean of its runs; all its runs should come along.": "means",
    "Sizes and losses were drawn apart; a run is a pair.": "apart",
    "A group that is drawn twice counts once with you; it should come along twice.": "once",
    "Runs were drawn within their groups, and each group stands in every draw; it is the groups "
    "that are drawn.": "within",
    "Too few groups were drawn: as many as there are scatter less.": "half",
    "As many groups were drawn as there are runs: more than there are, and they scatter too "
    "little.": "as many as runs",
}


@exercise(
    "20.6",
    praise="Runs that stand alone, groups of four and groups of any size, by 2,000 draws each.",
    hints=(
        "What would be drawn anew if the whole study were done again: runs, or groups of them?",
        "rng.integers(G, size=G) draws as many of G groups, some twice; take all runs of each.",
        "np.quantile(slopes, [0.025, 0.975]) after all draws; their difference is asked for.",
    ),
    cases=_groups,
    kind=Number(relative=0.1, near=0.25),
    mutants=each(_otherwise_drawn, OTHERWISE),
    slips="""
        high - low → (high - low) / 2
            That is half of the width: from the middle to one end.
        [0.025, 0.975] → [0.05, 0.95]
            Between those two lie 90 of a hundred slopes, and 5 beyond each; 95 are asked for.
        [0.025, 0.975] → [0.25, 0.75]
            Between those two lies half of all slopes.
        [0.025, 0.975] → [0, 1]
            That is from the least slope to the largest one, and grows with the number of draws.
        high - low → np.std(slopes)
            That is the standard error; asked for is how far the two ends lie apart.
        slopes = (n * sxy - sx * sy) / (n * sxx - sx**2) → slopes = sxy / sxx
            Your lines go through the origin; their height is free.
        high - low → high - np.median(slopes)
            That is from the middle to the upper end.
        high - low → np.std(slopes) / np.sqrt(times)
            The scatter was divided by the root of the draws: more draws do not make runs tell more.
        high - low → 2 * 1.96 * np.std(slopes)
            Four standard errors are right for slopes like a bell; asked for are the quantiles.
        rng.multinomial(len(names), np.ones(len(names)) / len(names), size=times) → 1 + 0 * names
        drawn @ sums → np.array([drawn @ sums] * times)
            Each group was drawn once: nothing is left out, nothing stands twice, nothing scatters.
    """,
)
def width(x: Array, y: Array, group: Array, times: int, rng: np.random.Generator) -> float:
    """Width of the bootstrap interval of a slope."""
    names = np.unique(group)
    columns = np.array([np.ones(len(x)), x, y, x * x, x * y])
    sums = np.array([columns[:, group == name].sum(axis=1) for name in names])
    drawn = rng.multinomial(len(names), np.ones(len(names)) / len(names), size=times)
    n, sx, sy, sxx, sxy = (drawn @ sums).T
    slopes = (n * sxy - sx * sy) / (n * sxx - sx**2)
    low, high = np.quantile(slopes, [0.025, 0.975])
    return high - low
