"""Exercises 0.1 to 0.4: tokens, what is written when, a look, a cut."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from tformer import reference
from tformer.exercises import kinds
from tformer.exercises.registry import exercise
from tformer.exercises.table import Case, case
from tformer.world import stories as world

Array = np.ndarray
OUTCOMES = ("no sentence", "wrong cure", "wrong patient", "right")
LIST = (".", "animal", "because", "it", "street", "the", "tired", "was")
UNSORTED = {  # lists in no order, of words that begin alike or differ in a capital
    "the cat saw it": ("they", "saw", "the", "It", "cat", "it"),
    "it saw them": ("them", "the", "It", "saw", "it"),
    "It saw it": ("it", "saw", "It"),
}


# ---- 0.1 ----------------------------------------------------------------------------------


def _texts() -> Iterator[Case]:
    for text, want in (
        ("the animal was tired .", [5, 1, 7, 6, 0]),
        ("because the street was it", [2, 5, 4, 7, 3]),
        ("it", [3]),
        ("the the the", [5, 5, 5]),
    ):
        yield case(text=text, words=LIST, want=np.array(want), said=f"the text {text!r}")
    for text, words in UNSORTED.items():
        yield case(text=text, words=words, said=f"the text {text!r} and the list {words}")
    whole = world.stories()
    for text in (whole.texts[0], whole.texts[-1]):
        yield case(text=text, words=whole.words, said=f"the text {text!r}")


def _begun(text: str, words: tuple[str, ...]) -> list[int]:
    return [next(n for n, w in enumerate(words) if w.startswith(word)) for word in text.split()]


def _small(text: str, words: tuple[str, ...]) -> list[int]:
    small = [word.lower() for word in words]
    return [small.index(word) for word in text.lower().split()]


def _as_they_come(text: str, words: tuple[str, ...]) -> list[int]:
    come = list(dict.fromkeys(text.split()))
    return [come.index(word) for word in text.split()]


@exercise(
    "0.1",
    praise="Checked on words that come again, on lists in no order, and on whole stories.",
    hints=(
        "First cut the text into words; then ask for each where it stands in the list.",
        "A text knows how to `split`, and a tuple tells the place of a thing with `index`.",
        "Go through text.split() and collect words.index(word) for each word.",
    ),
    cases=_texts,
    mutants={
        "That counts from 1; places are counted from 0.": lambda text, words: [
            words.index(word) + 1 for word in text.split()
        ],
        "Each letter was looked up on its own, or its length taken; a token is a word.": (
            lambda text, words: [len(word) for word in text.split()]
        ),
        "A word that comes again needs its number again.": lambda text, words: [
            words.index(word) for word in dict.fromkeys(text.split())
        ],
        "The words were sorted first; they stay in the order of the text.": lambda text, words: [
            words.index(word) for word in sorted(text.split())
        ],
        "The list was sorted first; the place in the list as it stands is asked for.": (
            lambda text, words: [sorted(words).index(word) for word in text.split()]
        ),
        "The words are numbered as they come in the text; their numbers are places in the list.": (
            _as_they_come
        ),
        "The full stop was left out; it is a word of the list like any other.": (
            lambda text, words: [words.index(word) for word in text.split() if word != "."]
        ),
        "A word was taken for a longer one that begins with it; compare whole words.": _begun,
        "Capitals were taken for small letters; a list may hold both words.": _small,
        "Those are rows of zeros with a 1 at the place of the word; the place is asked for.": (
            lambda text, words: np.eye(len(words))[[words.index(word) for word in text.split()]]
        ),
    },
    otherwise="Each word of the text becomes its place in the list.",
)
def to_numbers(text: str, words: tuple[str, ...]) -> list[int]:
    """The place of each word in the list."""
    return [words.index(word) for word in text.split()]


# ---- 0.2 ----------------------------------------------------------------------------------

SEEN = {
    0: "all numbers are dice, and so is what it writes.",
    20: "it has learned which words are frequent; an order is only beginning.",
    60: "the order of the words stands, and the cure is drawn from all cures.",
    150: "the cure has met the trouble; who is cured is still drawn from all nouns of a kind.",
    1000: "more than nine in ten have nothing wrong in them.",
}


def _steps() -> Iterator[Case]:
    for step, why in SEEN.items():
        yield case(step=step, why=why, said=f"{step} steps")


def _mostly(step: int) -> str:
    lasts = zip((20, 60, 150, 1000), OUTCOMES, strict=True)
    return next(said for last, said in lasts if step <= last)


@exercise(
    "0.2",
    praise="All five; now move the slider and see how mixed the stories are in between.",
    hints=(
        "What can it learn from the words that stand close by, and what needs words far back?",
        "The order is: grammar, then the cure, then the patient. Each takes longer.",
        "After 20 steps no grammar yet, after 60 grammar alone, after 150 grammar and cure.",
    ),
    cases=_steps,
    kind=kinds.Name(names=OUTCOMES),
    mutants={
        "It is slower than that: after 20 steps there is hardly a sentence.": lambda step: (
            _mostly(step) if step != 20 else "wrong cure"
        ),
        "It is slower than that: after 150 steps the patient is mostly wrong.": lambda step: (
            _mostly(step) if step != 150 else "right"
        ),
        "After 60 steps most are sentences already.": lambda step: (
            _mostly(step) if step != 60 else "no sentence"
        ),
    },
    otherwise="Grammar comes first, then the cure, then the patient.",
)
def mostly(step: int) -> str:
    """What most stories look like after so many steps."""
    return next(
        said for last, said in zip((20, 60, 150, 1000), OUTCOMES, strict=True) if step <= last
    )


# ---- 0.3 ----------------------------------------------------------------------------------


def _looks() -> Iterator[Case]:
    yield case(
        queries=[[0.0], [1.0], [5.0]],
        keys=np.log([[1.0], [3.0], [2.0]]),
        t=1,
        want=np.array([0.25, 0.75, 0.0]),
    )
    rng = np.random.default_rng(0)
    for n, d, t in ((3, 4, 2), (5, 2, 3), (4, 9, 0), (18, 32, 9), (18, 32, 17)):
        q, k = rng.normal(size=(2, n, d))
        yield case(queries=q, keys=k, t=t)
    why = "Scores may be as large as a thousand."
    yield case(queries=[[600.0, 0], [900, 900]], keys=[[1.0, 1], [1, 0.5]], t=1, why=why)
    yield case(queries=[[0.0], [1000], [1]], keys=[[0.999], [1.0], [0.5]], t=1, why=why)
    yield case(queries=[[1.0], [1]], keys=[[1.0], [1001]], t=0, why=f"{why} So may later ones.")
    yield case(queries=[[1.0], [1], [0]], keys=[[0.0], [1.0], [1001]], t=1, why=why)
    yield case(queries=[[1.0, 2], [3, 1], [1, 1]], keys=[[2.0, 0], [1, 1], [0, 3]], t=2, whole=True)


def _looked(queries: Array, keys: Array, t: int, seen: int = 1, root: float = 0.5) -> Array:
    scores = keys @ queries[t] / queries.shape[1] ** root
    scores[t + seen :] = -np.inf
    return reference.softmax(scores)


def _shares(queries: Array, keys: Array, t: int) -> Array:
    scores = keys @ queries[t] / queries.shape[1] ** 0.5
    scores[t + 1 :] = 0
    found: Array = scores / scores.sum()
    return found


def _zeroed(queries: Array, keys: Array, t: int) -> Array:
    found = reference.softmax(keys @ queries[t] / queries.shape[1] ** 0.5)
    found[t + 1 :] = 0
    return found


def _swapped(queries: Array, keys: Array, t: int) -> Array:
    return _looked(keys, queries, t)


def _by_words(queries: Array, keys: Array, t: int) -> Array:
    return _looked(queries * (queries.shape[1] / len(queries)) ** 0.5, keys, t)


def _ones_for_later(queries: Array, keys: Array, t: int) -> Array:
    later = np.arange(len(keys)) > t
    scores = keys @ queries[t] / queries.shape[1] ** 0.5
    return np.where(later, 0, reference.softmax(np.where(later, 0, scores)))


def _down(queries: Array, keys: Array, t: int) -> Array:
    scores = queries @ keys.T / queries.shape[1] ** 0.5
    hidden = np.where(np.tri(len(keys)) > 0, 0.0, -np.inf)
    return np.asarray(reference.softmax((scores + hidden).T).T[t])


def _measured(queries: Array, keys: Array, t: int, largest: bool = True) -> Array:
    scores = keys @ queries[t] / queries.shape[1] ** 0.5
    terms = np.exp(scores - (scores.max() if largest else 0))[: t + 1]
    return np.append(terms / terms.sum(), np.zeros(len(keys) - t - 1))


@exercise(
    "0.3",
    praise="Checked at the first word, at the last, in between, and with scores near a thousand.",
    hints=(
        "One query meets t + 1 keys: each gives a dot product.",
        "Divide by √d, take exponentials, divide by their sum. Do that for the keys up to t only.",
        "scores = keys[: t + 1] @ queries[t] / √d; subtract the largest before np.exp; put the "
        "weights into the first t + 1 places of an array of zeros.",
    ),
    cases=_looks,
    mutants={
        "The words after t got weight too; nobody looks ahead.": partial(_looked, seen=10**6),
        "The word at t may also look at itself.": lambda queries, keys, t: (
            _looked(queries, keys, t, seen=0) if t else np.full(len(keys), np.nan)
        ),
        "The scores were not divided by √d.": partial(_looked, root=0.0),
        "You divided by d; it is the root of d.": partial(_looked, root=1.0),
        "Those are shares of the scores; take e to the power of each first.": _shares,
        "The later words were in the sum when you divided, so the rest adds up to less than one.": (
            _zeroed
        ),
        "Queries and keys are exchanged: it is the query of t that meets all keys.": _swapped,
        "You divided by the root of the number of words; d is the width of a vector.": _by_words,
        "The later words got the score 0, and e⁰ is 1: they still had their part of the sum.": (
            _ones_for_later
        ),
        "The sum runs over the words that ask; it runs over those that one word asks.": _down,
        "The later words are missing; each has its place in the answer, with weight 0.": (
            lambda queries, keys, t: _looked(queries, keys, t)[: t + 1]
        ),
        "exp(900) is more than a float64 can hold. What can be taken from all scores of the sum "
        "without changing a share?": partial(_measured, largest=False),
        "The scores were measured from that of a later word, which may lie a thousand above all "
        "others: then their exponentials are 0.": _measured,
    },
    otherwise="The weights of the words up to t are positive and add up to one.",
)
def look(queries: Array, keys: Array, t: int) -> Array:
    """The weights of the word at place t."""
    return _looked(queries, keys, t)


# ---- 0.4 ----------------------------------------------------------------------------------


def _cuts() -> Iterator[Case]:
    yield case(
        weights=[[1.0, 0, 0], [0.5, 0.5, 0], [0.2, 0.4, 0.4]],
        asks=2,
        asked=1,
        want=np.array([[1.0, 0, 0], [0.5, 0.5, 0], [1 / 3, 0, 2 / 3]]),
    )
    rng = np.random.default_rng(1)
    for n, asks, asked in ((4, 1, 3), (4, 3, 0), (4, 1, 1), (10, 9, 7), (18, 17, 9)):
        hidden = np.where(np.tri(n) > 0, 0.0, -np.inf)
        yield case(
            weights=reference.softmax(rng.normal(size=(n, n)) + hidden), asks=asks, asked=asked
        )


def _cut(
    weights: Array, asks: int, asked: int, rescale: bool = True, column: bool = False
) -> Array:
    after = weights.copy()
    if column:
        after[:, asked] = 0
        return after / np.maximum(after.sum(axis=1, keepdims=True), 1e-300)
    after[asks, asked] = 0
    return after / after.sum(axis=1, keepdims=True) if rescale else after


def _spread(weights: Array, asks: int, asked: int) -> Array:
    after = weights.copy()
    others = (after[asks] > 0) & (np.arange(len(after)) != asked)
    after[asks, others] += after[asks, asked] / others.sum()
    after[asks, asked] = 0
    return after


def _softened(weights: Array, asks: int, asked: int) -> Array:
    after = weights.copy()
    hidden = np.where(np.arange(len(after)) == asked, -np.inf, 0)
    after[asks] = reference.softmax(after[asks] + hidden)
    return after


def _kept(weights: Array, asks: int, asked: int) -> Array:
    after = weights.copy()
    after[asks, asks] += after[asks, asked]
    after[asks, asked] = 0
    return after


@exercise(
    "0.4",
    praise="Checked in tables of 3 to 18 words; every row adds up to one again.",
    hints=(
        "Only one row of the table changes. Which?",
        "The scores of the other words stay what they were. So their weights keep their ratios.",
        "In a copy, set the weight to 0 and divide the row by what is left of its sum.",
    ),
    cases=_cuts,
    mutants={
        "The row no longer adds up to one; the others share the weight.": partial(
            _cut, rescale=False
        ),
        "All words lost sight of it; only the word at `asks` should.": partial(_cut, column=True),
        "The two places are exchanged: the row asks, the column is asked.": (
            lambda weights, asks, asked: _cut(weights, asked, asks)
        ),
        "You shared the weight out in equal parts; the ratios of the others have to stay.": _spread,
        "A softmax was taken of weights; they are shares already, with ratios to keep.": _softened,
        "The word that asks took all the weight that was set free; the others get their part.": (
            _kept
        ),
    },
    otherwise="One entry becomes 0, and its row grows by one factor.",
)
def cut(weights: Array, asks: int, asked: int) -> Array:
    """The weights with one arc cut."""
    return _cut(weights, asks, asked)
