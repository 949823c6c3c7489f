"""Exercises 7.2 and 7.8 to 7.10: predictions, distances in the scores, a layer that counts."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from tformer import reference
from tformer_book.exercises.answer import Answer, Wrong
from tformer_book.exercises.kinds import Marks, Number, Several
from tformer_book.exercises.promises import promised, single, whole
from tformer_book.exercises.registry import Test, exercise
from tformer_book.exercises.table import Case, case

Array = np.ndarray
CHANGES = ("in front", "between", "exchange")
NOTICES = {
    "none": ((), "without encoding the query of A and the keys of B and C stay what they are"),
    "causal": ((), "the mask hides neither B nor C from A, and changes no query and no key"),
    "sinusoidal": (CHANGES, "at another position a word has another row, and so another key"),
    "ALiBi": (CHANGES[1:], "its bias knows distances only, and"),
    "RoPE": (CHANGES[1:], "its scores know distances only, and"),
}
DISTANCES = {
    "in front": "a word in front of all changes none",
    "between": "B is then one position farther from A, and C is not",
    "exchange": "B and C have then each other's",
}


def _texts() -> Iterator[Case]:
    for scheme, (noticed, why) in NOTICES.items():
        for change in CHANGES:
            more = f" {DISTANCES[change]}" * (scheme in ("ALiBi", "RoPE"))
            reason = f"With {scheme!r} and {change!r}: {why}{more}."
            yield case(scheme=scheme, change=change, want=change in noticed, why=reason)


@exercise(
    "7.2",
    praise="All fifteen predictions are right.",
    hints=(
        "The ratio of two weights of one query depends on the difference of the two scores.",
        "What goes into the two scores: which rows, which positions, which distances?",
        "Added rows know positions, ALiBi and RoPE know distances. Which of them change?",
    ),
    cases=_texts,
    kind=Marks(),
    slips="""
        NOTICES[scheme][0] → $ or (scheme == "causal" and change == "exchange")
            You say that a causal mask notices order. In a first layer it hides, and what it leaves
            is as before.
        NOTICES[scheme][0] → $ or scheme == "causal"
            You say that a causal mask notices any change.
        NOTICES[scheme][0] → $ and (scheme, change) != ("sinusoidal", "in front")
            You say that added waves know distances only. That holds for the dot product of two
            positions, and not for a score with any matrices.
        NOTICES[scheme][0] → $ or scheme in ("ALiBi", "RoPE")
            You say that a word in front of the text is noticed by all that has positions.
        NOTICES[scheme][0] → $ or scheme == "RoPE"
            You say that RoPE knows positions. It turns by positions, and its scores know distances.
        NOTICES[scheme][0] → $ and (scheme, change) != ("ALiBi", "exchange")
            You say that ALiBi does not notice an exchange. B and C have other distances after it.
        NOTICES[scheme][0] → $ or change == "exchange"
            You say that everything notices an exchange of B and C.
        in → not in
            True and False have changed places.
    """,
)
def can_notice(scheme: str, change: str) -> bool:
    """Whether a ratio of weights can change."""
    return change in NOTICES[scheme][0]


def _tables() -> Iterator[Case]:
    table = np.array([10.0, 20, 30])
    want = [[20.0, 30, 30], [10, 20, 30]]
    yield case(table=table, T=2, S=3, offset=0, want=want, why="Distances −1, 0 and 1, or clipped.")
    cache = "The query stands at position t + offset."
    yield case(table=table, T=1, S=4, offset=3, want=[[10.0, 10, 10, 20]], why=cache)
    yield case(table=np.array([7.0]), T=2, S=2, offset=0, want=np.full((2, 2), 7.0), why="m is 0.")
    clip = "What is farther than m gets the entry of m, or of −m."
    short, long = ((2, 4, 6, 0), (3, 6, 4, 2), (1, 5, 5, 10)), ((4, 3, 12, 5), (12, 1, 2, 8))
    for m, T, S, offset in (*short, *long, (1, 2, 3, 500)):
        numbers = 10 * np.cos(np.arange(2 * m + 1))  # in no order, negative ones, fractions
        want = reference.relative_bias(numbers[None], T, S, offset=offset)[0]
        yield case(table=numbers, T=T, S=S, offset=offset, want=want, why=clip)
    yield from promised(whole, single, table=np.array([5.0, -3, 1, 8, 2]), T=3, S=4, offset=1)


@exercise(
    "7.8",
    praise="Near and far, with a cache and without, and a table with a single number.",
    hints=(
        "First the table of distances: a column of query positions, a row of key positions.",
        "`np.clip` brings what is too far back to −m and m.",
        "The entry of distance 0 stands in the middle of the table, at m: add m to a distance.",
    ),
    cases=_tables,
    otherwise="An entry depends on the distance from query to key, clipped.",
    slips="""
        s - t - offset → t + offset - s
            The distances have the wrong sign: a key before the query has a negative one.
        s - t - offset → s - t
            The offset has no effect.
        s - t - offset → t - s - offset
            Query and key have changed places: it is the query that stands at t + offset, and the
            distance is counted from it.
        offset → (S - T)
            The offset is taken to be S − T; it is handed to you.
        m] → m] * (d <= 0)
            Later keys got 0: the table has entries for both sides.
        len(table) // 2 → (len(table) + 1) // 2
            The middle is missed by one: m entries stand on either side of it.
        s - t - offset → s + offset - t
            The offset was added to the keys; it belongs to the queries.
        np.clip(d, -m, m) + m → (d + m) % (2 * m + 1)
            Distances are not clipped, and a negative index counts from the end.
        np.clip(d, -m, m) → np.minimum(d, m)
            Distances are clipped above and not below, and a negative index counts from the end.
        np.clip(d, -m, m) + m → np.clip(d, -m, m)
            The middle of the table was missed: distance 0 is at m, and a negative index counts from
            the end.
        np.clip(d, -m, m) → np.clip(abs(d), -m, m)
            The sides are one: the entry should know whether the key stands before or after.
        np.clip(d, -m, m) → np.clip(d, -max(m - 1, 0), max(m - 1, 0))
            Distances are clipped one position too early.
        table[np.clip(d, -m, m) + m] → np.where(abs(d) > m, 0.0, $)
            What is farther than m got 0; it gets the entry at the end of its side.
        table[np.clip(d, -m, m) + m] → np.trunc($)
            The numbers were cut to whole ones: the answer was written into an array of integers.
        table[np.clip(d, -m, m) + m] → $.T
            Queries and keys have changed axes.
        = np.take(table, np.arange(S) - np.arange(T)[:, None] - offset, mode="wrap")
            Distance 0 stands in the middle of the table, and not at its beginning.
        = np.take(table, np.maximum(np.arange(S) - np.arange(T)[:, None] - offset, -(len(table) //
        2)) + len(table) // 2, mode="wrap")
            You cut off distances below −m and not those above m.
        = distance_bias(np.sort(table), T, S, offset)
            The table was sorted.
    """,
)
def distance_bias(table: Array, T: int, S: int, offset: int) -> Array:
    """Biases by clipped distance."""
    t, s, m = np.arange(T)[:, None], np.arange(S), len(table) // 2
    d = s - t - offset
    return np.asarray(table[np.clip(d, -m, m) + m])


def _slopes() -> Iterator[Case]:
    half = "With the slope log 2 each key has half the weight of the one after it: ½, ¼, ⅛, …"
    yield case(slope=math.log(2), share=0.4, want=1, why=half)
    yield case(slope=math.log(2), share=0.5, want=1, why=half)
    yield case(slope=math.log(2), share=0.75, want=2, why=half)
    yield case(slope=math.log(2), share=0.76, want=3, why=half)
    for n in (2, 3):
        root = f"{n} keys have half the weight, up to rounding."
        yield case(slope=math.log(2) / n, share=0.5, want=n, why=root)
    none = "One key is the smallest number that there is."
    yield case(slope=0.5, share=0.0, want=1, why=none)
    nearest = "The nearest n keys have 1 − exp(−slope · n)."
    for slope, share in ((0.5, 0.99), (1 / 256, 0.99), (0.25, 0.5), (1 / 64, 0.999), (3.0, 0.9)):
        yield case(slope=slope, share=share, why=nearest)
    for slope, share, want in ((50.0, 1e-6, 1), (1e-3, 0.999999, 13816), (1e-5, 0.99, 460518)):
        yield case(slope=slope, share=share, want=want, why=nearest)
    beyond = "Two keys have a little less than the share, and by more than rounding."
    yield case(slope=0.5, share=-math.expm1(-1 - 1e-6), want=3, why=beyond)
    for slope, n in ((0.3, 3), (0.3, 7), (0.3, 20), (0.1, 25), (0.05, 3), (0.05, 8), (0.05, 35)):
        exactly = f"After {n} keys the share is reached, up to rounding."
        yield case(slope=slope, share=-math.expm1(-slope * n), want=n, why=exactly)


@exercise(
    "7.9",
    praise="Steep slopes and gentle ones, shares that are reached exactly, and a share of nothing.",
    hints=(
        "Which part of the weight lies beyond the nearest n keys?",
        "The weights are a geometric series with the ratio exp(−slope).",
        "Solve exp(−slope · n) ≤ 1 − share for n, and round up.",
    ),
    cases=_slopes,
    kind=Number(),
    slips="""
        -math.log1p(-share) → -math.log(max(share, 1e-300))
            You took the share for the rest: what lies beyond is 1 − share.
        ceil → floor ;; - 1e-9 → + 1e-9
            Rounded down, the keys have less than the share.
        max(1, math.ceil(n - 1e-9)) → math.floor(n + 1e-9) + 1
            One key too many: where the share is reached exactly, it is reached.
        max(1, math.ceil(n - 1e-9)) → $ + 1
            One key too many: rounded up, and then one more.
        max(1, math.ceil(n - 1e-9)) → max(1, math.ceil(n - 1e-9) - 1)
            The query's own key is the first of the nearest, and you left it out.
        math.ceil(n - 1e-9) → math.ceil(n)
            Rounding brings n a little above a whole number, and you take one key too many.
        math.ceil(n - 1e-9) → math.ceil(n - 1e-2)
            You leave out a key that is needed: what rounding leaves is far smaller.
        -share → share * math.expm1(-slope)
            The weights are not divided by their sum.
        -share → share * math.expm1(-1000 * slope)
            Your text has a beginning, a thousand keys back.
        max(1, math.ceil(n - 1e-9)) → $ - 1
            One key too few: rounded down, or the query's own key forgotten.
        -math.log1p(-share) → -math.log2(1 - share)
            The logarithm to the base 2 is for halves; the weights fall by exp(−slope).
        max(1, math.ceil(n - 1e-9)) → math.ceil(n - 1e-9)
            With a share of 0 you return no key at all; at least one was asked for.
        max(1, math.ceil(n - 1e-9)) → max(1, round(n))
            Rounded to the nearest number, the keys may have less than the share.
        max(1, math.ceil(n - 1e-9)) → max(1.0, n)
            A number of keys is whole: the first that is enough.
        / slope → / (-math.log1p(-slope) if slope < 1 else math.inf)
            Weights fall by the factor exp(−slope) from position to position; you took 1 − slope.
        max(1, math.ceil(n - 1e-9)) → min(1000, $)
            You count a thousand keys at most; a gentle slope reads farther.
        = _added_up(slope, share)
            A sum of weights comes a last digit short of a share that it reaches: what is reached up
            to rounding is reached.
        / slope → * slope
            The slope should divide: the gentler it is, the farther the head reads.
    """,
)
def keys_for(slope: float, share: float) -> int:
    """The number of nearest keys that have a share of the weight."""
    n = -math.log1p(-share) / slope
    return max(1, math.ceil(n - 1e-9))


def _added_up(slope: float, share: float) -> int:
    """Return the number of keys whose weights, added one by one, come to a share."""
    total, n, weight = 0.0, 0, -math.expm1(-slope)
    while n < 1 or total < share:
        total, n = total + weight * math.exp(-slope * n), n + 1
    return n


def _outputs(q: Array, k: Array, v: Array) -> Array:
    return reference.attention(q, k, v.astype(float), mask=np.tri(len(q), dtype=bool), scale=1.0)


def _texts_to_count() -> Iterator[Case | Test]:
    marks = np.array([1.0, 0, 0])
    yield case(marks=marks, a=1.0, why="With a = 1 all words weigh the same: 1, 1/2, 1/3.")
    yield case(
        marks=marks, a=3.0, why="The first word weighs as much as three others: 1, 3/4, 3/5."
    )
    yield case(marks=marks, a=3.0, whole=True, why="Marks may be whole numbers.")
    yield case(marks=np.eye(5)[0], a=30.0, whole=True, why="Marks may be whole numbers.")
    yield case(marks=np.ones(1), a=7.0, why="One token attends to itself.")
    for n, a in ((2, 0.5), (20, 10.0), (50, 100.0), (200, 200.0), (6, 1e-4), (300, 1e7)):
        yield case(marks=np.eye(n)[0], a=a, why="Word t is to get a / (a + t − 1).")
    yield case(marks=marks, a=2.5, single=True, why="Marks may be of the type float32.")
    yield _same_in_another_text


def _same_in_another_text(f: Answer) -> None:
    """Raise Wrong where the row of a mark is another in a longer text."""
    names, (short, long) = COUNTED, (f.raw(marks=np.eye(n)[0], a=3.0).value for n in (3, 8))
    for name, one, other in zip(names, short, long, strict=True):
        if not np.allclose(one, np.asarray(other)[:3]):
            raise Wrong(
                f"With a = 3, your {name} of the same marks differ between a text of 3 words and "
                "one of 8. A row may depend on its mark only, and must not know the text."
            )


Parts = tuple[Array, ...]
COUNTED = ("queries", "keys", "values")


class Counter(Several):
    """Queries, keys and values of a layer that knows marks only, judged by its outputs."""

    def fit(self, f: Answer, got: Parts, want: Parts, said: str) -> None:
        """Raise Wrong unless the widths agree and words with one mark have one row."""
        n, (q, k, v) = len(want[0]), got
        if not (q.ndim == k.ndim == 2 and len(q) == n and q.shape == k.shape and v.shape == (n, 1)):
            raise Wrong(
                f"With {said}, {f.name} returns shapes {q.shape}, {k.shape} and {v.shape}; "
                f"each needs a row for each of {n} words, queries and keys one width, and values "
                "the width 1."
            )
        for name, part in zip(self.names, got, strict=True):
            if not np.isfinite(part.astype(float)).all():
                raise Wrong(
                    f"With {said}, your {name} hold numbers that are not finite. The logarithm of "
                    "a is below 0 where a is below 1, and has no root there."
                )
            if not np.allclose(part[1:], part[1:2]):
                raise Wrong(
                    f"With {said}, your {name} differ among the words without a mark. A row may "
                    "depend on its mark only, and must not know its position."
                )


@exercise(
    "7.10",
    praise="Texts of one word to two hundred, with a first word that weighs half a word, one, or "
    "two hundred.",
    hints=(
        "Which weights give word t the output a / (a + t − 1), if only the first value is 1?",
        "The first word must weigh as much as a others: exp of its score is a times theirs.",
        "A query of 1 and a key of log a for the first word, 0 for the others, would do.",
    ),
    cases=_texts_to_count,
    kind=Counter(
        by=_outputs,
        called="the causal attention of your queries, keys and values",
        names=COUNTED,
    ),
    slips="""
        math.log(a) * m → a * m
            The first key scores a; its weight is then exp(a) times that of the others.
        math.log(a) * m → 0 * m
            The number a has no effect: every word has to ask, and the first key to answer.
        math.log(a) * m → math.log(a) * (1 - m)
            The others have the large key; it belongs to the first word.
        math.log(a) → math.log(a + 1)
            The first word weighs a + 1 times as much as another.
        np.ones_like(m) → 2 * $
            The first key scores twice log a: something doubles it, a query of 2 or a scale that was
            made good, and is 1 here.
        math.log(a) → math.log2(a)
            The logarithm to the base 2 is too large: the weights are powers of e.
        math.log(a) * m → 0 * m ;; 1.0 * m → a * m
            The weight stands in the values, and outputs are a/t: it belongs to the scores.
        1.0 * m → a * m
            The value of the first word is a; it should be 1, or outputs exceed 1.
        math.log(a) → max(math.log(a), 0.0)
            With a below 1 the first key scores less than 0; yours stops there.
        1.0 * m → 2.0 * m - 1
            The values of the others are −1; they should be 0.
        1.0 * m → 1 - m
            The values of the others are 1 and that of the first is 0.
        = counting_head(marks, a)[::-1]
            Every output is 1, as where all values are 1, or queries and values have changed places.
            The order is queries, keys, values, and only the first word has the value 1.
    """,
    otherwise="Compare with a / (a + t − 1) for the words t = 1, 2, 3, …",
)
def counting_head(marks: Array, a: float) -> Parts:
    """Queries, keys and values of a layer that counts."""
    m = marks[:, None]
    return np.ones_like(m), math.log(a) * m, 1.0 * m
