"""Exercise 6.6: heads in a new order."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tformer_book.exercises.promises import fractions, promised
from tformer_book.exercises.registry import exercise
from tformer_book.exercises.table import Case, case


def _moved() -> Iterator[Case]:
    w_o = np.array([[1.0, 2], [3, 9], [5, 4], [7, 0], [9, 8], [11, 6]])
    want = [[9, 8], [11, 6], [1, 2], [3, 9], [5, 4], [7, 0]]
    yield case(w_o=w_o, order=np.array([2, 0, 1]), want=want)
    for order, d_v, d in (
        ([0, 1, 2], 1, 2),
        ([1, 0], 3, 2),
        ([3, 0, 2, 1], 2, 3),
        ([0], 2, 2),
        ([1, 2, 3, 4, 0], 1, 1),
        ([2, 4, 1, 0, 3], 5, 2),
    ):
        w_o = np.arange(1.0, 1 + len(order) * d_v * d).reshape(-1, d)
        yield case(w_o=w_o, order=np.array(order))
    yield from promised(fractions, w_o=w_o, order=np.array(order))


@exercise(
    "6.6",
    praise="Orders that are their own inverse and others, heads of every width, one head.",
    hints=(
        "The new head 0 is the old head order[0]. Through which block should it write?",
        "Through the block that belonged to the old one. Blocks move, rows within them stay.",
        "With the blocks along an axis of their own, an array of places picks them in order.",
    ),
    cases=_moved,
    slips="""
        blocks[order] → blocks[np.argsort(order)]
            That is the way back: you moved block h to the place order[h]. The new head h needs the
            block of the old head order[h].
        = w_o
            The matrix is as it was; the heads have moved.
        blocks[order] → w_o.reshape(-1, len(order), w_o.shape[1])[:, order]
            Single rows were moved; a head has d_v rows that stay together.
        = np.concatenate([w_o[order], w_o[len(order) :]])
            Only the first rows were moved, one for each head; a head has d_v of them.
        = w_o[order]
            There are fewer rows than before: each head has several.
        = w_o[:, ::-1]
            The columns are those of the output; they stay where they are.
        blocks[order] → blocks[order[::-1]]
            The order was read backwards.
        blocks[order] → blocks[order][order]
            The blocks were moved twice.
        .reshape(w_o.shape) →
            The numbers are right; the blocks are to stand one below the other in one table.
        = np.roll(w_o, len(w_o) // len(order) * int(order[0]), axis=0)
            The blocks were moved round together; each has its own place.
        = mended(w_o, (order + 1) % len(order))
            You took the head after the one that is named.
        blocks[order] → blocks[order].swapaxes(0, 1)
            The first rows of all heads stand together, then all second rows. Keep the d_v rows of a
            head together: its axis comes first.
        blocks[order] → blocks[order][:, ::-1]
            The rows within each block are turned round. Move whole blocks, and leave the order
            inside.
        blocks[order] → blocks[order - 1]
            You took the head before the one that is named. Heads are counted from 0: use the
            numbers of `order` as they are.
        = np.concatenate(list(w_o.reshape(len(order), -1, w_o.shape[1])[order]), axis=1)
            The blocks stand side by side. A head writes through rows of its own: join them along
            the first axis.
        = np.concatenate([w_o[h : h + len(w_o) // len(order)] for h in order])
            You cut the block of head h from row h on. It begins at row h · d_v.
        = _overwritten(w_o, order)
            You overwrote blocks that you read later. Write into a new array.
        = w_o[:, order % w_o.shape[1]]
            You moved columns, and they are the coordinates of the output. A head has rows in W_O.
    """,
    otherwise="The blocks, each of d_v rows, should stand in the order that is given.",
)
def mended(w_o: np.ndarray, order: np.ndarray) -> np.ndarray:
    """W_O for heads in a new order."""
    blocks = w_o.reshape(len(order), -1, w_o.shape[1])
    return blocks[order].reshape(w_o.shape)


def _overwritten(w_o: np.ndarray, order: np.ndarray) -> np.ndarray:
    """The blocks, moved one after the other within one array."""
    blocks = w_o.reshape(len(order), -1, w_o.shape[1]).copy()
    for new, old in enumerate(order):
        blocks[new] = blocks[old]
    return blocks.reshape(w_o.shape)
