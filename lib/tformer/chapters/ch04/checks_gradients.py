"""Exercises 4.6 and 4.12: why no gradient arrives, and up to which width more of it does."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import ClassVar

import numpy as np

from tformer import reference
from tformer.exercises import say
from tformer.exercises.kinds import Name, Number
from tformer.exercises.registry import exercise
from tformer.exercises.table import Case, case

Array = np.ndarray


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
    short = 0.01 * np.eye(4)
    heads.append(("scores 0 and keys of length 0.01, scale 1", np.zeros(4), short, 1.0))
    near = np.array([[9.0, 0.0], [8.0, 0.6], [0.0, 1.0]])
    heads.append(("two keys that nearly tie far ahead of a third, scale 1", np.ones(2), near, 1.0))
    long = np.array([[30.0, 0.0], [0.0, 24.0]])
    heads.append(("a score of 30 and one of 24, scale 1", np.ones(2), long, 1.0))
    for said, q, k, scale in heads:
        at_scores, at_query = (say.show(lamp) for lamp in _lamps(q, k, scale))
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
    yield case(z=np.array([1.0, 0.0]), u=np.array([1.0, -1.0]), want=0, why=two)
    tie = "The two best keys tie at every width, and the third loses its weight to them."
    yield case(z=np.array([2.0, 2.0, 0.0]), u=np.array([1.0, -1.0, 0.0]), want=WIDEST, why=tie)
    even = "All scores are equal, with a scale and without one."
    yield case(z=np.zeros(3), u=np.array([1.0, 0.0, 0.0]), want=0, why=even)
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
    plain, scaled = (say.show(_answers(z, u, np.array([x]))[0]) for x in (max(d, 2) ** 0.5, 1.0))
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
