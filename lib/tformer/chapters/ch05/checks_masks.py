"""Exercises 5.3, 5.4, 5.5 and 5.8: which mask, conversations, layers needed, True means hide."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from tformer import reference
from tformer.chapters.ch05.paths import reach
from tformer.exercises.kinds import Array as AnyArray
from tformer.exercises.kinds import Marks
from tformer.exercises.registry import exercise
from tformer.exercises.table import Case, case

Array = np.ndarray
Attend = Callable[[Array, Array, Array], Array]


def _attending(mask: Array) -> Attend:
    def attend(q: Array, k: Array, v: Array) -> Array:
        q, k, v = (np.asarray(x, dtype=float) for x in (q, k, v))
        return reference.attention(q, k, v, mask=mask)

    return attend


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


def _asked(attend: Attend, n: int) -> Array:
    return attend(np.zeros((n, 1)), np.zeros((n, 1)), np.eye(n))


@exercise(
    "5.3",
    praise="Eight masks recognised, with holes, fully masked rows, and thirty words.",
    hints=(
        "Which queries and keys make all visible weights of a row equal?",
        "Which values make the output show the weights themselves?",
        "Zeros as queries and keys, unit vectors as values: then look where the output is above 0.",
    ),
    cases=_libraries,
    mutants={
        "Rows and columns have changed places: a row of the mask is a query.": (
            lambda attend, n: _asked(attend, n).T > 0
        ),
        "That is where a row may not look.": lambda attend, n: _asked(attend, n) == 0,
        "A weight is larger than 1/n only in a row that does not see everything.": (
            lambda attend, n: _asked(attend, n) > 1 / n
        ),
        "You took every mask for a causal one.": lambda attend, n: np.tri(n, dtype=bool),
        "A weight may be less than a half: with many visible keys each gets little.": (
            lambda attend, n: _asked(attend, n) >= 0.5
        ),
        "A weight below a tenth is a weight: with thirty visible keys each gets a thirtieth.": (
            lambda attend, n: _asked(attend, n) > 0.1
        ),
        "Each word was taken to see itself; a mask can hide that too.": lambda attend, n: (
            (_asked(attend, n) > 0) | np.eye(n, dtype=bool)
        ),
    },
    kind=Marks(),
    otherwise="A visible key has a weight above 0, a hidden one has the weight 0.",
)
def find_mask(attend: Attend, n: int) -> Array:
    """The mask inside a function of attention."""
    return np.asarray(_asked(attend, n) > 0)


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


def _packed(which: list, in_answer: list) -> Case:
    why = "Ask of each pair: one conversation, no padding, and earlier or in the question?"
    return case(which=np.array(which), in_answer=np.array(in_answer, dtype=bool), why=why)


def _parts(which: Array, in_answer: Array) -> tuple[Array, Array, Array, Array]:
    """Same conversation, real, not later, in the question: four tables."""
    same = which[..., :, None] == which[..., None, :]
    earlier = np.tri(which.shape[-1], dtype=bool)
    return same, which[..., None, :] >= 0, earlier, ~in_answer[..., None, :]


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
    mutants={
        "Words of a question are to see all of their question, also what comes later.": (
            lambda which, in_answer: np.logical_and.reduce(
                np.broadcast_arrays(*_parts(which, in_answer)[:3])
            )
        ),
        "The question sees the answer.": lambda which, in_answer: (
            _parts(which, in_answer)[0] & _parts(which, in_answer)[1]
        ),
        "Padding looks at padding: −1 is the number of no conversation.": lambda which, in_answer: (
            _parts(which, in_answer)[0]
            & (_parts(which, in_answer)[2] | _parts(which, in_answer)[3])
        ),
        "The conversations meet.": lambda which, in_answer: (
            (which >= 0)[..., :, None]
            & _parts(which, in_answer)[1]
            & (_parts(which, in_answer)[2] | _parts(which, in_answer)[3])
        ),
        "What counts is whether the word that is looked at belongs to a question, not the word "
        "that looks.": lambda which, in_answer: (
            _parts(which, in_answer)[0]
            & _parts(which, in_answer)[1]
            & (_parts(which, in_answer)[2] | ~in_answer[..., :, None])
        ),
        "Only the words of the question are seen: answers are to see what they have written.": (
            lambda which, in_answer: (
                _parts(which, in_answer)[0]
                & _parts(which, in_answer)[1]
                & np.broadcast_to(_parts(which, in_answer)[3], which.shape + which.shape[-1:])
            )
        ),
        "Each word is to see itself: the edge of the triangle belongs to it.": (
            lambda which, in_answer: (
                _parts(which, in_answer)[0]
                & _parts(which, in_answer)[1]
                & (np.tri(which.shape[-1], k=-1, dtype=bool) | _parts(which, in_answer)[3])
            )
        ),
        "The triangle lies on the wrong side: words see what comes later.": (
            lambda which, in_answer: (
                _parts(which, in_answer)[0]
                & _parts(which, in_answer)[1]
                & (_parts(which, in_answer)[2].T | _parts(which, in_answer)[3])
            )
        ),
    },
    kind=Marks(),
    otherwise="Ask of each pair: one conversation, no padding, and earlier or in the question?",
)
def conversation_mask(which: Array, in_answer: Array) -> Array:
    """Who may look at whom in packed conversations."""
    same, real, earlier, asked = _parts(which, in_answer)
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
    yield case(mask=reference.sliding_window_mask(40, 40, 2), said="a window of 2 on forty words")
    ring = np.roll(np.eye(7, dtype=bool), 1, axis=1)
    yield case(mask=ring, said="seven words in a ring, each seeing the next alone")
    yield case(mask=np.zeros((3, 3), dtype=bool), want=_never(3))
    for seed in range(4):
        yield case(mask=np.random.default_rng(seed).random((6 + seed, 6 + seed)) < 0.22)
    yield case(mask=np.ones((1, 1), dtype=bool), want=[[0]])


def _never(n: int) -> Array:
    return np.asarray(np.eye(n, dtype=int) - 1)


def _walk(mask: Array, most: int, keeps: bool = True, first: int = 1) -> Array:
    """Layers needed, up to `most`; without `keeps` a layer loses what a row was."""
    n = len(mask)
    known = np.eye(n, dtype=bool)
    needed = np.where(known, 0, -1)
    for layer in range(1, most + 1):
        known = (known | mask @ known) if keeps else mask @ known
        needed[known & (needed < 0)] = layer - 1 + first
    return needed


@exercise(
    "5.5",
    praise="Right for windows, rings and random masks: a shortest path, counted in layers.",
    hints=(
        "After one layer a row knows itself and what its mask shows. What does it know after two?",
        "Row t knows s after one layer more if it may look at a row that knows s now.",
        "Start from the unit matrix of booleans; known | (mask @ known) is one layer more. Note "
        "the first layer at which each pair is true.",
    ),
    cases=_stacks,
    mutants={
        "A pair that no number of layers connects has −1.": lambda mask: np.maximum(
            _walk(mask, len(mask)), 0
        ),
        "One layer and two are not all: a path may have as many steps as there are other words.": (
            lambda mask: _walk(mask, 2)
        ),
        "A residual connection keeps what a row was: what it knew after a layer it knows after the "
        "next.": lambda mask: np.where(
            np.eye(len(mask), dtype=bool), 0, _walk(mask, 1, keeps=False)
        ),
        "The numbers are those of the layers from 0; count the layers that are needed.": (
            lambda mask: _walk(mask, len(mask), first=0)
        ),
        "Rows and columns have changed places: entry t, s is about row t.": lambda mask: (
            _walk(mask, len(mask)).T
        ),
        "The distance along the text is not the number of layers: it is the mask that makes the "
        "steps.": lambda mask: np.where(
            _walk(mask, len(mask)) < 0,
            -1,
            np.abs(np.subtract.outer(np.arange(len(mask)), np.arange(len(mask)))),
        ),
        "Every path goes through a mask. Where s is t itself no layer is needed.": lambda mask: (
            np.where(np.eye(len(mask), dtype=bool) & mask, 1, _walk(mask, len(mask)))
        ),
        "Three layers are not all: a path may have as many steps as there are other words.": (
            lambda mask: _walk(mask, 3)
        ),
    },
    otherwise="It is the number of steps of the shortest path from t to s along the mask.",
)
def layers_needed(mask: Array) -> Array:
    """Smallest number of layers after which row t can know word s, or −1."""
    known = np.array([reach(mask, layers) for layers in range(len(mask))])
    return np.asarray(np.where(known.any(axis=0), known.argmax(axis=0), -1))


def _foreign() -> Iterator[Case]:
    pads = np.array([[False, False, True]])
    yield case(
        attn_mask=np.array([[False, True, True], [False, False, True], [False, False, False]]),
        key_padding=pads,
        want=[[[True, False, False], [True, True, False], [True, True, False]]],
        why="The third word is padding: it may look at the others, and nobody may look at it.",
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
    yield case(attn_mask=np.zeros((2, 2)), key_padding=np.ones((1, 2), dtype=bool))


def _converted(hide: Callable[[Array], Array], padding: Callable[[Array], Array]) -> Callable:
    return lambda attn_mask, key_padding: ~(hide(attn_mask) | padding(key_padding))


def _hides(attn_mask: Array) -> Array:
    return attn_mask if attn_mask.dtype == bool else attn_mask < 0


def _on_keys(key_padding: Array) -> Array:
    return key_padding[:, None, :]


@exercise(
    "5.8",
    praise="Both kinds of masks, more keys than queries and fewer, and batches of one to four.",
    hints=(
        "Bring both masks to one convention first, say True for hide.",
        "The padding is the same for all queries of a sentence: it needs an axis of size 1.",
        "Hidden is hidden by the one or by the other; turn the result round at the end.",
    ),
    cases=_foreign,
    mutants={
        "In the boolean mask True means hide; it was taken for *may look*.": _converted(
            lambda attn_mask: ~attn_mask if attn_mask.dtype == bool else attn_mask < 0, _on_keys
        ),
        "True still means hide.": lambda attn_mask, key_padding: (
            _hides(attn_mask) | _on_keys(key_padding)
        ),
        "Both masks would have to hide a key; one is enough.": lambda attn_mask, key_padding: (
            ~(_hides(attn_mask) & _on_keys(key_padding))
        ),
        "In an additive mask −∞ hides and 0 does not: it is no table of truth values.": _converted(
            lambda attn_mask: attn_mask.astype(bool) if attn_mask.dtype == bool else attn_mask == 0,
            _on_keys,
        ),
        "The additive mask was ignored: −∞ hides as True does in the other kind.": _converted(
            lambda attn_mask: attn_mask if attn_mask.dtype == bool else attn_mask > 0, _on_keys
        ),
        "The padding was put on the queries; it is keys that are hidden.": _converted(
            _hides, lambda key_padding: key_padding[:, :, None]
        ),
        "The padding was ignored.": lambda attn_mask, key_padding: np.broadcast_to(
            ~_hides(attn_mask), (len(key_padding), *attn_mask.shape)
        ),
        "The padding was read as True for real words.": _converted(
            _hides, lambda key_padding: ~key_padding[:, None, :]
        ),
        "The padding of one sentence was used for all: the batch is the first axis.": _converted(
            _hides, lambda key_padding: np.repeat(key_padding[:1, None], len(key_padding), axis=0)
        ),
    },
    kind=AnyArray(),
    otherwise="A key is visible if neither mask hides it.",
)
def may_look(attn_mask: Array, key_padding: Array) -> Array:
    """One mask, True where a query may look, from two in which it means hide."""
    return np.asarray(~(_hides(attn_mask) | _on_keys(key_padding)))
