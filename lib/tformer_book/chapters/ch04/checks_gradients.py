"""Exercises 4.6 and 4.12: when a gradient arrives."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np

from tformer import reference
from tformer_book.exercises import describe
from tformer_book.exercises.kinds import Name, Number
from tformer_book.exercises.registry import exercise
from tformer_book.exercises.table import Case, case

Array = np.ndarray


LIT = 0.05
WIDEST = 4096


class Width(Number):
    """A whole number: mistakes coincide in it by chance."""

    weak: ClassVar[bool] = True


def _lamps(q: Array, k: Array, scale: float) -> tuple[float, float]:
    """What arrives at the scores and at the query: ‖J‖ and scale · ‖J K‖, Frobenius norms."""
    jacobian = reference.softmax_jacobian(reference.softmax(scale * (k @ q)))
    return float(np.linalg.norm(jacobian)), float(scale * np.linalg.norm(jacobian @ k))


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
    heads += [(f"{said}, scale 1", *of, 1.0) for said, of in (_by_size() | _by_hand()).items()]
    for said, q, k, scale in heads:
        at_scores, at_query = (describe.show(lamp) for lamp in _lamps(q, k, scale))
        why = f"The lamp at the scores shows {at_scores}, the one at the query {at_query}."
        yield case(q=q, k=k, scale=scale, why=why, said=said)


def _by_size() -> dict[str, tuple[Array, Array]]:
    """Rows in which other norms than the root of the sum of squares fall on the other side."""
    return {
        f"{n} keys of length {length} at right angles, all scores 0": (
            np.zeros(n),
            length * np.eye(n),
        )
        for n, length in ((100, 0.8), (100, 0.3), (500, 0.9), (500, 1.5), (2, 0.09), (2, 0.11))
    }


def _by_hand() -> dict[str, tuple[Array, Array]]:
    """Scores that are large, lamps just above and below 0.05, and a single key."""
    one = np.ones(1)
    rows = {
        f"scores of {high} and {low}".replace("-", "−"): (
            1000 * one,
            np.array([[high / 1000], [low / 1000]]),
        )
        for high, low in ((1000, 999), (1000, 990), (-1000, -1000.5), (-2000, -1000))
    }
    rows["scores of 1000 and 999 by keys that differ by 1"] = (one, np.array([[1000.0], [999]]))
    rows["scores of −1000 and −1001 by keys that differ by 1"] = (
        -one,
        np.array([[1000.0], [1001]]),
    )
    for gap in (3.55, 3.70):  # 2p(1 − p) is 0.054 and 0.047
        rows[f"a score of {gap} and one of 0"] = (100 * one, np.array([[gap / 100], [0]]))
    rows["a single key"] = (one, np.array([[2.0]]))
    rows["two keys alike"] = (np.zeros(1), np.array([[5.0], [5]]))
    rows["39 keys alike and another one"] = (np.zeros(1), np.array([[3.0]] * 39 + [[3.3]]))
    rows["30 keys between −0.1 and 0.1"] = (np.zeros(1), np.linspace(-0.1, 0.1, 30)[:, None])
    half = "a key with half the weight and 99 others, all of length ¼ and at right angles"
    rows[half] = (4 * math.log(99) * np.eye(100)[0], np.eye(100) / 4)
    return rows


def _random(d: int) -> tuple[Array, Array]:
    rng = np.random.default_rng(d)
    return rng.standard_normal(d), rng.standard_normal((8, d))


@exercise(
    "4.6",
    praise="Thirty heads, narrow and wide, under three scales and by hand, with a single key "
    "and with hundreds, with scores of thousands: lit, frozen or faint, each for the reason that "
    "holds.",
    hints=(
        "Two things stand between a gradient at the weights and the query: the Jacobian of the "
        "softmax, and the scale with the keys. Which of them lets nothing through?",
        "The softmax Jacobian is diag p − pᵀp, for p the softmax of scale · q·k. The lamp at the "
        "scores is the root of the sum of its squares.",
        "The gradient of the query is the scale times the gradient at the scores times the table "
        "of keys. So the lamp at the query is scale · ‖J K‖, again the root of the sum of squares.",
    ),
    cases=_heads,
    kind=Name(names=("lit", "frozen", "faint")),
    slips="""
        scale * jacobian → jacobian
            The scale is missing on the way from the scores to the query.
        scale * (k @ q) → k @ q
            The softmax gets the scaled scores.
        scale * jacobian → jacobian ;; scale * (k @ q) → k @ q
            Both scales are missing: that is the head with scale 1.
        scale * jacobian → scale**2 * jacobian
            The scale is applied twice on the way to the query.
        scale * (k @ q) → $ / len(q) ** 0.5 ;; scale * jacobian → len(q) ** -0.5 * $
            The scale is given; you divided by √d once more.
        scale * jacobian @ k → scale * p[:, None] * (k - k.mean(axis=0))
            You subtracted the plain mean of the keys; the Jacobian subtracts their mean by weight.
        at_query >= LIT → scale * at_scores * np.linalg.norm(k) >= LIT
            The norm of a product is not the product of norms: what keys have in common cancels.
        at_query >= LIT → at_scores >= LIT
            You used the scores only. A gradient that leaves them may still not reach the query.
        "frozen" if at_scores < LIT else "faint" → "faint"
            The scores decide between frozen and faint: faint means that something left them.
        at_query >= LIT → $ and at_scores >= LIT
            A dark lamp at the scores is no reason to call a head frozen whose query is lit: small
            gradients can be multiplied by long keys.
        "frozen" if at_scores < LIT else "faint" → "faint" if at_scores < LIT else "frozen"
            The two words are exchanged.
        at_query >= LIT → $ and p.max() <= 0.5 ;; at_scores < LIT → $ or p.max() > 0.5
            A large weight alone does not freeze a head: two keys may share the rest.
        at_query >= LIT → at_query >= 0.1 ;; at_scores < LIT → at_scores < 0.1
            Both lamps are lit at 0.05 and above, and not at another number.
        reference.softmax(scores) → np.exp(scores) / np.exp(scores).sum()
            exp(1000) is more than a float64 can hold, and exp(−1000) is 0. Subtract the largest
            score first.
        norm(table) → norm(table, 2)
            `ord=2` of a table is its largest singular value. The lamps show the root of the sum of
            all squares.
        np.linalg.norm(table) → (table**2).sum()
            You took no root: the lamps show the root of the sum of the squares.
        np.linalg.norm(table) → np.abs(table).sum()
            You took the sum of the magnitudes: the lamps show the root of the sum of the squares.
        np.linalg.norm(table) → np.abs(table).max()
            You took the largest magnitude: the lamps show the root of the sum of the squares.
        np.linalg.norm(table) → np.sqrt((table**2).mean())
            You took the root of the mean square: the lamps show the root of the sum.
        norm(table) → norm(table, axis=-1).max()
            You took the largest length of a row: the lamps show the root of the sum of all squares.
        reference.softmax_jacobian(p) → np.diag(p * (1 - p))
            That is the diagonal of the Jacobian. Each score moves the other weights as well.
    """,
    otherwise="Compare your two numbers with these: each is the root of a sum of squares, of J and "
    "of c J K.",
)
def why_dark(q: Array, k: Array, scale: float) -> str:
    """Say whether the query of a head gets a gradient, and if not, why."""
    scores = scale * (k @ q)
    p = reference.softmax(scores)
    jacobian = reference.softmax_jacobian(p)
    at_scores, at_query = (np.linalg.norm(table) for table in (jacobian, scale * jacobian @ k))
    if at_query >= LIT:
        return "lit"
    return "frozen" if at_scores < LIT else "faint"


def _answers(z: Array, u: Array, factors: Array) -> Array:
    """Length of u J for the scores z times each of the factors: (n,)."""
    p = reference.softmax(factors[:, None] * z)
    return reference.norm(reference.softmax_vjp(p, np.broadcast_to(u, p.shape)))


def _worst(z: Array, u: Array, factors: Array) -> Array:
    p = reference.softmax(factors[:, None] * z)
    return np.asarray(np.linalg.eigvalsh(reference.softmax_jacobian(p))[:, -1])  # none is negative


def _not_centred(z: Array, u: Array, factors: Array) -> Array:
    return np.asarray(reference.norm(reference.softmax(factors[:, None] * z) * u))


def _all_wishes(z: Array, u: Array, factors: Array) -> Array:
    p = reference.softmax(factors[:, None] * z)
    return np.asarray(np.linalg.norm(reference.softmax_jacobian(p), axis=(-2, -1)))


def _plainly(z: Array, u: Array, factors: Array) -> Array:
    return _not_centred(z, u - u.mean(), factors)


def _magnitudes(z: Array, u: Array, factors: Array) -> Array:
    p = reference.softmax(factors[:, None] * z)
    return np.abs(p * (u - (p * u).sum(axis=-1, keepdims=True))).sum(axis=-1)


def _largest(z: Array, u: Array, factors: Array) -> Array:
    p = reference.softmax(factors[:, None] * z)
    return np.asarray(np.abs(p * (u - (p * u).sum(axis=-1, keepdims=True))).max(axis=-1))


def _slopes(z: Array, u: Array, factors: Array) -> Array:
    p = reference.softmax(factors[:, None] * z)
    return np.asarray(reference.norm(p * (1 - p)))


def _losses(z: Array, u: Array, factors: Array) -> Array:
    p = reference.softmax(factors[:, None] * z)
    return np.asarray(reference.norm(p - np.eye(len(u))[u.argmax()]))


def _last_of(z: Array, u: Array, power: float) -> int:
    """The last d at which more arrives with z itself than with d to a power times z, or 0."""
    others = _answers(z, u, np.arange(1, WIDEST + 1.0) ** power)
    ahead = np.flatnonzero(_answers(z, u, np.ones(1)) > 1.001 * others)
    return int(ahead[-1]) + 1 if ahead.size else 0


def _ahead_at_first(ahead: Array) -> int:
    """The last width of those from 2 on at which scale 1 is ahead without a gap, or 0."""
    n = int(np.argmin(np.append(ahead[1:], False)))
    return n + 1 if n else 0


def _rows() -> Iterator[Case]:
    two = "With two keys the better one only gets farther ahead, and no width helps."
    yield case(z=[1.0, 0.0], u=[1.0, -1.0], want=0, why=two)
    tie = "The two best keys tie at every width, and the third loses its weight to them."
    yield case(z=[2.0, 2.0, 0.0], u=[1.0, -1.0, 0.0], want=WIDEST, why=tie)
    even = "All scores are equal, with a scale and without one."
    yield case(z=np.zeros(3), u=[1.0, 0.0, 0.0], want=0, why=even)
    low = "The two best keys tie, and the third has hardly any weight to lose to them."
    yield case(z=[2.0, 2.0, -8.0], u=[1.0, -1.0, 0.0], want=0, why=low)
    z, u = np.array([100.0, 99.99, 98.0]), 1e-10 * np.array([1.0, -1.0, 0.0])
    yield case(z=z, u=u, why=_lengths(z, u))
    z, u = np.array([1.0, 0.9, 0.0, -1.0]), np.array([1.0, -1.0, 0.0, 0.0])
    yield case(z=z, u=u, why=_lengths(z, u))
    window = "Scale 1 is ahead from width 10 to 15, and behind before and after."
    yield case(z=[-0.4, 1.1, 1.0, -0.1], u=[1.0, 1, 2, 0], want=15, why=window)
    z, u = np.array([-0.6, 0.6, 1.0, 0.9]), np.array([2.0, 0.0, 0.5, -0.5])
    gap = "Scale 1 is behind at width 2, ahead from width 6 on, and behind for good in the end. "
    yield case(z=z, u=u, why=gap + _lengths(z, u))
    rng = np.random.default_rng(5)
    for n in (8, 64):
        z, u = rng.standard_normal((2, n))
        said = f"a random row of {n} scores and a random gradient u"
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
    praise="Ten rows: from those no width helps to those whose best two keys tie for ever.",
    hints=(
        "Try a row of two keys on paper, then one of three whose best two tie. Where does scale 1 "
        "let more through, and why?",
        "For weights p and a gradient u the vector that arrives has the entries "
        "p_i (u_i − Σ p_j u_j). Compare its length for the scores √d z with that for the scores z.",
        "Scale 1 may fall behind, get ahead again and fall behind for good. So try all widths up "
        "to 4096, and keep the last at which it is ahead.",
    ),
    cases=_rows,
    kind=Width(near=0),
    slips="""
        int(np.flatnonzero(ahead)[-1]) + 1 if ahead.any() else 0 → int(np.argmin(ahead[1:])) + 1
            Scale 1 is behind there for the first time. It may get ahead again; the last width at
            which it is ahead is asked for.
        int(np.flatnonzero(ahead)[-1]) + 1 → min($ + 1, WIDEST) ;; else 0 → else 1
            That is the first width at which scale 1 is no longer ahead, one too many.
        int(np.flatnonzero(ahead)[-1]) + 1 → int(ahead.sum())
            That is the number of widths where scale 1 is ahead; they need not be the first ones.
        d**0.5 → d
            Without a scale the scores grow like √d, not like d.
        np.ones(1)) → $ * d**0.5
            You say 0 for every row. A search that stops at width 1 does that, where both lengths
            are equal, and so does a scale that is applied a second time. Try all widths, and
            compare at the scores.
        _answers(z, u, d → _worst(z, u, d ;; _answers(z, u, np → _worst(z, u, np
            That is the comparison for the gradient of which most arrives; u is given.
        _answers(z, u, d → _not_centred(z, u, d ;; _answers(z, u, np → _not_centred(z, u, np
            Subtract the mean Σ p_j u_j before you multiply by p: the Jacobian has two parts.
        ahead.any() → (~ahead[1:]).any() ;; np.flatnonzero(ahead) → np.flatnonzero(~ahead)
            That is where the scale lets more through; scale 1 is asked for.
        np.flatnonzero(ahead)[-1] → np.argmax(_answers(z, u, d**0.5))
            The last width is asked for, not the one at which the lead of scale 1 is greatest.
        d = np.arange(1, WIDEST + 1.0) → d = np.arange(1.0, WIDEST)
            The width 4096 belongs to them: `range` and `arange` leave out their end.
        _answers(z, u, d → _all_wishes(z, u, d ;; _answers(z, u, np → _all_wishes(z, u, np
            u has no effect: that is made of the Jacobian alone.
        _answers(z, u, d → _plainly(z, u, d ;; _answers(z, u, np → _plainly(z, u, np
            You subtracted the plain mean of u; its mean by weight is to be subtracted.
        _answers(z, u, d → _magnitudes(z, u, d ;; _answers(z, u, np → _magnitudes(z, u, np
            The length is the root of the sum of squares; you added up magnitudes.
        > 1.001 * _answers(z, u, np.ones(1)) → > 0.001 + _answers(z, u, np.ones(1))
            1.001 times as long is more by a thousandth of the length, and not by 0.001: u may
            be short.
        ahead = _answers(z, u, d**0.5) → ahead = _answers(z, u, d**0.5) ** 2
        np.ones(1)) → $ ** 2
            You compared squares of lengths: 1.001 is the ratio of the lengths themselves.
        np.flatnonzero(ahead)[-1] → np.flatnonzero(ahead)[0]
            That is the first width at which scale 1 is ahead; the last is asked for.
        1.001 * →
            More by less than a thousandth does not count: compare with 1.001 times the other.
        = _halved(z, u)
            You halved an interval: that finds the last width only where scale 1 is ahead up to it
            and behind from there on.
        = _naive(z, u)
            exp(1000) is more than a float64 can hold. Subtract the largest score first.
        np.arange(1, WIDEST + 1.0) → np.arange(1, 65.0)
            You tried the widths up to 64; the last is 4096.
        1.001 → 1.01
            A lead of a thousandth counts; you asked for a hundredth.
        > 1.001 * → >= 0.9999 *
            At equal lengths scale 1 is not ahead: more than 1.001 times as long is asked for.
        1.001 * _answers(z, u, np.ones(1)) → $ + 1e-9
            Something is added to one length, and u may be shorter than that.
        int(np.flatnonzero(ahead)[-1]) + 1 → 2 ** int(np.log2($))
            You tried powers of two only.
        np.ones(1)) → $ / d**0.5
            You divided by √d as well: compare at the scores, where the scale has no part.
        int(np.flatnonzero(ahead)[-1]) + 1 if ahead.any() else 0 → _ahead_at_first(ahead)
            You went up from width 1 and stopped where scale 1 was not ahead. It may get ahead
            later: try every width.
        else 0 → else 1
            Where scale 1 is never ahead you say 1. Return 0 there.
        = _last_of(z, u, 0.5)
            You asked where more arrives with the scale. Exchange the two sides.
        = _last_of(z, u, -0.5)
            You took z for the scores without a scale. Those are √d z, and z the scores with it.
        _answers(z, u, d → _largest(z, u, d ;; _answers(z, u, np → _largest(z, u, np
            You compared the largest entries. Compare lengths: the root of the sum of the squares.
        _answers(z, u, d → _slopes(z, u, d ;; _answers(z, u, np → _slopes(z, u, np
            You compared lengths of p (1 − p), in which u does not occur. Multiply u by the whole
            Jacobian.
        _answers(z, u, d → _losses(z, u, d ;; _answers(z, u, np → _losses(z, u, np
            You took p minus a one-hot vector, the gradient of a loss. Here u is the gradient:
            multiply it by the Jacobian.
        np.arange(1, WIDEST + 1.0) → np.arange(1, 1001.0)
            You tried the widths up to 1000; go on to 4096.
        d**0.5 → d**2
            You multiplied the scores by d². Multiply them by √d.
        d**0.5 → 1 / d**0.5
            You divided the scores by √d. Without a scale they are √d times as large as with it.
    """,
)
def last_width(z: Array, u: Array) -> int:
    """The largest d ≤ 4096 at which ‖u J(√d z)‖ > 1.001 ‖u J(z)‖, or 0."""
    d = np.arange(1, WIDEST + 1.0)
    ahead = _answers(z, u, d**0.5) > 1.001 * _answers(z, u, np.ones(1))
    return int(np.flatnonzero(ahead)[-1]) + 1 if ahead.any() else 0


def _halved(z: Array, u: Array) -> int:
    low, high = 1, WIDEST + 1
    while high - low > 1:
        middle = (low + high) // 2
        ahead = _answers(z, u, np.array([middle**0.5])) > 1.001 * _answers(z, u, np.ones(1))
        low, high = (middle, high) if ahead[0] else (low, middle)
    return low if low > 1 else 0


def _naive(z: Array, u: Array) -> int:
    def arriving(row: Array) -> Any:
        p = np.exp(row) / np.exp(row).sum()
        return np.linalg.norm(p * (u - p @ u))

    d = range(1, WIDEST + 1)
    return max((n for n in d if arriving(n**0.5 * z) > 1.001 * arriving(z)), default=0)
