"""Exercise 17.4: how much of a preference comes back."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tformer_book.exercises.promises import promised, whole
from tformer_book.exercises.registry import exercise
from tformer_book.exercises.table import Case, case

Array = np.ndarray


def _runs() -> Iterator[Case]:
    two: dict[str, Any] = {"clean": [4.0, 1, 0], "corrupted": [1.0, 2, 0], "a": 0, "b": 1}
    why = "The log-odds are 3 and −1, and after the patch 0: 1 of 4."
    yield case(**_in_order(two, [2.0, 2, 5]), want=0.25, why=why)
    why = "The log-odds are 3 and −1, and after the patches 0, 3, −1, 5 and −2."
    rows = np.array([[2.0, 2, 5], [3, 0, 1], [0, 1, 7], [9, 4, 0], [1, 3, 3]])
    yield case(**_in_order(two, rows), want=[0.25, 1, 0, 1.5, -0.25], why=why)
    other: dict[str, Any] = {"clean": [0.0, 2, 1, 6], "corrupted": [5.0, 3, 1, 2], "a": 3, "b": 0}
    rows = np.array([[[1.0, 9, 9, 1], [0, 0, 0, 6]], [[8, 0, 0, 5], [2, 1, 1, 4]]])
    why = "Words 3 and 0 are compared: 6 and −3, and after the patches 0, 6, −3 and 2."
    yield case(**_in_order(other, rows), want=[[3 / 9, 1], [0, 5 / 9]], why=why)
    less: dict[str, Any] = {"clean": [1.0, 4, 0], "corrupted": [3.0, 2, 0], "a": 0, "b": 1}
    why = "The log-odds are −3 and 1: they fall, and the patch takes them to −1, half of the way."
    yield case(**_in_order(less, [1.0, 2, 0]), want=0.5, why=why)
    same: dict[str, Any] = {"clean": [4.0, 1, 0], "corrupted": [5.0, 2, 3], "a": 0, "b": 1}
    why = "Both runs have the log-odds 3: there is nothing to bring back."
    yield case(**_in_order(same, [2.0, 2, 5]), want=0.0, why=why)
    yield case(**_in_order(same, rows[..., :3]), want=np.zeros((2, 2)), why=why)
    yield case(**_in_order(same, [4.0, 1, 0]), want=0.0, why=why)
    near = {"clean": [0.3, 0.1, 0.0], "corrupted": [0.2, 0.0, 1.0], "a": 0, "b": 1}
    why = "Both log-odds are 0.2, but for a rounding error: less than 10⁻⁹ is nothing."
    yield case(**_in_order(near, [0.5, 0.1, 0.0]), want=0.0, why=why)
    small = {"clean": [1.002, 0.0], "corrupted": [1.0, 0.0], "a": 0, "b": 1}
    why = "The log-odds differ by 0.002, and the patch brings back 0.001."
    yield case(**_in_order(small, [1.001, 0.0]), want=0.5, why=why)
    far = {"clean": [900.0, -900, 1000], "corrupted": [-800.0, 200, -1000], "a": 0, "b": 1}
    why = "The log-odds are 1800 and −1000; logits may be as large as 1000."
    rows = np.array([[400.0, 0, 1000], [-1000, -1000, 1000], [1000, -800, -1000]])
    yield case(**_in_order(far, rows), want=[0.5, 1000 / 2800, 1], why=why)
    why = "Log-odds of 2 and −2, and of 1 after the patch; logits may be as large as 1000."
    tall = {"clean": [900.0, 898, 0], "corrupted": [895.0, 897, 5], "a": 0, "b": 1}
    yield case(**_in_order(tall, [898.0, 897, 9]), want=0.75, why=why)
    yield case(**_in_order(tall, [[800.0, 801, 9], [9, 7, 800]]), want=[0.25, 1], why=why)
    high = {"clean": [500.002, -500.0], "corrupted": [500.0, -500], "a": 0, "b": 1}
    why = "The log-odds are 1000.002 and 1000: they differ by 0.002, and half of it comes back."
    yield case(**_in_order(high, [500.0, -500.001]), want=0.5, why=why)
    pair = {"clean": [1.0, 3, 2], "corrupted": [2.0, 0, 2], "a": 1, "b": 2}
    yield case(
        **_in_order(pair, [4.0, 3, 4]), whole=True, want=1 / 3, why="Whole numbers are allowed."
    )
    for seed, front in enumerate(((), (3,), (4, 5), (2, 1, 3), (1,))):
        rng = np.random.default_rng(seed)
        clean, corrupted = rng.normal(0, 3, (2, 7))
        given: dict[str, Any] = {"clean": clean, "corrupted": corrupted, "a": 2 + seed, "b": seed}
        yield case(**_in_order(given, rng.normal(0, 3, (*front, 7))))
    given = {"clean": np.array([1.0, 9, 2]), "corrupted": np.array([2.0, 3, 1]), "a": 1, "b": 2}
    yield from promised(whole, **_in_order(given, np.array([[4.0, 3, 2], [1, 5, 2]])))


def _in_order(given: dict[str, Any], patched: Any) -> dict[str, Any]:
    """The inputs in the order of the arguments."""
    names = ("clean", "corrupted", "patched", "a", "b")
    return {name: patched if name == "patched" else given[name] for name in names}


def _softmax(x: Array) -> Array:
    terms = np.exp(x - x.max(axis=-1, keepdims=True))
    return np.asarray(terms / terms.sum(axis=-1, keepdims=True))


def _above(x: Array, word: int) -> Array:
    """e to the logit of a word, beside that of the largest."""
    return np.asarray(np.exp(x[..., word] - x.max(axis=-1)))


def _logs(x: Array) -> Array:
    """Logarithms of the probabilities, through the probabilities."""
    return np.asarray(np.log(_softmax(x)))


def _naive(x: Array) -> Array:
    """The same without a shift."""
    return np.asarray(np.log(np.exp(x) / np.exp(x).sum(axis=-1, keepdims=True)))


@exercise(
    "17.4",
    praise="Shares below 0 and above 1, a preference that falls, runs that agree, a small gap, "
    "large logits, and maps of patches.",
    hints=(
        "What is ln(pₐ / p_b) in logits? The softmax divides both by the same sum.",
        "It is the difference of two logits. Take it for all three, and see how far the patch went "
        "on the way from the corrupted run to the clean one.",
        "Last axis: `x[..., a] - x[..., b]`. Distance gone by distance in all, and zeros of the "
        "right shape where that is below 10⁻⁹.",
    ),
    cases=_runs,
    slips="""
        x[..., a] - x[..., b] → _softmax(x)[..., a]
            You compared probabilities of word a. On log-odds the share is another: a difference of
            two logits.
        x[..., a] - x[..., b] → _softmax(x)[..., a] - _softmax(x)[..., b]
            You compared differences of probabilities; log-odds are differences of logits.
        x[..., a] - x[..., b] → np.exp(x[..., a] - x[..., b])
            Those are odds; the logarithm is missing.
        x[..., a] - x[..., b] → x[..., a] / x[..., b]
            You divided two logits. The logarithm of a ratio of probabilities is their difference.
        x[..., a] - x[..., b] → np.log(x[..., a] / x[..., b])
            You took logits for probabilities. They are logarithms already, but for a number that is
            the same for all words.
        x[..., a] - x[..., b] → x[..., a]
            Only the logit of word a was compared. All logits of a run may be shifted, so compare it
            with that of b.
        x[..., a] - x[..., b] → x[..., b]
            Only the logit of word b was compared.
        x[..., a] - x[..., b] → x[..., a] + x[..., b]
            You added the two logits; the log-odds are their difference.
        x[..., a] - x[..., b] → x[..., a] - x.max(axis=-1)
            You compared word a with the largest logit; it is word b that counts.
        x[..., a] - x[..., b] → x[a] - x[b]
            The words lie along the last axis. A map of patches has axes in front.
        x[..., a] - x[..., b] → _logs(x)[..., a] - _logs(x)[..., b]
            The logarithms went through the probabilities, and these may be 0 to a float. Take the
            difference of the logits.
        (now - last) / gap → (now - first) / -gap
            That is what is still missing; the exercise asks for what has come back.
        (now - last) / gap → now / first
            You divided the log-odds of the patch by those of the clean run. Those of the corrupted
            run have to be subtracted from both.
        (now - last) / gap → (now - last) / first
            You divided by the clean run's log-odds; all that can come back is the difference of the
            two runs.
        (now - last) / gap → (now - last) / abs(gap)
            The gap has a sign: where the preference falls from the clean run to the corrupted, so
            does the share.
        (now - last) / gap → abs(now - last) / abs(gap)
            You dropped the signs: a patch that makes things worse has a share below 0.
        (now - last) / gap → np.clip((now - last) / gap, 0, 1)
            Your shares end at 0 and 1. A share may be negative, or above 1.
        (now - last) / gap → now - last
            That is how far the log-odds move; divide by how far they could.
        (now - last) / gap → 100 * (now - last) / gap
            Those are percents; a share of all is 1.
        if abs(gap) > 1e-9 else 0 * now →
            Where both runs have the same log-odds, 0 is divided by, or a rounding error: all shares
            are 0 then.
        abs(gap) > 1e-9 → abs(gap) > 0
            You compared with 0 exactly, and two log-odds that should be equal may differ by a
            rounding error.
        else 0 * now → else 0 * now + 1
            There is nothing to bring back, so all shares are 0; yours are 1.
        else 0 * now → else np.array(0.0)
            Where there is nothing to bring back, each patch still has a share of its own: 0.
        else 0 * now → else 0 * now + np.nan
            Where there is nothing to bring back, all shares are 0, and not nan.
        abs(gap) > 1e-9 → abs(gap) > 0.01
            You took a small gap for none: log-odds may differ by as little as 10⁻³.
        if abs(gap) > 1e-9 else 0 * now → ;; / gap → / (gap + 1e-9)
            Something small was added to the gap, to keep it from 0. It changes small gaps, and is
            divided by where the gap is none.
        (now - last) / gap → (first - last) / (now - last)
            The share is turned over: what came back stands above the line.
        (now - last) / gap → (last - now) / gap
            The sign is turned round: 1 if all comes back.
        else 0 * now → else now - last
            Where the gap is none you left out the division; all shares are 0 there.
        if abs(gap) > 1e-9 else 0 * now → ;; / gap → / max(gap, 1e-9)
            You put a bound under the gap, and it may be negative: where the preference falls, you
            divide by the bound.
        abs(gap) > 1e-9 → not np.isclose(first, last)
            np.isclose also allows for a share of the numbers themselves; large log-odds may differ
            by 10⁻³ as well.
        abs(gap) > 1e-9 → gap > 1e-9
            Where the preference falls from the clean run to the corrupted there is something to
            bring back, too: compare the size of the gap.
        (now - last) / gap if abs(gap) > 1e-9 else 0 * now → np.nan_to_num((now - last) / gap)
            Where the gap is none, 0 is divided by, and `nan_to_num` makes huge numbers of ∞: all
            shares are 0 there.
        (now - last) / gap → np.minimum((now - last) / gap, 1)
            Your shares end at 1; a patch may bring back more than there was.
        (now - last) / gap → np.maximum((now - last) / gap, 0)
            Your shares begin at 0; a patch may make things worse.
        x[..., a] - x[..., b] → 1 / (1 + np.exp(x[..., b] - x[..., a]))
            You compared the probability of a among the two words. On log-odds the share is another.
        x[..., a] - x[..., b] → _logs(x)[..., a]
            You compared the logarithm of a's probability, in which all words play a part; on
            log-odds only a and b do.
        x[..., a] - x[..., b] → _naive(x)[..., a] - _naive(x)[..., b]
            e to a large logit is more than a float holds. The logarithms need no probabilities:
            take the difference of the logits.
        if abs(gap) > 1e-9 else 0 * now → ;; / gap → / (gap + 1e-12)
            You added 10⁻¹² to the gap, and divide by that where there is none. Return 0 there.
        x[..., a] - x[..., b] → _above(x, a) - _above(x, b)
            You took e to the logits. Log-odds are the difference of the logits themselves.
        (now - last) / gap → (now - last) / abs(last)
            You divided by the corrupted run's log-odds. Divide by the difference of the two runs.
    """,
    otherwise="(patched − corrupted) / (clean − corrupted), each as the difference of two logits.",
)
def recovered(clean: Array, corrupted: Array, patched: Array, a: int, b: int) -> Array:
    """The share of the log-odds that each patch brings back."""
    first, last, now = (x[..., a] - x[..., b] for x in (clean, corrupted, patched))
    gap = first - last
    return (now - last) / gap if abs(gap) > 1e-9 else 0 * now
