"""Exercises 7.7 and 7.12: the favourite distance of a turned query, and a diagnosis by scores."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cache

import numpy as np

from tformer import reference
from tformer_book.exercises import describe
from tformer_book.exercises.kinds import Name, Number
from tformer_book.exercises.promises import promised, single, whole
from tformer_book.exercises.registry import exercise
from tformer_book.exercises.samples import integers
from tformer_book.exercises.table import Case, case

Array = np.ndarray


def _pairs() -> Iterator[Case]:
    up, right = np.array([0.0, 1]), np.array([1.0, 0])
    q = math.pi / 2
    yield case(q=up, k=up, omega=0.5, reach=5, want=0, why="They point the same way at once.")
    why = "The query is turned by a quarter more than the key, and then they point the same way."
    yield case(q=right, k=up, omega=q / 3, reach=6, want=3, why=why)
    yield case(q=up, k=right, omega=q / 3, reach=2, want=0, why="It would have to look ahead.")
    yield case(q=up, k=right, omega=q / 3, reach=9, want=9, why="Three quarters of a round away.")
    tie = "After a whole round the score is the same: the smallest distance counts."
    yield case(q=up, k=up, omega=q, reach=9, want=0, why=tie)
    yield case(q=right, k=up, omega=q / 2, reach=40, want=2, why=tie)
    yield case(q=up, k=-up, omega=q / 4, reach=3, want=3, why="The farthest is the least bad.")
    flat = "All scores are equal: the smallest distance counts."
    yield case(q=np.zeros(2), k=up, omega=0.3, reach=4, want=0, why=flat)
    yield case(q=right, k=up, omega=0.0, reach=4, want=0, why=flat)
    for n, a, b, want in ((3, right, up, 1), (5, up, right, 4), (7, right, up, 2), (5, up, -up, 2)):
        why = (
            "After a whole round the score is the same, but for its last digits: not a larger one."
        )
        yield case(q=a, k=b, omega=2 * math.pi / n, reach=30, want=want, why=why)
    why = "At a distance of 31 the query is turned by 1.55, nearly a quarter of a round."
    yield case(q=right, k=up, omega=0.05, reach=60, want=31, why=why)
    for omega, reach, want in ((0.001, 3000, 1571), (2e-4, 8000, 7854)):
        said = f"The query is turned by {omega:g} for each position: a quarter of a round is far."
        yield case(q=right, k=up, omega=omega, reach=reach, want=want, why=said)
    small, near = 0.001 * up, np.array([math.cos(0.003), math.sin(0.003)])
    why = "These scores differ by more than 1e-9, though by little: they are not equal."
    yield case(q=right, k=near, omega=0.001, reach=5, want=3, why=why)
    far = [math.cos(3e-5), math.sin(3e-5)]
    yield case(q=1e4 * right, k=far, omega=1e-5, reach=5, want=3, why=why)
    yield case(q=right, k=small, omega=1e-5, reach=100, want=100, why=why)
    apart = "The scores 3e-10 and 8e-10 differ by less than 1e-9, and would round to 0 and 1e-9."
    yield case(q=right, k=[3e-10, 5e-5], omega=1e-5, reach=1, want=0, why=apart)
    for omega, want, words in ((1e-4, 3, "1e-7 are not"), (1e-7, 0, "1e-10 count as")):
        why = f"Scores that differ by {words} equal."
        yield case(q=right, k=small, omega=omega, reach=3, want=want, why=why)
    yield case(q=right, k=up, omega=q / 3, reach=0, want=0, why="There is one distance only.")
    for seed in range(6):
        q_, k_ = integers(seed, (2, 2)) + 0.5
        yield case(q=q_, k=k_, omega=0.1 + 0.17 * seed, reach=10 + seed, why="Try each distance.")
    like = {"q": np.array([3.0, 1]), "k": np.array([-2.0, 2]), "omega": 0.2, "reach": 300}
    yield from promised(whole, single, **like)


@exercise(
    "7.7",
    praise="Near, a quarter of a round away, and far; ties, hands that stand still and zero "
    "queries included.",
    hints=(
        "What matters is the angle from the query to the key before they are turned.",
        "Turn the query by ω times the distance and leave the key: only the difference counts.",
        "Compute all reach + 1 scores and take the first that is as large as the largest.",
    ),
    cases=_pairs,
    kind=Number(),
    slips="""
        np.arange(reach + 1) → -$
            The query is turned the wrong way: that is the favourite distance of a key that stands
            ahead.
        reach + 1 → max(reach, 1)
            You left out the farthest distance, reach.
        reach + 1 → 1, $ ;; 1e-9)[0] → 1e-9)[0] + 1
            Distance 0 counts too: the key may stand where the query stands.
        1e-9)[0] → 1e-9)[-1]
            Of several equal scores you took the farthest.
        np.flatnonzero(scores > scores.max() - 1e-9)[0] → np.argmax(scores)
            You took the largest number. Equal scores differ in their last digits, and count as
            equal where they differ by less than a billionth.
        reach + 1 → min(reach, 10) + 1
            You stopped at a distance of ten; the key may stand as far off as reach.
        omega → 1.0
            The speed of the hand has no effect: it turns by ω per position, and not by 1.
        np.flatnonzero(scores > scores.max() - 1e-9)[0] → np.argmax(np.round(scores, 9))
            You rounded the scores first: two that are nearly equal may round apart.
        scores.max() - 1e-9 → scores.max() - 1e-6
            Scores that differ by a millionth are not equal, and yours count as equal.
        scores.max() - 1e-9 → scores.max() - 1e-9 * abs(scores.max())
            Your margin is a part of the score: too wide for large scores, and none where all are 0.
        reach + 1 → min(reach, int(2 * math.pi / abs(omega)) if omega else reach) + 1
            You tried the first round only; in a later one a position may meet the best angle
            better.
        scores.max() - 1e-9 → scores.max() - 1e-5 * abs(scores.max())
            You compare as `np.isclose` does, by a part of the score; a billionth is allowed.
        scores > scores.max() - 1e-9 → abs(scores) > abs(scores).max() - 1e-9
            You took the score without its sign: a large negative one is the least liked.
        scores > scores.max() - 1e-9 → scores < scores.min() + 1e-9
            That is the distance of the smallest score.
        = 0
            You always say 0: a query does not always like best what is near.
        = _solved(q, k, omega, reach, 2 * math.pi)
            You solved for the angle in its first round; the best one may lie beyond reach, or meet
            a position better in a later round.
        = _solved(q, k, omega, reach)
            You solved for the angle and rounded; the round may be shorter than the reach, or the
            best angle after the query.
        = _climbed(q, k, omega, reach)
            You stopped where the score falls; farther off it may rise higher.
        = _by_angles(q, k, omega, reach)
            You solved for the difference of two angles; a zero vector has none, a hand may stand
            still, and the best position may come in a later round.
        reach + 1 → min(reach, 100) + 1
            You stopped at a distance of a hundred; the key may stand as far off as reach.
        reach + 1 → min(reach, 1000) + 1
            You stopped at a distance of a thousand; the key may stand as far off as reach.
        = favourite(np.array([1.0, 0]), k, omega, reach)
            The query's own direction is left out.
    """,
)
def favourite(q: Array, k: Array, omega: float, reach: int) -> int:
    """The distance that a query likes best."""
    angles, across = omega * np.arange(reach + 1), q[0] * k[1] - q[1] * k[0]
    scores = (q @ k) * np.cos(angles) + across * np.sin(angles)
    return int(np.flatnonzero(scores > scores.max() - 1e-9)[0])


def _solved(q: Array, k: Array, omega: float, reach: int, around: float = 0) -> int:
    angle = math.atan2(q[0] * k[1] - q[1] * k[0], q @ k)
    angle = angle % around if around else angle
    return int(np.clip(round(angle / omega) if omega else 0, 0, reach))


def _by_angles(q: Array, k: Array, omega: float, reach: int) -> int:
    angle = (math.atan2(k[1], k[0]) - math.atan2(q[1], q[0])) % (2 * math.pi)
    return int(min(round(angle / omega), reach))


def _climbed(q: Array, k: Array, omega: float, reach: int) -> int:
    angles, across = omega * np.arange(reach + 1), q[0] * k[1] - q[1] * k[0]
    rises = np.diff((q @ k) * np.cos(angles) + across * np.sin(angles)) > 1e-9
    return int(np.argmin(np.append(rises, False)))


CAUSES = ("right", "not turned", "keys not turned", "queries at 0", "halves", "backwards")


def _turned(x: Array, places: Array, pairing: str = "adjacent") -> Array:
    return reference.rope(x, _waves(tuple(places.tolist()), x.shape[-1]), pairing=pairing)


@cache
def _waves(places: tuple[int, ...], width: int) -> Array:
    return reference.sinusoidal(np.array(places), width)


def _scores(q: Array, k: Array, cause: str, first: int = 0) -> Array:
    t = first + np.arange(len(q))
    pairing = "half" if cause == "halves" else "adjacent"
    queries = {"queries at 0": 0 * t, "not turned": 0 * t, "backwards": -t}.get(cause, t)
    keys = 0 * t if cause in ("not turned", "keys not turned") else t
    return _turned(q, queries, pairing) @ _turned(k, keys, pairing).T


def _same_favourites(one: Array, other: Array) -> int:
    return int((one.argmax(axis=1) == other.argmax(axis=1)).sum())


def _scores_in_base(q: Array, k: Array, cause: str, base: float) -> Array:
    """The scores of a program whose waves have another base."""
    t, d = np.arange(len(q)), q.shape[-1]

    def turned(x: Array, places: Array, pairing: str = "adjacent") -> Array:
        angles = places[:, None] * base ** (-np.arange(0, d, 2) / d)
        waves = np.stack([np.sin(angles), np.cos(angles)], axis=-1).reshape(x.shape)
        return reference.rope(x, waves, pairing=pairing)

    queries = {"queries at 0": 0 * t, "not turned": 0 * t, "backwards": -t}.get(cause, t)
    keys = 0 * t if cause in ("not turned", "keys not turned") else t
    pairing = "half" if cause == "halves" else "adjacent"
    return turned(q, queries, pairing) @ turned(k, keys, pairing).T


def _both_back(q: Array, k: Array) -> Array:
    t = np.arange(len(q))
    return _turned(q, -t) @ _turned(k, -t).T


def _tables() -> Iterator[tuple[Array, Array, str]]:
    """Queries and keys, and what a comparison of scores made from them must not leave out."""
    for seed, shape in enumerate(((3, 4), (5, 8), (12, 6), (40, 16))):
        yield *_drawn(seed, shape), "All entries of a table count."
    yield integers(1, (3, 4)), integers(2, (3, 4)), "All entries of a table count."
    for seed in (190, 1015, 5, 17):  # for each two programs, in one of these no score is larger
        yield *_drawn(seed, (2, 4)), "With two words few scores differ, perhaps all with one sign."
    small = "The hands are slow: the programs differ by thousandths."
    q, k = _drawn(26, (4, 8)) * (np.arange(8) > 5)
    yield q, k, small
    yield (
        *_large_and_alike(),
        "Scores are 300, and a thousandth tells: only rounding may pass.",
    )
    sums = "All rows and columns add up to 0, whatever the program: entries tell, and sums do not."
    q, k = map(_without_sums, _drawn(2, (6, 4)))
    yield q, k, sums
    for t, s in ((1, 3), (5, 2), (3, 5)):
        q, k = (
            x * (np.arange(6) == one)[:, None]
            for x, one in zip(_drawn(9, (6, 6)), (t, s), strict=True)
        )
        yield q, k, f"Only query {t} and key {s} are not zero, and their score tells."


def _large_and_alike() -> tuple[Array, Array]:
    """Return what the slow hands make large scores of, while a few fast ones differ a little."""
    q, k = np.zeros((2, 6, 64))
    q[:, -1], k[:, -1] = 20, 15
    q[1, :2], k[1, :2], k[0, :2] = (0.08, 0.04), (0.04, 0.08), (0.08, -0.056)
    return q, k


def _drawn(seed: int, shape: tuple[int, int]) -> Array:
    return np.random.default_rng(seed).standard_normal((2, *shape)).round(1)


def _without_sums(x: Array) -> Array:
    """The rows nearest to x that add up to 0, however they are turned."""
    t, unit = np.arange(len(x)), np.eye(x.size).reshape(-1, *x.shape)
    turns = ((0 * t, "adjacent"), (t, "adjacent"), (-t, "adjacent"), (t, "half"))
    sums = np.concatenate([_turned(unit, *turn).sum(axis=1) for turn in turns], axis=1)
    return x - (x.ravel() @ sums @ np.linalg.pinv(sums)).reshape(x.shape)


def _programs() -> Iterator[Case]:
    for q, k, why in _tables():
        n, d = q.shape
        for cause in CAUSES:
            said = f"{n} queries and keys of width {d} in a program of the kind {cause!r}"
            scores = _scores(q, k, cause).round(9)
            others = (_scores(q, k, other) for other in CAUSES if other != cause)
            gap = describe.show(min(float(abs(table - scores).max()) for table in others), 2)
            far = f"{why} Every other program is off by {gap} or more in some entry."
            yield case(q=q, k=k, scores=scores, want=cause, said=said, why=far)


@exercise(
    "7.12",
    praise="Six programs told apart at many sizes, by slow hands, by a single score, and where "
    "sums and signs say nothing.",
    hints=(
        "Write the function `turn` of 7.4 into your answer and compute the scores of each program.",
        "For halves, reorder the coordinates, so that pairs are neighbours, and turn as before.",
        "Return the name of the program whose scores lie nearest to those you were given.",
    ),
    cases=_programs,
    kind=Name(names=CAUSES),
    otherwise="Make the scores of all six programs as the statement describes them, and compare "
    "every entry with the scores that were given. The angles are those of 7.4.",
    slips="""
        _scores(q, k, cause) - scores → np.diag($)
            You looked at the diagonal, where several programs agree.
        _scores(q, k, cause) - scores → ($)[0]
            You looked at the first query, at position 0, where several programs agree.
        _scores(q, k, cause) - scores → ($)[:, 0]
            You looked at the first key, at position 0, where several programs agree.
        _scores(q, k, cause) - scores → ($)[-1]
            You looked at the last query. Its scores may be zero, and those of others tell.
        _scores(q, k, cause) - scores → ($)[:, -1]
            You looked at the last key. Its scores may be zero, and those of others tell.
        _scores(q, k, cause) - scores → ($)[1]
            You looked at the query at position 1. Its scores may be zero, and those of others tell.
        _scores(q, k, cause) - scores → ($)[-1, 1]
            You looked at one score, which may be zero. All of them should agree.
        in CAUSES → in CAUSES if cause != "halves"
            You never say 'halves'.
        in CAUSES → in CAUSES if cause != "backwards"
            You never say 'backwards'.
        in CAUSES → in CAUSES if cause != "queries at 0"
            You never say 'queries at 0'.
        _scores(q, k, cause) → (_scores(k, q, cause).T if cause == "backwards" else $)
            Backwards are the queries, and you turned the keys the wrong way round.
        _scores(q, k, cause) → (_both_back(q, k) if cause == "backwards" else $)
            Backwards are the queries alone; you turned the keys the wrong way round as well.
        q, k, cause → q, k, cause, 1
            Positions are counted from 0, and yours from 1.
        _scores(q, k, cause) → $ / q.shape[-1] ** 0.5
            You scaled the scores; here they are unscaled.
        return best → return {CAUSES[2]: CAUSES[3], CAUSES[3]: CAUSES[2]}.get(best, best)
            The names 'keys not turned' and 'queries at 0' have changed places.
        = "right"
            You always say 'right'.
        q, k → k, q
            Queries and keys have changed places.
        scores).max → scores.T).max
            The scores were transposed: a row belongs to a query.
        abs( → (
            You took the largest difference with its sign. Scores that are all too small differ too.
        abs(_scores(q, k, cause) - scores) → (scores - _scores(q, k, cause))
            You took the largest difference with its sign. Scores that are all too large differ too.
        _scores(q, k, cause) - scores → np.sum($)
            You compared sums. What differs in the entries may cancel in them.
        _scores(q, k, cause) - scores → ($).sum(axis=-1)
            You compared the sums of rows. What differs in the entries may cancel in them.
        abs(_scores(q, k, cause) - scores).max() → not np.array_equal(_scores(q, k, cause), scores)
            You asked for equal numbers, and none are: the scores are rounded.
        abs(_scores(q, k, cause) - scores).max() → not np.allclose(scores, _scores(q, k, cause))
            You left too large a tolerance, beside each score as np.allclose does, or in a mean: of
            scores in the hundreds a thousandth in one entry tells.
        abs(_scores(q, k, cause) - scores).max() → $ > 0.01
            You took the first program that comes near. A slow hand changes scores by thousandths.
        abs(_scores(q, k, cause) - scores).max() → $ > 0.5
            You took the first program that comes within a half; others come nearer.
        _scores(q, k, cause) → $ * (cause != "queries at 0")
            You made a query at position 0 zero. There it is turned by 0, so leave it as it is.
        min(gaps → max(gaps
            You named the program whose scores lie farthest off. Take the nearest.
        abs(_scores(q, k, cause) - scores).max() → -(_scores(q, k, cause) * scores).sum()
            You multiplied the two tables and took the largest sum. Large scores win there: compare
            differences.
        abs(_scores(q, k, cause) - scores).max() → -_same_favourites(_scores(q, k, cause), scores)
            You compared which key has the largest score in each row. Several programs may agree in
            that: compare the numbers.
        _scores(q, k, cause) → _scores_in_base(q, k, cause, 1000.0)
            Your waves have the base 1000. Use 10000, as in 7.4.
        _scores(q, k, cause) → _scores_in_base(q, k, cause, 100.0)
            Your exponents are −i/d for pair i, and the waves too fast. The exponent is −2i/d.
    """,
)
def diagnosis(q: Array, k: Array, scores: Array) -> str:
    """What a program does with its positions."""
    gaps = {cause: abs(_scores(q, k, cause) - scores).max() for cause in CAUSES}
    best = min(gaps, key=lambda cause: gaps[cause])
    return best
