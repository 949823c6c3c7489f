"""Exercises 4.1 to 4.5: which scale, and how far scores spread."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tformer.exercises import say
from tformer.exercises.answer import Answer, Mistakes, Wrong
from tformer.exercises.registry import exercise
from tformer.exercises.samples import integers


@exercise(
    "4.1",
    praise="The scale of six layouts of heads, from one head to thirty-two.",
    hints=(
        "A score is a dot product of one query with one key. How many coordinates do these have?",
        "The width of the model is shared out among the heads, so a head is narrower than the "
        "model.",
        "The scale multiplies the scores: it is one over the root of the width of a head.",
    ),
)
def scale_for(f: Answer) -> None:
    """1/√(d_model / n_heads)."""
    f.expect(1 / 8, _WRONG_SCALES, _BELONGS, d_model=768, n_heads=12)
    for d_model, n_heads in (512, 8), (64, 1), (4, 4), (4096, 32), (1024, 16):
        f.expect(math.sqrt(n_heads / d_model), why=_BELONGS, d_model=d_model, n_heads=n_heads)


_BELONGS = "Which vectors meet in a score, and what is the variance of their dot product?"
_WRONG_SCALES = {
    "That is 1/√768, made of the width of the model. A query has 768/12 = 64 coordinates.": (
        1 / math.sqrt(768)
    ),
    "That is √64, by which the scores are divided; the scale multiplies them.": 8.0,
    "That is 1/64. The width of a head enters with its root, and once.": 1 / 64,
    "That is 1/√12, made of the number of heads.": 1 / math.sqrt(12),
    "That is the width of a head; the scale is made from it.": 64.0,
    "The heads share the width of the model; here it is multiplied by their number.": (
        1 / math.sqrt(768 * 12)
    ),
    "The number of heads belongs under the root too, since it divides the width.": (
        12 / math.sqrt(768)
    ),
    "The number of heads divides the width under the root, not the scale.": 1 / math.sqrt(768) / 12,
    "That is 0, as if rounded down to a whole number: `//` does that.": 0.0,
}


@exercise(
    "4.2",
    praise="Your estimates agree with the theorem for three widths and scales, as closely as so "
    "many trials allow, and the same generator gives the same estimate.",
    hints=(
        "A trial is one query and one key, both new. Draw all trials at once, as tables with a row "
        "for each.",
        "`rng.standard_normal` takes a shape and gives coordinates of mean 0 and variance 1.",
        "One score for each trial: multiply the tables, add up each row, multiply by the scale. "
        "The variance is that of these scores.",
    ),
)
def simulated_variance(f: Answer) -> None:
    """A Monte Carlo estimate of Var[scale · q·k] for standard normal coordinates."""
    for d, scale in (4, 1.0), (16, 0.25), (9, 2.0):
        said = f.said(d=d, scale=scale, trials=_TRIALS)
        found = np.array([_estimate(f, said, d, scale, seed) for seed in range(6)])
        _judge_estimates(f, said, found, d, scale)
        if _estimate(f, said, d, scale, 5) != found[5]:
            raise Wrong(
                f"With the same rng, {f.name} gives another estimate the second time. Take every "
                "random number from the rng you are given."
            )


_TRIALS = 10_000


def _estimate(f: Answer, said: str, d: int, scale: float, seed: int) -> float:
    rng = np.random.default_rng(seed)
    got = f.array(said, d=d, scale=scale, trials=_TRIALS, rng=rng)
    if got.shape != () or not np.isfinite(got):
        raise Wrong(f"With {said}, {f.name} gives {say.show(got)}; one number is asked for.")
    return float(got)


def _judge_estimates(f: Answer, said: str, found: np.ndarray, d: int, scale: float) -> None:
    """Six estimates, each with a standard error below 2.2 percent."""
    right = scale**2 * d
    if (np.abs(found / right - 1) < 0.12).all():
        if np.ptp(found) == 0:
            raise Wrong(
                f"With {said}, {f.name} gives {say.show(found[0])} for six different generators. "
                "Estimate the variance from draws of the rng."
            )
        return
    head = f"With {said} and six generators, {f.name} gives {say.show(found, 3)}; the theorem says "
    raise Wrong(f"{head}{say.show(right)}. {_why_off(found, d, scale)}")


def _why_off(found: np.ndarray, d: int, scale: float) -> str:
    right, typical = scale**2 * d, float(np.median(found))
    if (found < 0).any():
        return "A variance is never negative. Is that the mean of the scores?"
    if (np.abs(found) < 1e-9).all():
        return "One number, taken again and again, has the variance 0."
    for why, value in _wrong_variances(d, scale).items():
        if abs(typical / value - 1) < 0.08 and np.ptp(found) < 0.3 * value:
            return why
    if np.ptp(found) > 0.2 * right and right / 4 < typical < 4 * right:
        return (
            f"Your estimates scatter more than those of {_TRIALS} independent pairs would. "
            "Does every trial draw a query and a key of its own?"
        )
    return "Each trial gives one score, and the variance is that of the scores."


def _wrong_variances(d: int, scale: float) -> dict[str, float]:
    right = scale**2 * d
    return {
        "That is near the standard deviation; the variance is its square.": math.sqrt(right),
        "That is near the variance of one product q_i k_i: add up the coordinates first.": scale**2,
        "That is near the variance without the scale.": float(d),
        "The scale enters the variance as its square.": scale * d,
        "The scale multiplies the scores; you divided by it.": d / scale**2,
        "That is near the variance of a mean of products; the dot product is their sum.": (
            scale**2 / d
        ),
        "That is near 2d times the square of the scale, as for a key that equals its query.": 2
        * right,
        "That is what coordinates between 0 and 1 would give; they should have mean 0 and variance "
        "1.": right * 7 / 144,
        "That is what coordinates between −1 and 1 would give; theirs is a variance of 1/3.": (
            right / 9
        ),
    }


@exercise(
    "4.3",
    praise="Your scale leaves the number of keys that was asked for, by the theorem, from a third "
    "of all keys down to two in a million.",
    hints=(
        "The theorem says that of n keys about n e^{−σ²} share the weight. Which σ leaves the "
        "number that is wanted?",
        "Take logarithms: σ² = log(n/keys).",
        "Scaled scores have the variance σ² = scale² · d. Solve for the scale.",
    ),
)
def scale_for_keys(f: Answer) -> None:
    """The scale at which n e^{−scale² d} equals `keys`."""
    _check_keys(f, 100, 4, 5.0, _WRONG_KEYS)
    for n, d, keys in (1000, 64, 1000 / math.e), (50, 16, 49.0), (10**6, 128, 2.0), (8, 1, 1.0):
        _check_keys(f, n, d, keys, {})


def _check_keys(f: Answer, n: int, d: int, keys: float, mistakes: Mistakes) -> None:
    said = f.said(n=n, d=d, keys=keys)
    got, why = f.array(said, n=n, d=d, keys=keys), ""
    if got.shape == () and np.isfinite(got):
        left = say.show(n * math.exp(-min(float(got) ** 2 * d, 700.0)), 3)
        why = f"At your scale the formula leaves {left} keys."
    f.judge(got, math.sqrt(math.log(n / keys) / d), mistakes, why, said)


_SPREAD = math.log(20)  # log(n/keys) for 100 keys of which 5 are left; the width is 4
_WRONG_KEYS = {
    "That is the square of the scale: the variance of the scores is scale² · d.": _SPREAD / 4,
    "The width d is missing: the variance of the scores is scale² · d.": math.sqrt(_SPREAD),
    "σ² is half as large as it should be. Keys are lost by the factor e^{−σ²}; it is the "
    "entropy that falls by σ²/2.": math.sqrt(_SPREAD / 8),
    "σ² is twice as large as it should be. Keys are lost by the factor e^{−σ²}; it is the "
    "entropy that falls by σ²/2.": math.sqrt(_SPREAD / 2),
    "The logarithm is the natural one here.": (math.sqrt(math.log10(20) / 4)),
    "The logarithm is the natural one; you took the one to base 2.": math.sqrt(math.log2(20) / 4),
    "Divide by √d: the wider the vectors, the smaller the scale.": math.sqrt(_SPREAD * 4),
    "The width stands under the root: divide by √d, not by d.": math.sqrt(_SPREAD) / 4,
    "That is 1/√d, which leaves one key in e.": 0.5,
    "That is one over the scale.": math.sqrt(4 / _SPREAD),
    "The root of a negative number is nan. The share keys/n is below 1, and so is its logarithm "
    "below 0.": math.nan,
}


@exercise(
    "4.4",
    praise="Mean and variance for aligned, opposed and independent queries and keys, with means "
    "and variances of all kinds.",
    hints=(
        "Pairs of coordinates are independent of each other, so both numbers are d times those of "
        "one pair. Think about one product q k.",
        "Write q and k as mean plus deviation and multiply out. Of the four terms one is constant; "
        "which of the others are correlated with each other?",
        "For jointly normal deviations a and b, E[a²b²] = σ_q²σ_k² (1 + 2ρ²), and the product ab "
        "is uncorrelated with a and with b. The two single terms are correlated with each other.",
    ),
)
def moments(f: Answer) -> None:
    """Mean and variance of q·k for correlated normal pairs."""
    _check_moments(f, (2, 1, 2, 4, 9, 0.5), _WRONG_MOMENTS)
    for numbers in _MOMENTS:
        _check_moments(f, numbers, {})


def _check_moments(f: Answer, numbers: tuple[float, ...], mistakes: Mistakes) -> None:
    d, *rest = numbers
    mean_q, mean_k, var_q, var_k, rho = rest
    inputs: dict[str, Any] = dict(zip(_NAMES, (int(d), *(float(x) for x in rest)), strict=True))
    shared = rho * math.sqrt(var_q * var_k)
    mean = d * (mean_q * mean_k + shared)
    variance = var_q * var_k + shared**2 + mean_q**2 * var_k + mean_k**2 * var_q
    want = np.array([mean, d * (variance + 2 * shared * mean_q * mean_k)])
    said = f.said(**inputs)
    got, why = f.array(said, **inputs), "Two numbers are asked for, mean and variance."
    if got.shape == (2,):
        right = np.isclose(got.astype(float), want).tolist()
        why = "The mean is right, the variance is not." * right[0]
        why += "The variance is right, the mean is not." * right[1]
    f.judge(got, want, mistakes, why, said)


_WRONG_MOMENTS = {  # for d = 2, means 1 and 2, variances 4 and 9, ρ = 1/2; right is (10, 164)
    "Those are mean and variance for independent q and k: ρ changes both.": (4, 122),
    "The mean lacks the part that q and k share: E[qk] = μ_q μ_k + ρ σ_q σ_k.": (4, 164),
    "The variance is that of independent q and k.": (10, 122),
    "The variance lacks the term with ρ², from E[a²b²] of the two deviations a and b.": (10, 146),
    "The two single terms, μ_q b and μ_k a, are correlated: their covariance counts twice.": (
        10,
        140,
    ),
    "Their covariance counts twice in the variance of a sum; you have it once.": (10, 152),
    "ρ is a correlation: times σ_q σ_k it is the covariance.": (5, 126.5),
    "In the mean, ρ is a correlation: times σ_q σ_k it is the covariance.": (5, 164),
    "The covariance is ρ times the standard deviations, and you took the variances.": (40, 914),
    "That is the standard deviation beside the mean; the variance is its square.": (
        10,
        math.sqrt(164),
    ),
    "Those are the numbers for one coordinate; there are d of them.": (5, 82),
    "The variance grows with d, not with d²: the coordinates are independent.": (10, 328),
    "The variance comes second.": (164, 10),
    "E[a²b²] is σ_q²σ_k² (1 + 2ρ²), of which (ρσ_qσ_k)² is subtracted once: 1 + ρ² remains.": (
        10,
        182,
    ),
    "The term μ_q b has the variance of b, the deviation of k; you took that of q.": (10, 194),
    "A mean that multiplies a deviation enters the variance as its square.": (10, 148),
    "That is d E[q²k²] beside the mean; the square of E[qk] is still to be subtracted.": (10, 214),
    "The means and the correlation are missing: that is d σ_q²σ_k².": (10, 72),
    "The correlation is missing in both, and the means in the variance.": (4, 72),
}
_NAMES = ("d", "mean_q", "mean_k", "var_q", "var_k", "rho")
_MOMENTS = [
    (3, 0, 0, 1, 1, 0),
    (64, 0, 0, 1, 1, 1),
    (5, 0, 0, 1, 1, -1),
    (4, 1, -1, 2, 0.5, -0.5),
    (1, 0, 3, 0, 4, 0),
    (10, 0.5, 0.25, 0.04, 2, 0.8),
]


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
)
def fitted_scale(f: Answer) -> None:
    """The scale that gives all T·S scores the standard deviation one."""
    q, k = np.array([[1.0], [4]]), np.array([[1.0], [3]])
    why = "The standard deviation of all scores, times your scale, should be 1."
    f.expect(1 / math.sqrt(17.5), _WRONG_FITS, why, q=q, k=k)
    for seed, (n, m, d) in enumerate([(2, 3, 2), (3, 2, 4), (1, 4, 3), (5, 5, 1)]):
        q, k = integers(seed + 2, (n, d)) + seed, integers(seed + 30, (m, d)) / 10
        scores = q @ k.T
        scaled = {"Those scores are scaled already; q·k itself is to be.": d**0.5 / scores.std()}
        f.expect(1 / scores.std(), scaled, why, q=q, k=k)
    rng = np.random.default_rng(0)
    q = rng.normal(size=(50, 64))
    near = 0.8 * q + 0.6 * rng.normal(size=(50, 64))
    f.expect(1 / (q @ near.T).std(), said="50 queries and 50 keys close to them", q=q, k=near)


_WRONG_FITS = {
    "The scores are 1, 3, 4 and 12 with variance 17.5: divide by its root.": 1 / 17.5,
    "That is the standard deviation; the scale is one over it.": math.sqrt(17.5),
    "You divided by the root of the mean square, 42.5. The mean, 5, is to be subtracted.": (
        1 / math.sqrt(42.5)
    ),
    "Every query meets every key: there are four scores, not two.": 1 / 5.5,
    "That is 1/√d, which relies on assumptions; measure the scores.": 1.0,
    "Divide the sum of squares by the number of scores, 4, not by 3.": math.sqrt(3 / 70),
    "That is the scale for the standard deviations of q and k multiplied; their means matter "
    "too.": 1 / 1.5,
    "That is one over the mean of the deviations of the rows; take all scores together.": 1 / 2.5,
    "Those are scales for each row; one number is asked for all scores.": [1, 1 / 4],
    "Those are the scaled scores; the scale is asked for.": (
        np.array([[1, 3], [4, 12]]) / math.sqrt(17.5)
    ),
    "The sum of the squares is to be divided by the number of scores, and the mean, 5, to be "
    "subtracted first.": 1 / math.sqrt(170),
    "That is one over the root of the standard deviation; it is a root already.": 17.5**-0.25,
    "That is one over the largest score; their spread is asked for.": 1 / 12,
}
