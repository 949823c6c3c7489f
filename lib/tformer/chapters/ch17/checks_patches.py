"""Exercises 17.3 and 17.4: where a patch can help, and how much comes back."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tformer.exercises.kinds import Marks
from tformer.exercises.registry import exercise
from tformer.exercises.table import Case, case

Array = np.ndarray

# ---- 17.3 ---------------------------------------------------------------------------------


def _hears(steps: Array, start: Array) -> Array:
    """Whom something reaches: before the first step, and after each."""
    rows = [start]
    for step in steps:
        rows.append((step & rows[-1]).any(axis=1))
    return np.array(rows)


def _tells(steps: Array, end: Array) -> Array:
    """From whom the end is reached: before the first step, and after each."""
    return _hears(steps[::-1].mT, end)[::-1]


def _first(table: Array) -> Array:
    return np.arange(len(table))[:, np.newaxis] == 0


def _ends(table: Array) -> Array:
    return _first(table) | _first(table)[::-1]


def _readers() -> Iterator[Case]:
    def tri(L: int, T: int) -> Array:
        return np.repeat(np.tri(T, dtype=bool)[None], L, axis=0)

    why = (
        "After the block word 0 has told word 2, and only what stands at the last place is read."
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
    why = "Nobody looks at anybody, and each word keeps what it is."
    yield case(masks=none, p=2, want=[[0, 0, 2]] * 3, why=why)
    why = "Nobody looks at anybody: the exchange does not arrive."
    yield case(masks=none, p=0, want=np.zeros((3, 3), int), why=why)
    first, then = none.copy(), none.copy()
    first[0, 1, 0] = first[1, 2, 1] = then[1, 1, 0] = then[0, 2, 1] = True
    why = "Word 1 looks at word 0, and in the next block word 2 at word 1."
    yield case(masks=first, p=0, want=[[2, 0, 0], [0, 2, 0], [0, 0, 2]], why=why)
    why = "Word 2 looks at word 1 before that looks at word 0: the answer knows nothing of word 0."
    yield case(masks=then, p=0, want=np.zeros((3, 3), int), why=why)
    why = "Word 2 looks at word 1 in the first block, and keeps it; word 1 stays and tells no more."
    yield case(masks=then, p=1, want=[[0, 2, 0], [0, 0, 2], [0, 0, 2]], why=why)
    back = none.copy()
    back[0, 0, 1] = back[1, 2, 0] = True
    why = "Word 0 looks ahead at word 1, and word 2 back at word 0: masks need not be causal."
    yield case(masks=back, p=1, want=[[0, 2, 0], [2, 0, 0], [0, 0, 2]], why=why)
    yield case(masks=np.ones((2, 3, 3), dtype=bool), p=2, why="All look at all.")
    yield case(masks=np.zeros((0, 3, 3), dtype=bool), p=2, want=[[0, 0, 2]], why="No block.")
    yield case(masks=np.zeros((0, 3, 3), dtype=bool), p=1, want=[[0, 0, 0]], why="No block.")
    yield case(masks=np.ones((2, 1, 1), dtype=bool), p=0, want=[[2]] * 3, why="One word alone.")
    two = np.zeros((2, 4, 4), dtype=bool)
    two[0, [0, 1, 2], [1, 2, 0]] = two[1, 3, [0, 2]] = True
    why = "After the first block words 0 and 1 know of word 1, and the answer looks at word 0."
    yield case(masks=two, p=1, want=[[0, 2, 0, 0], [2, 0, 0, 0], [0, 0, 0, 2]], why=why)
    for seed, (L, T, share) in enumerate(
        ((2, 4, 0.4), (3, 5, 0.25), (4, 6, 0.15), (3, 4, 0.3), (5, 3, 0.2), (6, 7, 0.12))
    ):
        rng = np.random.default_rng(seed)
        masks = rng.random((L, T, T)) < share
        why = "Follow the ways of the exchange to the last place, block by block."
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


@exercise(
    "17.3",
    praise="Causal masks, windows, masks that differ from block to block and look ahead, no ways, "
    "one way and many, no block and a single word.",
    hints=(
        "From block to block: where may vectors differ between the two runs? And which of them can "
        "still reach the last place?",
        "Go forwards from p for the first question, and backwards from the last place for the "
        "second. A word always reaches itself. A patch does something where both are true.",
        "Every way from p to the answer passes through one place in each row. If only one place "
        "of a row is on any way, all ways pass there: 2.",
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
            Rows and columns of the masks are exchanged: masks[l, t, s] lets t look at s, so that s
            tells t.
        masks | np.eye(T, dtype=bool) → masks[::-1] | np.eye(T, dtype=bool)
            The blocks stand in reverse order.
        masks | np.eye(T, dtype=bool) → np.tri(T, dtype=bool) & $
            You hid later words; these masks need not be causal.
        masks | np.eye(T, dtype=bool) → np.tri(T, dtype=bool) | np.zeros_like(masks)
            You took causal masks in place of those that are given.
        masks | np.eye(T, dtype=bool) → (masks | masks.any(axis=0)) | np.eye(T, dtype=bool)
            You let each block look wherever any of them does.
        here & there → here
            You marked where the exchange arrives. From there the answer has to be reached as well.
        here & there → there
            You marked from where the answer is reached. A patch does nothing where both runs have
            the same vector.
        here & there → here
        alive.sum(axis=1, keepdims=True) == 1 → np.arange(T) == T - 1
            You marked where the exchange arrives, as 2 in the column of the last place. Neither
            says what happens on the way to the answer.
        alive + 1 * (alive & alone) → alive + 0
            You did not tell 2 from 1: where no way leads around a place, the patch brings all back.
            (Of masks, True + True is True.)
        alive + 1 * (alive & alone) → 2 * alive
            You did not tell 1 from 2: where a way leads around a place, the patch may bring back a
            part.
        alive.sum(axis=1, keepdims=True) == 1 → here.sum(axis=1, keepdims=True) == 1
            For 2 you asked that the exchange has arrived at no other place. Places from which the
            answer is not reached do no harm.
        alive.sum(axis=1, keepdims=True) == 1 → there.sum(axis=1, keepdims=True) == 1
            For 2 you asked that the answer is reached from no other place. Places where the
            exchange has not arrived do no harm.
        alive.sum(axis=1, keepdims=True) == 1 → _ends(alive)
            You let only the first row and the last have a 2. In between, too, all ways may pass
            one place.
        alive.sum(axis=1, keepdims=True) == 1 → alive.sum(axis=0, keepdims=True) == 1
            You counted places along the columns. Every way passes once through each row.
        alive + 1 * (alive & alone) → ($)[1:]
            The row before the first block is missing.
        alive + 1 * (alive & alone) → ($)[:-1]
            The row after the last block is missing.
        alive + 1 * (alive & alone) → np.maximum($, 2 * _first(alive) * (np.arange(T) == p))
            Where the exchange cannot reach the answer, there is nothing to bring back, not even at
            p: all are 0.
        alive + 1 * (alive & alone) → np.maximum($, 2 * _first(alive)[::-1] * (np.arange(T) > T - 2))
            Where the exchange cannot reach the answer, there is nothing to bring back, not even at
            the last place: all are 0.
        np.arange(T) == p → np.arange(T) >= p
            You let all words from p on be exchanged; it is one word.
        masks | np.eye(T, dtype=bool) → masks & ~np.eye(T, dtype=bool)
            You took the diagonal away. A block adds to its words, so each keeps what it is.
        alive + 1 * (alive & alone) → 2 - ($)
            The numbers are turned round: 2 where all comes back.
    """,
    otherwise="Both runs have to differ there, and the answer has to be reached from there.",
)
def patches(masks: Array, p: int) -> Array:
    """What the patch of each vector does: nothing 0, something 1, everything 2."""
    T = masks.shape[1]
    steps = masks | np.eye(T, dtype=bool)
    here, there = _hears(steps, np.arange(T) == p), _tells(steps, np.arange(T) == T - 1)
    alive = here & there
    alone = alive.sum(axis=1, keepdims=True) == 1
    return alive + 1 * (alive & alone)


# ---- 17.4 ---------------------------------------------------------------------------------


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
    small = {"clean": [1.001, 0.0], "corrupted": [1.0, 0.0], "a": 0, "b": 1}
    why = "The log-odds differ by 0.001, and the patch brings back 0.0005."
    yield case(**_in_order(small, [1.0005, 0.0]), want=0.5, why=why)
    far = {"clean": [900.0, -900, 1000], "corrupted": [-800.0, 200, -1000], "a": 0, "b": 1}
    why = "The log-odds are 1800 and −1000; logits may be as large as 1000."
    rows = np.array([[400.0, 0, 1000], [-1000, -1000, 1000], [1000, -800, -1000]])
    yield case(**_in_order(far, rows), want=[0.5, 1000 / 2800, 1], why=why)
    pair = {"clean": [1.0, 3, 2], "corrupted": [2.0, 0, 2], "a": 1, "b": 2}
    yield case(
        **_in_order(pair, [4.0, 3, 4]), whole=True, want=1 / 3, why="Whole numbers are allowed."
    )
    for seed, front in enumerate(((), (3,), (4, 5), (2, 1, 3), (1,))):
        rng = np.random.default_rng(seed)
        clean, corrupted = rng.normal(0, 3, (2, 7))
        given: dict[str, Any] = {"clean": clean, "corrupted": corrupted, "a": 2 + seed, "b": seed}
        yield case(**_in_order(given, rng.normal(0, 3, (*front, 7))))


def _in_order(given: dict[str, Any], patched: Any) -> dict[str, Any]:
    """The inputs in the order of the arguments."""
    names = ("clean", "corrupted", "patched", "a", "b")
    return {name: patched if name == "patched" else given[name] for name in names}


def _softmax(x: Array) -> Array:
    terms = np.exp(x - x.max(axis=-1, keepdims=True))
    return np.asarray(terms / terms.sum(axis=-1, keepdims=True))


def _logs(x: Array) -> Array:
    """Logarithms of the probabilities, through the probabilities."""
    return np.asarray(np.log(_softmax(x)))


@exercise(
    "17.4",
    praise="Shares below 0 and above 1, a preference that falls, runs that agree, a small gap, "
    "large logits, and maps of patches.",
    hints=(
        "What is ln(pₐ / p_b) in logits? The softmax divides both by the same sum.",
        "It is the difference of two logits. Take it for all three, and see how far the patch went "
        "on the way from the second run to the first.",
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
            That is what is still missing; asked for is what has come back.
        (now - last) / gap → now / first
            You divided the log-odds of the patch by those of the first run. The second run's have
            to be subtracted from both.
        (now - last) / gap → (now - last) / first
            You divided by the first run's log-odds; all that can come back is the difference of the
            two runs.
        (now - last) / gap → (now - last) / abs(gap)
            The gap has a sign: where the preference falls from the first run to the second's, so
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
    """,
    otherwise="(patched − corrupted) / (clean − corrupted), each as the difference of two logits.",
)
def recovered(clean: Array, corrupted: Array, patched: Array, a: int, b: int) -> Array:
    """The share of the log-odds that each patch brings back."""
    first, last, now = (x[..., a] - x[..., b] for x in (clean, corrupted, patched))
    gap = first - last
    return (now - last) / gap if abs(gap) > 1e-9 else 0 * now
