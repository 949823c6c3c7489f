"""Exercises 2.5 and 2.6: rows with hidden keys, and a softmax to repair."""

from __future__ import annotations

import numpy as np

from tformer import reference
from tformer.chapters.ch02.checks_weights import _check_rows, _check_single
from tformer.exercises import say
from tformer.exercises.answer import Answer, Wrong
from tformer.exercises.registry import exercise
from tformer.exercises.samples import integers


@exercise(
    "2.5",
    praise="Hidden keys have weight 0 whatever their scores, visible ones sum to 1, and a row "
    "that may look nowhere is zero.",
    hints=(
        "A hidden key should have the weight 0. Which score gives exactly that weight?",
        "Set hidden scores to −∞ before anything else, so that neither the maximum nor the sum "
        "sees them.",
        "In a row that is all −∞ the maximum is −∞ and the sum 0. Replace that maximum by 0 before "
        "you subtract and that sum by 1 before you divide.",
    ),
)
def masked_softmax(f: Answer) -> None:
    """Softmax over the keys that `keep` allows; zeros where it allows none."""
    x, keep = np.array([0.0, np.log(3), np.log(4)]), np.array([True, True, False])
    mistakes = {
        "You masked after the softmax, so the weights sum to 1/2: the hidden key still took its "
        "share of the sum.": np.array([1, 3, 0]) / 8,
        "The mask is read the wrong way round: True means that the key may be looked at.": (
            0,
            0,
            1,
        ),
        "A score multiplied by 0 is 0, and exp(0) = 1: the key is not hidden.": np.array([1, 3, 1])
        / 5,
        "The mask has no effect.": np.array([1, 3, 4]) / 8,
        "The mask was added to the scores as the numbers 0 and 1.": reference.softmax(x + keep),
    }
    f.expect((1 / 4, 3 / 4, 0), mistakes, x=x, keep=keep)
    _check_hidden_row(f)
    hidden = (
        "The hidden score was used as the shift and left every visible exponential at 0. Take the "
        "maximum over the visible keys."
    )
    f.expect((1.0, 0.0), why=hidden, x=np.array([0.0, 1000]), keep=np.array([True, False]))
    causal = np.tri(3, dtype=bool)
    x = np.zeros((3, 3))
    want = causal / np.array([[1.0], [2], [3]])
    rows = {"You masked after the softmax, so the weights of a row sum to less than 1.": causal / 3}
    f.expect(want, rows, x=x, keep=causal)
    for seed in range(3):
        x, keep = integers(seed, (2, 2, 3)), integers(seed + 9, (2, 3)) > 0
        want = reference.softmax(np.where(keep, x, -np.inf))
        f.expect(want, why="A mask of fewer axes serves every batch.", x=x, keep=keep)


def _check_hidden_row(f: Answer) -> None:
    """A row that may look nowhere."""
    x, keep = np.array([1.0, 2]), np.zeros(2, dtype=bool)
    nothing = {
        "The row may look nowhere, and 0/0 is nan. By the book's contract such a row is all "
        "zeros.": (np.nan, np.nan)
    }
    said = f.said(x=x, keep=keep)
    got = f.array(said, x=x, keep=keep)
    if got.shape == (2,) and abs(got.sum() - 1) < 1e-6:
        raise Wrong(
            f"With {said}, {f.name} gives {say.show(got)}: weights that sum to 1 over keys that "
            "are all hidden. A large negative number in place of −∞ does that, since only "
            "differences of scores count. Such a row is all zeros."
        )
    f.judge(got, np.zeros(2), nothing, said=said)


@exercise(
    "2.6",
    praise="All five faults are gone: the caller's array, the shift, the inverse temperature, the "
    "axis and the denominator.",
    hints=(
        "Try it on small inputs: two scores with β = 2, two rows that differ, one single score. "
        "Look at the array you passed in, afterwards.",
        "`x -= …` changes the array that the caller still holds; `x = x − …` makes a new one. "
        "`x.max()` and `axis=0` both look in the wrong place.",
        "β is an inverse temperature: a large β makes the weights sharp. And after the shift, how "
        "small can the sum be?",
    ),
)
def repaired(f: Answer) -> None:
    """A softmax with five faults."""
    x = np.array([0.0, np.log(4)])
    inverse = {
        "β divides the scores; an inverse temperature multiplies them.": (1 / 3, 2 / 3),
        "β has no effect.": (1 / 5, 4 / 5),
        "β is applied twice.": (1 / 257, 256 / 257),
    }
    f.expect((1 / 17, 16 / 17), inverse, x=x, beta=2.0)
    rows = np.array([[0.0, np.log(3)], [0, 0]])
    axis = {
        "The columns sum to 1 instead of the rows: the sum still runs along axis 0.": (
            reference.softmax(rows, axis=0)
        ),
        "The right axis is summed, but without keepdims the sums are lined up with the columns.": (
            np.exp(rows) / np.exp(rows).sum(axis=-1)
        ),
        "The sum runs over the whole array; each row has its own.": np.exp(rows) / 6,
    }
    f.expect(reference.softmax(rows), axis, "Each row should sum to 1.", x=rows, beta=1.0)
    f.expect((0.5, 0.5), why="exp(1000) overflows: keep the shift.", x=_FAR, beta=1.0)
    _check_rows(f, beta=1.0)
    _check_single(f, beta=1.0)
    for seed in range(3):
        x = integers(seed, (2, 2, 3))
        f.expect(reference.softmax(x, beta=0.5), x=x, beta=0.5)


_FAR = np.array([1000.0, 1000])
