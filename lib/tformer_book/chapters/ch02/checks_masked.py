"""Exercises 2.5 and 2.6: hidden keys, and a repair."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from tformer_book.chapters.ch02.checks_rows import WHOLE, check_default, check_single
from tformer_book.exercises.registry import Test, exercise
from tformer_book.exercises.samples import integers
from tformer_book.exercises.softmaxes import MASK_MUTANTS, ZEROS, visible
from tformer_book.exercises.table import Case, case

Array = np.ndarray


def _masked_rows() -> Iterator[Case]:
    yield case(x=np.log([1.0, 3, 4]), keep=np.array([True, True, False]), want=(1 / 4, 3 / 4, 0))
    yield case(x=[1.0, 2], keep=np.zeros(2, dtype=bool), want=(0.0, 0.0))
    one = np.array([True, False])
    for seen, hidden in (0.0, 1000.0), (0.0, 2e10), (-2000.0, 1e300), (0.0, -1000.0):
        yield case(x=[seen, hidden], keep=one, want=(1.0, 0.0))
    for far in -1e10, -1e300:
        why = "No number is so low that it serves as −∞: a visible score can lie lower still."
        yield case(x=[far, 5.0], keep=one, want=(1.0, 0.0), why=why)
    for x in (1000.0, 1000, 0), (0, -np.inf, 0):
        yield case(x=np.array(x), keep=np.array([True, True, False]))
    causal = np.tri(3, dtype=bool)
    yield case(x=np.zeros((3, 3)), keep=causal, want=causal / np.array([[1.0], [2], [3]]))
    keep = np.array([[True, True, False], 3 * [False]])
    yield case(x=np.log([[1.0, 3.0, 4.0], [2.0, 5.0, 1.0]]), keep=keep)
    yield case(x=[[0.0, 0], [-1000, -1000]], keep=np.ones((2, 2), dtype=bool))
    broadcast = "A mask of fewer axes serves every batch."
    shapes = ((2, 3),) * 3 + ((3,), (2, 1, 3), (2, 1), (1, 3), (2, 2, 3))
    for seed, shape in enumerate(shapes):
        keep = np.random.default_rng(seed + 9).uniform(size=shape) > 0.4
        yield case(x=integers(seed, (2, 2, 3)), keep=keep, why=broadcast)
    why = "A mask with a single True or False serves all keys."
    yield case(x=integers(8, (2, 3)), keep=np.array(True), why=why)
    low = np.array([-20_000.0, -20_001.0, 3.0])
    yield case(x=low, keep=np.array([True, True, False]))
    for shape in (3,), (2, 1, 1, 3):
        keep = np.random.default_rng(4).uniform(size=shape) > 0.4
        yield case(x=integers(9, (2, 1, 2, 3)) / 3, keep=keep, why=broadcast)
    yield case(x=[[0.0, 1, 3]], keep=np.array([True, False, True]), whole=True, why=WHOLE)


def _equal_if_masked(x: Array, keep: Array) -> Array:
    found = masked_softmax(x, keep)
    return np.where(found.any(axis=-1, keepdims=True), found, 1 / x.shape[-1])


def _masked_terms(x: Array, keep: Array) -> Array:
    terms = np.exp(x) * keep
    total = terms.sum(axis=-1, keepdims=True)
    return np.asarray(terms / np.where(total > 0, total, 1))


@exercise(
    "2.5",
    praise="Hidden keys have weight 0 however large their scores, visible ones sum to 1 however "
    "small theirs, masks of fewer axes serve every batch, and a fully masked row is zero.",
    hints=(
        "A hidden key should have the weight 0. Which score gives exactly that weight?",
        "Set hidden scores to −∞ before anything else, so that neither the maximum nor the sum "
        "sees them.",
        "In a row that is all −∞ the maximum is −∞ and the sum 0. Replace that maximum by 0 before "
        "you subtract and that sum by 1 before you divide.",
    ),
    cases=_masked_rows,
    mutants=MASK_MUTANTS
    | {
        f"Fully masked rows got equal weights. {ZEROS}": _equal_if_masked,
        "The weights are 0 only when the whole mask is False; one fully masked row among others "
        "got equal weights.": lambda x, keep: (
            _equal_if_masked(x, keep) if keep.any() else np.zeros(x.shape)
        ),
        "The hidden scores went through exp before they were hidden: where one overflows, ∞ · 0 "
        "is nan.": _masked_terms,
    },
    slips="""
        visible(x, keep) → visible(x, keep, 0.0) ;; np.asarray(terms → np.asarray(keep * terms
            A score of 0 still has e⁰ = 1 in the sum, and it was set to 0 only after that.
        = masked_softmax(x[np.broadcast_to(keep, x.shape)], np.array(True))
            The hidden keys are left out; each keeps its place, with the weight 0.
        np.where(largest == -np.inf, 0, largest) → (largest if keep.any() else 0)
            Only when the whole mask is False are the weights 0; one fully masked row among others
            is nan.
        = np.where(keep, np.exp(x), 0.0)
            The exponentials of the visible keys are not divided by their sum.
        = masked_softmax(x.ravel(), np.broadcast_to(keep, x.shape).ravel()).reshape(x.shape)
            The whole array shares one sum; each row has its own.
        = masked_softmax(x, keep) * np.broadcast_to(keep, x.shape).any(axis=-1).all()
            One fully masked row made the whole array 0; the other rows keep their weights.
        = np.where((np.isneginf(x) & keep).any(axis=-1, keepdims=True), 0, masked_softmax(x, keep))
            A visible score of −∞ made its whole row 0; it has weight 0, and the others share the
            row.
        = masked_softmax(x + np.where(keep, 0, -1e12), np.broadcast_to(keep, x.shape).any(axis=-1,
        keepdims=True))
            −10¹² was added to hidden scores, and one may be larger: no number serves as −∞ does.
    """,
    otherwise="The visible keys of a row share its weight as in a softmax of their own.",
)
def masked_softmax(x: Array, keep: Array) -> Array:
    """Softmax over the keys that `keep` allows; zeros where it allows none."""
    seen = visible(x, keep)
    largest = seen.max(axis=-1, keepdims=True)
    terms = np.exp(seen - np.where(largest == -np.inf, 0, largest))
    total = terms.sum(axis=-1, keepdims=True)
    return np.asarray(terms / np.where(total == 0, 1, total))


_FLAT = "Multiply by β first: after the exponential a score 1000 lower is 0 already."


def _broken_rows() -> Iterator[Case | Test]:
    yield case(x=[0.0, np.log(4)], beta=2.0, want=(1 / 17, 16 / 17))
    row = "Each row should sum to 1."
    yield case(x=np.log([[1.0, 3.0, 4.0], [1.0, 1.0, 2.0]]), beta=1.0, why=row)
    yield case(x=[[0.0, np.log(3)], [0, 0]], beta=1.0, why=row)
    overflow = "exp(1000) overflows: keep the shift."
    for x in (1000.0, 1000.0), (20_000.0, 20_000.0), (1000.0, 999.0):
        yield case(x=np.array(x), beta=1.0, why=overflow)
    yield case(x=[500.0, 499], beta=20.0, why=overflow)
    underflow = "Without a shift exp(−1000) is rounded to 0, and 0/0 is nan."
    for x in (-1000.0, -1000.0), (-20_000.0, -20_001.0):
        yield case(x=np.array(x), beta=1.0, why=underflow)
    for x in (5000.0, 0.0), (-2000.0, -np.inf), (0.0, -800.0):
        yield case(x=np.array(x), beta=1.0, want=(1.0, 0.0))
    yield case(x=[[0.0, 0], [-1000, -1000]], beta=1.0, want=np.full((2, 2), 0.5))
    yield partial(check_single, beta=1.0)
    for seed, shape in enumerate([(2, 2, 3), (2, 3, 2), (3, 1, 4), (4, 1), (3, 2)]):
        yield case(x=integers(seed, shape), beta=0.5)
    none = "A score of −∞ has weight 0, however low the others lie."
    yield case(x=[-20_000.0, -20_000, -np.inf], beta=0.01, want=(0.5, 0.5, 0.0), why=none)
    yield case(x=[-20_000.0, -np.inf, -19_999], beta=1.0, why=none)
    yield case(x=integers(9, (2, 1, 2, 3)) / 3, beta=1.7)
    yield case(x=[0.0, 1000, -1000], beta=0.001, why=_FLAT)
    yield case(x=[[2000.0, 1000], [-5000, -4000]], beta=0.0005, why=_FLAT)
    for beta in (2.0, 0.5, 0.3):
        yield case(x=[[0.0, 1], [3, 1]], beta=beta, whole=True, why=WHOLE)
    yield partial(check_default, x=np.array([[0.0, 1], [3, 1]]))


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
    cases=_broken_rows,
    slips="""
        beta * → 1 / beta *
            β divides the scores; an inverse temperature multiplies them.
        beta * →
            β has no effect.
        = repaired(np.nan_to_num(x, neginf=-1e4), beta)
            −∞ was replaced by a number, and finite scores may lie below it: then it takes the
            weight.
        beta * → beta**2 *
            β is applied twice.
        = beta * repaired(x, 1.0)
            β multiplies the weights; it belongs to the scores.
        = (e := np.exp(x - x.max(axis=-1, keepdims=True)) ** beta) / e.sum(axis=-1, keepdims=True)
            β came after the exponential, as a power: what lies 1000 below the maximum is 0 by then.
        = repaired(x, 1.0) ** beta
            The weights are raised to the power β, and then they no longer sum to 1.
        terms.sum(axis=-1, keepdims=True) → terms.sum()
            The sum runs over the whole array; the maximum is that of each row, and so should the
            sum be.
        x.max(axis=-1, keepdims=True) → x.max(axis=0)
            The maxima of the columns are subtracted, and they change the differences in a row.
        / terms.sum(axis=-1, keepdims=True) →
            The exponentials are not divided by their sum.
        x.max(axis=-1 → x.max(axis=0 ;; terms.sum(axis=-1 → terms.sum(axis=0
            The columns sum to 1 instead of the rows: the sum still runs along axis 0.
        terms.sum(axis=-1, keepdims=True) → terms.sum(axis=0)
            The columns sum to 1 instead of the rows: each row is shifted by its own maximum, and
            the sum still runs down.
        terms.sum(axis=-1, keepdims=True) → terms.sum(axis=-1)
            The right axis is summed, but without keepdims the sums are lined up with the columns.
        - x.max(axis=-1, keepdims=True) → ;; terms.sum(axis=-1, keepdims=True) → terms.sum(axis=-1)
            The right axis is summed, but without keepdims, and without the shift.
        x.max(axis=-1, keepdims=True) → x.max(axis=-1)
            The maximum is taken along the right axis, but without keepdims it is lined up with the
            columns.
        x.max(axis=-1, keepdims=True) → x.max() ;; terms.sum(axis=-1, keepdims=True) → terms.sum()
            The sum runs over the whole array; each row has its own.
        - x.max(axis=-1, keepdims=True) →
            The shift is gone, and exp(1000) is more than a float64 can hold. It is the wrong
            maximum that was the fault.
        x.max → x.mean
            The scores are shifted by their mean, and a score far above it still overflows. The
            largest score is the shift.
        x.max → x.min
            The smallest score is the shift, and the largest difference overflows.
        x - x.max(axis=-1, keepdims=True) → np.clip(x, -700, 700)
            The scores are cut off at a height, so that those beyond it become equal.
        beta * (x - x.max(axis=-1, keepdims=True)) → beta * x - x.max(axis=-1, keepdims=True)
            The maximum is subtracted after the scores were multiplied by β, and not multiplied
            itself: with β = 20 the difference overflows.
        x.max(axis=-1, keepdims=True) → x.max()
            One maximum for the whole array pushes the lower row so far down that all its
            exponentials are 0. Each row needs its own shift.
    """,
    otherwise="What should be left is the softmax of β times the scores, row by row.",
)
def repaired(x: Array, beta: float) -> Array:
    """A softmax with five faults, without them."""
    terms = np.exp(beta * (x - x.max(axis=-1, keepdims=True)))
    return np.asarray(terms / terms.sum(axis=-1, keepdims=True))
