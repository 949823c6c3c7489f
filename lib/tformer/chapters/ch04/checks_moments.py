"""Exercise 4.4: the mean and the variance of a score."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from tformer.exercises.kinds import Array
from tformer.exercises.registry import exercise
from tformer.exercises.table import Case, case

Pair = tuple[float, float]


class MeanAndVariance(Array):
    """Two numbers, of which one may be right."""

    def remark(self, got: Any, want: Any) -> str:
        """Say which of the two is right."""
        if got.shape != (2,):
            return "Two numbers are asked for, mean and variance."
        right = np.isclose(got.astype(float), want).tolist()
        if right[0]:
            return "The mean is right, the variance is not."
        return "The variance is right, the mean is not." if right[1] else ""


def _moments(
    d: int, mean_q: float, mean_k: float, var_q: float, var_k: float, rho: float, **terms: float
) -> Pair:
    """Mean and variance of q·k, each term of the formula with a factor of its own, mostly 1."""
    shared = terms.get("covariance", rho * math.sqrt(var_q * var_k))
    mean = mean_q * mean_k + terms.get("shared", 1) * shared
    variance = (
        var_q * var_k
        + terms.get("square", 1) * shared**2
        + mean_q**2 * var_k
        + mean_k**2 * var_q
        + terms.get("cross", 2) * shared * mean_q * mean_k
    )
    return d * mean, d * variance


def _terms(**terms: Any) -> Callable[..., Pair]:
    """A wrong formula: terms of the right one with other factors."""
    return lambda *inputs: _moments(*inputs, **terms)


def _variance_is(change: Callable[..., float]) -> Callable[..., Pair]:
    """A wrong formula: the right mean, and another variance made from all that is known."""
    return lambda *inputs: (_moments(*inputs)[0], change(*_moments(*inputs), *inputs))


def _covariance_is(change: Callable[..., float], mean_only: bool = False) -> Callable[..., Pair]:
    """A wrong formula: another number in the place of the covariance ρσ_qσ_k."""

    def made(*inputs: float) -> Pair:
        wrong = _moments(*inputs, covariance=change(*inputs))  # type: ignore[arg-type]
        return (wrong[0], _moments(*inputs)[1]) if mean_only else wrong  # type: ignore[arg-type]

    return made


def _numbers() -> Iterator[Case]:
    def of(*numbers: float, want: Pair | None = None) -> Case:
        names = ("mean_q", "mean_k", "var_q", "var_k", "rho")
        rest: dict[str, Any] = dict(zip(names, map(float, numbers[1:]), strict=True))
        return case(want=want, d=int(numbers[0]), **rest)

    yield of(2, 1, 2, 4, 9, 0.5, want=(10.0, 164.0))
    yield of(3, 0, 0, 1, 1, 0)
    yield of(64, 0, 0, 1, 1, 1)
    yield of(5, 0, 0, 1, 1, -1)
    yield of(4, 1, -1, 2, 0.5, -0.5)
    yield of(1, 0, 3, 0, 4, 0)
    yield of(10, 0.5, 0.25, 0.04, 2, 0.8)


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
    cases=_numbers,
    kind=MeanAndVariance(),
    mutants={
        "Those are mean and variance for independent q and k: ρ changes both.": (
            _covariance_is(lambda *_: 0.0)
        ),
        "The mean lacks the part that q and k share: E[qk] = μ_q μ_k + ρ σ_q σ_k.": (
            _terms(shared=0)
        ),
        "The variance is that of independent q and k.": _terms(square=0, cross=0),
        "The variance lacks the term with ρ², from E[a²b²] of the two deviations a and b.": (
            _terms(square=0)
        ),
        "The two single terms, μ_q b and μ_k a, are correlated: their covariance counts twice.": (
            _terms(cross=0)
        ),
        "Their covariance counts twice in the variance of a sum; you have it once.": (
            _terms(cross=1)
        ),
        "In both numbers stands ρ where the covariance ρ σ_q σ_k belongs.": (
            _covariance_is(lambda d, mq, mk, vq, vk, rho: rho)
        ),
        "In the mean, ρ is a correlation: times σ_q σ_k it is the covariance.": (
            _covariance_is(lambda d, mq, mk, vq, vk, rho: rho, mean_only=True)
        ),
        "The covariance is ρ times the standard deviations, and you took the variances.": (
            _covariance_is(lambda d, mq, mk, vq, vk, rho: rho * vq * vk)
        ),
        "var_q and var_k are variances; you took them for standard deviations and squared them.": (
            lambda d, mq, mk, vq, vk, rho: _moments(d, mq, mk, vq**2, vk**2, rho)
        ),
        "var_q and var_k are variances already; you took their roots.": (
            lambda d, mq, mk, vq, vk, rho: _moments(d, mq, mk, vq**0.5, vk**0.5, rho)
        ),
        "That is the standard deviation beside the mean; the variance is its square.": (
            _variance_is(lambda mean, variance, *_: math.sqrt(variance))
        ),
        "Those are the numbers for one coordinate; there are d of them.": (
            lambda d, *rest: _moments(1, *rest)
        ),
        "The variance grows with d, not with d²: the coordinates are independent.": (
            _variance_is(lambda mean, variance, d, *_: d * variance)
        ),
        "The variance comes second.": lambda *inputs: _moments(*inputs)[::-1],
        "E[a²b²] is σ_q²σ_k² (1 + 2ρ²), of which (ρσ_qσ_k)² is subtracted once: 1 + ρ² remains.": (
            _terms(square=2)
        ),
        "The term μ_q b has the variance of b, the deviation of k; you took that of q.": (
            _variance_is(
                lambda mean, variance, d, mq, mk, vq, vk, rho: (
                    variance + d * (mq**2 - mk**2) * (vq - vk)
                )
            )
        ),
        "A mean that multiplies a deviation enters the variance as its square.": (
            _variance_is(
                lambda mean, variance, d, mq, mk, vq, vk, rho: (
                    variance + d * ((mq - mq**2) * vk + (mk - mk**2) * vq)
                )
            )
        ),
        "That is d E[q²k²] beside the mean; the square of E[qk] is still to be subtracted.": (
            _variance_is(lambda mean, variance, d, *_: variance + mean**2 / d)
        ),
        "The means and the correlation are missing: that is d σ_q²σ_k².": (
            _variance_is(lambda mean, variance, d, mq, mk, vq, vk, rho: d * vq * vk)
        ),
        "The correlation is missing in both, and the means in the variance.": (
            lambda d, mq, mk, vq, vk, rho: (d * mq * mk, d * vq * vk)
        ),
    },
    otherwise="Multiply out one product of mean plus deviation.",
)
def moments(d: int, mean_q: float, mean_k: float, var_q: float, var_k: float, rho: float) -> Pair:
    """Mean and variance of q·k for correlated normal pairs."""
    return _moments(d, mean_q, mean_k, var_q, var_k, rho)
