"""Exercise 21.8: what belongs to places, when patches come in another order."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tformer_book.exercises.kinds import Several
from tformer_book.exercises.registry import exercise
from tformer_book.exercises.table import Case, case

Array = np.ndarray


def _orders() -> Iterator[Case]:
    turn = np.array([2, 0, 1])
    table, read = np.array([[1.0, 2], [3, 4], [5, 6]]), np.array([0.5, 0.25, 0.25])
    bias, causal = np.arange(9.0).reshape(3, 3), np.tri(3, dtype=bool)
    why = "At place 0 stands the patch that was at place 2, and all that belonged to place 2."
    want = (
        [[5, 6], [1, 2], [3, 4]],
        [[8, 6, 7], [2, 0, 1], [5, 3, 4]],
        [[True, True, True], [False, True, False], [False, True, True]],
        [0.25, 0.5, 0.25],
        [True, True, True, True],
    )
    given: dict[str, Any] = {"table": table, "bias": bias, "mask": causal, "read": read}
    yield case(order=turn, **given, want=want, why=why)
    ring = np.array([[0.0, 1, 2], [2, 0, 1], [1, 2, 0]])
    none: dict[str, Any] = {"table": np.ones((3, 2)), "bias": ring, "mask": ring < 2}
    none |= {"read": np.full(3, 0.25)}
    why = (
        "All rows of the table are equal, and so are all weights; on a ring that is turned no "
        "distance changes, in scores and mask. No model notices."
    )
    yield case(order=turn, **none, why=why)
    why = "Two patches change places, so the ring is not only turned."
    yield case(order=np.array([1, 0, 2]), **none, why=why)
    why = "Place 0 keeps its patch, and the others change places."
    yield case(order=np.array([0, 2, 1]), **given, why=why)
    why = "The order has not changed, so nothing has to."
    yield case(order=np.arange(3), **given, why=why)
    sums = "A mean of all places has equal weights; an order changes nothing there."
    for seed, T in enumerate((4, 5, 7)):
        rng = np.random.default_rng(seed)
        table, bias = rng.integers(-9, 10, (T, 3)).astype(float), rng.normal(size=(T, T))
        some: dict[str, Any] = {"table": table, "bias": bias, "mask": rng.random((T, T)) < 0.5}
        order = np.roll(rng.permutation(T), 1)
        mixed = "All four are tables without any order."
        yield case(order=order, **some, read=rng.dirichlet(np.ones(T)), why=mixed)
        yield case(order=order, **some, read=np.full(T, 1 / T), why=sums)
        free = some | {"mask": np.ones((T, T), dtype=bool)}
        why = "A mask that hides nothing stays as it is."
        yield case(order=order, **free, read=rng.dirichlet(np.ones(T)), why=why)
        rows = "A bias and a mask that depend on the key alone move along with it all the same."
        by_key = some | {"bias": np.tile(bias[0], (T, 1)), "mask": np.tile(bias[1] > 0, (T, 1))}
        yield case(order=order, **by_key, read=np.arange(T) / 8, why=rows)
        two = some | {"table": np.repeat(table[:1], T, axis=0)}
        why = "Equal rows of the table: the first model never knew a place."
        yield case(order=order, **two, read=np.arange(T) / 8, why=why)


@exercise(
    "21.8",
    praise="Turns of a ring, exchanges, orders that are not their own inverse, and no change.",
    hints=(
        "Which row of the table did the patch get that now stands at place 0?",
        "A table over pairs of places has two axes. Which of them move?",
        "Row t of the new table is row order[t] of the old one. Then compare entry by entry.",
    ),
    cases=_orders,
    kind=Several(names=("table", "bias", "mask", "read", "array of answers")),
    otherwise="What belonged to place order[t] belongs to place t now, along every axis of places.",
    slips="""
        new = order → new = np.argsort(order)
            You used the inverse of the order everywhere: place t gets what was at order[t].
        table[new] → table[np.argsort(new)]
            The table is moved by the inverse order: row t is to be what row order[t] was.
        read[new] → read[np.argsort(new)]
            The weights are moved by the inverse order: weight t is to be what weight order[t] was.
        both = np.ix_(new, new) → both = np.ix_(np.argsort(new), np.argsort(new))
            Bias and mask are moved by the inverse order.
        = (table, bias, mask, read, np.zeros(4, dtype=bool))
            Nothing has moved: each place still has what belongs to the patch that stood there.
        bias[both], → bias[np.ix_(np.argsort(new), np.argsort(new))],
            The bias alone is moved by the inverse order: the places t and s get what was at
            order[t] and order[s].
        mask[both] → mask[np.ix_(np.argsort(new), np.argsort(new))]
            The mask alone is moved by the inverse order: the places t and s get what was at
            order[t] and order[s].
        bias[both], → bias[new],
            Of the bias only the rows are moved. Its columns belong to places as well.
        mask[both] → mask[new]
            Of the mask only the rows are moved. Its columns belong to places as well.
        both = np.ix_(new, new) → both = new
            Of bias and mask only the rows are moved. Columns belong to places as well.
        both = np.ix_(new, new) → both = new[new]
            Of bias and mask the rows are moved twice and the columns not at all: a second pair of
            brackets takes rows again.
        both = np.ix_(new, new) → both = (slice(None), new)
            Of bias and mask only the columns are moved. Rows belong to places as well.
        both = np.ix_(new, new) → both = np.ix_(np.argsort(new), new)
            Rows and columns of bias and mask are moved by opposite orders; both follow the patches.
        both = np.ix_(new, new) → both = np.ix_(new, np.argsort(new))
            The columns of bias and mask are moved by the inverse order, and the rows by the order.
        both = np.ix_(new, new) → both = (new, new)
            With one pair of indices for each t you get T entries; each row is to meet each column.
        bias[both], → bias[both].T,
            The bias is transposed: row t still belongs to the patch that attends.
        mask[both] → mask[both].T
            The mask is transposed: row t still belongs to the patch that attends.
        bias[both], → bias,
            The bias is as it was given. It belongs to pairs of places, so it moves too.
        mask[both] → mask
            The mask is as it was given. It belongs to pairs of places, so it moves too.
        table[new], → table,
            The table is as it was given, and it has to move: row t is added to whatever patch
            stands at place t.
        read[new] → read
            The weights are as they were given. Each belongs to a place, so they move too.
        changed = [not np.array_equal(a, b) → changed = [np.array_equal(a, b)
            Your four answers are turned round: True where something differs.
        changed = [not np.array_equal(a, b) → changed = [True
            You say that every model has to be changed. Some arrays are the same after the move.
        changed = [not np.array_equal(a, b) → changed = [(new != np.arange(len(new))).any()
            You looked at the order alone. Equal entries, or distances on a ring, may not notice it.
        changed = [not np.array_equal(a, b) → changed = [a.sum() != b.sum()
            Your comparison does not notice order, as sums or sorted entries do not: compare entry
            by entry.
        changed = [not np.array_equal(a, b) → changed = [not np.array_equal(np.sort(a), np.sort(b))
            You compared sorted entries; what counts is where each of them stands.
        changed = [not np.array_equal(a, b) → changed = [a.std() > 0
            You asked whether an array has different entries; some moves leave such an array as it
            is.
        changed = [not np.array_equal(a, b) → changed = [not np.array_equal(a[0], b[0])
            You compared the first rows alone.
        changed = [not np.array_equal(a, b) → changed = [(a != b).all()
            You ask whether all entries differ; one is enough.
        np.array(changed) → np.array([*changed[:3], False])
            The fourth model does not always take the mean: its weights may differ.
        np.array(changed) → np.array([True, True, True, False])
            You say always the same of the four; it depends on their entries and on the order.
        np.array(changed) → np.flatnonzero(changed)
            Those are the numbers of the models that changed; True or False is asked for each.
    """,
)
def repaired(
    order: Array, table: Array, bias: Array, mask: Array, read: Array
) -> tuple[Array, Array, Array, Array, Array]:
    """Four arrays in a new order, and whether each is another one."""
    new = order
    both = np.ix_(new, new)
    moved = table[new], bias[both], mask[both], read[new]
    old = table, bias, mask, read
    changed = [not np.array_equal(a, b) for a, b in zip(old, moved, strict=True)]
    return *moved, np.array(changed)
