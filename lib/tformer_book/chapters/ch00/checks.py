"""Exercises 0.1 to 0.4: tokens, what is written when, a look, a cut."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tformer import reference
from tformer_book.exercises import kinds
from tformer_book.exercises.registry import exercise
from tformer_book.exercises.table import Case, case
from tformer_book.world import stories as world

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
    for text, n in (("w0 w127 w128 w255 w256", 300), ("w32768 w65536", 70_000)):
        words = tuple(f"w{i}" for i in range(n))
        said = f"the text {text!r} and a list of {n} words, w0 to w{n - 1}"
        yield case(text=text, words=words, said=said, why="A list may have very many words.")
    whole = world.stories()
    for text in (whole.texts[0], whole.texts[-1]):
        yield case(text=text, words=whole.words, said=f"the text {text!r}")


@exercise(
    "0.1",
    praise="Checked on words that come again, on lists in no order, and on whole stories.",
    hints=(
        "First cut the text into words; then ask for each where it stands in the list.",
        "A text knows how to `split`, and a tuple tells the place of a thing with `index`.",
        "Go through text.split() and collect words.index(word) for each word.",
    ),
    cases=_texts,
    slips="""
    words.index(word) → $ + 1
        That counts from 1; places are counted from 0.
    words.index(word) → len(word)
        Each letter was looked up on its own, or its length taken; a token is a word.
    text.split() → dict.fromkeys($)
        A word that comes again needs its number again.
    text.split() → sorted($)
        The words were sorted first; they stay in the order of the text.
    = sorted({words.index(word) for word in text.split()})
        The numbers came sorted, each once: give one for each word, in the order of the text.
    words.index → sorted(words).index
        The list was sorted first; the place in the list as it stands is asked for.
    words.index → list(dict.fromkeys(text.split())).index
        The words are numbered as they come in the text; their numbers are places in the list.
    text.split() → [word for word in $ if word != "."]
        The full stop was left out; it is a word of the list like any other.
    words.index(word) → next(n for n, w in enumerate(words) if w.startswith(word))
        A word was taken for a longer one that begins with it; compare whole words.
    words.index(word) → [w.lower() for w in words].index(word.lower())
        Capitals were taken for small letters; a list may hold both words.
    = np.array([[words.index(word)] for word in text.split()]) == np.arange(len(words))
        Those are rows of zeros with a 1 at the place of the word; the place is asked for.
    = [__import__("bisect").bisect_left(words, word) for word in text.split()]
        The list was searched as if it stood in the order of the alphabet.
    words.index(word) → next(n for n, w in enumerate(words) if word.startswith(w))
        A word was taken for a shorter one, with which it begins; compare whole words.
    words.index(word) → next(n for n, w in enumerate(words) if word in w)
        A word was taken for one that holds its letters; compare whole words.
    words.index(word) → $ - len(words)
        The places are counted from the end; they are counted from 0.
    """,
    otherwise="Each word of the text becomes its place in the list.",
)
def to_numbers(text: str, words: tuple[str, ...]) -> list[int]:
    """The place of each word in the list."""
    return [words.index(word) for word in text.split()]


# ---- 0.2 ----------------------------------------------------------------------------------

SEEN = {
    0: "all numbers are random, and so is what it writes.",
    20: "it has learned which words are frequent, and only a little of their order.",
    60: "the order of the words is right, but the cure is drawn from all cures.",
    150: "the cure fits the trouble, but the patient is still drawn from all nouns of a kind.",
    1000: "more than nine in ten are right.",
}


def _steps() -> Iterator[Case]:
    for step, why in SEEN.items():
        yield case(step=step, why=why, said=f"{step} steps")


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
    slips="""
    (20, 60, 150, 1000) → (19, 20, 150, 1000)
        It is slower than that: after 20 steps there is hardly a sentence.
    (20, 60, 150, 1000) → (20, 60, 149, 1000)
        It is slower than that: after 150 steps the patient is mostly wrong.
    (20, 60, 150, 1000) → (60, 61, 150, 1000)
        After 60 steps most are sentences already.
    """,
    otherwise="Grammar comes first, then the cure, then the patient.",
)
def mostly(step: int) -> str:
    """What most stories look like after so many steps."""
    lasts = (20, 60, 150, 1000)
    return next(said for last, said in zip(lasts, OUTCOMES, strict=True) if step <= last)


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
    yield case(queries=[[1.0], [1000]], keys=[[-1.0], [1.0]], t=1, want=[0, 1], why=why)
    low = "All visible scores may be near −1000: no number stands for a hidden word."
    yield case(queries=[[0.0], [-1000], [1]], keys=[[0.999], [1.0], [0]], t=1, why=low)
    yield case(queries=[[-150.0, 0], [1, 1]], keys=[[1.0, 1], [0, 0]], t=0, want=[1, 0], why=low)
    yield case(queries=[[1.0, 2], [3, 1], [1, 1]], keys=[[2.0, 0], [1, 1], [0, 3]], t=2, whole=True)


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
    slips="""
    scores[t + 1 :] = -np.inf →
        The words after t got weight, too; they are hidden.
    -np.inf → 0
        The later words got the score 0, and e⁰ is 1: they have weight, and should have none.
    t + 1 : → max(t, 1) :
        The word at t also sees itself.
    / np.sqrt(queries.shape[1]) →
        The scores were not divided by √d.
    np.sqrt(queries.shape[1]) → queries.shape[1]
        You divided by d; it is the root of d.
    -np.inf → 0 ;; reference.softmax(scores) → scores / scores.sum()
        Those are shares of the scores; take e to the power of each first.
    keys @ queries[t] / np.sqrt(queries.shape[1]) → reference.softmax($)
    -np.inf → 0 ;; return reference.softmax(scores) → return scores
        The later words were in the sum when you divided, so the rest adds up to less than one.
    keys @ queries[t] → queries @ keys[t]
        Queries and keys are exchanged: it is the query of t that meets all keys.
    np.sqrt(queries.shape[1]) → np.sqrt(len(queries))
        You divided by the root of the number of words; d is the width of a vector.
    -np.inf → 0 ;; reference.softmax(scores) → np.where(np.arange(len(keys)) > t, 0, $)
        The later words got the score 0, and e⁰ is 1: they still had their part of the sum.
    keys @ queries[t] → (queries @ keys.T + np.where(np.tri(len(keys)) > 0, 0, -np.inf)).T
    scores[t + 1 :] = -np.inf → ;; reference.softmax(scores) → $.T[t]
        The sum runs over the words that ask; it runs over those that one word asks.
    reference.softmax(scores) → $[: t + 1]
        The later words are missing; each has its place in the answer, with weight 0.
    reference.softmax(scores) → np.exp(scores) / np.exp(scores).sum()
        exp(900) is more than a float64 can hold. What can be taken from all scores of the sum
        without changing a share?
    -np.inf → -100.0
        The later words got the score −100, and visible ones may be lower: leave them out, or take
        −∞.
    scores[t + 1 :] = -np.inf → scores -= scores.max(); $
    reference.softmax(scores) → np.exp(scores) / np.exp(scores).sum()
        The scores were measured from that of a later word, which may lie a thousand above all
        others: then their exponentials are 0.
    = np.ones(len(keys)) if t == 0 else look(queries, keys, t)
        The first word sees itself alone; the others have no weight then.
    reference.softmax(scores) → reference.softmax(np.clip(scores, -700, 700))
    -np.inf → -np.inf; hidden = np.arange(len(keys)) > t
    return → scores = np.where(hidden, -np.inf, scores); return
        Scores beyond 700 were made equal; subtract the largest instead of cutting them off.
    """,
    otherwise="The weights of the words up to t are positive and add up to one.",
)
def look(queries: Array, keys: Array, t: int) -> Array:
    """The weights of the word at place t."""
    scores = keys @ queries[t] / np.sqrt(queries.shape[1])
    scores[t + 1 :] = -np.inf
    return reference.softmax(scores)


# ---- 0.4 ----------------------------------------------------------------------------------


_NO_MASK = "Words see later ones here: every weight of the row that is left counts in its sum."


def _cuts() -> Iterator[Case]:
    yield case(
        weights=[[1.0, 0, 0], [0.5, 0.5, 0], [0.2, 0.4, 0.4]],
        asks=2,
        asked=1,
        want=np.array([[1.0, 0, 0], [0.5, 0.5, 0], [1 / 3, 0, 2 / 3]]),
    )
    tiny = 2.0**-30
    yield case(
        weights=[[1, 0, 0, 0], [0.5, 0.5, 0, 0], [1 - 3 * tiny, tiny, 2 * tiny, 0], [0.25] * 4],
        asks=2,
        asked=0,
        want=[[1, 0, 0, 0], [0.5, 0.5, 0, 0], [0, 1 / 3, 2 / 3, 0], [0.25] * 4],
        said="weights (1 − 3/2³⁰, 1/2³⁰, 2/2³⁰, 0) in row 2, asks = 2 and asked = 0",
        why="However little is left of a row, it becomes one.",
    )
    yield case(
        weights=[[1, 0, 0], [1 - 2.0**-50, 2.0**-51, 2.0**-51], [1 - 1e-15, 1e-15, 0]],
        asks=2,
        asked=0,
        want=[[1, 0, 0], [1 - 2.0**-50, 2.0**-51, 2.0**-51], [0, 1, 0]],
        said="weights (1 − 10⁻¹⁵, 10⁻¹⁵, 0) in row 2, asks = 2 and asked = 0",
        why="1 − (1 − 10⁻¹⁵) has lost its digits: add up what is left.",
    )
    every = [[0.5, 0.25, 0.25], [0.25, 0.5, 0.25], [0.125, 0.25, 0.625]]
    for asks, asked, row in ((0, 1, (2 / 3, 0, 1 / 3)), (1, 0, (0, 2 / 3, 1 / 3))):
        want = [row if t == asks else weights for t, weights in enumerate(every)]
        yield case(weights=every, asks=asks, asked=asked, want=want, why=_NO_MASK)
    rng = np.random.default_rng(1)
    for n, asks, asked in ((4, 1, 3), (4, 3, 0), (4, 1, 1), (10, 9, 7), (18, 17, 9)):
        hidden = np.where(np.tri(n) > 0, 0.0, -np.inf)
        yield case(
            weights=reference.softmax(rng.normal(size=(n, n)) + hidden), asks=asks, asked=asked
        )


@exercise(
    "0.4",
    praise="Checked in tables of 3 to 18 words; every row adds up to one again.",
    hints=(
        "Only one row of the table changes. Which?",
        "The scores of the other words stay what they were. So their weights keep their ratios.",
        "In a copy, set the weight to 0 and divide the row by what is left of its sum.",
    ),
    cases=_cuts,
    slips="""
    after[asks] /= after[asks].sum() →
        The row no longer adds up to one; the others share the weight.
    after[asks, asked] → after[:, asked]
    after[asks] /= after[asks].sum() → after /= np.maximum(after.sum(axis=1)[:, None], 1e-300)
        All words lost sight of it; only the word at `asks` should.
    after[asks, asked] → after[:, asked]
    after[asks] /= after[asks].sum() → after /= after.sum(axis=1)[:, None]
        The whole column became 0, so no word sees it now; only the word at `asks` should not.
    after[asks, asked] → after[asked, asks]
    after[asks] /= after[asks].sum() → after[asked] /= after[asked].sum()
        The two places are exchanged: the row asks, the column is asked.
    after[asks, asked] = 0 → others = (after[asks] > 0) & (np.arange(len(after)) != asked)
    after[asks] /= after[asks].sum() → after[asks, others] += after[asks, asked] / others.sum()
    return after → after[asks, asked] = 0; $
        You shared the weight out in equal parts; the ratios of the others have to stay.
    after[asks, asked] = 0 → after[asks] += after[asks, asked] / (len(after) - 1); $
    after[asks] /= after[asks].sum() →
        You shared the weight out in equal parts, to hidden words too; the ratios have to stay.
    after[asks, asked] = 0 → after[asks, asked] = -np.inf
    after[asks] /= after[asks].sum() → after[asks] = reference.softmax(after[asks])
        A softmax was taken of weights; they are shares already, with ratios to keep.
    after[asks] /= after[asks].sum() → after = reference.softmax(after)
        A softmax was taken of the whole table of weights: they are shares already. Divide the one
        row by its sum.
    after[asks, asked] = 0 → after[asks, asks] += after[asks, asked]; $
    after[asks] /= after[asks].sum() →
        The word that asks took all the weight that was set free; the others get their part.
    after[asks] /= after[asks].sum() → after[asks] /= max(after[asks, : asks + 1].sum(), 1e-300)
        You divided by the weights up to the word that asks; words may see later ones as well.
    """,
    otherwise="One entry becomes 0, and its row grows by one factor.",
)
def cut(weights: Array, asks: int, asked: int) -> Array:
    """The weights with one arc cut."""
    after = weights.copy()
    after[asks, asked] = 0
    after[asks] /= after[asks].sum()
    return after
