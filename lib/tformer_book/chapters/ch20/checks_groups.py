"""Exercise 20.6: a bootstrap of groups of runs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tformer_book.exercises.answer import Answer, Wrong
from tformer_book.exercises.describe import show
from tformer_book.exercises.kinds import Number
from tformer_book.exercises.registry import Test, exercise
from tformer_book.exercises.table import INTEGERS, Case, case, each

Array = np.ndarray
TIMES = 2000


def _groups() -> Iterator[Case | Test]:
    alone, curves, uneven = _by_draws()
    yield curves  # first: here single runs, drawn, never stand at one place
    yield from _by_hand()
    yield alone
    yield uneven
    yield _between_two_slopes
    yield _draws_with_rng


def _by_hand() -> Iterator[Case]:
    small = "Both groups once: slope 1/2; the first one twice: 0; the second one twice: 1."
    given: dict[str, Any] = {"times": TIMES, "rng": np.random.default_rng(0)}
    once: dict[str, Any] = given | {"times": 200}
    pairs: dict[str, Any] = {"x": [0, 1, 1, 2], "y": [0, 0, 0, 1], "group": np.array([3, 3, 1, 1])}
    yield case(**pairs, **once, want=1.0, why=small)
    far = "A group's number is a name, however large; slopes over places so near are large."
    near: dict[str, Any] = {"x": [0, 1e-6, 1e-6, 2e-6], "y": [0, 0, 0, 1]}
    yield case(**near, group=np.array([3, 3, 3 + 2**16, 3 + 2**16]), **once, want=1e6, why=far)
    three = (
        "Three groups of slopes 0, 1 and 3: one in 27 draws has the first alone, as many the last."
    )
    means: dict[str, Any] = {"x": [0, 1, 0, 1, 0, 1], "y": [0, 0, 0, 1, 0, 3]}
    often: dict[str, Any] = given | {"times": 2 * TIMES}
    yield case(**means, group=np.array([5, 5, 2, 2, 9, 9]), **often, want=3.0, why=three)
    four = "Four groups of slopes 0, 0, 0 and 1: one in 256 draws has the last alone."
    ones: dict[str, Any] = {"x": [0, 1] * 4, "y": [0, 0, 0, 0, 0, 0, 0, 1]}
    yield case(**ones, group=np.repeat([1, 2, 3, 4], 2), **given, want=0.75, why=four)
    six = (
        "Six groups, of four runs the last: y = x there, and 0 elsewhere. One draw in 16 has it "
        "three times or more, and three times it has 6 of the 9 runs at x = 1."
    )
    most: dict[str, Any] = {"x": [0, 1] * 7, "y": [0] * 11 + [1, 0, 1]}
    group = np.array([4, 4, 1, 1, 2, 2, 6, 6, 3, 3, 5, 5, 5, 5])
    yield case(**most, group=group, **given, want=2 / 3, why=six)
    half: dict[str, Any] = pairs | {"y": [0, 0, 0, 0.5]}
    yield case(**half, **once, whole=True, want=0.5, why=f"{INTEGERS} {small}")


def _by_draws() -> Iterator[Case]:
    """Cases whose width is known by 400,000 draws."""
    given: dict[str, Any] = {"times": TIMES, "rng": np.random.default_rng(0)}
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


def _between_two_slopes(f: Answer) -> None:
    """Of two slopes, each 0, 1/2 or 1, quantiles are known, by whatever rule between numbers."""
    for seed in range(8):
        given: dict[str, Any] = {"x": np.array([0.0, 1, 0, 1]), "y": np.array([0.0, 0, 0, 1])}
        given |= {"group": np.array([1, 1, 2, 2]), "times": 2, "rng": np.random.default_rng(seed)}
        wide = f.array(**given)
        if not np.isclose(wide, [0, 0.475, 0.95, 0.5, 1], atol=1e-9).any():
            raise Wrong(
                f"With {f.said(**given)}, the answer of {f.name} is {show(wide)}. Two slopes come, "
                "each of them 0, 1/2 or 1. From quantile 0.025 to 0.975 are 0.95 of the way from "
                "one to the other: 0, 0.475 or 0.95. Which quantiles are yours?"
            )


def _draws_with_rng(f: Answer) -> None:
    """The same generator brings the same slopes, and another one brings others."""
    x = np.arange(12.0)
    given: dict[str, Any] = {"x": x, "y": np.sqrt(x), "group": np.arange(12) // 2, "times": 50}
    first, again, other = (
        float(f.array(**given, rng=np.random.default_rng(seed)).squeeze()) for seed in (0, 0, 1)
    )
    if first != again:
        raise Wrong(
            f"Two calls with all the same, `rng` in the same state, give {first} and {again}: "
            "something beside `rng` draws."
        )
    if first == other:
        raise Wrong(
            f"With two generators of different seeds your width is {first} both times, to the last "
            "digit: it is `rng` that should draw."
        )


def _drawn(
    x: Array,
    y: Array,
    group: Array,
    draws: int,
    times: int,
    rng: Any,
    shares: Array | None = None,
) -> Array:
    """Slopes by sums over groups, so many groups a draw, all alike or by their shares."""
    names = np.unique(group)
    columns = np.stack([np.ones(len(x)), x, y, x * x, x * y])
    sums = np.stack([columns[:, group == name].sum(axis=1) for name in names])
    shares = np.full(len(names), 1 / len(names)) if shares is None else shares
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
    elif how == "stretches":
        stretch = np.cumsum(np.diff(group, prepend=group[0]) != 0)
        found = _drawn(x, y, stretch, stretch[-1] + 1, times, rng)
    elif how == "means":
        ones = np.array([[z[group == name].mean() for name in names] for z in (x, y)])
        found = _drawn(ones[0], ones[1], np.arange(len(names)), len(names), times, rng)
    elif how == "residuals":
        left = (y - y.mean() - slope * u)[rng.integers(len(x), size=(times, len(x)))]
        found = slope + left @ u / (u @ u)
    elif how == "by size":
        shares = np.array([(group == name).mean() for name in names])
        found = _drawn(x, y, group, len(names), times, rng, shares)
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
        draws = {
            "half": (len(names) + 1) // 2,
            "one fewer": len(names) - 1,
            "as many as runs": len(x),
        }[how]
        found = _drawn(x, y, group, draws, times, rng)
    low, high = np.quantile(found[np.isfinite(found)], [0.025, 0.975])
    return float(high - low)


OTHERWISE: dict[Any, str] = {
    "Single runs were drawn, as if each knew something of its own. Runs of one group are nearly "
    "one run.": "runs",
    "Residuals were drawn, and all sizes kept: so every run scatters like every other.": (
        "residuals"
    ),
    "Equal neighbours were taken for a group; runs of one group need not stand together.": (
        "stretches"
    ),
    "Each group became the mean of its runs; all its runs should come along.": "means",
    "Sizes and losses were drawn apart; a run is a pair.": "apart",
    "A group that is drawn twice counts once in your answer; it should come along twice.": "once",
    "Runs were drawn within their groups, and each group stands in every draw; it is the groups "
    "that are drawn.": "within",
    "Too few groups were drawn: as many as there are scatter less.": "half",
    "One group too few was drawn: in each draw there are as many as in the study.": "one fewer",
    "Larger groups were drawn more often: each group has the same chance.": "by size",
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
            That is the standard error; the exercise asks how far the two ends lie apart.
        slopes = (n * sxy - sx * sy) / (n * sxx - sx**2) → slopes = sxy / sxx
            Your lines go through the origin; their height is free.
        high - low → high - np.median(slopes)
            That is from the middle to the upper end.
        high - low → np.std(slopes) / np.sqrt(times)
            The scatter was divided by the root of the draws: more draws do not make runs tell more.
        high - low → 2 * 1.96 * np.std(slopes)
            Four standard errors are right for normally distributed slopes; the exercise asks for
            the quantiles.
        rng.multinomial(len(names), np.ones(len(names)) / len(names), size=times) → 1 + 0 * names
        drawn @ sums → np.array([drawn @ sums] * times)
            Each group was drawn once: nothing is left out, nothing stands twice, nothing scatters.
        high - low → 2 * 1.645 * np.std(slopes)
            The width was made from the standard deviation, with a factor of the normal
            distribution; the
            exercise asks for the two quantiles.
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
