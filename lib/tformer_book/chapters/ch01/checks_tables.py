"""Exercises 1.5 to 1.7: tables of dot products and distances, and what they prefer."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from tformer import reference
from tformer_book.exercises import describe
from tformer_book.exercises.answer import Answer, Wrong
from tformer_book.exercises.describe import show
from tformer_book.exercises.promises import fractions, promised, single, sizes, stacked, zeros
from tformer_book.exercises.registry import exercise
from tformer_book.exercises.samples import integers
from tformer_book.exercises.table import Case, case, memory_test

Array = np.ndarray

_Q = np.array([[1.0, 0], [1, 1]])
_K = np.array([[1.0, 2], [0, 1], [3, -1]])
_SO_DOES_A_BATCH = (
    "the differences q − k of a batch, all at once. The law of cosines serves each batch as well."
)
_BATCH = "Each batch has its own table: only the last two axes take part."


def _batches() -> Iterator[Case]:
    """Stacks of tables: all sizes different, some of one, and all equal."""
    shapes = [(2, 1, 3, 2), (2, 2, 1, 3), (3, 2, 4, 3), (2, 2, 2, 2), (3, 3, 3, 3), (4, 2, 3, 1)]
    for seed, (n, t, s, width) in enumerate(shapes):
        for batch in (n,), (2, n):
            axes = "a batch axis" if len(batch) == 1 else "two batch axes"
            q, k = integers(seed, (*batch, t, width)), integers(seed + 10, (*batch, s, width))
            yield case(q=q, k=k, why=f"Here q has {axes} in front. {_BATCH}")
    yield case(q=1000 * q, k=k, whole=True, why=_BATCH)
    yield case(q=q / 4, k=k, why="Here the numbers in the table are fractions.")
    yield case(q=q / 300, k=k / 700, why="Here the numbers in the table are small fractions.")
    yield from sizes({"q": "T d", "k": "S d"}, T=(1,), S=(1,), d=(1,))
    yield from promised(single, stacked, zeros("q"), q=integers(7, (3, 2)), k=integers(8, (4, 2)))


def _dots() -> Iterator[Case | Callable[[Answer], None]]:
    yield case(q=_Q, k=_K, want=[[1, 0, 3], [3, 1, 2]])
    yield _check_instructions
    yield case(q=integers(0, (3, 3)), k=integers(1, (3, 3)))
    yield case(q=integers(2, (1, 4)), k=integers(3, (5, 4)))
    yield from promised(fractions, q=integers(2, (3, 4)), k=integers(3, (5, 4)))
    long: dict[str, Any] = {"q": [[70_000.0, 1], [3, 50_000]], "k": [[60_000.0, 2], [1, 80_000]]}
    want = [[4_200_000_002.0, 150_000], [280_000, 4_000_000_003]]
    yield case(**long, want=want, whole=True)
    yield from _batches()
    yield _check_batches


def _check_instructions(f: Answer) -> None:
    """One table, small and large: before the batches, where a loop would fail for its shapes."""
    _compare_steps(f, (4, 3), (32, 3), "a table of 4 × 4", "32 × 32")
    _compare_steps(f, (4, 3), (4, 96), "vectors of width 3", "width 96")


def _check_batches(f: Answer) -> None:
    _compare_steps(f, (2, 4, 3), (64, 4, 3), "a batch of 2 tables", "64")


def _compare_steps(
    f: Answer, small: tuple[int, ...], large: tuple[int, ...], what: str, more: str
) -> None:
    few, many = (f.steps(q=integers(1, shape), k=integers(2, shape)) for shape in (small, large))
    if many > 1.5 * few + 100:
        raise Wrong(
            f"The numbers are right, but {f.name} runs {few} Python instructions for {what} and "
            f"{many} for {more}: it still loops in Python. Do not loop: one matrix product fills "
            "all tables."
        )


@exercise(
    "1.5",
    praise="Rows are queries, columns are keys, batches keep to themselves, and a table 64 times "
    "larger takes no more Python instructions.",
    hints=(
        "Row t, column s should hold q_t·k_s. Write down the shapes of q and k and ask which "
        "product of matrices sums over the coordinates.",
        "One of the two has to be transposed first, in its last two axes only.",
        "`.T` reverses all axes, batches included. NumPy 2 has another attribute, and `swapaxes` "
        "takes two axes by number.",
    ),
    cases=_dots,
    slips="""
        q @ k.mT → k @ q.mT
            The table is transposed: rows belong to queries, columns to keys.
        = (q[..., : k.shape[-2], :] * k[..., : q.shape[-2], :]).sum(axis=-1)
            Those are row-by-row dot products; every query meets every key.
        = reference.pairwise_cosine(q, k)
            That is the table of cosines; the lengths count here.
        q @ k.mT → $ / q.shape[-1] ** 0.5
            That is divided by the root of the width. Such a scale comes later; here it is 1.
        k.mT → k
            That is the product of the tables as they are, which mixes rows of q with columns of k.
        q @ k.mT → ($).sum(axis=-1)
            That is the sum of each row of the table; the table itself is asked for.
        q @ k.mT → q @ q.mT
            Those are the queries with each other; the keys are missing.
        k.mT → k.reshape(*k.shape[:-2], k.shape[-1], k.shape[-2])
            `reshape` fills the numbers in again in the order in which they are read; a transpose
            exchanges rows and columns.
        k.mT → (k.mT if k.ndim == 2 else k.swapaxes(1, 2))
            Axes 1 and 2 are the last two after a single batch axis only: count from the end, −1
            and −2.
        q @ k.mT → abs($)
            A score may be negative: the sign belongs to it.
        q @ k.mT → $ / np.maximum(np.sqrt((q * q).sum(axis=-1, keepdims=True)), 1e-300)
            You divided by the lengths of the queries; nothing is divided.
    """,
    otherwise="Row t, column s is the dot product of q[t] and k[s].",
)
def score_table(q: Array, k: Array) -> Array:
    """(... T d) and (... S d) to (... T S), without a Python loop."""
    return np.asarray(q @ k.mT)


def _distances() -> Iterator[Case | Callable[[Answer], None]]:
    yield case(q=_Q, k=_K, want=[[4, 2, 5], [1, 1, 8]])
    yield case(q=_K, k=_K, want=[[0, 2, 13], [2, 0, 13], [13, 13, 0]])
    yield case(q=integers(2, (1, 4)), k=integers(3, (5, 4)))
    yield from promised(fractions, q=integers(2, (3, 4)), k=integers(3, (5, 4)))
    yield from _batches()
    yield _check_rounding
    why = "every difference q − k, an array of shape (64, 64, 512). The law of cosines gets by "
    why += "with the table of dot products."
    q, k = integers(3, (64, 512)), integers(4, (64, 512))
    yield memory_test(64 * 64 * 512, "64 queries and 64 keys of width 512", why, q=q, k=k)
    what, q, k = "4 batches of 32 queries and 32 keys", q.reshape(4, 32, 256), k.reshape(4, 32, 256)
    yield memory_test(32 * 32 * 256 * 4, f"{what} of width 256", _SO_DOES_A_BATCH, q=q, k=k)


@exercise(
    "1.6",
    praise="Right on tables of any shape, never below zero after rounding, and with no more memory "
    "than the table itself needs.",
    hints=(
        "The law of cosines has three terms. Two of them do not need both vectors.",
        "The squared lengths of the queries form a column, those of the keys a row. Adding the two "
        "fills a table by broadcasting.",
        "For a query that equals a key, three rounded numbers should cancel to zero and miss it by "
        "a little. What is the smallest value that a squared distance may have?",
    ),
    cases=_distances,
    slips="""
        2 * q @ k.mT → q @ k.mT
            The dot product counts twice in the law of cosines.
        - 2 → + 2
            The dot product enters with a minus: similar vectors are near.
        np.maximum(of_q + of_k - 2 * q @ k.mT, 0) → np.sqrt($)
            Those are the distances; their squares are asked for.
        = squared_distances(k, q)
            The table is transposed: rows belong to queries.
        np.maximum(of_q + of_k - 2 * q @ k.mT, 0) → np.sqrt(of_q) + np.sqrt(of_k) - 2 * q @ k.mT
            The lengths are not squared.
        of_q + of_k → np.sqrt(of_q) + np.sqrt(of_k)
            The lengths are not squared, and what falls below 0 is cut off.
        - 2 * q @ k.mT →
            The dot products are missing: that is right only at right angles.
        = reference.squared_distance(q[..., : k.shape[-2], :], k[..., : q.shape[-2], :])
            Those are row-by-row distances; every query meets every key.
        of_q + of_k - 2 * q @ k.mT → (np.sqrt(of_q) - np.sqrt(of_k)) ** 2
            Those are the squares of ‖q‖ − ‖k‖: the product of the lengths stands where the dot
            product belongs.
        = np.abs(q[..., :, None, :] - k[..., None, :, :]).sum(axis=-1)
            Those are distances along the axes: the differences are to be squared before they are
            added.
        = q @ k.mT
            Those are dot products; the squared lengths are missing.
        np.maximum(of_q + of_k - 2 * q @ k.mT, 0) → $ / q.shape[-1]
            The mean over the coordinates is taken; a squared distance is their sum.
        [..., :, None] → [:, None]
            In a batch, `[:, None]` puts the new axis second, and not last.
        [..., None, :] →
            In a batch, the squared lengths of the keys need an axis for the queries, last but one.
        , 0) → , 1e-6)
            It stops a little above 0; the smallest squared distance is 0.
        np.maximum(of_q + of_k - 2 * q @ k.mT, 0) → $ * ($ > 1e-3)
            A small distance is a distance: only what is below 0 is set to 0.
        = (abs(q[..., :, None, :] - k[..., None, :, :]).sum(axis=-1)) ** 2
            You added up sizes and squared the sum; the squares of the differences are added up.
    """,
    otherwise=f"Entry (t, s) is the squared length of q[t] − k[s]. {_BATCH}",
)
def squared_distances(q: Array, k: Array) -> Array:
    """The table of ‖q−k‖² from that of q·k."""
    of_q = (q * q).sum(axis=-1)[..., :, None]
    of_k = (k * k).sum(axis=-1)[..., None, :]
    return np.asarray(np.maximum(of_q + of_k - 2 * q @ k.mT, 0))


def _check_rounding(f: Answer) -> None:
    """Points far from the origin, each compared with itself."""
    for width in (5, 300):  # sums of five numbers round alike in some kernels, those of 300 in none
        _check_far(f, width)


def _check_far(f: Answer, width: int) -> None:
    far = 1e4 + np.random.default_rng(1).normal(size=(200, width))
    said = f"200 points near (10000, 10000, …), width {width}, as q, and in reverse order as k"
    got = f.array(said, q=far, k=far[::-1])
    exact = reference.pairwise_squared_distance(far, far[::-1])
    if got.shape != exact.shape or not np.abs(got - exact).max() < 1:
        raise Wrong(f"With {said}, {f.name} is off by more than rounding explains.")
    if got.min() < 0:
        raise Wrong(
            f"With {said}, one squared distance comes out as {show(got.min(), 2)}. Rounding "
            "does that when large terms cancel; no square is negative, so stop at zero."
        )


@exercise(
    "1.7",
    praise="Dot product, cosine and distance each have their own favourite, whatever q is.",
    hints=(
        "The dot product can be bribed with length. Cosine cannot, and distance dislikes it.",
        "Build the keys from q: one long and a little off its direction, one exactly along q but "
        "far from its tip, one close to the tip and a little off its direction.",
        "To go off the direction of q you need a vector that is not a multiple of q. A multiple of "
        "one coordinate axis will do; choose the axis where q is smallest in magnitude.",
    ),
)
def favourites(f: Answer) -> None:
    """Three keys for q: dot prefers the first, cosine the second, distance the third."""
    first = np.empty(0)
    few = [[1.0, 0], [0, 2], [3, 4], [-2, 1], [1, 1], [0, -1, 2], [0, 0, 0, 0.01], [300, 400]]
    more = [integers(seed, (width,)) + 0.5 for seed, width in enumerate((2, 3, 4, 5, 6, 300))]
    tiny_and_large = [[1e-9, -1e-9], [0, 1e9, 0], [-1.0] * 5, [0, -3], [-2, 0, 0]]
    floats = [np.array(q, dtype=float) for q in [*few, *more, *tiny_and_large]]
    for q in [*floats, np.array([1, 3]), np.array([-1, 0, 1])]:
        keys = f.array(q=q).astype(float)
        head = f"With {describe.inputs({'q': q})}, {f.name} gives the keys {show(keys)}."
        if q.dtype.kind == "i":
            head += " (q holds integers here, and so does an array that is made after it.)"
        _judge_favourites(head, q.astype(float), keys, first)
        first = keys if not first.size else first


def _judge_favourites(head: str, q: Array, keys: Array, first: Array) -> None:
    if keys.shape != (3, len(q)):
        raise Wrong(f"{head} Three keys of the width of q are needed, shape {(3, len(q))}.")
    if not np.isfinite(keys).all() or not keys.any(axis=-1).all():
        raise Wrong(f"{head} Each key should be finite and not zero.")
    lengths = reference.norm(keys)
    if np.ptp(lengths) < 1e-9 * lengths.max():
        raise Wrong(
            f"{head} All three have length {show(lengths[0])}, and then the three measures "
            "give the same order: the chapter proves it. Make the lengths differ."
        )
    measures = {
        "dot product": reference.dot(q, keys),
        "cosine": reference.cosine_similarity(q, keys),
        "distance": -np.sqrt(reference.squared_distance(q, keys)),
    }
    head += _about_the_step_aside(q, keys, lengths)
    for wanted, (measure, value) in enumerate(measures.items()):
        _judge_winner(head, measure, value, wanted, np.array_equal(keys, first))


def _about_the_step_aside(q: Array, keys: Array, lengths: Array) -> str:
    if (
        abs(abs(keys @ q) - lengths * reference.norm(q)) < 1e-12 * lengths * reference.norm(q)
    ).all():
        return " All of them are multiples of q here: no step aside was made, or along q itself."
    if reference.norm(q) < 0.1 * reference.norm(keys - q).min():
        return " All of them lie far from q: scale each step aside by the length of q."
    if reference.norm(q) < 0.1 and 10 * reference.norm(q) < reference.norm(keys[2] - q):
        return " Key 2 lies far from so short a q: scale its step aside by the length of q."
    return ""


def _judge_winner(head: str, measure: str, value: Array, wanted: int, fixed: bool) -> None:
    winner, margin = int(value.argmax()), np.sort(value)[-1] - np.sort(value)[-2]
    numbers = show(np.abs(value) if measure == "distance" else value)
    shown = f"{head} Their {measure}s with q are {numbers}:"
    if margin <= 1e-9 * np.abs(value).max():
        raise Wrong(f"{shown} two keys tie for the best {measure}. Move one of them aside.")
    if winner != wanted:
        also = " You return the same keys for every q; build them from q." if fixed else ""
        raise Wrong(
            f"{shown} the {measure} prefers key {winner}, and key {wanted} should be its "
            f"favourite.{also}"
        )
