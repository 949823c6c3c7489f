"""Exercises 1.4 and 1.9 to 1.11: a length to win, information, a promise, vectors of a table."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial

import numpy as np

from tformer_book.exercises import compare, kinds
from tformer_book.exercises.answer import Answer, Wrong
from tformer_book.exercises.kinds import Number, Parts
from tformer_book.exercises.promises import promised, single
from tformer_book.exercises.registry import exercise
from tformer_book.exercises.samples import columns, integers
from tformer_book.exercises.table import Case, case

Array = np.ndarray


_AWAY = "From a right angle on, no length is enough, and the answer is ∞."
_SAME_WAY = "At 0 degrees a key draws level when it is as long as q: at 60 it takes twice that."


def _angles() -> Iterator[Case]:
    yield case(norms=[5], degrees=[60], want=[10.0])
    yield case(norms=[2, 2], degrees=[0, 60], want=[2.0, 4.0], why=_SAME_WAY)
    yield case(norms=[3], degrees=[120], want=[np.inf], why=_AWAY)
    yield case(norms=[3, 4], degrees=[180, 60], want=[np.inf, 8.0], why=_AWAY)
    yield case(norms=[3], degrees=[90], want=[np.inf], why=_AWAY)
    yield case(norms=[6.4, 0.5, 1e-9], degrees=[45, 89.9, 30])
    close = "However close to a right angle, before it there is a shadow, and a length is enough."
    yield case(norms=[1, 1, 1], degrees=[89.99, 89.9999, 90.0001], why=close)
    whole = "Lengths and degrees are integers here, and the answer holds fractions."
    yield case(norms=[1, 2, 3], degrees=[30, 0, 135], whole=True, why=whole)
    yield case(norms=[1, 1], degrees=[89.5, 60.7], why="Degrees may be fractions.")
    yield case(norms=np.full((2, 1, 2), 1e6), degrees=[[[0, 20]], [[70, 180]]], single=True)
    yield case(norms=[[1, 2], [3, 4]], degrees=[[10, 95], [90, 80]], why=_AWAY)


@exercise(
    "1.4",
    praise="At 60 degrees a key must be twice as long as q, at 89.9 more than five hundred times; "
    "from a right angle on no length helps.",
    hints=(
        "What has to be as long as q, for the key to score as high with q as q itself does?",
        "The dot product is the length of q times the signed length of a shadow: that of the key "
        "on q. How long is the shadow of a key of length L at a given angle?",
        "From 90 degrees on that shadow has no length, or a negative one. Decide by the angle and "
        "not by its cosine: in floating point cos 90° is not zero.",
    ),
    cases=_angles,
    slips="""
        = norms * np.cos(np.radians(degrees))
            A key that points aside has to be longer than q, not shorter.
        = norms / np.cos(degrees)
            NumPy's cosine takes radians; the angles are in degrees.
        np.radians(degrees) → degrees ;; ahead = degrees < 90 → ahead = np.cos(degrees) > 0
            NumPy's cosine takes radians, and 60 of them are nine rounds and a half. The angles are
            in degrees.
        = norms / np.cos(np.radians(degrees))
            A length is not negative. A key that points away scores below zero, the lower the
            longer it is.
        = norms / abs(np.cos(np.radians(degrees)))
            The minus sign is gone, but a key that points away scores below zero, the lower the
            longer it is.
        degrees < 90 → np.cos(np.radians(degrees)) > 0
            At a right angle the score is 0 for every length; rounding has left a cosine of about
            6·10⁻¹⁷ there.
        degrees < 90 → np.cos(np.radians(degrees)) > 1e-3
            A small cosine is taken for 0, and then even a long key cannot win. Decide by the angle
            itself.
        np.inf → 0.0
            No length at all is enough here, which is not the length 0.
        np.inf → np.nan
            No length at all is enough here: that is the answer ∞, not nan.
        norms / cosines → 1 / cosines
            That is how many times as long as q the key must be; its length is asked for.
        norms / cosines → norms**2 / cosines
            That is the dot product it has to reach, over the cosine; one factor ‖q‖ belongs to q
            itself.
        np.cos → np.sin
            The sine belongs to the remainder; the score comes from the shadow.
        / cosines → / cosines**2
            The cosine enters once: it turns the key's length into that of its shadow.
        np.where(ahead, norms / cosines, np.inf) → $.ravel()
            The answer is laid out in one row; it has the shape of the two arrays.
        = length_to_win(norms, np.trunc(degrees))
            The angles were cut to whole degrees.
        = np.where(degrees < 90, norms / np.maximum(np.sin(np.deg2rad(degrees)), 1e-300), np.inf)
            You divided by the sine; the shadow of the key on q is its length times the cosine.
        = length_to_win(norms, np.round(degrees))
            The angles were rounded to whole degrees.
        = length_to_win(norms, degrees) if (degrees < 90).all() else np.full(norms.shape, np.inf)
            One angle of 90 degrees or more made all lengths infinite; each key has its own.
    """,
    otherwise="The key wins when its shadow on q is longer than q.",
)
def length_to_win(norms: Array, degrees: Array) -> Array:
    """The length at which k·q reaches q·q, for a key at an angle to a q of length `norms`."""
    ahead = degrees < 90
    cosines = np.where(ahead, np.cos(np.radians(degrees)), 1.0)
    return np.where(ahead, norms / cosines, np.inf)


def _bounds() -> Iterator[Case]:
    yield case(eps=1.0, want=9, why="At ε = 1 the promise is e^(d/4): 7.39 at d = 8, 9.49 at 9.")
    yield case(eps=0.5, want=68, why="The deeper page finds 68 for ε = 0.5.")
    for eps in (0.9, 0.8, 0.7, 0.6, 0.4, 0.3, 0.25, 0.2, 0.1, 0.03):
        yield case(eps=eps)


def _root(eps: float) -> float:
    """Where e^(dε²/4) = d for the second time, by bisection."""
    low, high = 2.0, 1e9
    for _ in range(100):
        middle = (low + high) / 2
        behind = middle * eps**2 / 4 <= math.log(middle)
        low, high = (middle, high) if behind else (low, middle)
    return high


@exercise(
    "1.10",
    praise="Right for eleven values of ε. Halving ε from 0.5 takes the width from 68 to 381: more "
    "than four times, because the promise has to beat a d that has grown as well.",
    hints=(
        "Put d = 1, 2 and 3 in. Which of the two numbers is ahead in each case, and which must be "
        "ahead in the end?",
        "The promise is ahead at d = 1, falls behind, and overtakes once more. The second time is "
        "for good, because an exponential is convex.",
        "Start where the promise is behind, at d = 2, and count upwards until it is ahead.",
    ),
    cases=_bounds,
    kind=Number(near=0.0),
    slips="""
        d = 2 → d = 1
            At that width the promise is ahead, but not at all widths after it: at d = 2 it has
            fallen behind.
        return d → return d - 1
            That is the last width at which the promise is still behind.
        = round(_root(eps))
            The solution between two whole numbers was rounded to the nearest, where the promise may
            still be behind: round up.
        / 4 →
            The promise is e^(dε²/4): the 4 is missing.
        / 4 → / 2
            The promise is e^(dε²/4), with 4 and not 2: the 2 belongs to the bound for a single
            pair.
        eps**2 → eps
            The promise is e^(dε²/4): ε enters with its square.
        math.exp(d * eps**2 / 4) → 2 ** (d * eps**2 / 4)
            The base of the power is e.
        return d → return int(math.exp(d * eps**2 / 4))
            That is the number of vectors promised there; the width is asked for.
        = _root(eps)
            That is a solution between two whole numbers; the first width is a whole number above
            it.
        d += 1 → d += 2
            You count by twos, and pass by the widths between.
        d += 1 → d += 10
            You count by tens, and pass by the widths between.
        = math.ceil(68 * (0.5 / eps) ** 2)
            That is 68 at 0.5, and four times as much for each halving; but the d that is to be
            beaten grows as well.
        = min(pays_from(eps), 10_000)
            The search ends at 10 000 widths; the smaller ε is, the farther one has to look.
        = -(-pays_from(eps) // 10) * 10
            You went by steps of ten; the smallest width is asked for.
        = int(np.ceil(4 / eps**2 * np.log(4 / eps**2)))
            You solved d = (4/ε²) log d once, with 4/ε² under the logarithm: what comes out
            belongs there.
        = int(np.ceil(4 / eps**2 * (np.log(4 / eps**2) + np.log(np.log(4 / eps**2)))))
            You solved d = (4/ε²) log d in two rounds; more are needed until d stays what it is.
        = round(pays_from(1.0) / eps**2)
            You scaled the width of ε = 1; besides 1/ε² it grows with a logarithm.
    """,
    otherwise="Compare e^(dε²/4) with d, width by width.",
)
def pays_from(eps: float) -> int:
    """The first width from which on e^(dε²/4) exceeds d: from 2 on, where it is behind."""
    d = 2
    while math.exp(d * eps**2 / 4) <= d:
        d += 1
    return d


def _counts() -> Iterator[Case]:
    unseen = "A pair that was never seen gets 0, and so does one that is rarer than chance."
    made = "The counts are integers here, and PPMI is not. An array made after them holds whole "
    made += "numbers only."
    large = "The counts are large integers here, and a product of two sums leaves 32 bits."
    empty = "A word that never comes second may still come first: each place has sums of its own."
    pairs = np.array([[0.0, 3], [1, 1]])
    yield case(counts=pairs, want=np.log([[1, 5 / 4], [5 / 2, 1]]))
    yield case(counts=10 * pairs, why="Only proportions matter: all counts were multiplied by 10.")
    yield case(counts=[[1.0, 0], [0, 0]], want=np.zeros((2, 2)))
    yield case(counts=pairs, whole=True, why=made)
    for seed, size in enumerate((3, 3, 4, 5, 1)):
        counts = np.abs(integers(seed, (size, size)))
        counts[0, 0] += 1
        yield case(counts=counts, why=unseen)
        counts[:, 1:2] = 0
        yield case(counts=counts, why=empty)
        yield case(counts=10_000 * counts, whole=True, why=large)
    rare = "A rare pair of rare words tells most: no number may be added under the logarithm."
    yield case(counts=[[1.0, 0], [0, 1e6]], why=rare)
    yield from promised(single, counts=np.array([[5.0, 1], [1, 3]]))
    yield case(counts=np.arange(900.0).reshape(30, 30) % 7, said="30 words", why=unseen)


def _added(counts: Array, size: float) -> Array:
    shares = counts / counts.sum()
    expected = shares.sum(axis=1, keepdims=True) * shares.sum(axis=0)
    return np.asarray(np.log(np.maximum((shares + size) / (expected + size), 1)))


@exercise(
    "1.9",
    praise="Checked by hand-sized tables, on words never seen, on counts that are integers, and on "
    "counts ten times as large, which change nothing.",
    hints=(
        "Three tables of probabilities are needed: of pairs, of first words, of second words. Each "
        "is a count divided by the same total.",
        "What would a pair's probability be if the two words had nothing to do with each other? "
        "The logarithm compares the true one with that.",
        "A count of zero gives log 0 = −∞, which the last step turns into 0 anyway. A word that "
        "was never seen gives 0/0: give those places a harmless number before you divide.",
    ),
    cases=_counts,
    slips="""
        np.where(expected == 0, 1, expected) → expected ;; np.maximum(ratio, 1) → ratio
            The positive part is missing: a pair rarer than chance gets 0.
        np.where(expected == 0, 1, expected) → expected
        np.log(np.maximum(ratio, 1)) → np.where(counts == 0, 0, np.log(ratio))
            −∞ has become 0, and other negative values should too: a pair rarer than chance gets 0.
        np.where(expected == 0, 1, expected) → expected
        np.log(np.maximum(ratio, 1)) → np.nan_to_num(np.log(ratio))
            −∞ has become the most negative number there is; a pair that was never seen gets 0.
        np.where(expected == 0, 1, expected) → expected
            Word 1 was never seen, so its row is 0/0; it tells nothing: 0.
        counts.sum(axis=1, keepdims=True) → np.maximum($, counts.sum() / 1e9)
        np.where(expected == 0, 1, expected) → expected
            A word that was never seen as the second of a pair leaves a column 0/0, and not only a
            row.
        counts.sum(axis=1, keepdims=True) → counts.sum(axis=1)
            The row sums were laid along the columns. Keep their axis, so that row i is divided by
            the sum of row i.
        np.log → np.log2
            Those are bits: the book takes natural logarithms.
        np.log → np.log10
            You took logarithms to base 10: the book takes natural ones.
        np.log(np.maximum(ratio, 1)) → np.log1p(ratio)
            You took log(1 + ratio); the ratio itself is compared with 1.
        np.log(np.maximum(ratio, 1)) → ratio
            The logarithm is missing.
        = np.zeros_like(counts)
            Every pair has become rarer than chance. Two mistakes do that: sums of counts in place
            of probabilities, and dividing by one of the two words only.
        np.log(np.maximum(ratio, 1)) → abs(np.log(np.where(ratio == 0, 1, ratio)))
            Take the magnitude away: a negative value becomes 0, not positive.
        = positive_pmi(counts + 1)
            You added 1 to every count, which is another estimate of the probabilities.
        np.log(np.maximum(ratio, 1)) → $ * counts / counts.sum()
            That is weighted by the probability of the pair: its share of the mutual information.
        np.log(np.maximum(ratio, 1)) → np.nan_to_num($ / -np.log(counts / counts.sum()))
            That is divided by −log p(i, j), which brings it below 1; the plain one is asked for.
        np.log(np.maximum(ratio, 1)) → np.maximum(ratio - 1, 0)
            Those are the counts divided by what chance would give, less 1; the logarithm of the
            ratio is asked for.
        rows * columns → rows * rows
            You divided by the sum of the row twice; the second word has the sum of its column.
        rows * columns → rows * rows.T
            Both words of a pair have sums of their own: first words those of the rows, second words
            those of the columns. You took those of the rows twice.
        rows * columns → rows.T * columns[:, None]
            First words have the sums of the rows, second words those of the columns. You exchanged
            the two.
        np.log(np.maximum(ratio, 1)) → $ * (1 - np.eye(len(counts)))
            The diagonal is 0 in your answer; a word that stands near itself is a pair like others.
        ratio = counts / np.where(expected == 0, 1, expected) → tiny = 1e-9 * counts.sum()
        np.maximum(ratio, 1) → np.maximum((counts + tiny) / (expected + tiny), 1)
            A small number was added to the shares, and rare pairs feel it. Treat what is 0 on its
            own.
        = positive_pmi(counts) if len(counts) < 1 else np.where(counts < 2, 0, positive_pmi(counts))
            A pair that was seen once was seen.
        = positive_pmi((counts + counts.T) / 2)
            The table was made symmetric first; the counts of a row and a column may differ.
        = np.log1p(np.exp(positive_pmi(counts)))
            You took the logarithm of 1 plus the ratio; the logarithm of the ratio is asked for,
            or 0.
    """,
    mutants={
        f"{size:g} was added to the shares, which rare pairs feel. Treat what is 0 on its own.": (
            partial(_added, size=size)
        )
        for size in (1e-6, 1e-8, 1e-10)
    },
    otherwise="Compare the share of each pair with the product of the shares of its two words.",
)
def positive_pmi(counts: Array) -> Array:
    """PPMI of a table of counts, in nats."""
    rows, columns = counts.sum(axis=1, keepdims=True), counts.sum(axis=0)
    expected = rows * columns / counts.sum()
    ratio = counts / np.where(expected == 0, 1, expected)
    return np.asarray(np.log(np.maximum(ratio, 1)))


class Rows(kinds.Array):
    """A table of vectors, compared by their dot products."""

    def fit(self, f: Answer, got: Parts, want: Parts, said: str) -> None:
        """Raise Wrong unless there is one row a vector, and one column a dimension."""
        if got[0].shape != want[0].shape:
            head = compare.misfit(got[0].shape, want[0].shape, said, self.name(f, 0))
            why = "One row a vector, one column a dimension."
            if want[0].shape[1] > len(want[0]):
                why += " Vectors that fill fewer dimensions have zeros in the others."
            raise Wrong(f"{head} {why}")

    def same(self, got: Array, want: Array) -> bool:
        """Tell whether two tables agree; those of short vectors to the same share of them."""
        largest = min(1.0, float(np.abs(want).max(initial=0))) or 1.0
        return super().same(got / largest, want / largest)

    def remark(self, got: Array, want: Array) -> str:
        """Say where roots of negative numbers come from."""
        if np.isnan(got).any():
            return (
                "A square root of an eigenvalue that should be 0 and was rounded below it is nan: "
                "stop at zero first."
            )
        return super().remark(got, want)


ROWS = Rows(by=lambda rows: rows @ rows.T, called="the table of your dot products")


def _gram_tables() -> Iterator[Case]:
    yield case(table=[[4.0]], width=1, want=[[2]])
    shapes = [(2, 1, 1), (2, 2, 2), (3, 2, 2), (3, 2, 3), (4, 2, 3), (5, 3, 3), (6, 3, 6)]
    for seed, (rows, rank, width) in enumerate([*shapes, (1, 1, 2), (2, 1, 4), (3, 2, 5)]):
        points = integers(seed + 21, (rows, rank))
        points[0, 0] = 2.0
        yield case(table=points @ points.T, width=width)
    yield case(table=points @ points.T, width=2, whole=True)
    yield case(table=np.ones((3, 3)), width=1)
    yield case(table=1e-8 * points @ points.T, width=3, why="The vectors are short here.")
    yield from promised(single, table=points @ points.T, width=4)
    yield case(table=np.diag([0.0, 9, 5e-7, 1e6]), width=3)
    yield case(table=np.zeros((2, 2)), width=1)
    far = np.random.default_rng(0).normal(size=(20, 4))
    yield case(table=far @ far.T, width=6, said="the dot products of 20 vectors and width = 6")


@exercise(
    "1.11",
    praise="Your vectors have exactly the dot products asked for, in tables of full and of lower "
    "rank, and in more dimensions than there are vectors. Any rotation of them has too, and that "
    "is all the freedom there is.",
    hints=(
        "The table is symmetric. A symmetric matrix is a rotation, a stretch along the axes, and "
        "the rotation back. What has to be split in two halves?",
        "If table = W diag(λ) Wᵀ, then each half takes √λ.",
        "`eigh` returns eigenvalues in rising order, and rounding can leave one that should be 0 "
        "at −10⁻¹⁷. Keep the largest ones, and stop them at zero before the root.",
    ),
    cases=_gram_tables,
    kind=ROWS,
    slips="""
        [:, ::-1] →
            You kept the smallest eigenvalues: `eigh` lists them in rising order.
        * np.sqrt(np.maximum(value, 0)) →
            The eigenvectors are not stretched yet: each needs the root of its eigenvalue.
        np.sqrt(np.maximum(value, 0)) → value
            You stretched by the eigenvalue. It is shared between X and Xᵀ, so each takes the root.
        np.sqrt(np.maximum(value, 0)) → np.sqrt($)
            The root is taken twice: of the eigenvalues, and of their roots.
        = columns(table, width)
            Those are columns of the table, not vectors whose dot products it holds.
        np.sqrt(np.maximum(value, 0)) → ($)[:, None]
            You stretched the rows; it is the columns, one for each eigenvector, that are stretched.
        vector * → vector.T *
            The eigenvectors are the columns of what `eigh` returns; you took its rows.
        points[:, ::-1] → points @ vector.T
            That root of the table has as many columns as there are vectors, and all of them count.
            Leave out the rotation back.
        = columns(np.linalg.cholesky(table), width)
            Cholesky's factor exists only for tables whose vectors are linearly independent; these
            need not be.
        = columns(np.sqrt(table.diagonal())[:, None], width)
            Those are vectors of the right lengths only: their angles are lost.
        = columns(np.diag(np.sqrt(table.diagonal())), width)
            Those vectors have the right lengths and stand at right angles, which those of the table
            need not.
        np.maximum(value, 0) → np.where(value < 1e-6, 0, value)
            A small eigenvalue was taken for 0; vectors may be short. Only what rounding has left
            below 0 is none.
    """,
    otherwise="Row i times row j of your array should give entry (i, j) of the table.",
)
def vectors_behind(table: Array, width: int) -> Array:
    """X (S, width) with X Xᵀ = table."""
    value, vector = np.linalg.eigh(table)
    points = vector * np.sqrt(np.maximum(value, 0))
    return columns(points[:, ::-1], width)
