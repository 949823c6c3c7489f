"""Exercises 1.1 to 1.4: one dot product, one cosine, one projection, one ranking per row."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tformer import reference
from tformer.exercises.answer import Answer, Wrong
from tformer.exercises.registry import exercise
from tformer.exercises.samples import integers, stacks
from tformer.exercises.table import Case, case
from tformer.reference import norm


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
)
def row_dots(f: Answer) -> None:
    """q·k along the last axis, for any leading axes."""
    f.expect(24.0, {"The products are not added up yet.": (12, 12)}, q=_Q, k=_K)
    q, k = np.array([[1.0, 2], [3, 4]]), np.array([[5.0, 6], [7, 8]])
    mistakes = {
        "The products are not added up yet: add along the last axis.": q * k,
        "You added up everything; each row keeps its own sum.": (q * k).sum(),
        "You added down the columns (axis 0); the coordinates of a vector lie along the last "
        "axis.": (q * k).sum(axis=0),
        "That is the matrix product of q and k, which mixes rows of q with columns of k.": q @ k,
        "That is the table of every row of q with every row of k. Row 0 meets only row 0 here: "
        "your diagonal.": q @ k.T,
    }
    f.expect((17.0, 53.0), mistakes, q=q, k=k)
    for q, k in stacks(2, shape=(2, 2, 3)):
        middle = {
            "You added along axis 1, which is the last axis only in a matrix. Count from the end: "
            "axis −1.": (q * k).sum(axis=min(1, q.ndim - 1))
        }
        f.expect(reference.dot(q, k), middle, _LAST_AXIS, q=q, k=k)
    rows = np.array([[1.0, 0], [0, 1], [1, 1]])
    f.expect((3.0, 4.0, 7.0), why="Here one k serves all rows of q.", q=rows, k=_Q)


def _directions() -> Iterator[Case]:
    short = (
        "A number added to the denominator, or a threshold below which a vector counts as zero, "
        "is felt by every short vector. Only a vector of length exactly 0 is special."
    )
    k = 2 * _K
    yield case(q=_Q, k=k, want=0.96)
    yield case(q=np.array([1.0, 0]), k=_LEFT, want=-1.0)
    yield case(q=_Q, k=np.zeros(2), want=0.0)
    yield case(q=np.zeros(2), k=np.zeros(2), want=0.0)
    yield case(q=1e-9 * _Q, k=1e-9 * k, want=0.96, why=short)
    yield case(q=1e-9 * _Q, k=_K, want=0.96, why=short)
    rows = np.array([[3.0, 4], [0, 0], [0, 2]]), np.array([[4.0, 3], [1, 1], [0, 5]])
    yield case(q=rows[0], k=rows[1], want=(0.96, 0.0, 1.0))
    for q, k in stacks(3, shape=(2, 3, 2)):
        yield case(q=q, k=k, why=_LAST_AXIS)
    rows = np.array([[1.0, 2, 2], [0, 3, 4]]), np.array([[2.0, 1, 2], [3, 0, 4]])
    yield case(q=rows[0], k=rows[1], whole=True)


def _cosine(q: np.ndarray, k: np.ndarray, *lengths: np.ndarray) -> np.ndarray:
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
        "You divided by the length of the whole array; each row has its own length.": (
            lambda q, k: np.nan_to_num(_cosine(q, k, norm(q.ravel()), norm(k.ravel())))
        ),
        "One zero row has made the other rows zero too.": lambda q, k: (
            reference.cosine_similarity(q, k) * bool((norm(q) * norm(k)).all())
        ),
    },
)
def cosine(q: np.ndarray, k: np.ndarray) -> np.ndarray:
    """Cosine along the last axis, 0 where a vector is zero."""
    return reference.cosine_similarity(q, k)


@exercise(
    "1.3",
    praise="The two parts add up to q, the first lies along k, the second is orthogonal to it, and "
    "a zero k leaves all of q in the remainder.",
    hints=(
        "The first part is some number times k. The theorem on projections says which number.",
        "In that number k appears twice below the line, once for each k above it.",
        "The remainder needs no new formula: the parts add up to q. For stacks the number needs an "
        "axis of length one at the end, so that it multiplies whole vectors.",
    ),
)
def split(f: Answer) -> None:
    """q = part along k + remainder."""
    for q, k in [(_Q, _K), (np.array([1.0, 2]), np.array([2.0, 0]))]:
        _check_split(f, q, k)
    _check_split(f, _Q, np.zeros(2))
    for q, k in stacks(4, shape=(2, 2)):
        _check_split(f, q, k)


def _check_split(f: Answer, q: np.ndarray, k: np.ndarray) -> None:
    said = f.said(q=q, k=k)
    value = f.raw(q=q, k=k).value
    count = len(value) if isinstance(value, tuple | list | np.ndarray) else 1
    if count != 2 or np.ndim(value[0]) != q.ndim:
        raise Wrong(
            f"{f.name} should return two arrays of the shape of q: the part of q along k, then the "
            "remainder, as in `return along, rest`."
        )
    dots = (q * k).sum(-1, keepdims=True)
    want = reference.projection(q, k)
    mistakes = _lost_axes(q, k) | {
        "The part along a zero k is 0/0; nothing of q lies along it, so the first part is "
        "zero.": dots / (k * k).sum(-1, keepdims=True) * k,
        "k is divided by its length only once, though it appears twice: the formula divides by "
        "‖k‖².": dots / np.sqrt((k * k).sum(-1, keepdims=True)) * k,
        "That is the projection of k onto q; the roles are exchanged.": reference.projection(k, q),
        "The part along k comes first, the remainder second.": q - want,
        "You projected with the dot product of the whole array; each row has its own.": dots.sum()
        / max((k * k).sum(), 1e-300)
        * k,
    }
    f.judge(f.numbers(value[0], said), want, mistakes, said=said, part="the first part")
    rest = {
        "The sign is turned round: the two parts should add up to q.": want - q,
        "That is the first part again.": want,
        "That is the component orthogonal to q, not to k.": k - reference.projection(k, q),
    }
    f.judge(f.numbers(value[1], said), q - want, rest, said=said, part="the remainder")


def _lost_axes(q: np.ndarray, k: np.ndarray) -> dict[str, np.ndarray]:
    """Return what a square stack gives without keepdims; other stacks raise an error."""
    if q.ndim != 2 or q.shape[0] != q.shape[1]:
        return {}
    dots, squares = (q * k).sum(-1, keepdims=True), (k * k).sum(-1, keepdims=True)
    with np.errstate(all="ignore"):
        wrong = {
            "numbers": dots[:, 0] / squares[:, 0] * k,
            "dot products": dots[:, 0] / squares * k,
            "squared lengths": dots / squares[:, 0] * k,
        }
    said = "The {} of each row were laid along the columns. Keep the axis with keepdims=True."
    return {said.format(what): value for what, value in wrong.items()}


@exercise(
    "1.4",
    praise="Best first, ties to the smaller index, on single rows and stacks, up to all the keys.",
    hints=(
        "A function that sorts and one that says how it would sort are different functions. Which "
        "of them returns positions?",
        "Sorting is ascending. Turning the result round puts the best first, and turns round the "
        "order of equal scores as well.",
        "Sort the negated scores instead, with a sort that promises to keep equal scores in their "
        "order. Such a sort is called stable, and in NumPy you must ask for it.",
    ),
)
def nearest(f: Answer) -> None:
    """Indices of the n largest scores along the last axis, ties to the smaller index."""
    mistakes = {
        "Those are the scores; their positions are asked for.": (3, 2),
        "The right keys, worst first: the best comes first.": (2, 1),
        "Those are the smallest scores.": (0, 2),
        "Those are the positions counted from 1.": (2, 3),
    }
    f.expect((1, 2), mistakes, scores=np.array([1.0, 3, 2]), n=2)
    ties = {
        "Equal scores keep their order, so key 1 comes before key 3. Turning a sort round turns "
        "the ties round as well.": (3, 1, 2),
        "Equal scores keep their order: key 0 comes before key 2.": (1, 3, 2),
    }
    f.expect((1, 3, 0), ties, scores=np.array([5.0, 7, 5, 7]), n=3)
    rows = np.array([[1.0, 2, 4], [4, 2, 1]])
    stacked = {
        "You ranked all scores together; each row has its own ranking.": (2,),
        "You ranked down the columns; the keys lie along the last axis.": [[1, 0, 0]],
        "You ranked each row well but kept the first rows instead of the first places: cut the "
        "last axis.": [[2, 1, 0]],
    }
    f.expect([[2], [0]], stacked, scores=rows, n=1)
    for scores in integers(5, shape=(2, 3)), integers(6, shape=(2, 2, 4)), integers(7, shape=(60,)):
        want = np.argsort(-scores, axis=-1, kind="stable")
        f.expect(want, why=_TIES, scores=scores, n=scores.shape[-1])


_Q, _K, _LEFT = np.array([3.0, 4]), np.array([4.0, 3]), np.array([-2.0, 0])
_LAST_AXIS = "Coordinates lie along the last axis; all axes before it only stack vectors."
_TIES = "Equal scores come in the order of their positions."
