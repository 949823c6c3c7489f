"""Exercises 4.4, 4.6 and 4.12: moments of a score, and when a gradient arrives."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, ClassVar

import numpy as np

from tformer import reference
from tformer.exercises import describe, kinds
from tformer.exercises.kinds import Name, Number
from tformer.exercises.registry import exercise
from tformer.exercises.table import Case, case

Array = np.ndarray
Pair = tuple[float, float]


class MeanAndVariance(kinds.Array):
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
            partial(_moments, shared=0)
        ),
        "The variance is that of independent q and k.": partial(_moments, square=0, cross=0),
        "The variance lacks the term with ρ², from E[a²b²] of the two deviations a and b.": (
            partial(_moments, square=0)
        ),
        "The two single terms, μ_q b and μ_k a, are correlated: their covariance counts twice.": (
            partial(_moments, cross=0)
        ),
        "Their covariance counts twice in the variance of a sum; you have it once.": (
            partial(_moments, cross=1)
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
            partial(_moments, square=2)
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


LIT = 0.05
WIDEST = 4096


class Width(Number):
    """A whole number: mistakes coincide in it by chance."""

    weak: ClassVar[bool] = True


def _lamps(
    q: Array, k: Array, scale: float, inner: bool = True, outer: bool = True
) -> tuple[float, float]:
    """What arrives at the scores and at the query: ‖J‖ and scale · ‖J K‖, Frobenius norms."""
    jacobian = reference.softmax_jacobian(reference.softmax((scale if inner else 1.0) * (k @ q)))
    arriving = (scale if outer else 1.0) * np.linalg.norm(jacobian @ k)
    return float(np.linalg.norm(jacobian)), float(arriving)


def _reason(at_scores: float, at_query: float) -> str:
    if at_query >= LIT:
        return "lit"
    return "frozen" if at_scores < LIT else "faint"


def _blind(**changes: bool) -> Callable[[Array, Array, float], str]:
    """A wrong answer: a scale is left out of the lamps."""
    return lambda q, k, scale: _reason(*_lamps(q, k, scale, **changes))


def _heads() -> Iterator[Case]:
    scales = {"1": lambda d: 1.0, "1/√d": lambda d: d**-0.5, "1/d": lambda d: 1 / d}
    drawn = [(16, "1/√d"), (2048, "1"), (1024, "1/d"), (4, "1/d"), (16, "1"), (256, "1/√d")]
    heads = [
        (f"random q and k of width {d}, scale {name}", *_random(d), scales[name](d))
        for d, name in [*drawn, (1024, "1"), (4096, "1/d")]
    ]
    near, long = np.array([[9, 0], [8, 0.6], [0, 1]]), np.diag([30.0, 24])
    heads += [
        ("scores 0 and keys of length 0.01, scale 1", np.zeros(4), 0.01 * np.eye(4), 1.0),
        ("two keys that nearly tie far ahead of a third, scale 1", np.ones(2), near, 1.0),
        ("a score of 30 and one of 24, scale 1", np.ones(2), long, 1.0),
    ]
    for said, q, k, scale in heads:
        at_scores, at_query = (describe.show(lamp) for lamp in _lamps(q, k, scale))
        why = f"The lamp at the scores shows {at_scores}, the one at the query {at_query}."
        yield case(q=q, k=k, scale=scale, why=why, said=said)


def _random(d: int) -> tuple[Array, Array]:
    rng = np.random.default_rng(d)
    return rng.standard_normal(d), rng.standard_normal((8, d))


@exercise(
    "4.6",
    praise="Eleven heads, narrow and wide, under three scales and by hand: lit, frozen or faint, "
    "each for the reason that holds.",
    hints=(
        "Two things stand between a wish and the query: the Jacobian of the softmax, and the scale "
        "with the keys. Which of them lets nothing through?",
        "The softmax Jacobian is diag p − pᵀp, for p the softmax of scale · q·k. The lamp at the "
        "scores is the root of the sum of its squares.",
        "The gradient of the query is the scale times the gradient at the scores times the table "
        "of keys. So the lamp at the query is scale · ‖J K‖, again the root of the sum of squares.",
    ),
    cases=_heads,
    kind=Name(names=("lit", "frozen", "faint")),
    mutants={
        "The scale is missing on the way from the scores to the query.": _blind(outer=False),
        "The softmax gets the scaled scores.": _blind(inner=False),
        "Both scales are missing: that is the head with scale 1.": _blind(inner=False, outer=False),
        "You looked at the scores only. An answer that leaves them may still not arrive.": (
            lambda q, k, scale: "lit" if _lamps(q, k, scale)[0] >= LIT else "frozen"
        ),
        "The scores decide between frozen and faint: faint means that something left them.": (
            lambda q, k, scale: "lit" if _lamps(q, k, scale)[1] >= LIT else "faint"
        ),
        "A dark lamp at the scores is no reason to call a head frozen whose query is lit: few "
        "answers can be multiplied by long keys.": (
            lambda q, k, scale: (
                "frozen" if _lamps(q, k, scale)[0] < LIT else _reason(*_lamps(q, k, scale))
            )
        ),
        "The two words are exchanged.": (
            lambda q, k, scale: {"lit": "lit", "frozen": "faint", "faint": "frozen"}[
                _reason(*_lamps(q, k, scale))
            ]
        ),
        "A large weight alone does not freeze a head: two keys may share the rest.": (
            lambda q, k, scale: (
                "frozen"
                if reference.softmax(scale * (k @ q)).max() > 0.5
                else _reason(*_lamps(q, k, scale))
            )
        ),
    },
)
def why_dark(q: Array, k: Array, scale: float) -> str:
    """Say whether the query of a head gets a gradient, and if not, why."""
    return _reason(*_lamps(q, k, scale))


def _answers(z: Array, u: Array, factors: Array) -> Array:
    """Length of u J for the scores z times each of the factors: (n,)."""
    p = reference.softmax(factors[:, None] * z)
    return reference.norm(reference.softmax_vjp(p, np.broadcast_to(u, p.shape)))


def _ahead(
    z: Array,
    u: Array,
    power: float = 0.5,
    arriving: float = 0.0,
    length: Callable[[Array, Array, Array], Array] = _answers,
) -> Array:
    """For each width whether scale 1 lets through more than 1.001 times what 1/√d does."""
    d = np.arange(1, WIDEST + 1.0)
    return np.asarray(length(z, u, d**power) > 1.001 * length(z, u, np.ones(1)) * d**arriving)


def _last(ahead: Array) -> int:
    return int(np.flatnonzero(ahead)[-1]) + 1 if ahead.any() else 0


def _but(**changes: object) -> Callable[[Array, Array], int]:
    """A wrong answer: the last width by another comparison."""
    return lambda z, u: _last(_ahead(z, u, **changes))  # type: ignore[arg-type]


def _worst(z: Array, u: Array, factors: Array) -> Array:
    p = reference.softmax(factors[:, None] * z)
    return np.asarray(np.linalg.eigvalsh(reference.softmax_jacobian(p))[:, -1])  # none is negative


def _not_centred(z: Array, u: Array, factors: Array) -> Array:
    return np.asarray(reference.norm(reference.softmax(factors[:, None] * z) * u))


def _rows() -> Iterator[Case]:
    two = "Of two keys the better one only gets farther ahead, and no width helps."
    yield case(z=[1.0, 0.0], u=[1.0, -1.0], want=0, why=two)
    tie = "The two best keys tie at every width, and the third loses its weight to them."
    yield case(z=[2.0, 2.0, 0.0], u=[1.0, -1.0, 0.0], want=WIDEST, why=tie)
    even = "All scores are equal, with a scale and without one."
    yield case(z=np.zeros(3), u=[1.0, 0.0, 0.0], want=0, why=even)
    z, u = np.array([1.0, 0.9, 0.0, -1.0]), np.array([1.0, -1.0, 0.0, 0.0])
    yield case(z=z, u=u, why=_lengths(z, u))
    z, u = np.array([-0.6, 0.6, 1.0, 0.9]), np.array([2.0, 0.0, 0.5, -0.5])
    gap = "Scale 1 is behind at width 2, ahead from width 6 on, and behind for good in the end. "
    yield case(z=z, u=u, why=gap + _lengths(z, u))
    rng = np.random.default_rng(5)
    for n in (4, 8, 16, 64, 64):
        z, u = rng.standard_normal((2, n))
        said = f"a random row of {n} scores and a random wish"
        yield case(z=z, u=u, said=said, why=_lengths(z, u))


def _lengths(z: Array, u: Array) -> str:
    """What arrives without a scale where it is ahead for the last time, and with the scale."""
    d = last_width(z, u)
    plain, scaled = (
        describe.show(_answers(z, u, np.array([x]))[0]) for x in (max(d, 2) ** 0.5, 1.0)
    )
    return f"At width {max(d, 2)} the lengths are {plain} without a scale and {scaled} with it."


@exercise(
    "4.12",
    praise="Ten rows: from those that no width helps to those whose best two keys tie for ever.",
    hints=(
        "Try a row of two keys on paper, then one of three whose best two tie. Where does scale 1 "
        "let more through, and why?",
        "For weights p and a wish u the vector that arrives has the entries p_i (u_i − Σ p_j u_j). "
        "Its length for the scores √d z is to be compared with that for the scores z.",
        "Scale 1 may fall behind, get ahead again and fall behind for good. So try all widths up "
        "to 4096, and keep the last at which it is ahead.",
    ),
    cases=_rows,
    kind=Width(),
    mutants={
        "Scale 1 is behind there for the first time. It may get ahead again; the last width at "
        "which it is ahead is asked for.": lambda z, u: int(np.argmin(_ahead(z, u)[1:]) + 1),
        "That is the first width at which scale 1 is no longer ahead, one too many.": (
            lambda z, u: min(_last(_ahead(z, u)) + 1, WIDEST)
        ),
        "That is the number of widths where scale 1 is ahead; they need not be the first ones.": (
            lambda z, u: int(_ahead(z, u).sum())
        ),
        "Without a scale the scores grow like √d, not like d.": _but(power=1.0),
        "That is a comparison at the query, with the scale applied a second time. At the scores it "
        "counts once.": _but(arriving=0.5),
        "That is the comparison for the worst wish; u is given.": _but(length=_worst),
        "Subtract the mean Σ p_j u_j before you multiply by p: the Jacobian has two parts.": (
            _but(length=_not_centred)
        ),
        "That is where the scale lets more through; scale 1 is asked for.": (
            lambda z, u: _last(~_ahead(z, u)[1:]) + 1
        ),
        "The last width is asked for, not the one at which the lead of scale 1 is greatest.": (
            lambda z, u: (
                int(np.argmax(_answers(z, u, np.sqrt(np.arange(1, WIDEST + 1.0))))) + 1
                if _ahead(z, u).any()
                else 0
            )
        ),
    },
)
def last_width(z: Array, u: Array) -> int:
    """The largest d ≤ 4096 at which ‖u J(√d z)‖ > 1.001 ‖u J(z)‖, or 0."""
    return _last(_ahead(z, u))
