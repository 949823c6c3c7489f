"""Exercise 16.4: parts of a row that come finished."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tformer import reference
from tformer_book.exercises.kinds import Several
from tformer_book.exercises.promises import promised, single, whole
from tformer_book.exercises.registry import exercise
from tformer_book.exercises.samples import integers
from tformer_book.exercises.table import Case, case, each

Array = np.ndarray


def _over(x: Array, v: Array) -> tuple[Array, Array]:
    """Output and λ of each row of scores, over all of its keys at once."""
    none = np.zeros((*x.shape, 1))
    y = reference.attention(none[..., :1, :], none, v, bias=x[..., np.newaxis, :])[..., 0, :]
    return y, reference.logsumexp(x)


def _parts() -> Iterator[Case]:
    no = -np.inf
    two, four = np.log([2, 4]).tolist()
    why = "The sums of the exponentials are 2 and 4: the shares are 1/3 and 2/3."
    y, lam = np.array([[[3.0, 0]], [[6, 9]]]), np.array([[two], [four]])
    yield case(y=y, lam=lam, want=([[5.0, 6]], [np.log(6)]), why=why)
    why = "The sums are 1, 2 and 1 in the first row, and 2, 0 and 4 in the second."
    y = np.array([[[4.0], [3]], [[8], [0]], [[0], [6]]])
    lam = np.array([[0, two], [two, no], [0, four]])
    yield case(y=y, lam=lam, want=([[5.0], [5]], np.log([4, 6])), why=why)
    why = "No part has a key for the second row."
    y, lam = np.array([[[4.0], [0]], [[8], [0]]]), np.array([[0, no], [0, no]])
    yield case(y=y, lam=lam, want=([[6.0], [0]], [two, no]), why=why)
    one, at = np.array([[[2.0, 5]]]), np.array([[7.0]])
    yield case(y=one, lam=at, want=(one[0], at[0]), why="One part is all there is.")
    gone = np.array([[no]])
    yield case(y=0 * one, lam=gone, want=([[0.0, 0]], [no]), why="One part, and no key.")
    y = np.array([[[1.0], [1], [1]], [[5], [5], [5]]])
    why = "In each row the two λ differ by ln 2, so the shares are 1/3 and 2/3."
    for far in ([0, 1e5, -1e5], [-1e5, -1e5, -1e5], [1e5, 1e5, 99_000.0]):
        lam = np.array(far) + np.array([[0], [two]])
        yield case(y=y, lam=lam, want=(np.full((3, 1), 11 / 3), lam[0] + np.log(3)), why=why)
    why = "The first part is all that counts in the first row, the second one in the second."
    lam = np.array([[1e5, -1e5, no], [-1e5, 1e5, 1e5]])
    yield case(y=y, lam=lam, want=([[1.0], [5], [5]], [1e5, 1e5, 1e5]), why=why)
    why = "One part alone has a key for the row, and its λ may be as low as −100,000."
    for low in (-1e5, -20_000.0, -1000.0):
        lam = np.array([[no, low, no], [low, no, no]])
        yield case(
            y=y * (lam > no)[:, :, None], lam=lam, want=([[5.0], [1], [0]], [low, low, no]), why=why
        )
    for seed, (n, T, d_v) in enumerate(((2, 3, 4), (5, 2, 3), (4, 6, 1), (3, 1, 2))):
        rng = np.random.default_rng(seed)
        x, v = rng.normal(0, 3, (n, T, 6)), rng.normal(size=(n, T, 6, d_v))
        x[rng.random((n, T)) < 0.25] = no
        y, lam = _over(x, v)
        want = _over(np.concatenate([*x], axis=-1), np.concatenate([*v], axis=-2))
        why = f"{n} parts of six keys a row, some of them hidden."
        yield case(y=y, lam=lam, want=want, why=why)
    yield from promised(single, y=integers(3, (3, 2, 4)), lam=integers(4, (3, 2)))
    yield from promised(whole, y=integers(5, (2, 2, 3)), lam=integers(6, (2, 2)))


def _at_once(lam: Array, axis: int | None) -> Array:
    """A softmax along an axis, or over the whole table."""
    terms = np.exp(lam - lam.max(axis=axis, keepdims=True))
    return np.asarray(terms / terms.sum(axis=axis, keepdims=True))


def _lifted(least: float, y: Array, lam: Array) -> tuple[Array, Array]:
    """The parts with a number in place of −∞; rows that are −∞ everywhere are told apart."""
    low = np.where(lam == -np.inf, least, lam)
    whole = reference.logsumexp(low.T)
    gone = (lam == -np.inf).all(axis=0)
    out = (np.exp(low - whole)[:, :, None] * y).sum(axis=0)
    return np.where(gone[:, None], 0, out), np.where(gone, -np.inf, whole)


LEAST: dict[Any, float] = {
    "You put −10,000 in place of −∞, and the λ of a part with keys may be lower.": -1e4,
    "You put −1000 in place of −∞, and the λ of a part with keys may be lower.": -1e3,
}


@exercise(
    "16.4",
    praise="One part and many, rows without a key, and λ too large and too small for exp.",
    hints=(
        "Undo the division: what were sum of exponentials and undivided output of a part?",
        "With the number λ in place of the largest score the sum of a part is 1, and its undivided "
        "output y. Now merge.",
        "The shares of the parts are a softmax over their λ, and the new λ is the logarithm of the "
        "sum that it divides by. Shift before exp, and mind rows that are −∞ everywhere.",
    ),
    cases=_parts,
    kind=Several(names=("output", "λ")),
    mutants=each(_lifted, LEAST),
    slips="""
        shares = terms / np.where(total > 0, total, 1) → shares = np.ones_like(lam) / len(lam)
            You took the mean of the outputs. A part with larger scores counts more.
        shares = terms / np.where(total > 0, total, 1) → shares = np.ones_like(lam)
            You added the outputs; each is a mean over its own keys, so only shares of them add up.
        shares = terms / np.where(total > 0, total, 1) → shares = 1.0 * (lam > -np.inf)
        * y).sum(axis=0) → * y).sum(axis=0) / np.maximum(shares.sum(axis=0), 1)[:, None]
            You took the mean over the parts that have a key. Those with larger scores count more.
        shares = terms / np.where(total > 0, total, 1) → shares = terms
            The outputs are not divided: your shares of the parts do not add up to 1.
        shares = terms / np.where(total > 0, total, 1) → shares = lam / lam.sum(axis=0)
            You took λ itself for a share. λ is a logarithm; its exponential is the sum.
        shares = terms / np.where(total > 0, total, 1) → shares = np.eye(len(lam))[lam.argmax(0)].T
            You kept only the part with the largest λ.
        shares = terms / np.where(total > 0, total, 1) → shares = np.exp(lam) / np.exp(lam).sum(0)
            e^λ is more than a float holds, or all of them are 0: subtract the largest λ before.
        (shares[:, :, None] * y).sum(axis=0) → y.sum(axis=0) / (np.exp(shift) * total)[:, None]
            You took y for values that are summed and not yet divided; each output is a mean.
        top = lam.max(axis=0) → top = np.full(lam.shape[1], lam.max())
            One number was subtracted from all rows, so that in rows far below the largest λ all
            exponentials are 0. Each row has a largest λ of its own.
        np.where(total > 0, total, 1) → total
        np.where(top > -np.inf, top, 0) → top
            A row without a key in any part became nan: −∞ − (−∞) has no value.
        np.where(total > 0, total, 1) → total
            A row without a key in any part became nan, from 0/0.
        shares = terms / np.where(total > 0, total, 1) → shares = terms / terms.sum()
            You divided by the sum over all rows; each row has its own shares.
        shares = terms / np.where(total > 0, total, 1) → shares = _at_once(lam, None)
            You took one softmax over all numbers of the table; each row has its own shares.
        shares = terms / np.where(total > 0, total, 1) → shares = _at_once(lam, 1)
            Your softmax goes along the rows of a part; it goes over the parts of a row.
        shares = terms / np.where(total > 0, total, 1) → shares = terms / terms.sum(1)[:, None]
            You divided by the sum over the rows of a part; shares add up to 1 over the parts of a
            row.
        shift + np.log(total) → top
            For λ you took the largest; the sums of the other parts are added to its sum.
        shift + np.log(total) → lam.sum(axis=0)
            You added the λ. They are logarithms: what adds up is their exponentials.
        shift + np.log(total) → shift + np.log(total) - np.log(len(lam))
            That is the logarithm of a mean; the sums of the parts are added.
        shift + np.log(total) → np.log(total)
            The largest λ was subtracted before the exponentials, and is missing in the new λ.
        shift + np.log(total) → total
            That is a sum of exponentials, and λ is its logarithm.
        shift + np.log(total) → np.exp(shift) * total
            That is the sum of the exponentials; λ is its logarithm.
        shift + np.log(total) → top + np.log(np.exp(lam - top).sum(axis=0))
            For a row without a key in any part your λ is nan: −∞ − (−∞) has no value.
        shift + np.log(total) → shift + np.log(np.maximum(total, 1e-300))
            A row without a key has the sum 0, whose logarithm is −∞, and you let it be finite.
        shift + np.log(total) → np.where(top > -np.inf, shift + np.log(total), 0)
            You returned λ = 0 for a row without a key; its sum is 0, and the logarithm −∞.
        y).sum(axis=0), shift + np.log(total) → y).sum(axis=0), (shares * np.nan_to_num(lam)).sum(0)
            You weighted the λ with the shares; the new λ is the logarithm of the whole sum.
        terms = np.exp(lam - shift) → terms = np.where(lam > -np.inf, lam, 0.0)
            The shares were made of the λ themselves; they are made of e to their power.
        return (shares[:, :, None] * y).sum(axis=0), shift + np.log(total) → $ / np.log(2)
            λ is a natural logarithm, not one to base 2.
        shift + np.log(total) → np.logaddexp2.reduce(lam, axis=0)
            That adds up powers of 2, and takes their logarithm to base 2; λ is made with e.
    """,
    otherwise="Shares of the parts are e^λ, divided by their sum; the new λ is its logarithm.",
)
def joined(y: Array, lam: Array) -> tuple[Array, Array]:
    """Output and λ over the keys of all parts."""
    top = lam.max(axis=0)
    shift = np.where(top > -np.inf, top, 0)
    terms = np.exp(lam - shift)
    total = terms.sum(axis=0)
    shares = terms / np.where(total > 0, total, 1)
    return (shares[:, :, None] * y).sum(axis=0), shift + np.log(total)
