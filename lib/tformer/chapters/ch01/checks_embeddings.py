"""Exercises 1.4 and 1.9 to 1.11: a length to win, information, a promise, vectors of a table."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np

from tformer import reference
from tformer.exercises import compare, kinds
from tformer.exercises.answer import Answer, Wrong
from tformer.exercises.kinds import Number, Parts
from tformer.exercises.registry import exercise
from tformer.exercises.samples import columns, integers
from tformer.exercises.table import Case, Function, case

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
    yield case(norms=[[1, 2], [3, 4]], degrees=[[10, 95], [90, 80]], why=_AWAY)


def _shadow(degrees: Array) -> Array:
    return np.asarray(np.cos(np.radians(degrees)))


def _before_90(length: Function, beyond: float = np.inf) -> Function:
    """A length for keys on the side of q, and ∞ or another number for the others."""
    return lambda norms, degrees: np.where(degrees < 90, length(norms, degrees), beyond)


def _over_shadow(norms: Array, degrees: Array) -> Array:
    return np.asarray(norms / _shadow(degrees))


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
    mutants={
        "A key that points aside has to be longer than q, not shorter.": (
            lambda norms, degrees: norms * _shadow(degrees)
        ),
        "NumPy's cosine takes radians; the angles are in degrees.": (
            lambda norms, degrees: norms / np.cos(degrees)
        ),
        "A length is not negative. A key that points away scores below zero, the lower the longer "
        "it is.": _over_shadow,
        "The minus sign is gone, but a key that points away scores below zero, the lower the "
        "longer it is.": lambda norms, degrees: norms / np.abs(_shadow(degrees)),
        "At a right angle the score is 0 for every length; rounding has left a cosine of about "
        "6·10⁻¹⁷ there.": lambda norms, degrees: np.where(
            _shadow(degrees) > 0, norms / _shadow(degrees), np.inf
        ),
        "No length at all is enough here, which is not the length 0.": (
            _before_90(_over_shadow, beyond=0)
        ),
        "No length at all is enough here: that is the answer ∞, not nan.": (
            _before_90(_over_shadow, beyond=np.nan)
        ),
        "That is how many times as long as q the key must be; its length is asked for.": (
            _before_90(lambda norms, degrees: 1 / _shadow(degrees))
        ),
        "That is the dot product it has to reach, over the cosine; one factor ‖q‖ belongs to q "
        "itself.": _before_90(lambda norms, degrees: norms**2 / _shadow(degrees)),
        "The sine belongs to the remainder; the score comes from the shadow.": (
            _before_90(lambda norms, degrees: norms / np.sin(np.radians(degrees)))
        ),
        "The cosine enters once: it turns the key's length into that of its shadow.": _before_90(
            lambda norms, degrees: norms / _shadow(degrees) ** 2
        ),
    },
    otherwise="The key wins when its shadow on q is longer than q.",
)
def length_to_win(norms: Array, degrees: Array) -> Array:
    """The length at which k·q reaches q·q, for a key at an angle to a q of length `norms`."""
    with np.errstate(all="ignore"):
        return np.asarray(_before_90(_over_shadow)(norms, degrees))


def _bounds() -> Iterator[Case]:
    yield case(eps=1.0, want=9, why="At ε = 1 the promise is e^(d/4): 7.39 at d = 8, 9.49 at 9.")
    yield case(eps=0.5, want=68, why="The deeper page finds 68 for ε = 0.5.")
    for eps in (0.9, 0.8, 0.7, 0.6, 0.4, 0.3, 0.25, 0.2, 0.1):
        yield case(eps=eps)


def _first(promise: Callable[[int, float], float], start: int = 2) -> Callable[[float], int]:
    """A wrong answer: the first width, from `start`, at which another promise exceeds d."""

    def width(eps: float) -> int:
        d = start
        while promise(d, eps) <= d:
            d += 1
        return d

    return width


def _width(eps: float) -> int:
    """Count upwards from 2, where the promise is behind."""
    return _first(lambda d, eps: math.exp(d * eps**2 / 4))(eps)


def _root(eps: float) -> float:
    """Where e^(dε²/4) = d for the second time, by bisection."""
    low, high = _width(eps) - 1.0, float(_width(eps))
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if math.exp(middle * eps**2 / 4) <= middle else (low, middle)
    return high


_PROMISE = "The promise is e^(dε²/4)"


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
    kind=Number(),
    mutants={
        "At that width the promise is ahead, but not at all widths after it: at d = 2 it has "
        "fallen behind.": _first(lambda d, eps: math.exp(d * eps**2 / 4), start=1),
        "That is the last width at which the promise is still behind.": (
            lambda eps: _width(eps) - 1
        ),
        f"{_PROMISE}: the 4 is missing.": _first(lambda d, eps: math.exp(d * eps**2)),
        f"{_PROMISE}, with 4 and not 2: the 2 belongs to the bound for a single pair.": (
            _first(lambda d, eps: math.exp(d * eps**2 / 2))
        ),
        f"{_PROMISE}: ε enters with its square.": _first(lambda d, eps: math.exp(d * eps / 4)),
        "The base of the power is e.": _first(lambda d, eps: 2 ** (d * eps**2 / 4)),
        "That is the number of vectors promised there; the width is asked for.": (
            lambda eps: int(math.exp(_width(eps) * eps**2 / 4))
        ),
        "That is a solution between two whole numbers; the first width is a whole number above "
        "it.": _root,
    },
    otherwise="Compare e^(dε²/4) with d, width by width.",
)
def pays_from(eps: float) -> int:
    """The first width from which on e^(dε²/4) exceeds d."""
    return _width(eps)


def _counts() -> Iterator[Case]:
    unseen = "A pair that was never seen gets 0, and so does one that is rarer than chance."
    made = "The counts are integers here, and PPMI is not. An array made after them holds whole "
    made += "numbers only."
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
        yield case(counts=10_000 * counts, whole=True, why=unseen)


def _information(counts: Array) -> Array:
    """Pointwise mutual information, −∞ and nan included."""
    return np.asarray(np.log(_ratio(counts)))


def _ratio(counts: Array) -> Array:
    product = counts.sum(-1, keepdims=True) * counts.sum(0)
    return np.asarray(counts * counts.sum() / product)


def _positive(counts: Array) -> Array:
    return np.nan_to_num(np.maximum(counts, 0))


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
    mutants={
        "The positive part is missing: a pair rarer than chance gets 0.": _information,
        "−∞ has become 0, and other negative values should too: a pair rarer than chance gets "
        "0.": lambda counts: np.where(counts == 0, 0, _information(counts)),
        "−∞ has become the most negative number there is; a pair that was never seen gets "
        "0.": lambda counts: np.nan_to_num(_information(counts)),
        "Word 1 was never seen, so its row is 0/0; it tells nothing: 0.": (
            lambda counts: np.maximum(_information(counts), 0)
        ),
        "The row sums were laid along the columns. Keep their axis, so that row i is divided by "
        "the sum of row i.": lambda counts: _positive(
            np.log(counts * counts.sum() / (counts.sum(1) * counts.sum(0)))
        ),
        "Those are bits: the book takes natural logarithms.": (
            lambda counts: reference.ppmi(counts) / np.log(2)
        ),
        "You took logarithms to base 10: the book takes natural ones.": (
            lambda counts: reference.ppmi(counts) / np.log(10)
        ),
        "You took log(1 + ratio); the ratio itself is compared with 1.": (
            lambda counts: np.log1p(np.nan_to_num(_ratio(counts)))
        ),
        "The logarithm is missing.": lambda counts: np.nan_to_num(_ratio(counts)),
        "Every pair has become rarer than chance. Two mistakes do that: sums of counts in place "
        "of probabilities, and dividing by one of the two words only.": np.zeros_like,
        "Take the magnitude away: a negative value becomes 0, not positive.": lambda counts: (
            np.nan_to_num(np.abs(_information(counts)), posinf=0)
        ),
        "You added 1 to every count, which is another estimate of the probabilities.": (
            lambda counts: reference.ppmi(counts + 1)
        ),
        "That is weighted by the probability of the pair: its share of the mutual information.": (
            lambda counts: reference.ppmi(counts) * counts / counts.sum()
        ),
        "That is divided by −log p(i, j), which brings it below 1; the plain one is asked for.": (
            lambda counts: _positive(-_information(counts) / np.log(counts / counts.sum()))
        ),
        "Those are the counts divided by what chance would give, less 1; the logarithm of the "
        "ratio is asked for.": lambda counts: _positive(_ratio(counts) - 1),
        "Both words of a pair have sums of their own: first words those of the rows, second words "
        "those of the columns. You took those of the rows twice.": lambda counts: _positive(
            np.log(counts * counts.sum() / np.outer(counts.sum(1), counts.sum(1)))
        ),
        "First words have the sums of the rows, second words those of the columns. You exchanged "
        "the two.": lambda counts: _positive(
            np.log(counts * counts.sum() / np.outer(counts.sum(0), counts.sum(1)))
        ),
    },
    otherwise="Compare the share of each pair with the product of the shares of its two words.",
)
def positive_pmi(counts: Array) -> Array:
    """PPMI of a table of counts, in nats."""
    return reference.ppmi(counts)


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
    yield case(table=np.diag([0.0, 9, 1e-6, 1e6]), width=3)
    yield case(table=np.zeros((2, 2)), width=1)
    far = np.random.default_rng(0).normal(size=(20, 4))
    yield case(table=far @ far.T, width=6, said="the dot products of 20 vectors and width = 6")


def _eigen(stretch: Function, sort: int = -1) -> Function:
    """Eigenvectors times what is made of their values, the largest first for `sort` −1."""

    def rows(table: Array, width: int) -> Array:
        value, vector = np.linalg.eigh(table)
        return columns((vector * stretch(value))[:, ::sort], width)

    return rows


def _roots(value: Array) -> Array:
    return np.asarray(np.sqrt(np.maximum(value, 0)))


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
    mutants={
        "You kept the smallest eigenvalues: `eigh` lists them in rising order.": _eigen(_roots, 1),
        "The eigenvectors are not stretched yet: each needs the root of its eigenvalue.": (
            _eigen(np.ones_like)
        ),
        "You stretched by the eigenvalue. It is shared between X and Xᵀ, so each takes the "
        "root.": _eigen(np.asarray),
        "The root is taken twice: of the eigenvalues, and of their roots.": (
            _eigen(lambda value: np.sqrt(_roots(value)))
        ),
        "Those are columns of the table, not vectors whose dot products it holds.": columns,
        "The eigenvectors are the columns of what `eigh` returns; you took its rows.": (
            lambda table, width: columns(
                (np.linalg.eigh(table)[1].T * _roots(np.linalg.eigh(table)[0]))[:, ::-1], width
            )
        ),
        "That root of the table has as many columns as there are vectors, and all of them count. "
        "Leave out the rotation back.": lambda table, width: columns(
            _eigen(_roots)(table, len(table)) @ np.linalg.eigh(table)[1][:, ::-1].T, width
        ),
        "Cholesky's factor exists only for tables whose vectors are linearly independent; these "
        "need not be.": lambda table, width: columns(np.linalg.cholesky(table), width),
        "Those are vectors of the right lengths only: their angles are lost.": (
            lambda table, width: columns(_roots(table.diagonal())[:, None], width)
        ),
        "Those vectors have the right lengths and stand at right angles, which those of the table "
        "need not.": lambda table, width: columns(np.diag(_roots(table.diagonal())), width),
    },
    otherwise="Row i times row j of your array should give entry (i, j) of the table.",
)
def vectors_behind(table: Array, width: int) -> Array:
    """X (S, width) with X Xᵀ = table."""
    return _eigen(_roots)(table, width)
