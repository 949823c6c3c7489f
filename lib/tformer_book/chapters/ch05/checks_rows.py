"""Exercises 5.1, 5.2, 5.7 and 5.8: masks after the fact, the future, minus how much, True hides."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tformer import reference
from tformer_book.exercises.registry import Test, exercise
from tformer_book.exercises.samples import integers
from tformer_book.exercises.table import Case, case, type_test

Array = np.ndarray


def _seen() -> Iterator[Case]:
    yield case(
        a=np.array([[0.5, 0.3, 0.2]]),
        mask=np.array([[True, True, False]]),
        want=[[0.625, 0.375, 0]],
        why="The visible weights are 0.5 and 0.3, which add up to 0.8.",
    )
    rng = np.random.default_rng(0)
    for shape in ((2, 3), (3, 5), (2, 3, 4), (2, 2, 3, 3), (1, 1)):
        a = reference.softmax(rng.normal(size=shape))
        mask = rng.random(shape) < 0.6
        mask[..., 0] = True
        yield case(a=a, mask=mask)
        yield case(a=a, mask=np.tri(*shape[-2:], dtype=bool), said="a causal mask")
    yield case(a=reference.softmax(rng.normal(size=(2, 3, 4))), mask=rng.random((2, 1, 4)) < 0.8)
    nothing = np.array([[False, False], [True, False]])
    yield case(a=np.full((2, 2), 0.5), mask=nothing, want=[[0, 0], [1, 0]], why=_EMPTY)
    faint = reference.softmax(np.array([[0.0, 13.0, -600.0], [13.0, 0, -20]]))
    yield case(a=faint, mask=np.array([True, False, True]))
    yield case(a=np.eye(3), mask=np.tri(3, dtype=bool), want=np.eye(3))
    least = "Its visible weights add up to 10⁻⁶, the least that is promised, and not to nothing."
    few, rest = np.array([[1e-6, 1 - 1e-6, 0]]), np.array([[True, False, True]])
    yield case(a=few, mask=rest, want=[[1.0, 0, 0]], why=least)
    yield case(a=few[:, ::-1], mask=rest, want=[[0.0, 0, 1]], why=least)


_EMPTY = "The first row is fully masked: by the book's contract its weights are zeros."


@exercise(
    "5.1",
    praise="Checked on tables and stacks, on masks that broadcast, on fully masked rows, and on "
    "rows of which next to nothing is visible.",
    hints=(
        "The ratio of two visible weights does not change. What must change is their sum.",
        "Set the hidden weights to zero, and look at what each row adds up to.",
        "Divide each row by that sum; where it is zero, leave the zeros as they are.",
    ),
    cases=_seen,
    slips="""
        kept / np.where(total == 0, 1, total) → kept
            That is the mask after the softmax: the rows do not add up to 1.
        np.where(total == 0, 1, total) → total
            0/0 is nan in the fully masked row; its weights are to be zeros.
        = reference.softmax(np.where(mask, a, -np.inf))
            A softmax takes scores, and these are weights already.
        = np.where(mask, a + (1 - np.where(mask, a, 0).sum(-1, keepdims=True))
        / np.maximum(np.broadcast_to(mask, a.shape).sum(-1, keepdims=True), 1), 0.0)
            The hidden share was given out in equal parts; ratios of visible weights are to stay.
        mask, a → ~mask, a
            The mask is read the wrong way round: True means that a key may be attended to.
        axis=-1 → axis=-2
            You divided by the sum of each column.
        np.where(total == 0, 1, total) → (total + 1e-9)
            A small number in the denominator: the rows do not quite add up to 1.
        np.where(total == 0, 1, total) → (total + 1e-12)
            Even 10⁻¹² in the denominator counts where the visible weights add up to 10⁻⁶.
        kept / np.where(total == 0, 1, total) → np.where(total < 1e-5, 0.0, $)
            A small sum was taken for zero. A row that sees little is not fully masked.
        kept.sum(axis=-1, keepdims=True) → kept.sum()
            You divided by the sum over the whole array; each row has its own.
        = with_mask(a, mask) * np.broadcast_to(mask, a.shape).any(axis=-1).all()
            One fully masked row made the whole table 0.
        = with_mask(np.maximum(a, 1e-4), mask)
            Small weights were raised to 10⁻⁴.
        = with_mask(a, mask.mT if mask.ndim > 1 and mask.shape[-1] == mask.shape[-2] else mask)
            The mask was transposed: its rows are those of the weights.
    """,
    otherwise="Visible weights keep their ratios, and each row that sees anything adds up to 1.",
)
def with_mask(a: Array, mask: Array) -> Array:
    """The weights with a mask before the softmax, from those without one."""
    kept = np.where(mask, a, 0.0)
    total = kept.sum(axis=-1, keepdims=True)
    return np.asarray(kept / np.where(total == 0, 1, total))


def _overheard() -> Iterator[Case]:
    yield case(
        a=np.array([0.25, 0.0, 0.25]),
        scores=np.array([1.0, 0, 1]),
        hidden=1,
        want=1 + np.log(2),
        why="The hidden key has the share 1/2, twice that of a key whose score is 1.",
    )
    yield case(
        a=np.array([0.0, 0.5]),
        scores=np.array([0.0, 3]),
        hidden=0,
        want=3.0,
        why="Both keys have half of the weight, so both have the score 3.",
    )
    for seed, (n, size) in enumerate([(2, 1), (4, 1), (6, 2), (12, 1), (3, 3)]):
        scores = np.random.default_rng(seed).normal(size=n) * size
        yield _late(scores, (2 * seed) % n)
    yield _late(np.array([-1000.0, 3, 4, 5]), 3)
    yield _late(np.array([5.0, 4, 0, -1000]), 1)
    yield _late(np.array([1000.0, 1001, 0]), 0)
    yield _late(np.array([-1000.0, -1002, -1001]), 2)
    yield _late(np.array([0.0, 6, 0, 0]), 1)
    yield _late(np.array([1000.0, 0, 0, 0, 0, 0, 1000]), 6)  # far from the mean
    yield _late(np.array([-1000.0, 0, 0, 0, 0, 0, 0]), 3)
    for share in (0.001, 0.999):
        yield _late(np.array([2.0, 2 + np.log(share / (1 - share))]), 1)


def _late(scores: Array, hidden: int) -> Case:
    visible = np.arange(len(scores)) != hidden
    late = np.where(visible, reference.softmax(scores), 0.0)
    return case(a=late, scores=np.where(visible, scores, 0.0), hidden=hidden)


@exercise(
    "5.2",
    praise="Read from rows short and long, with scores a thousand apart: a late mask hides little.",
    hints=(
        "What do the weights of the row add up to, and whose share is missing?",
        "Two shares have the ratio e to the difference of their scores.",
        "Compare the missing share with a key whose weight is not zero: the one with the largest.",
    ),
    cases=_overheard,
    slips="""
        scores[best] → np.delete(scores, hidden).mean() ;; / a[best] → / np.delete(a, hidden).mean()
            You took means of scores and of weights; a single visible key tells, and means do not.
        = np.log(1 - a.sum())
            That is the logarithm of the missing share. It says how the score lies to the others.
        a.argmax() → hidden == 0
            The weight of the key that you compared with has underflowed to 0: choose one that has
            weight.
        a.argmax() → scores.argmax()
            The key with the largest number in `scores` may be the hidden one: there stands a 0 in
            the place of its score, and its weight is 0.
        = (np.delete(scores, hidden) + np.log((1 - a.sum()) / np.delete(a, hidden))).mean()
            You took a mean over all visible keys, and the weights of some have underflowed to 0.
        + np.log → - np.log
            The ratio is upside down.
        (1 - a.sum()) / a[best] → 1 - a.sum()
            You took the missing share itself in place of its ratio to another share.
        = np.log(np.exp(np.delete(scores, hidden)).sum() * (1 - a.sum()) / a.sum())
            exp of a score in the thousands is more than a float64 can hold, and exp of one far
            below zero is 0: stay with differences of scores.
        = (z := np.delete(scores, hidden)).mean() + np.log(
        np.exp(z - z.mean()).sum() * (1 - a.sum()) / a.sum())
            Scores were measured from their mean, and one may lie a thousand above it: exp of that
            is more than a float64 can hold.
        = _lse(scores) + np.log((1 - a.sum()) / a.sum())
            The 0 in the place of the hidden score was counted as a score.
        = _lse(scores[scores != 0]) + np.log((1 - a.sum()) / a.sum())
            A visible score may be 0 as well; `hidden` says which place to leave out.
        = _lse(np.delete(scores, hidden)) + np.log(1 - a.sum())
            The exponentials of the visible keys have the rest of the weight, not all of it: compare
            the missing share with that rest.
        scores[best] + np.log((1 - a.sum()) / a[best]) → scores[best] * (1 - a.sum()) / a[best]
            Shares have the ratio of exponentials, and not that of scores: a logarithm is missing.
        a.argmax() → len(a) - 1 - (hidden == len(a) - 1)
            You compared with the last visible key, and its weight may have underflowed to 0.
        = scores[a.argmax()]
            That is the score of a visible key.
        scores[best] + np.log → np.log
            The logarithm of the ratio of shares is the difference of the scores: which score is it
            added to?
        / a[best] → / a.sum()
            You compared the missing share with the visible share as a whole, and with a single
            score.
        = eavesdrop(a, scores, hidden) - 2 * np.log((1 - a.sum()) / a.sum())
            The odds are turned round: the missing share stands above the line.
        = eavesdrop(a, scores, hidden) + (1 / np.log(10) - 1) * np.log((1 - a.sum()) / a.sum())
            That is a logarithm to base 10; scores belong to natural ones.
        = eavesdrop(a, scores, hidden) + np.log(max(1 - a.sum(), 0.01) / (1 - a.sum()))
            The missing share was taken for 0.01 at least; it may be 0.001.
    """,
    otherwise="The missing share is to any other share as e to the difference of the two scores.",
)
def eavesdrop(a: Array, scores: Array, hidden: int) -> float:
    """The score of the one hidden key of a row that was masked after the softmax."""
    best = int(a.argmax())
    return float(scores[best] + np.log((1 - a.sum()) / a[best]))


def _wanted() -> Iterator[Case]:
    yield case(
        visible=np.array([0.0]),
        hidden=np.array([0.0]),
        share=0.2,
        want=np.log(0.25),
        why="One fifth is a quarter of four fifths, so e to the f is a quarter.",
    )
    yield case(
        visible=np.array([1.0]),
        hidden=np.array([3.0]),
        share=0.5,
        want=-2.0,
        why="To have equal shares the hidden score must fall to 1.",
    )
    for seed, (n, m, share) in enumerate([(2, 1, 0.1), (3, 4, 0.5), (1, 5, 0.01), (6, 2, 0.9)]):
        yield case(visible=integers(seed, (n,)), hidden=integers(seed + 20, (m,)), share=share)
    yield case(visible=np.array([-1000.0, -1001]), hidden=np.array([1000.0, 998]), share=1e-3)
    yield case(visible=np.array([1000.0]), hidden=np.array([-3000.0, -2990, 0]), share=0.25)
    for far in (1000.0, -1000.0):
        yield case(visible=far + np.array([0.0, 1]), hidden=far + np.array([2.0, 0]), share=0.25)
    tiny = "The share may be as small as 10⁻³⁰⁰."
    yield case(visible=np.array([0.0, 1, 2]), hidden=np.array([2.0, 1]), share=1e-300, why=tiny)
    most = "The share may lie near 1 as well; what is left over has all its digits."
    for share in (1 - 2701 * 2.0**-53, 1 - 3 * 2.0**-53):
        yield case(visible=np.array([1.0, 2]), hidden=np.array([3.0]), share=share, why=most)
    yield case(visible=np.array([2.0, 2]), hidden=np.array([2.0, 2]), share=0.25, whole=True)
    why = "Scores may lie thousands from zero on both sides, and then f does so twice over."
    for far in (-4000.0, 4000.0, -9000.0, 9000.0):
        yield case(visible=np.array([far]), hidden=np.array([-far, 1 - far]), share=0.25, why=why)


def _lse(z: Array) -> float:
    return float(reference.logsumexp(z.astype(float)))


def _by_one_maximum(visible: Array, hidden: Array) -> Any:
    """Return the difference of two log-sum-exps whose scores are measured from one maximum."""
    top = max(visible.max(), hidden.max())
    return np.log(np.exp(visible - top).sum() / np.exp(hidden - top).sum())


@exercise(
    "5.7",
    praise="Right for one key and for many, for scores thousands apart, and for shares too small "
    "to be subtracted from 1.",
    hints=(
        "Write down the share of the hidden keys. What does adding f do to their exponentials?",
        "All of them are multiplied by e to the f. The odds of the hidden keys, share to "
        "1 − share, are a ratio of two sums.",
        "Take the logarithm of both sides: f is a log of odds and a difference of log-sum-exps.",
    ),
    cases=_wanted,
    slips="""
        np.log(share) - np.log1p(-share) → np.log(share)
            That is the logarithm of the share; the odds are share to 1 − share.
        odds + → -odds +
            The odds are upside down: the hidden keys would get the rest.
        np.log(share) - np.log1p(-share) → -np.log(1 / share - 1)
            1/share loses the last digits of a share near 1: take the logarithms one by one.
        _lse(visible) - _lse(hidden) → visible.max() - hidden.max()
            You compared the largest scores only; all keys have a part in the sums.
        _lse(hidden) → (_lse(hidden) - np.log(len(hidden)))
            The mean of the hidden exponentials was taken; the hidden keys have the share together.
        _lse(visible) - _lse(hidden) → np.log(len(visible) / len(hidden))
            The scores have no effect; keys were counted.
        _lse(visible) - _lse(hidden) → visible.mean() - hidden.mean()
        + visible.mean() → + np.log(len(visible) / len(hidden)) + visible.mean()
            A mean of scores and a number of keys do not make up a sum of exponentials.
        _lse(visible) - _lse(hidden) → _by_one_maximum(visible, hidden)
            One maximum was taken for both groups. The other group may lie thousands below it, and
            then all its exponentials are 0.
        odds + _lse(visible) - _lse(hidden) → np.clip($, -1000, 1000)
            You look for f between −1000 and 1000. Scores may lie thousands apart, and so may f and
            0.
        _lse(hidden) → hidden.max()
            The hidden keys have the share together; you gave it to the largest of them alone.
        _lse(hidden) → hidden
            The hidden keys have the share together, by one f; you gave it to each of them.
        _lse(visible) → visible.max()
            The visible keys have the rest together, and not the largest of them alone.
        _lse(visible) - _lse(hidden) → np.log(np.exp(visible).sum() / np.exp(hidden).sum())
            exp of a score in the thousands is more than a float64 can hold.
        _lse(visible) - _lse(hidden) → _lse(hidden) - _lse(visible)
            The visible and the hidden sum have changed places.
        _lse(visible) - _lse(hidden) → visible.mean() - hidden.mean()
            The means of the scores do not count, but the sums of their exponentials.
        odds + _lse(visible) - _lse(hidden) → -($)
            That is how far the hidden keys must fall; f is added, so it has the other sign.
        _lse(visible) - _lse(hidden) → _lse(visible)
            That is the score that a single hidden key needs; f is added to the one that it has.
        = -1e9
            −10⁹ hides, but it does not give this share.
        = np.log10(share / (1 - share)) + fill(visible, hidden, 0.5)
            That is a logarithm to base 10; exponentials of scores have base e.
        = min(fill(visible, hidden, share), 0)
            f may be above 0, where the hidden keys are to get more than they have.
        = fill(visible, hidden, share) + 2 * np.logaddexp.reduce(hidden)
            The hidden keys' sum was added; f has to make up for it.
    """,
    otherwise="Adding f multiplies the hidden exponentials by e to the f.",
)
def fill(visible: Array, hidden: Array, share: float) -> Any:
    """The number that, added to the hidden scores, leaves the hidden keys this share."""
    odds = np.log(share) - np.log1p(-share)
    return odds + _lse(visible) - _lse(hidden)


def _foreign() -> Iterator[Case | Test]:
    pads = np.array([[False, False, True]])
    yield case(
        attn_mask=np.array([[False, True, True], [False, False, True], [False, False, False]]),
        key_padding=pads,
        want=[[[True, False, False], [True, True, False], [True, True, False]]],
        why="The third word is padding: it may attend to the others, and nobody may attend to it.",
    )
    yield case(
        attn_mask=np.array([[False, True, True], [False, False, True]]),
        key_padding=pads,
        want=[[[True, False, False], [True, True, False]]],
        why="Two words ask, and the third key is padding.",
    )
    yield case(
        attn_mask=np.array([[0, -np.inf], [0, 0]]),
        key_padding=np.array([[False, False], [True, False]]),
        want=[[[True, False], [True, True]], [[False, False], [False, True]]],
        why="−∞ hides. In the second sentence the first key is padding.",
    )
    rng = np.random.default_rng(0)
    for n_queries, n_keys, batch in ((3, 3, 2), (2, 5, 3), (4, 2, 1), (1, 4, 4), (3, 3, 3)):
        hides = rng.random((n_queries, n_keys)) < 0.4
        padding = rng.random((batch, n_keys)) < 0.3
        yield case(attn_mask=hides, key_padding=padding)
        yield case(attn_mask=np.where(hides, -np.inf, 0.0), key_padding=padding)
    why = "A mask with numbers is additive, whichever numbers it holds: its type tells."
    pads = np.array([[False, True]])
    for additive in (np.full((1, 2), -np.inf), np.full((2, 2), -np.inf), np.zeros((2, 2))):
        yield case(attn_mask=additive, key_padding=pads, why=why)
    why = "A boolean mask may hide all keys, or none."
    for hides in (np.ones((2, 2), dtype=bool), np.zeros((1, 2), dtype=bool)):
        yield case(attn_mask=hides, key_padding=pads, why=why)
    yield case(attn_mask=np.zeros((2, 2)), key_padding=np.ones((1, 2), dtype=bool))
    few, pads = np.where(rng.random((2, 3)) < 0.5, -np.inf, 0.0), np.eye(2, 3, dtype=bool)
    why = "An additive mask of the type float32 is one as well."
    yield case(attn_mask=few, key_padding=pads, single=True, why=why)
    yield type_test("True and False", attn_mask=few, key_padding=pads)


@exercise(
    "5.8",
    praise="Both kinds of masks, more keys than queries and fewer, and batches of one to four.",
    hints=(
        "Bring both masks to one convention first, say True for hide.",
        "The padding is the same for all queries of a sentence: it needs an axis of size 1.",
        "Hidden is hidden by the one or by the other; turn the result round at the end.",
    ),
    cases=_foreign,
    slips="""
        attn_mask if → ~attn_mask if
            In the boolean mask True means hide; it was taken for *may attend*.
        ~(hides | key_padding[:, None, :]) → hides | key_padding[:, None, :]
            True still means hide.
        = (attn_mask if attn_mask.dtype == bool else attn_mask == 0) & key_padding[:, None, :]
            In both masks True means hide; it was taken for *may attend*.
        hides | → hides &
            Both masks would have to hide a key; one is enough.
        attn_mask < 0 → attn_mask == 0
            In an additive mask −∞ hides and 0 does not: it is no table of truth values.
        attn_mask < 0 → attn_mask > 0
            The additive mask was ignored: −∞ hides as True does in the other kind.
        attn_mask if attn_mask.dtype == bool else attn_mask < 0 → attn_mask < 0
            The boolean mask was ignored: True hides as −∞ does in the other kind.
        hides | → (hides.T if len(hides) == len(hides.T) else hides) |
            The mask is transposed: a row of it belongs to a query.
        [:, None, :] → [:, :, None]
            The padding was put on the queries; it is keys that are hidden.
        hides | key_padding[:, None, :] → np.broadcast_to(hides, (len(key_padding), *hides.shape))
            The padding was ignored.
        key_padding[:, None, :] → ~$
            The padding was read as True for real words.
        key_padding[:, None, :] → np.repeat(key_padding[:1, None], len(key_padding), axis=0)
            The padding of one sentence was used for all: the batch is the first axis.
        = may_look(attn_mask, key_padding) | (~may_look(attn_mask, key_padding).any(axis=-1,
        keepdims=True))
            A word that sees nothing was shown everything.
        = may_look(attn_mask, np.broadcast_to(key_padding.any(axis=0), key_padding.shape))
            A key that is padding in one sentence was hidden in all.
    """,
    otherwise="A key is visible if neither mask hides it.",
)
def may_look(attn_mask: Array, key_padding: Array) -> Array:
    """One mask, True where a query may look, from two in which it means hide."""
    hides = attn_mask if attn_mask.dtype == bool else attn_mask < 0
    return np.asarray(~(hides | key_padding[:, None, :]))
