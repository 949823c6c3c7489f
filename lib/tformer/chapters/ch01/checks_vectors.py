"""Exercises 1.1 to 1.3: one dot product, one cosine, one projection per row."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from tformer import reference
from tformer.exercises.answer import Answer
from tformer.exercises.kinds import Parts, Several
from tformer.exercises.registry import exercise
from tformer.exercises.samples import integers, stacks
from tformer.exercises.table import Case, case
from tformer.reference import norm

Array = np.ndarray

Pair = tuple[Array, Array]
_Q, _K, _LEFT = np.array([3.0, 4]), np.array([4.0, 3]), np.array([-2.0, 0])
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
    rows = [[1.0, 0], [0, 1], [1, 1]]
    yield case(q=rows, k=_Q, want=(3.0, 4.0, 7.0), why="Here one k serves all rows of q.")
    q, k = integers(1, (3, 2, 4)), integers(2, (3, 2, 4))
    yield case(q=1000 * q, k=k, whole=True, why=_LAST_AXIS)
    yield case(q=q / 4, k=k / 2, why="The products are fractions here, and so are their sums.")
    yield case(q=q, k=0 * k)


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
    mutants={
        "The products are not added up yet: add along the last axis.": lambda q, k: q * k,
        "You added up everything; each row keeps its own sum.": lambda q, k: (q * k).sum(),
        "You added down the columns (axis 0); the coordinates of a vector lie along the last "
        "axis.": lambda q, k: (q * k).sum(axis=0),
        "That is the matrix product of q and k, which mixes rows of q with columns of k.": (
            lambda q, k: q @ k
        ),
        "That is the table of every row of q with every row of k. Row 0 meets only row 0 here: "
        "your diagonal.": lambda q, k: q @ k.T,
        "You added along axis 1, which is the last axis only in a matrix. Count from the end: "
        "axis −1.": lambda q, k: (q * k).sum(axis=min(1, q.ndim - 1)),
        "You added along every axis but the first, which is right in a matrix only.": lambda q, k: (
            (q * k).reshape(len(q) if q.ndim > 1 else 1, -1).sum(-1)[() if q.ndim > 1 else 0]
        ),
        "That is the mean of the products; a dot product is their sum.": (
            lambda q, k: (q * k).mean(axis=-1)
        ),
        "You added q and k; their coordinates are to be multiplied.": (
            lambda q, k: (q + k).sum(axis=-1)
        ),
        "That is the cosine: the dot product is not divided by the lengths.": (
            reference.cosine_similarity
        ),
        "You added magnitudes; a product may be negative.": (
            lambda q, k: np.abs(q * k).sum(axis=-1)
        ),
    },
    otherwise=f"Multiply matching coordinates, then add. {_LAST_AXIS}",
)
def row_dots(q: Array, k: Array) -> Array:
    """q·k along the last axis, for any leading axes."""
    return reference.dot(q, k)


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
    for q, k in stacks(3, shape=(2, 3, 2)):
        yield case(q=q, k=k, why=_LAST_AXIS)
    yield case(q=[[1.0, 2, 2], [0, 3, 4]], k=[[2.0, 1, 2], [3, 0, 4]], whole=True)


def _cosine(q: Array, k: Array, *lengths: Array) -> Array:
    """The dot product over some lengths, where the right ones would be those of q and of k."""
    return np.asarray(reference.dot(q, k) / np.prod(lengths, axis=0))


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
    mutants={
        "That is the dot product: divide by both lengths.": reference.dot,
        "You divided by the squared lengths. Without the square roots the answer changes when a "
        "vector is stretched.": lambda q, k: _cosine(q, k, norm(q) ** 2, norm(k) ** 2),
        "You divided by one of the two lengths only, that of q.": (
            lambda q, k: _cosine(q, k, norm(q))
        ),
        "You divided by one of the two lengths only, that of k.": (
            lambda q, k: _cosine(q, k, norm(k))
        ),
        "That is the angle; the cosine is asked for.": (
            lambda q, k: np.arccos(np.clip(reference.cosine_similarity(q, k), -1, 1))
        ),
        "Opposite vectors have a negative cosine.": (
            lambda q, k: np.abs(reference.cosine_similarity(q, k))
        ),
        "The zero vector has no direction, so 0/0 needs a decision: the chapter defines its cosine "
        "with anything as 0.": lambda q, k: _cosine(q, k, norm(q), norm(k)),
        "A zero vector has cosine 0 with everything, itself included.": (
            lambda q, k: np.nan_to_num(_cosine(q, k, norm(q), norm(k)), nan=1.0)
        ),
        "That is one minus the cosine, a distance.": (
            lambda q, k: 1 - reference.cosine_similarity(q, k)
        ),
        "That is the square of the cosine.": (lambda q, k: reference.cosine_similarity(q, k) ** 2),
        "The means were subtracted first: that is the correlation of the coordinates.": (
            lambda q, k: reference.cosine_similarity(
                q - q.mean(-1, keepdims=True), k - k.mean(-1, keepdims=True)
            )
        ),
        "Where the dot product is negative, so is the cosine: nothing is cut off.": (
            lambda q, k: np.maximum(reference.cosine_similarity(q, k), 0)
        ),
        "You divided by the length of the whole array; each row has its own length.": (
            lambda q, k: np.nan_to_num(_cosine(q, k, norm(q.ravel()), norm(k.ravel())))
        ),
        "One zero row has made the other rows zero too.": lambda q, k: (
            reference.cosine_similarity(q, k) * bool((norm(q) * norm(k)).all())
        ),
    },
    otherwise="The cosine is the dot product over both lengths, and 0 where one of them is 0.",
)
def cosine(q: Array, k: Array) -> Array:
    """Cosine along the last axis, 0 where a vector is zero."""
    return reference.cosine_similarity(q, k)


def _to_split() -> Iterator[Case]:
    k = np.array([2.0, 0])
    yield case(q=[1.0, 2], k=k, want=((1, 0), (0, 2)))
    yield case(q=_Q, k=_K, want=((3.84, 2.88), (-0.84, 1.12)))
    yield case(q=[-1.0, 2], k=3 * k, want=((-1, 0), (0, 2)))
    yield case(q=_Q, k=np.zeros(2), want=((0, 0), (3, 4)))
    for size in 1e-9, 1e-100:
        yield case(q=_Q, k=size * _K, want=((3.84, 2.88), (-0.84, 1.12)), why=_SHORT)
    for seed, shape in enumerate([(2, 2), (2, 2, 3), (3, 4, 2), (4, 2, 1), (3, 3, 3)]):
        for q, k in stacks(seed + 4, shape):
            yield case(q=q, k=k, why=_LAST_AXIS)
            some = (np.arange(len(k)) > 0).reshape(-1, *[1] * (k.ndim - 1))
            yield case(q=q, k=k * some, why=_ONE_ZERO)
    yield case(q=q, k=k, whole=True, why=_WHOLE)


class Halves(Several):
    """Two arrays; also one array that holds both along a first axis of its own."""

    def read(self, f: Answer, value: Any, said: str) -> Parts:
        """Return the two arrays."""
        stacked = isinstance(value, Array) and value.ndim > 1
        return super().read(f, tuple(value) if stacked else value, said)


def _dots(q: Array, k: Array) -> Array:
    return np.asarray((q * k).sum(-1, keepdims=True))


def _along(number: Callable[[Array, Array], Any]) -> Callable[..., Pair]:
    """A wrong split: another number times k, and what remains of q."""
    return lambda q, k: (number(q, k) * k, q - number(q, k) * k)


def _laid(of_dots: bool, of_squares: bool) -> Callable[..., Pair]:
    """A wrong split: numbers that have lost their axis of length one."""

    def number(q: Array, k: Array) -> Array:
        squares = (k * k).sum(-1, keepdims=not of_squares)
        dots = (q * k).sum(-1, keepdims=not of_dots)
        return np.asarray(dots / np.where(squares == 0, 1, squares))

    return _along(number)


def _parts(change: Callable[[Array, Array], Any]) -> Callable[..., Any]:
    """A wrong split made of the two right parts."""
    return lambda q, k: change(reference.projection(q, k), q - reference.projection(q, k))


_SIDE = "The {} of each row were laid along the columns. Keep the axis with keepdims=True."


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
    mutants={
        "The part along a zero k is 0/0; nothing of q lies along it, so the first part is "
        "zero.": _along(lambda q, k: _dots(q, k) / _dots(k, k)),
        "k is divided by its length only once, though it appears twice: the formula divides by "
        "‖k‖².": _along(lambda q, k: np.nan_to_num(_dots(q, k) / np.sqrt(_dots(k, k)))),
        "You multiplied k by the dot product; the formula divides that by ‖k‖².": _along(_dots),
        "You divided by ‖q‖²; it is k that the part lies along.": (
            _along(lambda q, k: _dots(q, k) / _dots(q, q))
        ),
        "You multiplied k by the cosine. That is the right number only if q and k are equally "
        "long.": _along(lambda q, k: reference.cosine_similarity(q, k)[..., None]),
        "That is the number that multiplies k; the part along k is a vector.": lambda q, k: (
            reference.dot(q, k) / reference.dot(k, k),
            q - reference.projection(q, k),
        ),
        "That is the projection of k onto q; the roles are exchanged.": lambda q, k: (
            reference.projection(k, q),
            k - reference.projection(k, q),
        ),
        "The part along k comes first, the remainder second.": (
            _parts(lambda along, rest: (rest, along))
        ),
        "You projected with the dot product of the whole array; each row has its own.": _along(
            lambda q, k: (q * k).sum() / max((k * k).sum(), 1e-300)
        ),
        "A q that points away from k has a part along k too: it points backwards.": _along(
            lambda q, k: np.maximum(np.nan_to_num(_dots(q, k) / _dots(k, k)), 0)
        ),
        _SIDE.format("numbers"): _laid(of_dots=True, of_squares=True),
        _SIDE.format("dot products"): _laid(of_dots=True, of_squares=False),
        _SIDE.format("squared lengths"): _laid(of_dots=False, of_squares=True),
        "The sign is turned round: the two parts should add up to q.": (
            _parts(lambda along, rest: (along, -rest))
        ),
        "That is the first part again.": _parts(lambda along, rest: (along, along)),
        "That is q itself; the remainder is what the first part leaves of it.": (
            _parts(lambda along, rest: (along, along + rest))
        ),
        "That is the component orthogonal to q, not to k.": lambda q, k: (
            reference.projection(q, k),
            k - reference.projection(k, q),
        ),
        "That is what k has beside the first part; the remainder is that of q.": lambda q, k: (
            reference.projection(q, k),
            k - reference.projection(q, k),
        ),
    },
    otherwise="The first part is a number times k, and the remainder is what it leaves of q.",
)
def split(q: Array, k: Array) -> Pair:
    """q = part along k + remainder."""
    along = reference.projection(q, k)
    return along, q - along
