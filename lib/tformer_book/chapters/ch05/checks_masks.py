"""Exercises 5.3, 5.4 and 5.5: which mask, conversations, layers needed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from tformer import reference
from tformer_book.exercises.kinds import Marks
from tformer_book.exercises.registry import exercise
from tformer_book.exercises.table import Case, case

Array = np.ndarray
Attend = Callable[[Array, Array, Array], Array]


def _attending(mask: Array) -> Attend:
    def attend(q: Array, k: Array, v: Array) -> Array:
        q, k, v = (np.asarray(x, dtype=float) for x in (q, k, v))
        return reference.attention(q, k, v, mask=mask)

    return attend


def _by_logarithms(q: Array, k: Array, v: Array) -> Array:
    """Attention whose weights are exponentials of logarithms, and wrong in their last digits."""
    q, k, v = (np.asarray(x, dtype=float) for x in (q, k, v))
    return np.asarray(np.exp(reference.log_softmax(q @ k.T / q.shape[1] ** 0.5)) @ v)


_HOLES = np.array([[0, 0, 0, 0], [1, 1, 0, 1], [0, 1, 1, 0], [1, 0, 0, 0]], dtype=bool)
_MASKS: list[tuple[str, Array, str]] = [
    ("is causal", np.tri(3, dtype=bool), "Word 2 sees itself and word 1."),
    ("hides nothing", np.ones((2, 2), dtype=bool), "All see all."),
    ("has one word", np.ones((1, 1), dtype=bool), "The word sees itself."),
    ("leaves the first row nothing, and has holes", _HOLES, "The first row is fully masked."),
    ("has a window of two", reference.sliding_window_mask(6, 6, 2), "Each sees one word back."),
    ("is causal, off by one", np.tri(5, k=1, dtype=bool), "Each sees the next word."),
    ("hides each word from itself", ~np.eye(4, dtype=bool), "All see all others."),
    ("is causal, with thirty words", np.tri(30, dtype=bool), "Each sees the words up to it."),
]


def _libraries() -> Iterator[Case]:
    for words, mask, why in _MASKS:
        said = f"a function whose mask {words}, and n = {len(mask)}"
        yield case(attend=_attending(mask), n=len(mask), want=mask, why=why, said=said)
    said = "a function that hides nothing, with weights like 0.0999999999999999, and n = 10"
    seen = np.ones((10, 10), dtype=bool)
    yield case(attend=_by_logarithms, n=10, want=seen, why="All see all.", said=said)


class Seen(Marks):
    """A mask that is read from weights: what is missed has a weight all the same."""

    def remark(self, got: Any, want: Any) -> str:
        """Say that weights were too small to be noticed, or that they were only counted."""
        if got.shape != want.shape or not np.isin(got, (0, 1)).all():
            return super().remark(got, want)
        if np.array_equal(got.sum(axis=-1), want.sum(axis=-1)):
            return (
                "Each row has the right number of keys, in the wrong places. Let every key show "
                "itself by a value of its own."
            )
        if (got <= want).all():
            return (
                "A visible key was missed. Where scores differ a weight may lie below any limit, "
                "and come as 0."
            )
        return ""


@exercise(
    "5.3",
    praise="Eight masks recognised, with holes, fully masked rows, and thirty words.",
    hints=(
        "Which queries and keys make all visible weights of a row equal?",
        "Which values make the output show the weights themselves?",
        "Zeros as queries and keys, unit vectors as values: then look where the output is above 0.",
    ),
    cases=_libraries,
    slips="""
        a > 0 → a.T > 0
            Rows and columns have changed places: a row of the mask is a query.
        a > 0 → a == 0
            That is where a row may not attend.
        a > 0 → a > 1 / n
            A weight is larger than 1/n only in a row that does not see everything.
        a > 0 → a >= 1 / n
            A weight of 1/n may come out a last digit smaller; any weight above 0 counts.
        = np.tri(n, dtype=bool)
            You took every mask for a causal one.
        a > 0 → np.tri(n, dtype=bool) & (a > 0)
            You cut off what is above the diagonal; a mask may show later words.
        a > 0 → a >= 0.5
            A weight may be less than a half: with many visible keys each gets little.
        a > 0 → a > 0.1
            A weight below a tenth is a weight: with thirty visible keys each gets a thirtieth.
        a > 0 → (a > 0) | np.eye(n, dtype=bool)
            Each word was taken to see itself; a mask can hide that too.
        a > 0 → (a > 0) | (a.sum(axis=1, keepdims=True) == 0)
            A row of zeros sees nothing at all, and you let it see everything.
        np.eye(n) → np.diag(np.full(n, np.nan)) ;; a > 0 → np.isnan(a)
            0 times nan is nan: what is hidden arrives as well.
        a > 0 → np.round(a) > 0
            A weight below a half rounds to 0, and is a weight.
        np.eye(n) → np.diag(np.arange(n))
            The value of key 0 was 0, so that it never shows.
        a > 0 → (a > 0) & ~np.eye(n, dtype=bool)
            You hid every word from itself. Read the diagonal from the weights too.
        a > 0 → np.isclose(a, 1 / n)
            You looked for weights of 1/n. A row that sees fewer keys gives more to each: take any
            weight above 0.
        a > 0 → np.tile(a[-1:] > 0, (n, 1))
            You read the last row and repeated it. Each query has a row of its own: read them all.
        a > 0 → np.tile(a[:1] > 0, (n, 1))
            You read the first row and repeated it. Each query has a row of its own: read them all.
        np.zeros((n, 1)), np.zeros((n, 1)) → 100 * np.eye(n), 100 * np.eye(n)
            Your scores differ so much that visible keys get the weight 0. Choose queries and keys
            that make all scores equal.
        np.zeros((n, 1)), np.zeros((n, 1)) → np.eye(n), np.eye(n) ;; a > 0 → a > 1 / n
            Your scores differ, so a visible key may get less than 1/n. Make all scores equal, and
            take any weight above 0.
    """,
    kind=Seen(),
    otherwise="A visible key has a weight above 0, a hidden one has the weight 0. What you compare "
    "with 0 has to be one weight alone, not a mix of several.",
)
def find_mask(attend: Attend, n: int) -> Array:
    """The mask inside a function of attention."""
    a = attend(np.zeros((n, 1)), np.zeros((n, 1)), np.eye(n))
    return np.asarray(a > 0)


def _conversations() -> Iterator[Case]:
    yield case(
        which=np.array([0, 0, 0]),
        in_answer=np.array([False, False, True]),
        want=[[True, True, False], [True, True, False], [True, True, True]],
        why="The two words of the question see each other; the answer is hidden from them.",
    )
    yield case(
        which=np.array([0, 1]),
        in_answer=np.array([False, False]),
        want=[[True, False], [False, True]],
        why="Two conversations do not meet.",
    )
    yield case(
        which=np.array([0, -1, -1]),
        in_answer=np.array([False, False, True]),
        want=[[True, False, False], [False, False, False], [False, False, False]],
        why="Padding sees nothing, not even itself.",
    )
    yield _packed([4, 4, 4, 4, 2, 2, 2, -1], [0, 0, 1, 1, 0, 1, 1, 0])
    yield _packed([0, 0, 0, 1, 1], [1, 1, 1, 0, 0])
    yield _packed([5, 5, 0, 0, 0, 9, -1, -1], [0, 1, 0, 0, 1, 1, 1, 0])
    yield _packed([[0, 0, 0], [1, 1, -1]], [[0, 1, 1], [0, 0, 0]])
    yield _packed([[[0, 0, 0, 1]], [[-1, -1, -1, -1]]], [[[0, 0, 1, 1]], [[0, 1, 0, 1]]])
    yield _packed([3], [1])
    numbers = "A conversation may have any number: these are all different."
    for which in ([0, 8, 256, 2**32, 2**40 + 8], [3, 3, 11, 11, 259, 2**33 + 3]):
        one = _packed(which, [False] * len(which))
        yield case(**one.inputs, why=numbers)


def _packed(which: list, in_answer: list) -> Case:
    return case(which=np.array(which), in_answer=np.array(in_answer, dtype=bool))


@exercise(
    "5.4",
    praise="Checked on conversations in any order, with empty questions and empty answers, on "
    "padding, and on stacks.",
    hints=(
        "Make one table of truth values for each condition: same conversation, padding, earlier, "
        "in the question.",
        "Numbers compared as which[..., :, None] == which[..., None, :] give the first of them.",
        "A word is visible if it is in the same conversation, is not padding, and is earlier or in "
        "the question.",
    ),
    cases=_conversations,
    slips="""
        (earlier | asked) → earlier
            Words of a question are to see all of their question, also what comes later.
        & (earlier | asked) →
            The question sees the answer.
        same & real → same
            Padding attends to padding: −1 is the number of no conversation.
        same & real → (which >= 0)[..., :, None] & real
            The conversations meet.
        in_answer[..., None, :] → in_answer[..., :, None]
            What counts is whether the word that is attended to belongs to a question, not the word
            that looks.
        (earlier | asked) → asked
            Only the words of the question are seen: answers are to see what they have written.
        which.shape[-1], dtype → which.shape[-1], k=-1, dtype
            Each word is to see itself: the edge of the triangle belongs to it.
        same & real & (earlier | asked) → ($).mT
            Rows and columns have changed places: a row of the mask belongs to the word that looks.
        (earlier | asked) → (in_answer[..., :, None] == in_answer[..., None, :]) & ($)
            Words of an answer are to see their question as well, all of it.
        same & real & → (which >= 0)[..., :, None] & real &
        (earlier | asked) → ((same & earlier) | asked)
            The questions of all conversations are seen; a word sees that of its own.
        earlier | asked → earlier.T | asked
            The triangle lies on the wrong side: words see what comes later.
        >= 0 → > 0
            Conversation 0 is one as well; padding has the number −1.
        which[..., None, :] >= 0 → ($) | in_answer[..., None, :]
            Padding is what has the number −1, whatever `in_answer` says of it.
        which[..., None, :] >= 0 → ($) & (which[..., None, :] < which.shape[-1])
            A conversation may have a larger number than there are words.
        = conversation_mask(np.where(which < 0, -1, which % 8), in_answer)
            Conversations 0 and 8 are two; a large number is a number like any other.
        = conversation_mask(np.where(which < 0, -1, which % 256), in_answer)
            Conversations 0 and 256 are two: 8 bits do not hold all numbers.
        = conversation_mask(np.where(which < 0, -1, which % 2**32), in_answer)
            Conversations may have numbers that 32 bits do not hold.
    """,
    kind=Marks(),
    otherwise="Ask of each pair: one conversation, no padding, and earlier or in the question?",
)
def conversation_mask(which: Array, in_answer: Array) -> Array:
    """Who may attend to whom in packed conversations."""
    same = which[..., :, None] == which[..., None, :]
    real = which[..., None, :] >= 0
    earlier = np.tri(which.shape[-1], dtype=bool)
    asked = ~in_answer[..., None, :]
    return np.asarray(same & real & (earlier | asked))


def _stacks() -> Iterator[Case]:
    yield case(
        mask=np.array([[1, 0, 0], [1, 1, 0], [0, 1, 1]], dtype=bool),
        want=[[0, -1, -1], [1, 0, -1], [2, 1, 0]],
        why="Word 3 sees word 2, which sees word 1: two layers. Word 1 never knows a later one.",
    )
    yield case(
        mask=np.array([[0, 1], [0, 0]], dtype=bool),
        want=[[0, 1], [-1, 0]],
        why="A row keeps what it was, also where its mask hides it from itself.",
    )
    yield case(mask=np.tri(5, dtype=bool))
    yield case(mask=reference.sliding_window_mask(9, 9, 3), said="a window of 3 on nine words")
    yield case(
        mask=reference.sliding_window_mask(40, 40, 2),
        said="a window of 2 on forty words",
        why="Each layer brings one word more, so the last word needs 39 layers to know the first.",
    )
    ranks = np.repeat([0, 1, 2, 3, 4], [1, 16, 1, 16, 1])
    yield case(
        mask=ranks[:, None] == ranks + 1,
        said="five ranks of 1, 16, 1, 16 and 1 words, each seeing the rank before it",
        why="256 paths of four steps lead from the first word to the last.",
    )
    ring = np.roll(np.eye(7, dtype=bool), 1, axis=1)
    yield case(mask=ring, said="seven words in a ring, each seeing the next alone")
    yield case(mask=np.zeros((3, 3), dtype=bool), want=_never(3))
    for seed in range(4):
        yield case(mask=np.random.default_rng(seed).random((6 + seed, 6 + seed)) < 0.22)
    yield case(mask=np.ones((1, 1), dtype=bool), want=[[0]])


def _never(n: int) -> Array:
    return np.asarray(np.eye(n, dtype=int) - 1)


@exercise(
    "5.5",
    praise="Right for windows, rings and random masks: a shortest path, counted in layers.",
    hints=(
        "After one layer a row knows itself and what its mask shows. What does it know after two?",
        "Row t knows s after one layer more if it may attend to a row that knows s now.",
        "Start from the unit matrix of booleans; known | (mask @ known) is one layer more. Note "
        "the first layer at which each pair is true.",
    ),
    cases=_stacks,
    slips="""
        return needed → return np.maximum(needed, 0)
            A pair that no number of layers connects has −1.
        np.where(known, 0, -1) → np.where(known, 0, n) ;; needed < 0 → needed == n
            Where no number of layers is enough you return the number of words.
        return needed → return np.where(needed < 0, np.inf, needed)
            ∞ stands where no number of layers is enough; −1 is asked for.
        range(1, n) → range(1, 3)
            One layer and two are not all: a path may have as many steps as there are other words.
        range(1, n) → range(1, 4)
            Three layers are not all: a path may have as many steps as there are other words.
        range(1, n) → range(1, min(n, 11))
            Ten layers are not all: a path may have as many steps as there are other words.
        range(1, n) → range(1, n - 1)
            The loop ends one layer early: a path may have n − 1 steps.
        range(1, n) → range(1, min(n, 2))
            A residual connection keeps what a row was: what it knew after a layer it knows after
            the next.
        known | (mask @ known) → known @ known | mask | np.eye(n, dtype=bool)
            `known @ known` doubles the number of layers; each round is to be one layer.
        known | (mask @ known) → (known @ known if layer > 1 else mask | known)
        (needed < 0)] = layer → (needed < 0)] = 2 ** (layer - 1)
            Each round squares, and doubles the number of layers: what lies between 2 and 4, or
            between 4 and 8, is never given.
        (needed < 0)] = layer → $ - 1
            The numbers are those of the layers from 0; count the layers that are needed.
        return needed → return needed.T
            Rows and columns have changed places: entry t, s is about row t.
        return needed → return np.where(needed < 0, -1, abs(np.subtract.outer(range(n), range(n))))
            The distance along the text is not the number of layers: it is the mask that makes the
            steps.
        np.where(known, 0, -1) → np.where(known, 1, -1)
            Every path goes through a mask. Where s is t itself no layer is needed.
        mask @ known → (mask & np.tri(n, dtype=bool)) @ known
            What the mask shows above its diagonal is missing: a word may see later ones.
        np.eye(n, dtype=bool) → np.eye(n, dtype=np.int8)
        known | (mask @ known) → (mask | np.eye(n, dtype=bool)).astype(np.int8) @ known
        known & (needed < 0) → (known != 0) & (needed < 0)
            You count paths in a small type: there are 256 of them, and it has no such number.
        = np.where(layers_needed(mask) > max(len(mask) - 2, 1), -1, layers_needed(mask))
            You stopped one round too early: a path may have len(mask) − 1 steps.
        = np.where(layers_needed(mask) > 4, -1, layers_needed(mask))
            You tried four layers; some words need more.
    """,
    mutants={
        "The first path that is found need not be the shortest: search layer by layer.": (
            lambda mask: _depth_first(mask)
        ),
        "Of three loops that of the word in the middle is the outermost: in another order paths "
        "are missed.": lambda mask: _middle_innermost(mask),
    },
    otherwise="It is the number of steps of the shortest path from t to s along the mask.",
)
def layers_needed(mask: Array) -> Array:
    """Smallest number of layers after which row t can know word s, or −1."""
    n = len(mask)
    known = np.eye(n, dtype=bool)
    needed = np.where(known, 0, -1)
    for layer in range(1, n):
        known = known | (mask @ known)
        needed[known & (needed < 0)] = layer
    return needed


def _depth_first(mask: Array) -> Array:
    """Return the length of the first path that a search in depth finds."""
    needed = np.full(mask.shape, -1)
    for t, row in enumerate(needed):
        stack = [(t, 0)]
        while stack:
            s, layer = stack.pop()
            if row[s] < 0:
                row[s] = layer
                stack += [(int(r), layer + 1) for r in np.flatnonzero(mask[s])]
    return needed


def _middle_innermost(mask: Array) -> Array:
    """Return what Floyd's three loops give in the wrong order."""
    far = np.where(mask, 1, 10**6)
    np.fill_diagonal(far, 0)
    for t, s in np.ndindex(far.shape):
        far[t, s] = (far[t] + far[:, s]).min()
    return np.where(far < 10**6, far, -1)
