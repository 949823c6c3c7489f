"""Exercises 1.5 to 1.7: tables of dot products and distances, and what they prefer."""

from __future__ import annotations

import numpy as np

from tformer import reference
from tformer.exercises import say
from tformer.exercises.answer import Answer, Wrong
from tformer.exercises.registry import exercise
from tformer.exercises.samples import integers


@exercise(
    "1.5",
    praise="Rows are queries, columns are keys, batches keep to themselves, and a table 64 times "
    "larger takes no more Python instructions.",
    hints=(
        "Row t, column s should hold q_t·k_s. Write down the shapes of q and k and ask which "
        "product of matrices sums over K.",
        "One of the two has to be transposed first, in its last two axes only.",
        "`.T` reverses all axes, batches included. NumPy 2 has another attribute, and `swapaxes` "
        "takes two axes by number.",
    ),
)
def score_table(f: Answer) -> None:
    """(... T K), (... S K) -> (... T S) without a Python loop."""
    table = _Q @ _K.T
    mistakes = {
        "The table lies on its side: rows belong to queries, columns to keys.": table.T,
        "Those are row-by-row dot products; every query meets every key.": np.diag(table),
    }
    f.expect(table, mistakes, "Row t, column s is the dot product of q[t] and k[s].", q=_Q, k=_K)
    _check_instructions(f)
    for batch in (2,), (2, 2):
        for seed in range(4):
            _in_batches(f, integers(seed, (*batch, 1, 2)), integers(seed + 10, (*batch, 3, 2)))


def _check_instructions(f: Answer) -> None:
    """One table, small and large: before the batches, where a loop would fail for its shapes."""
    few = f.steps(q=integers(1, (4, 3)), k=integers(2, (4, 3)))
    many = f.steps(q=integers(1, (32, 3)), k=integers(2, (32, 3)))
    if many > 1.5 * few + 100:
        raise Wrong(
            f"The numbers are right, but {f.name} runs {few} Python instructions for a table of "
            f"4 × 4 and {many} for 32 × 32: it still loops in Python. Do not loop: one matrix "
            "product fills the whole table."
        )


def _in_batches(f: Answer, q: np.ndarray, k: np.ndarray) -> None:
    axes = "a batch axis" if q.ndim == 3 else "two batch axes"
    why = (
        f"Here q has {axes} in front. Each batch has its own table: only the last two axes take "
        "part."
    )
    try:
        f.expect(reference.pairwise_dot(q, k), why=why, q=q, k=k)
    except Wrong as wrong:
        raise Wrong(str(wrong) if why in str(wrong) else f"{wrong} {why}") from None


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
)
def squared_distances(f: Answer) -> None:
    """The table of ‖q−k‖² from that of q·k."""
    lengths_q, lengths_k = (_Q**2).sum(-1)[:, None], (_K**2).sum(-1)
    dots = _Q @ _K.T
    mistakes = {
        "The dot product counts twice in the law of cosines.": lengths_q + lengths_k - dots,
        "The dot product enters with a minus: similar vectors are near.": lengths_q
        + lengths_k
        + 2 * dots,
        "Those are the distances; their squares are asked for.": np.sqrt(
            lengths_q + lengths_k - 2 * dots
        ),
        "The table lies on its side: rows belong to queries.": (lengths_q + lengths_k - 2 * dots).T,
        "The lengths are not squared.": np.sqrt(lengths_q) + np.sqrt(lengths_k) - 2 * dots,
    }
    f.expect(reference.pairwise_squared_distance(_Q, _K), mistakes, q=_Q, k=_K)
    for seed in range(4):
        q, k = integers(seed, (2, 1, 2)), integers(seed + 10, (2, 3, 2))
        f.expect(reference.pairwise_squared_distance(q, k), why=_BATCH, q=q, k=k)
    _check_rounding(f)
    _check_memory(f)


def _check_rounding(f: Answer) -> None:
    """Points far from the origin, each compared with itself."""
    far = 1e4 + np.random.default_rng(1).normal(size=(200, 5))
    said = "200 points near (10000, 10000, …) as both q and k"
    got = f.array(said, q=far, k=far)
    exact = reference.pairwise_squared_distance(far, far)
    if got.shape != exact.shape or not np.abs(got - exact).max() < 1:
        raise Wrong(f"With {said}, {f.name} is off by more than rounding explains.")
    if got.min() < 0:
        raise Wrong(
            f"With {said}, one squared distance comes out as {say.show(got.min(), 2)}. Rounding "
            "does that when large terms cancel; no square is negative, so stop at zero."
        )


def _check_memory(f: Answer) -> None:
    q, k = integers(3, (64, 512)), integers(4, (64, 512))
    peak = f.peak_bytes(q=q, k=k)
    if peak > 64 * 64 * 512 * 4:
        raise Wrong(
            f"The numbers are right, but for 64 queries and 64 keys of width 512 {f.name} holds "
            f"{peak / 1e6:.0f} MB at once: every difference q − k, an array of shape "
            "(64, 64, 512). The law of cosines gets by with the table of dot products."
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
    for q in ([1.0, 0], [0, 2], [3, 4], [-2, 1], [1, 1], [0, -1, 2], [0, 0, 0, 0.01], [300, 400]):
        direction = np.array(q, dtype=float)
        keys = f.array(q=direction).astype(float)
        _judge_favourites(f, direction, keys, first)
        first = keys if not first.size else first


def _judge_favourites(f: Answer, q: np.ndarray, keys: np.ndarray, first: np.ndarray) -> None:
    head = f"With {say.inputs({'q': q})}, {f.name} gives the keys {say.show(keys)}."
    if keys.shape != (3, len(q)):
        raise Wrong(f"{head} Three keys of the width of q are needed, shape {(3, len(q))}.")
    if not np.isfinite(keys).all() or not keys.any(axis=-1).all():
        raise Wrong(f"{head} Each key should be finite and not zero.")
    lengths = reference.norm(keys)
    if np.ptp(lengths) < 1e-9 * lengths.max():
        raise Wrong(
            f"{head} All three have length {say.show(lengths[0])}, and then the three measures "
            "give the same order: the chapter proves it. Make the lengths differ."
        )
    measures = {
        "dot product": reference.dot(q, keys),
        "cosine": reference.cosine_similarity(q, keys),
        "distance": -np.sqrt(reference.squared_distance(q, keys)),
    }
    for wanted, (measure, value) in enumerate(measures.items()):
        _judge_winner(head, measure, value, wanted, np.array_equal(keys, first))


def _judge_winner(head: str, measure: str, value: np.ndarray, wanted: int, fixed: bool) -> None:
    winner, margin = int(value.argmax()), np.sort(value)[-1] - np.sort(value)[-2]
    numbers = say.show(np.abs(value) if measure == "distance" else value)
    shown = f"{head} Their {measure}s with q are {numbers}:"
    if margin <= 1e-9 * np.abs(value).max():
        raise Wrong(f"{shown} two keys tie for the best {measure}. Move one of them aside.")
    if winner != wanted:
        also = " You return the same keys for every q; build them from q." if fixed else ""
        raise Wrong(
            f"{shown} the {measure} prefers key {winner}, and key {wanted} should be its "
            f"favourite.{also}"
        )


_Q = np.array([[1.0, 0], [1, 1]])
_K = np.array([[1.0, 2], [0, 1], [3, -1]])
_BATCH = "Each batch has its own table; only the last two axes take part."
