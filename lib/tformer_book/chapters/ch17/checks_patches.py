"""Exercise 17.3: where a patch can help."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tformer_book.exercises.kinds import Marks
from tformer_book.exercises.registry import exercise
from tformer_book.exercises.table import Case, case

Array = np.ndarray


def _hears(steps: Array, start: Array) -> Array:
    """Whom something reaches: before the first step, and after each."""
    rows = [start]
    for step in steps:
        rows.append((step & rows[-1]).any(axis=1))
    return np.array(rows)


def _tells(steps: Array, end: Array) -> Array:
    """From whom the end is reached: before the first step, and after each."""
    return _hears(steps[::-1].mT, end)[::-1]


def _one(table: Array) -> Array:
    """Whether a row has one True only."""
    return np.asarray(table.sum(axis=1, keepdims=True) == 1)


def _at(table: Array, row: int, place: int) -> Array:
    """True at one place of a table."""
    marks = np.zeros(table.shape, dtype=bool)
    marks[row, place] = True
    return marks


def _readers() -> Iterator[Case]:
    def tri(L: int, T: int) -> Array:
        return np.repeat(np.tri(T, dtype=bool)[None], L, axis=0)

    why = (
        "After the block word 0 has told word 2, and only what stands at the last position is read."
        " Before it all depends on word 0."
    )
    yield case(masks=tri(1, 3), p=0, want=[[2, 0, 0], [0, 0, 2]], why=why)
    why = "After the first block words 1, 2 and 3 have heard of word 1, and all may tell word 3."
    want: Any = [[0, 2, 0, 0], [0, 1, 1, 1], [0, 0, 0, 2]]
    yield case(masks=tri(2, 4), p=1, want=want, why=why)
    why = "The last word is the one that is exchanged: no other is reached."
    want = [[0, 0, 2]] * 3
    yield case(masks=tri(2, 3), p=2, want=want, why=why)
    t, s = np.arange(5)[:, None], np.arange(5)
    pairs = np.repeat(((s <= t) & (s > t - 2))[None], 3, axis=0)
    why = "With a window of two, word 1 needs three blocks to the last: one way, and no other."
    want = [[0, 2, 0, 0, 0], [0, 0, 2, 0, 0], [0, 0, 0, 2, 0], [0, 0, 0, 0, 2]]
    yield case(masks=pairs, p=1, want=want, why=why)
    why = "Four blocks are needed, and there are three."
    yield case(masks=pairs, p=0, want=np.zeros((4, 5), int), why=why)
    why = "Of three blocks one may stay where it is: two ways at most at each height."
    want = [[0, 0, 2, 0, 0], [0, 0, 1, 1, 0], [0, 0, 0, 1, 1], [0, 0, 0, 0, 2]]
    yield case(masks=pairs, p=2, want=want, why=why)
    none = np.zeros((2, 3, 3), dtype=bool)
    why = "Nobody attends to anybody, and each word keeps what it is."
    yield case(masks=none, p=2, want=[[0, 0, 2]] * 3, why=why)
    why = "Nobody attends to anybody: the exchange does not arrive."
    yield case(masks=none, p=0, want=np.zeros((3, 3), int), why=why)
    first, then = none.copy(), none.copy()
    first[0, 1, 0] = first[1, 2, 1] = then[1, 1, 0] = then[0, 2, 1] = True
    why = "Word 1 attends to word 0, and in the next block word 2 to word 1."
    yield case(masks=first, p=0, want=[[2, 0, 0], [0, 2, 0], [0, 0, 2]], why=why)
    why = "Word 2 attends to word 1 before word 1 attends to word 0: nothing of word 0 arrives."
    yield case(masks=then, p=0, want=np.zeros((3, 3), int), why=why)
    why = (
        "Word 2 attends to word 1 in the first block, and keeps it; word 1 stays and tells no more."
    )
    yield case(masks=then, p=1, want=[[0, 2, 0], [0, 0, 2], [0, 0, 2]], why=why)
    back = none.copy()
    back[0, 0, 1] = back[1, 2, 0] = True
    why = "Word 0 attends to word 1, and word 2 to word 0: masks need not be causal."
    yield case(masks=back, p=1, want=[[0, 2, 0], [2, 0, 0], [0, 0, 2]], why=why)
    yield case(masks=np.ones((2, 3, 3), dtype=bool), p=2, why="All attend to all.")
    why = "Ways multiply from block to block, beyond 64 bits: ask whether there is one, or another."
    for L, T, p in ((64, 4, 1), (70, 2, 1), (33, 4, 3)):
        said = f"{L} blocks in which all of {T} words attend to all, and p = {p}"
        yield case(masks=np.ones((L, T, T), dtype=bool), p=p, said=said, why=why)
    for L in (8, 100):
        said = f"{L} blocks in which the only word attends to itself, and p = 0"
        one = np.ones((L, 1, 1), dtype=bool)
        yield case(masks=one, p=0, want=[[2]] * (L + 1), said=said, why=why)
    past = np.zeros((100, 3, 3), dtype=bool)
    past[:, 1, 1] = past[0, 1, 0] = past[99, 2, [0, 1]] = True
    said = "100 blocks in which word 1 attends to itself; in the first it attends to word 0 as well"
    said += ", and in the last word 2 to words 0 and 1; p = 0"
    why = "Word 0 keeps the exchange too: one way past very many is still a way."
    yield case(masks=past, p=0, said=said, why=why)
    yield case(masks=np.zeros((0, 3, 3), dtype=bool), p=2, want=[[0, 0, 2]], why="No block.")
    yield case(masks=np.zeros((0, 3, 3), dtype=bool), p=1, want=[[0, 0, 0]], why="No block.")
    yield case(masks=np.ones((2, 1, 1), dtype=bool), p=0, want=[[2]] * 3, why="One word alone.")
    two = np.zeros((2, 4, 4), dtype=bool)
    two[0, [0, 1, 2], [1, 2, 0]] = two[1, 3, [0, 2]] = True
    why = "After the first block words 0 and 1 know of word 1, and the answer attends to word 0."
    yield case(masks=two, p=1, want=[[0, 2, 0, 0], [2, 0, 0, 0], [0, 0, 0, 2]], why=why)
    for seed, (L, T, share) in enumerate(
        ((2, 4, 0.4), (3, 5, 0.25), (4, 6, 0.15), (3, 4, 0.3), (5, 3, 0.2), (6, 7, 0.12))
    ):
        rng = np.random.default_rng(seed)
        masks = rng.random((L, T, T)) < share
        why = "Follow the ways of the exchange to the last position, block by block."
        for p in range(0, T, 2):
            yield case(masks=masks, p=p, why=why)
        yield case(masks=masks & np.tri(T, dtype=bool), p=seed % (T - 1), why=why)


class Map(Marks):
    """A table of 0, 1 and 2."""

    def remark(self, got: np.ndarray, want: np.ndarray) -> str:
        """Say which numbers there may be, and how many rows."""
        if got.ndim == want.ndim == 2 and got.shape == (want.shape[0] - 1, want.shape[1]):
            return "There is one row before the first block, and one after each."
        if got.shape == want.shape and not np.isin(got, (0, 1, 2)).all():
            return "Each number is 0, 1 or 2."
        return super().remark(got, want)


def _guessed(masks: Array, p: int) -> Array:
    out = np.ones((len(masks) + 1, masks.shape[1]), int)
    out[:, :p] = out[0] = 0
    out[0, p] = 2
    out[-1] = 0
    out[-1, -1] = 2
    return out


def _ways(masks: Array, p: int) -> Array:
    """How many ways from p to the last position pass each position."""
    T = masks.shape[1]
    steps = (masks | np.eye(T, dtype=bool)).astype(int)
    here, there = [np.eye(T, dtype=int)[p]], [np.eye(T, dtype=int)[-1]]
    for i in range(len(steps)):
        here.append(steps[i] @ here[-1])
        there.append(there[-1] @ steps[-1 - i])
    return np.array(here) * np.array(there[::-1])


@exercise(
    "17.3",
    praise="Causal masks, windows, masks that differ from block to block and are not causal, no "
    "ways, one way and many, no block and a single word.",
    hints=(
        "From block to block: where may vectors differ between the two runs? And which of them can "
        "still reach the last position?",
        "Go forwards from p for the first question, and backwards from the last position for the "
        "second. A word always reaches itself. A patch does something where both are true.",
        "Every way from p to the answer passes through one position in each row. If only one "
        "position of a row is on any way, all ways pass there: 2.",
    ),
    cases=_readers,
    kind=Map(),
    slips="""
        steps = masks | np.eye(T, dtype=bool) → steps = masks
            A block adds to its words, so each keeps what it is, whatever the mask says.
        _hears(steps, np.arange(T) == p) → _hears(masks, np.arange(T) == p)
            On the way forwards a word keeps what it is: a block adds to it.
        _tells(steps, np.arange(T) == T - 1) → _tells(masks, np.arange(T) == T - 1)
            On the way to the answer a word keeps what it is: a block adds to it.
        masks | np.eye(T, dtype=bool) → masks.mT | np.eye(T, dtype=bool)
            Rows and columns of the masks are exchanged: masks[l, t, s] lets t attend to s, so that
            s tells t.
        masks | np.eye(T, dtype=bool) → masks[::-1] | np.eye(T, dtype=bool)
            The blocks stand in reverse order.
        masks | np.eye(T, dtype=bool) → np.tri(T, dtype=bool) & $
            You hid later words; these masks need not be causal.
        masks | np.eye(T, dtype=bool) → np.tri(T, dtype=bool) | np.zeros_like(masks)
            You took causal masks in place of those that are given.
        masks | np.eye(T, dtype=bool) → (masks | masks.any(axis=0)) | np.eye(T, dtype=bool)
            You gave each block the masks of all blocks together.
        here & there → here
            You marked where the exchange arrives. From there the answer has to be reached as well.
        here & there → there
            You marked from where the answer is reached. A patch does nothing where both runs have
            the same vector.
        here & there → here
        alive.sum(axis=1, keepdims=True) == 1 → np.arange(T) == T - 1
            You marked where the exchange arrives, as 2 in the column of the last position. Neither
            says what happens on the way to the answer.
        alive + 1 * (alive & alone) → alive + 0
            You did not tell 2 from 1: where no way leads around a position, the patch brings all
            back. (Of masks, True + True is True.)
        alive + 1 * (alive & alone) → 2 * alive
            You did not tell 1 from 2: where a way leads around a position, the patch may bring back
            a part.
        alive.sum(axis=1, keepdims=True) == 1 → _one(here)
            For 2 you asked that the exchange has arrived at no other position. Positions from which
            the answer is not reached do no harm.
        alive.sum(axis=1, keepdims=True) == 1 → _one(there)
            For 2 you asked that the answer is reached from no other position. Positions where the
            exchange has not arrived do no harm.
        alive.sum(axis=1, keepdims=True) == 1 → alive.sum(axis=0, keepdims=True) == 1
            You counted positions along the columns. Every way passes once through each row.
        alive + 1 * (alive & alone) → ($)[1:]
            The row before the first block is missing.
        alive + 1 * (alive & alone) → ($)[:-1]
            The row after the last block is missing.
        alive + 1 * (alive & alone) → np.maximum($, 2 * _at(alive, 0, p))
            Where the exchange cannot reach the answer, there is nothing to bring back, not even at
            p: all are 0.
        alive + 1 * (alive & alone) → np.maximum($, 2 * _at(alive, -1, -1))
            Where the exchange cannot reach the answer, there is nothing to bring back, not even at
            the last position: all are 0.
        np.arange(T) == p → np.arange(T) >= p
            You let all words from p on be exchanged; it is one word.
        masks | np.eye(T, dtype=bool) → masks & ~np.eye(T, dtype=bool)
            You took the diagonal away. A block adds to its words, so each keeps what it is.
        alive + 1 * (alive & alone) → 2 - ($)
            The numbers are turned round: 2 where all comes back.
        alive.sum(axis=1, keepdims=True) == 1 → np.arange(T) == p
            You marked the column of the exchanged word with 2. Once others have heard of it, a way
            may lead around it.
        alive.sum(axis=1, keepdims=True) == 1 → _at(alive, 0, p) | _at(alive, -1, -1)
            You let only the two ends have a 2: p before the first block, and the last position
            after the last. In between, too, all ways may pass one position.
        alive + 1 * (alive & alone) → np.where(_at(alive, 0, p) | _at(alive, -1, -1), 2, alive)
            You marked both ends with 2 in any case: also where the exchange cannot reach the
            answer, and nowhere between.
        alive.sum(axis=1, keepdims=True) == 1 → _one(here) | _one(there)
            For 2 you asked that there is one position only where the exchange has arrived, or one
            only from where the answer is reached. There may be others, if none is both.
        alive + 1 * (alive & alone) → np.where(_one(here), 2 * here, alive)
            You marked with 2 wherever the exchange has arrived at one position only, whether the
            answer is reached or not.
        alive + 1 * (alive & alone) → 1 * here + there
            You added two answers: whether the exchange arrives, and whether the answer is reached.
            Both have to hold.
        alive + 1 * (alive & alone) → 1 * here
            You marked where the exchange arrives, with 1. Does the answer hear of it from there,
            and by that way alone?
        _tells(steps, np.arange(T) == T - 1) → _tells(steps.mT, np.arange(T) == T - 1)
            On the way back from the answer you went along the masks' other axis: from t to the
            words s that it attends to.
        _tells(steps, np.arange(T) == T - 1) → _tells(steps[::-1], np.arange(T) == T - 1)
            On the way back from the answer the last block comes first.
        alive = here & there → alive = here & there[0, p]
            You did not ask whether the answer can still be reached from the patched vector.
        alive + 1 * (alive & alone) → 1 * there
            You marked from where the answer is reached, with 1. Ask also whether the exchange has
            arrived there, and whether a way leads around.
        alive.sum(axis=1, keepdims=True) == 1 → np.arange(T) == T - 1
            You gave the 2 to the last position only. Give it to any position that all ways pass.
        _tells(steps, np.arange(T) == T - 1) → np.tile(np.arange(T) == T - 1, (len(masks) + 1, 1))
            You let the last position alone reach the answer. Before the last block others reach it
            too, through that block.
        here & there → here | there
            You asked for one of two things. Ask for both: the exchange has arrived, and the answer
            is reached.
        _hears(steps, np.arange(T) == p) → np.array([np.arange(T) == p, *steps[:, :, p]])
            You let only words that attend to p hear of the exchange. They tell others in the next
            block: go on from there.
        _hears(steps, np.arange(T) == p) → np.concatenate([$[1:], $[-1:]])
            Your rows run one block ahead. Row 0 stands before the first block, where only p
            differs.
        _tells(steps, np.arange(T) == T - 1) → $[::-1]
            You listed from where the answer is reached in reverse order. The last row stands after
            the last block.
    """,
    mutants={
        "You answered for a causal model whose words attend to all before them, without regard to "
        "the masks.": lambda masks, p: _guessed(masks, p),
        "Those are numbers of ways from the exchange to the answer. The exercise asks whether one "
        "goes there (1), and whether all do (2).": lambda masks, p: _ways(masks, p),
    },
    otherwise="It is 0 where both runs agree or the answer is not reached, and 2 where this "
    "position is the only one of its row that is neither.",
)
def patches(masks: Array, p: int) -> Array:
    """What the patch of each vector does: nothing 0, something 1, everything 2."""
    T = masks.shape[1]
    steps = masks | np.eye(T, dtype=bool)
    here, there = _hears(steps, np.arange(T) == p), _tells(steps, np.arange(T) == T - 1)
    alive = here & there
    alone = alive.sum(axis=1, keepdims=True) == 1
    return alive + 1 * (alive & alone)
