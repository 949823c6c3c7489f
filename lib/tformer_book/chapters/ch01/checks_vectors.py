"""Exercises 1.1 to 1.3: one dot product, one cosine, one projection per row."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tformer.reference import norm
from tformer_book.exercises.answer import Answer
from tformer_book.exercises.kinds import Parts, Several
from tformer_book.exercises.promises import promised, single, stacked, zeros
from tformer_book.exercises.registry import exercise
from tformer_book.exercises.samples import integers, stacks
from tformer_book.exercises.table import Case, case

Array = np.ndarray

Pair = tuple[Array, Array]
_Q, _K, _LEFT = np.array([3.0, 4]), np.array([4.0, 3]), np.array([-2.0, 0])
_ALONG = np.array([3.84, 2.88])  # what lies of _Q along _K
_LAST_AXIS = "Coordinates lie along the last axis; all axes before it only stack vectors."
_SHORT = (
    "A number added to the denominator, or a threshold below which a vector counts as zero, is "
    "felt by every short vector. Only a vector of length exactly 0 is special."
)
_ONE_ZERO = "Some of the k are zero here; the rows of the others stay as they were."
_WHOLE = (
    "The coordinates are integers here. An array made after them, by `zeros_like` for instance, "
    "holds whole numbers only."
)


def _pairs() -> Iterator[Case]:
    yield case(q=[1.0, 2], k=[3.0, 5], want=13.0)
    yield case(q=[[1.0, 2], [3, 4]], k=[[5.0, 6], [7, 8]], want=(17.0, 53.0))
    for shape in (2, 2, 3), (4, 3, 2), (2, 1, 3), (2, 3, 1):
        for q, k in stacks(2, shape):
            yield case(q=q, k=k, why=_LAST_AXIS)
    rows, one = [[1.0, 0], [0, 1], [1, 1]], "Here one k serves all rows of q."
    yield case(q=rows, k=_Q, want=(3.0, 4.0, 7.0), why=one)
    yield case(q=integers(3, (2, 2)), k=_Q, why=one)
    q, k = integers(1, (3, 2, 4)), integers(2, (3, 2, 4))
    yield case(q=q, k=k[0, 0], why=one)
    deep = integers(4, (2, 3, 2, 3, 2))
    yield case(q=deep, k=deep[::-1], why=_LAST_AXIS)
    yield case(q=1000 * q, k=k, whole=True, why=_LAST_AXIS)
    long: dict[str, Any] = {"q": [[70_000.0, 1], [3, 50_000]], "k": [[60_000.0, 2], [1, 80_000]]}
    yield case(**long, want=(4_200_000_002.0, 4_000_000_003.0), whole=True)
    yield case(q=q / 4, k=k / 2, why="The products are fractions here, and so are their sums.")
    yield from promised(zeros("k"), single, stacked, q=q / 3, k=k)


@exercise(
    "1.1",
    praise="Checked on single vectors, on stacks of every depth up to three and on one key shared "
    "by many queries: the last axis is summed and every other axis stays.",
    hints=(
        "A dot product does two things in turn: it multiplies matching coordinates, then adds. "
        "What shape do you have between the two?",
        "The products have the shape of q. Only the last axis may disappear, however many.",
        "NumPy counts axes from the end with negative numbers, so the last one has the same name "
        "in every stack.",
    ),
    cases=_pairs,
    slips="""
        .sum(axis=-1) →
            The products are not added up yet: add along the last axis.
        axis=-1 →
            You added up everything; each row keeps its own sum.
        axis=-1 → axis=0
            You added down the columns (axis 0); the coordinates of a vector lie along the last
            axis.
        (q * k).sum(axis=-1) → q @ k
            That is the matrix product of q and k, which mixes rows of q with columns of k.
        (q * k).sum(axis=-1) → q @ k.T
            That is the table of every row of q with every row of k. Row 0 meets only row 0 here:
            your diagonal.
        axis=-1 → axis=min(1, q.ndim - 1)
            You added along axis 1, which is the last axis only in a matrix. Count from the end:
            axis −1.
        axis=-1 → axis=tuple(range(1, q.ndim)) or 0
            You added along every axis but the first, which is right in a matrix only.
        sum → mean
            That is the mean of the products; a dot product is their sum.
        q * k → q + k
            You added q and k; their coordinates are to be multiplied.
        = cosine(q, k)
            That is the cosine: the dot product is not divided by the lengths.
        q * k → abs($)
            You added magnitudes; a product may be negative.
        q * k → q * q
            That is the squared length of q: k has no effect.
        (q * k).sum(axis=-1) → $.reshape(-1) if q.ndim > 1 else $
            The leading axes were run together into one; each of them stays.
        (q * k).sum(axis=-1) → norm(q) * norm(k)
            That is the product of the two lengths; the angle between q and k counts too.
        (q * k).sum(axis=-1) → np.sqrt(abs($))
            That is a root; a dot product is the sum itself.
        (q * k).sum(axis=-1) → (q * k)[..., :-1].sum(axis=-1)
            The last coordinate is left out of the sum.
    """,
    otherwise=f"Multiply matching coordinates, then add. {_LAST_AXIS}",
)
def row_dots(q: Array, k: Array) -> Array:
    """q·k along the last axis, for any leading axes."""
    return np.asarray((q * k).sum(axis=-1))


def _directions() -> Iterator[Case]:
    k = 2 * _K
    yield case(q=_Q, k=k, want=0.96)
    yield case(q=[1.0, 0], k=_LEFT, want=-1.0)
    yield case(q=_Q, k=np.zeros(2), want=0.0)
    yield case(q=np.zeros(2), k=np.zeros(2), want=0.0)
    yield case(q=1e-9 * _Q, k=1e-9 * k, want=0.96, why=_SHORT)
    yield case(q=1e-9 * _Q, k=_K, want=0.96, why=_SHORT)
    rows = [[3.0, 4], [0, 0], [0, 2]]
    yield case(q=rows, k=[[4.0, 3], [1, 1], [0, 5]], want=(0.96, 0.0, 1.0))
    yield case(q=[1e9, 1e9], k=[-1e9, 0], want=-(0.5**0.5), why="Stretching changes no cosine.")
    yield case(q=1e9 * _Q, k=1e-9 * k, want=0.96, why=_SHORT)
    for q, k in stacks(3, shape=(2, 3, 2)):
        yield case(q=q, k=k, why=_LAST_AXIS)
    yield case(q=[[1.0, 2, 2], [0, 3, 4]], k=[[2.0, 1, 2], [3, 0, 4]], whole=True)
    large = "The coordinates are large integers here, and their fourth powers leave the range."
    yield case(q=[1e5, 0], k=[1e5, 1e5], whole=True, want=0.5**0.5, why=large)
    q, k = integers(5, (3, 4)), integers(6, (3, 4))
    yield from promised(zeros("q"), zeros("k"), zeros("q", "k"), single, stacked, q=q, k=k / 3)
    yield case(q=[[0.0, 0], [3, 4]], k=_K + np.zeros((2, 2)), whole=True, why="One q is zero.")


@exercise(
    "1.2",
    praise="Checked on vectors of every size down to 10⁻⁹, on opposite vectors, on zero vectors "
    "alone and inside a stack.",
    hints=(
        "The formula of the chapter divides by two lengths. Ask what happens to each vector for "
        "which one of them is zero.",
        "A small number added to the denominator removes the error message, and changes the "
        "answer for every short vector. Treat the zero case on its own.",
        "Find where the product of the lengths is zero, put any non-zero number there, divide, and "
        "look at what the numerator is at those places.",
    ),
    cases=_directions,
    slips="""
        = np.sqrt(np.maximum(0, 1 - cosine(q, k) ** 2))
            That is the sine of the angle; its cosine is the dot product over both lengths.
        / np.where(lengths == 0, 1, lengths) →
            That is the dot product: divide by both lengths.
        norm(q) * norm(k) → ($) ** 2
            You divided by the squared lengths. Without the square roots the answer changes when a
            vector is stretched.
        norm(q) * norm(k) → norm(q)
            You divided by one of the two lengths only, that of q.
        norm(q) * norm(k) → norm(k)
            You divided by one of the two lengths only, that of k.
        norm(q) * norm(k) → norm(k) ** 2
            You divided by ‖k‖², as a projection does; here each of the two lengths stands once.
        dots / → np.where((q == 0).any(-1) | (k == 0).any(-1), 0, dots) /
            One coordinate that is 0 does not make a zero vector; there all of them are 0.
        np.asarray → np.arccos
            That is the angle; the cosine is asked for.
        np.asarray → np.abs
            Opposite vectors have a negative cosine.
        np.where(lengths == 0, 1, lengths) → lengths
            The zero vector has no direction, so 0/0 needs a decision: the chapter defines its
            cosine with anything as 0.
        np.where(lengths == 0, 1, lengths) → lengths
        np.asarray(dots → np.where(lengths == 0, 1, dots
            A zero vector has cosine 0 with everything, itself included.
        np.asarray → 1 - np.asarray
            That is one minus the cosine, a distance.
        np.asarray → np.square
            That is the square of the cosine.
        = cosine(q - q.mean(-1, keepdims=True), k - k.mean(-1, keepdims=True))
            The means were subtracted first: that is the correlation of the coordinates.
        dots / → np.maximum(dots, 0) /
            Where the dot product is negative, so is the cosine: nothing is cut off.
        norm(q) * norm(k) → norm(q.ravel()) * norm(k.ravel())
            You divided by the length of the whole array; each row has its own length.
        dots / → lengths.all() * dots /
            One zero row has made the other rows zero too.
        norm(q) * norm(k) → abs(q).sum(axis=-1) * abs(k).sum(axis=-1)
            You divided by sums of magnitudes; a length is the root of the sum of squares.
        norm(q) * norm(k) → norm(q) * norm(k) * (q.sum(axis=-1) != 0) * (k.sum(axis=-1) != 0)
        np.where(lengths == 0, 1, lengths) → np.where(lengths == 0, np.inf, lengths)
            A vector whose coordinates add up to 0 need not be the zero vector: (1, −1) has a
            length.
        np.where(lengths == 0, 1, lengths) → lengths if lengths.any() else 1
            Whether a vector is zero is decided for each row, and not for the whole array.
        norm(q) * norm(k) → norm(q) + norm(k)
            You divided by the sum of the two lengths; divide by their product.
        np.where(lengths == 0, 1, lengths) → np.where(lengths < 1e-12, 1, lengths)
            Lengths below a threshold pass for zero, and the product of two short ones falls below
            it. Only a length of exactly 0 is special.
    """,
    otherwise="The cosine is the dot product over both lengths, and 0 where one of them is 0.",
)
def cosine(q: Array, k: Array) -> Array:
    """Cosine along the last axis, 0 where a vector is zero."""
    lengths, dots = norm(q) * norm(k), (q * k).sum(axis=-1)
    return np.asarray(dots / np.where(lengths == 0, 1, lengths))


def _to_split() -> Iterator[Case]:
    k = np.array([2.0, 0])
    yield case(q=[1.0, 2], k=k, want=((1, 0), (0, 2)))
    yield case(q=_Q, k=_K, want=(_ALONG, (-0.84, 1.12)))
    yield case(q=[-1.0, 2], k=3 * k, want=((-1, 0), (0, 2)))
    yield case(q=_Q, k=np.zeros(2), want=((0, 0), (3, 4)))
    for size in 1e-9, 1e-100:
        yield case(q=_Q, k=size * _K, want=(_ALONG, (-0.84, 1.12)), why=_SHORT)
    for seed, shape in enumerate([(2, 2), (2, 2, 3), (3, 4, 2), (4, 2, 1), (3, 3, 3)]):
        for q, k in stacks(seed + 4, shape):
            yield case(q=q, k=k, why=_LAST_AXIS)
            some = (np.arange(len(k)) > 0).reshape(-1, *[1] * (k.ndim - 1))
            yield case(q=q, k=k * some, why=_ONE_ZERO)
    yield case(q=q, k=k, whole=True, why=_WHOLE)
    yield case(q=1e9 * _Q, k=1e9 * _K, want=(1e9 * _ALONG, 1e9 * (_Q - _ALONG)))
    yield from promised(zeros("q"), zeros("k"), single, stacked, q=q[0], k=k[0] / 3)


class Halves(Several):
    """Two arrays; also one array that holds both along a first axis of its own."""

    def read(self, f: Answer, value: Any, said: str) -> Parts:
        """Return the two arrays."""
        stacked = isinstance(value, Array) and value.ndim > 1
        return super().read(f, tuple(value) if stacked else value, said)


@exercise(
    "1.3",
    praise="The two parts add up to q, the first lies along k, the second is orthogonal to it. A "
    "short k says as much as a long one, and a zero k leaves all of q in the remainder.",
    hints=(
        "The first part is some number times k. The theorem on projections says which number.",
        "In that number k appears twice below the line, once for each k above it.",
        "The remainder needs no new formula: the parts add up to q. For stacks the number needs an "
        "axis of length one at the end, so that it multiplies whole vectors.",
    ),
    cases=_to_split,
    kind=Halves(names=("part along k", "remainder")),
    slips="""
        np.where(squares == 0, 1, squares) → squares
            The part along a zero k is 0/0; nothing of q lies along it, so the first part is zero.
        np.where(squares == 0, 1, squares) → np.sqrt($)
            k is divided by its length only once, though it appears twice: the formula divides by
            ‖k‖².
        / np.where(squares == 0, 1, squares) →
            You multiplied k by the dot product; the formula divides that by ‖k‖².
        k * k → q * q
            You divided by ‖q‖²; it is k that the part lies along.
        dots / np.where(squares == 0, 1, squares) → cosine(q, k)[..., None]
            You multiplied k by the cosine. That is the right number only if q and k are equally
            long.
        return along → return (dots / squares)[..., 0]
            That is the number that multiplies k; the part along k is a vector.
        return along → return (dots / np.sqrt(np.where(squares == 0, 1, squares)))[..., 0]
            That is the length of the part along k, with its sign; the part itself is a vector.
        dots / np.where(squares == 0, 1, squares) * k → np.where(squares == 0, q, $)
            All of q counts as lying along a zero k; nothing of it does, so all of it remains.
        = split(k, q)
            That is the projection of k onto q; the roles are exchanged.
        along, q - along → q - along, along
            The part along k comes first, the remainder second.
        (q * k).sum(axis=-1, keepdims=True) → (q * k).sum()
        (k * k).sum(axis=-1, keepdims=True) → (k * k).sum()
            You projected with the dot product of the whole array; each row has its own.
        dots / → np.maximum(dots, 0) /
            A q that points away from k has a part along k too: it points backwards.
        dots / → abs(dots) /
            The sign of the dot product is lost: the part along k points backwards where the angle
            is wider than a right one.
        q - along → np.where(squares == 0, 0, $)
            Nothing of q lies along a zero k, so all of q remains: decide before you divide, and
            not for both parts.
        (q * k).sum(axis=-1, keepdims=True) → (q * k).sum(axis=-1)
        (k * k).sum(axis=-1, keepdims=True) → (k * k).sum(axis=-1)
            The numbers of each row were laid along the columns. Keep the axis with keepdims=True.
        (q * k).sum(axis=-1, keepdims=True) → (q * k).sum(axis=-1)
            The dot products of each row were laid along the columns. Keep the axis with
            keepdims=True.
        (k * k).sum(axis=-1, keepdims=True) → (k * k).sum(axis=-1)
            The squared lengths of each row were laid along the columns. Keep the axis with
            keepdims=True.
        q - along → along - q
            The sign is reversed: the two parts should add up to q.
        q - along → along
            That is the first part again.
        q - along → q
            That is q itself; the remainder is what the first part leaves of it.
        q - along → split(k, q)[1]
            That is the component orthogonal to q, not to k.
        q - along → k - along
            That is what k has beside the first part; the remainder is that of q.
    """,
    otherwise="The first part is a number times k, and the remainder is what it leaves of q.",
)
def split(q: Array, k: Array) -> Pair:
    """q = part along k + remainder."""
    dots = (q * k).sum(axis=-1, keepdims=True)
    squares = (k * k).sum(axis=-1, keepdims=True)
    along = dots / np.where(squares == 0, 1, squares) * k
    return along, q - along
