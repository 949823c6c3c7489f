"""Exercises 4.1 to 4.3 and 4.5: which scale, and how far scores spread."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np

from tformer_book.exercises import describe
from tformer_book.exercises.answer import Answer, Wrong
from tformer_book.exercises.kinds import Number
from tformer_book.exercises.registry import exercise
from tformer_book.exercises.samples import integers
from tformer_book.exercises.table import Case, case

Array = np.ndarray


def _layouts() -> Iterator[Case]:
    yield case(d_model=768, n_heads=12, want=1 / 8)
    for d_model, n_heads in (512, 8), (64, 1), (4, 4), (4096, 32), (1024, 16), (30, 10), (1, 1):
        yield case(d_model=d_model, n_heads=n_heads)


@exercise(
    "4.1",
    praise="The scale of eight layouts of heads, from one head to thirty-two.",
    hints=(
        "A score is a dot product of one query with one key. How many coordinates do these have?",
        "The width of the model is shared out among the heads, so a head is narrower than the "
        "model.",
        "The scale multiplies the scores: it is one over the root of the width of a head.",
    ),
    cases=_layouts,
    kind=Number(within=1e-9, near=0),
    slips="""
        math.sqrt(n_heads / d_model) → d_model**-0.5
            That is made of the width of the model. A query has the coordinates of one head only.
        n_heads / d_model → d_model / n_heads
            That is the number by which the scores are divided; the scale multiplies them.
        = n_heads / d_model
            The width of a head enters with its root, and once.
        math.sqrt(n_heads / d_model) → n_heads**-0.5
            That is made of the number of heads.
        = d_model / n_heads
            That is the width of a head; the scale is made from it.
        = (d_model * n_heads) ** -0.5
            The heads share the width of the model; here it is multiplied by their number.
        = n_heads / d_model**0.5
            The number of heads belongs under the root too, since it divides the width.
        = d_model**-0.5 / n_heads
            The number of heads divides the width under the root, not the scale.
        = 1 // (d_model / n_heads) ** 0.5
            That is rounded down to a whole number: `//` does that.
        = 1 / int((d_model / n_heads) ** 0.5)
            The root was cut to a whole number: `int` does that.
        = round(math.sqrt(n_heads / d_model), 3)
            That is rounded, and no rounding is asked for.
        = 1 / 8
            That is one number for all models: make it from d_model and n_heads.
    """,
    otherwise="Which vectors meet in a score, and what is the variance of their dot product?",
)
def scale_for(d_model: int, n_heads: int) -> float:
    """1/√(d_model / n_heads)."""
    return math.sqrt(n_heads / d_model)


TRIALS = 10_000


def _drawn(d: int, scale: float, trials: int, rng: np.random.Generator) -> Array:
    """Scores of independent pairs."""
    q, k = rng.standard_normal((2, trials, d))
    return np.asarray(scale * (q * k).sum(axis=-1))


def _with(change: Callable[[float, float], float]) -> Callable[..., float]:
    """A wrong estimate: that of scores with another scale."""
    return lambda d, scale, trials, rng: float(_drawn(d, change(d, scale), trials, rng).var())


def _uniform(low: float) -> Callable[..., float]:
    """A wrong estimate: from coordinates between `low` and 1."""

    def estimate(d: int, scale: float, trials: int, rng: np.random.Generator) -> float:
        q, k = rng.uniform(low, 1, (2, trials, d))
        return float((scale * (q * k).sum(axis=-1)).var())

    return estimate


def _estimates(f: Answer, d: int, scale: float, trials: int, n: int) -> Array:
    """What an answer gives for n generators."""
    said = f.said(d=d, scale=scale, trials=trials)
    found = []
    for seed in range(n):
        rng = np.random.default_rng(seed)
        got = f.array(said, d=d, scale=scale, trials=trials, rng=rng)
        if got.shape != () or not np.isfinite(got):
            raise Wrong(
                f"With {said}, {f.name} gives {describe.show(got)}; one number is asked for."
            )
        found.append(float(got))
    return np.array(found)


def _generators(f: Answer) -> None:
    """Six generators give six estimates, as far apart as so many trials leave them."""
    found, right = _estimates(f, 4, 1.0, TRIALS, 6), 4.0
    head = f"With {f.said(d=4, scale=1.0, trials=TRIALS)} and six generators, {f.name} gives "
    head += f"{describe.show(found, 3)}. "
    if np.ptp(found) == 0 and found[0] > 0:
        raise Wrong(head + "Estimate the variance from draws of the rng.")
    if (found < 0).any():
        raise Wrong(head + "A variance is never negative. Is that the mean of the scores?")
    if (np.abs(found) < 1e-9).all():
        raise Wrong(head + "One number, taken again and again, has the variance 0.")
    if np.ptp(found) > 0.2 * right and right / 4 < np.median(found) < 4 * right:
        raise Wrong(
            head + f"Your estimates scatter more than those of {TRIALS} independent pairs would. "
            "Does every trial draw a query and a key of its own?"
        )
    if _estimates(f, 4, 1.0, TRIALS, 1)[0] != found[0]:
        raise Wrong(
            f"With the same rng, {f.name} gives another estimate the second time. Take every "
            "random number from the rng you are given."
        )


def _few_trials(f: Answer) -> None:
    """With four trials an estimate is rough: by a factor of two up or down is common."""
    found = _estimates(f, 6, 1.0, 4, 40)
    if (found < 0).any():
        raise Wrong(
            f"With trials = 4, {f.name} gives {describe.show(found.min(), 2)}, and a variance is "
            "never negative. Draw queries and keys, and take the variance of their scores."
        )
    if found.std() < 0.3 * found.mean():
        raise Wrong(
            f"With trials = 4 and 40 generators, the estimates of {f.name} are as close together "
            "as if there had been many more trials. Draw as many pairs as `trials` says, and no "
            "more."
        )


def _tails(f: Answer) -> None:
    """Squares of products of normal numbers scatter more than those of most other numbers."""
    found = _estimates(f, 1, 1.0, 400, 150)
    if found.std() > 0.175:  # of 200 pairs it would be 0.2
        raise Wrong(
            f"With d = 1, trials = 400 and 150 generators, the estimates of {f.name} lie within "
            f"{describe.show(found.std(), 2)} of each other, and those of 400 pairs within 0.14. "
            "Draw as many pairs as `trials` says, and no fewer."
        )
    if found.std() < 0.1:  # of normal numbers (8/400)^½, of uniform ones (2.24/400)^½
        raise Wrong(
            f"With d = 1, trials = 400 and 150 generators, the estimates of {f.name} lie within "
            f"{describe.show(found.std(), 2)} of each other, and those from normal coordinates "
            "within 0.14. Draw the coordinates of queries and keys, all of them standard normal, "
            "and not the scores."
        )


def _many_trials(f: Answer) -> None:
    """Many trials give estimates close together, also beyond the number that is usual."""
    found = _estimates(f, 1, 1.0, TRIALS, 24)
    if found.std() > 0.05:  # (8/10 000)^½ is 0.028, and of 1000 pairs it would be 0.09
        raise Wrong(
            f"With d = 1, trials = {TRIALS} and 24 generators, the estimates of {f.name} lie "
            f"within {describe.show(found.std(), 2)} of each other, and those of {TRIALS} pairs "
            "within 0.03. Draw a pair for every trial, also when they are many."
        )


def _pairs(f: Answer) -> None:
    """A trial is a pair: nothing as large as trials² is held."""
    trials = 2000
    if f.peak_bytes(d=4, scale=1.0, trials=trials, rng=np.random.default_rng(0)) > 4 * trials**2:
        raise Wrong(
            f"With trials = {trials}, {f.name} holds a table with a number for every query and "
            "every key. A trial is one query and one key: multiply row by row, and add up."
        )


def _variances() -> Iterator[Case | Callable[[Answer], None]]:
    yield _pairs
    yield _generators
    for d, scale, seed in (6, 1.5, 0), (16, 0.25, 1), (9, 2.0, 2), (1, 1.0, 3):
        rng = np.random.default_rng(seed)
        yield case(d=d, scale=scale, trials=TRIALS, rng=rng, want=scale**2 * d)
    yield _few_trials
    yield _many_trials
    yield _tails


@exercise(
    "4.2",
    praise="Your estimates agree with the theorem for five widths and scales, as closely as so "
    "many trials allow, and the same generator gives the same estimate.",
    hints=(
        "A trial is one query and one key, both new. Draw all trials at once, as tables with a row "
        "for each.",
        "`rng.standard_normal` takes a shape and gives coordinates of mean 0 and variance 1.",
        "One score for each trial: multiply the tables, add up each row, multiply by the scale. "
        "The variance is that of these scores.",
    ),
    cases=_variances,
    kind=Number(relative=0.13, near=0),
    mutants={
        "That is near the standard deviation; the variance is its square.": (
            lambda d, scale, trials, rng: _drawn(d, scale, trials, rng).std()
        ),
        "That is too small by d: the scores were divided by √d besides, or only one product of two "
        "coordinates was taken.": (_with(lambda d, scale: scale / math.sqrt(d))),
        "That is near the variance without the scale.": _with(lambda d, scale: 1.0),
        "The scale enters the variance as its square.": _with(lambda d, scale: math.sqrt(scale)),
        "The scale multiplies the scores; you divided by it.": _with(lambda d, scale: 1 / scale),
        "That is near the variance of a mean of products; the dot product is their sum.": (
            _with(lambda d, scale: scale / d)
        ),
        "That is near 2d times the square of the scale, as for a key that equals its query.": (
            _with(lambda d, scale: scale * math.sqrt(2))
        ),
        "That is what coordinates between 0 and 1 would give; they should have mean 0 and variance "
        "1.": _uniform(0.0),
        "That is what coordinates between −1 and 1 would give; theirs is a variance of 1/3.": (
            _uniform(-1.0)
        ),
    },
    otherwise="Each trial gives one score, and the variance is that of the scores.",
)
def simulated_variance(d: int, scale: float, trials: int, rng: np.random.Generator) -> float:
    """A Monte Carlo estimate of Var[scale · q·k] for standard normal coordinates."""
    return float(_drawn(d, scale, trials, rng).var())


def _counts() -> Iterator[Case]:
    yield case(n=100, d=4, keys=5.0, want=math.sqrt(math.log(20) / 4))
    for n, d, keys in (1000, 64, 1000 / math.e), (50, 16, 49.0), (10**6, 128, 2.0), (8, 1, 1.0):
        yield case(n=n, d=d, keys=keys)
    yield case(n=7, d=3, keys=7.0, want=0.0, why="All keys share the weight at scale 0.")


@exercise(
    "4.3",
    praise="Your scale leaves the number of keys that was asked for, by the theorem, from all "
    "keys and a third of them down to two in a million.",
    hints=(
        "The theorem says that of n keys about n e^{−σ²} share the weight. Which σ leaves the "
        "number that is wanted?",
        "Take logarithms: σ² = log(n/keys).",
        "Scaled scores have the variance σ² = scale² · d. Solve for the scale.",
    ),
    cases=_counts,
    kind=Number(within=1e-12, relative=1e-5, near=0),
    slips="""
        = math.log(n / keys) / d
            That is the square of the scale: the variance of the scores is scale² · d.
        / d →
            The width d is missing: the variance of the scores is scale² · d.
        / d → / 2 / d
            σ² is half as large as it should be. Keys are lost by the factor e^{−σ²}; it is the
            entropy that falls by σ²/2.
        / d → * 2 / d
            σ² is twice as large as it should be. Keys are lost by the factor e^{−σ²}; it is the
            entropy that falls by σ²/2.
        log → log10
            The logarithm is the natural one here.
        log → log2
            The logarithm is the natural one; you took the one to base 2.
        / d → * d
            Divide by √d: the wider the vectors, the smaller the scale.
        / d → / d**2
            The width stands under the root: divide by √d, not by d.
        math.log(n / keys) → 1
            That is 1/√d, which leaves one key in e.
        math.log(n / keys) / d → d / max(math.log(n / keys), 1e-300)
            That is one over the scale.
        = float(np.sqrt(math.log(keys / n) / d))
            The root of a negative number is nan. The share keys/n is below 1, and so is its
            logarithm below 0.
        = math.sqrt(max(math.log(n) - keys, 0) / d)
            log(n/keys) is log n − log keys; you subtracted the keys themselves.
        n / keys → n // keys
            `//` cuts the quotient to a whole number.
        math.log(n / keys) / d → 1 / (d * max(math.log(n / keys), 1e-300))
            The logarithm stands above the line, and not below it.
        n / keys → n / min(keys, n - 1)
            If all n keys are asked for, the scale is 0; you count one fewer.
        n / keys → keys
            That leaves n/keys keys: under the logarithm stands n over the keys, and not the keys.
        = np.sqrt(np.log(n) / d)
            That leaves one key; `keys` should be left.
        = np.sqrt(np.log(max(n - keys, 1)) / d)
            You took the logarithm of n less the keys; it is that of n over the keys.
    """,
    otherwise="At your scale the formula n e^{−scale² d} leaves another number of keys.",
)
def scale_for_keys(n: int, d: int, keys: float) -> float:
    """The scale at which n e^{−scale² d} equals `keys`."""
    return math.sqrt(math.log(n / keys) / d)


def _tables() -> Iterator[Case]:
    yield case(q=[[1.0], [4]], k=[[1.0], [3]], want=1 / math.sqrt(17.5))
    for seed, (n, m, d) in enumerate([(2, 3, 2), (3, 2, 4), (1, 4, 3), (5, 5, 1), (4, 1, 2)]):
        q, k = integers(seed + 2, (n, d)) + seed, integers(seed + 30, (m, d))
        yield case(q=q, k=k / 10)
        yield case(q=q, k=k, whole=True)
    rng = np.random.default_rng(0)
    q = rng.normal(size=(50, 64))
    near = 0.8 * q + 0.6 * rng.normal(size=(50, 64))
    yield case(q=q, k=near, said="50 queries and 50 keys close to them")
    for n, m in ((300, 40), (40, 300), (600, 500)):
        q = np.linspace(0.1, 3, n)[:, None] * rng.normal(size=(n, 4))
        k = np.linspace(0.1, 3, m)[:, None] * rng.normal(size=(m, 4))
        yield case(q=q, k=k, said=f"{n} queries and {m} keys, longer and longer")
    q, k = 1e6 + rng.normal(size=(2, 6, 3))
    yield case(
        q=q, k=k / 1e6, why="The mean of the scores lies far from 0, and is to be subtracted first."
    )
    for size, words in ((1e-3, "short"), (1e3, "long")):
        q, k = size * rng.normal(size=(2, 3, 4))
        yield case(q=q, k=k, why=f"Queries and keys are {words} here; measure their scores.")


@exercise(
    "4.5",
    praise="With your scale the scores have standard deviation 1, for independent, aligned, "
    "shifted and short vectors alike.",
    hints=(
        "Multiplying all scores by a number multiplies their standard deviation by it.",
        "Compute the table of all unscaled scores first. Which number describes its spread?",
        "A mean that is not zero shifts all scores, and softmax does not mind. It is the deviation "
        "from the mean that counts.",
    ),
    cases=_tables,
    slips="""
        std → var
            You divided by the variance of the scores: divide by its root.
        1 / → 1 *
            That is the standard deviation; the scale is one over it.
        scores.std() → (scores**2).mean() ** 0.5
            You divided by the root of the mean square. The mean is to be subtracted.
        q @ k.T → (q[: len(k)] * k[: len(q)]).sum(-1)
            Every query meets every key: the table of scores has a row for each query.
        = q.shape[-1] ** -0.5
            That is 1/√d, which relies on assumptions; measure the scores.
        std() → std(ddof=1)
            Divide the sum of squares by the number of scores, not by one less.
        = 1 / (q.std() * k.std()) / q.shape[-1] ** 0.5
            That is the scale for the standard deviations of q and k multiplied; their means matter
            too.
        std() → std(axis=-1).mean()
            That is one over the mean of the deviations of the rows; take all scores together.
        scores.std() → np.sqrt(scores.var(axis=-1).mean())
            That is the spread within the rows. Their means differ too: take all scores together.
        std() → std(axis=-1)
            Those are scales for each row; one number is asked for all scores.
        1 / scores.std() → scores / scores.std()
            Those are the scaled scores; the scale is asked for.
        scores.std() → np.linalg.norm(scores)
            The sum of the squares is to be divided by the number of scores, and the mean to be
            subtracted first.
        scores.std() → $ ** 0.5
            That is one over the root of the standard deviation; it is a root already.
        = 1 / ((q - q.mean(axis=0)) @ (k - k.mean(axis=0)).T).std()
            Means were subtracted from queries and keys; they have a part in the spread of the
            scores. Subtract the mean of the scores.
        std → max
            That is one over the largest score; their spread is asked for.
        1 / scores.std() → q.shape[-1] ** 0.5 / scores.std()
            Those scores are scaled already; q·k itself is to be.
        scores.std() → np.abs(scores - scores.mean()).mean()
            That is one over the mean distance from the mean; the deviation squares the distances.
        scores.std() → ($ + 1e-5)
            Nothing is to be added to the deviation, and short vectors feel it.
        q @ k.T → q[:50] @ k[:50].T
            Only the first queries and keys were looked at; all of them make scores.
        q @ k.T → q[:200] @ k[:200].T
            Only the first two hundred queries and keys were looked at; all of them make scores.
    """,
    otherwise="The standard deviation of all scores, times your scale, should be 1.",
)
def fitted_scale(q: Array, k: Array) -> Array:
    """The scale that gives all T·S scores the standard deviation one."""
    scores = q @ k.T
    return np.asarray(1 / scores.std())
