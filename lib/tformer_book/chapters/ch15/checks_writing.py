"""Exercises 15.4 to 15.6: why greedy writing repeats, what a cache saves, a step of a beam."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from tformer_book.exercises.kinds import Several
from tformer_book.exercises.promises import promised, whole
from tformer_book.exercises.registry import exercise
from tformer_book.exercises.table import Case, case

Array = np.ndarray


# ---- 15.4 ---------------------------------------------------------------------------------


def _successors() -> Iterator[Case]:
    why = "It writes 0 2 3 1 2 3 1 …: 0 stands before, and 2 3 1 repeats."
    yield case(following=np.array([2, 2, 3, 1]), start=0, want=(1, 3), why=why)
    why = "It writes 3 1 3 1 …: nothing stands before."
    yield case(following=np.array([2, 3, 0, 1]), start=3, want=(0, 2), why=why)
    yield case(following=np.array([0]), start=0, want=(0, 1), why="It writes 0 0 0 …")
    why = "It writes 4 0 2 2 2 …: a word may follow itself."
    yield case(following=np.array([2, 3, 2, 1, 0]), start=4, want=(2, 1), why=why)
    why = "It writes 1 4 0 5 2 4 0 5 2 …"
    yield case(following=np.array([5, 4, 4, 0, 0, 2]), start=1, want=(1, 4), why=why)
    yield case(following=np.array([1, 2, 3, 4, 5, 0]), start=2, want=(0, 6), why="All six words.")
    why = "All words but the last stand before, and the last follows itself."
    yield case(following=np.array([1, 2, 3, 4, 5, 5]), start=0, want=(5, 1), why=why)
    for seed, n in enumerate((10, 30, 100, 1000)):
        rng = np.random.default_rng(seed)
        yield case(following=rng.integers(n, size=n), start=int(rng.integers(n)))
    far = np.append(np.arange(1, 100_000), 70_000)
    yield case(following=far, start=0, said="following = 1, 2, …, 99999, 70000 and start = 0")


@exercise(
    "15.4",
    praise="Loops of one word and of thousands, entered at once or late.",
    hints=(
        "Write on paper what comes for a table of four words. When must it repeat, at the latest?",
        "A word that has stood before is followed by what followed it then. So wait for the first "
        "such word.",
        "Keep for each word the place at which it stood first. The word that comes again tells "
        "where the loop begins.",
    ),
    cases=_successors,
    kind=Several(names=("count of words before the loop", "length of the loop"), scalars=True),
    mutants={
        "You waited for `start` to come again; it need not be in the loop.": (
            lambda following, start: _until_start(following, start)
        ),
    },
    slips="""
        seen[word], len(seen) - seen[word] → seen[word], len(seen)
            Those are all words until one comes again; those before the loop do not repeat.
        seen[word], len(seen) - seen[word] → len(seen) - seen[word], seen[word]
            The two are exchanged: first how many words stand before the loop.
        (), start → (), int(following[start])
            The first word was left out; `start` is written as well.
        seen[word], len(seen) - seen[word] → seen[word] + 1, len(seen) - seen[word]
            The first word of the loop was counted among those before it.
        seen[word], len(seen) - seen[word] → seen[word], len(seen) - seen[word] + 1
            The word that comes again was counted twice: it begins the second round.
        seen[word], len(seen) - seen[word] → seen[word], len(seen) - seen[word] - 1
            One word too few: count from where the word stood first to where it comes again.
        seen[word], len(seen) - seen[word] → word, len(seen) - seen[word]
            That is the number of the word that comes again; how many stand before it is asked.
        seen[word], len(seen) - seen[word] → 0, len(seen)
            You took all words up to the first repetition as the loop; it may begin later.
        return seen[word], len(seen) - seen[word] → return len(seen), len(seen) - seen[word]
            All words up to the first repetition were counted; those in the loop do not stand before
            it.
        word not in seen → word not in seen and len(seen) < 1000
        seen[word], len(seen) - seen[word] → len(seen), 1
            It was given up after a number of steps; a loop may begin after almost all words.
        seen, word = dict[int, int](), start → seen, word = dict[int, int](), 0
            It begins with word 0; the first word is `start`.
        return seen[word], → return 0,
        len(seen) - seen[word] → len(seen) if word == start else len(following) + 1
            It was waited for `start` to come again; a word before the loop never does.
    """,
    otherwise="A word that comes again is followed by what followed it before.",
)
def loop(following: Array, start: int) -> tuple[int, int]:
    """How many words stand before the loop, and how many are in it."""
    seen, word = dict[int, int](), start
    while word not in seen:
        seen[word] = len(seen)
        word = int(following[word])
    return seen[word], len(seen) - seen[word]


def _until_start(following: Array, start: int) -> tuple[int, int]:
    word, n = int(following[start]), 1
    while word != start and n < len(following):
        word, n = int(following[word]), n + 1
    return 0, n


# ---- 15.5 ---------------------------------------------------------------------------------


def _texts() -> Iterator[Case]:
    why = "With a cache 2² and 3; without, 2² and 3². The third word is never read."
    yield case(n_prompt=2, n_tokens=2, want=(7, 13), why=why)
    why = "One pass over the five words is all, with or without a cache."
    yield case(n_prompt=5, n_tokens=1, want=(25, 25), why=why)
    why = "The passes read 1, 2, 3 and 4 words."
    yield case(n_prompt=1, n_tokens=4, want=(10, 30), why=why)
    yield case(n_prompt=1, n_tokens=1, want=(1, 1), why="One word attends to itself, once.")
    for n_prompt, n_tokens in ((3, 5), (10, 7), (1, 100), (128, 1000), (4096, 20)):
        yield case(n_prompt=n_prompt, n_tokens=n_tokens)
    yield case(n_prompt=123_457, n_tokens=654_321)
    why = "Both may be a million; all sums still fit into 64 bits."
    yield case(n_prompt=10**6, n_tokens=10**6, why=why)
    yield case(n_prompt=1, n_tokens=10**6, why=why)


@exercise(
    "15.5",
    praise="Prompts and texts of one word to a million.",
    hints=(
        "List the passes for a prompt of two words and two written ones. How many words does each "
        "read?",
        "Without a cache a pass of T words makes T² scores. With one, only the newest word asks, "
        "and it attends to every word up to itself.",
        "The first pass reads the prompt in both ways. The last word that is written is read by "
        "nobody.",
    ),
    cases=_texts,
    kind=Several(names=("number with a cache", "number without"), scalars=True),
    slips="""
        lengths[1:].sum() → lengths.sum()
            The prompt's last word asked twice; the first written word comes from the first pass.
        n_prompt + n_tokens → n_prompt + n_tokens + 1
            The last word that is written was read as well; nobody asks what follows it.
        np.arange(n_prompt, n_prompt + n_tokens) → np.arange(n_prompt + 1, n_prompt + n_tokens + 1)
            The first written word comes from the prompt alone: its pass reads n_prompt words.
        n_prompt**2 + → n_prompt * (n_prompt + 1) // 2 +
        (lengths**2).sum() → (lengths * (lengths + 1) // 2).sum()
            You left out the scores that the mask hides; here they are computed and counted.
        n_prompt**2 + → n_prompt * (n_prompt + 1) // 2 +
        (lengths**2).sum() → (np.arange(1, n_prompt + n_tokens) ** 2).sum()
            You wrote the prompt too, word by word; one pass reads all of it.
        (lengths**2).sum() → (np.arange(1, n_prompt + n_tokens) ** 2).sum()
            Without a cache too the first pass reads the whole prompt; you began with one word.
        n_prompt**2 + → n_prompt * (n_prompt + 1) // 2 +
            In the prompt's pass you left out what the mask hides; here all scores are counted.
        n_prompt**2 + → n_prompt +
            In the first pass each word of the prompt asks each; one row of scores is too few.
        n_prompt**2 + →
            The pass over the prompt is missing: the cache has to be filled first.
        lengths[1:].sum() → (lengths[1:] - 1).sum()
            A new word attends to itself too, not only at those in the cache.
        lengths[1:].sum() → n_tokens - 1
            One score for each new word; it asks every word up to itself.
        (lengths**2).sum() → (lengths * (lengths + 1) // 2).sum()
            Without a cache you left out what the mask hides; here all scores are counted.
        (lengths**2).sum() → (lengths.astype(np.int32) ** 2).sum()
            Your squares have 32 bits and run over; the numbers here need 64.
        (lengths**2).sum() → lengths[-1] ** 2
            That is the last pass alone; without a cache each written word took a pass.
        (lengths**2).sum() → n_tokens * lengths[-1] ** 2
            Not every pass is as long as the last one.
        (lengths**2).sum() → n_tokens * n_prompt**2
            Not every pass is as short as the first one.
        (lengths**2).sum() → lengths.sum()
            Without a cache all words of a pass ask, not the newest alone.
        = (lambda a, b: (b, a))(*counted(n_prompt, n_tokens))
            The two are exchanged: with a cache first.
        (lengths**2).sum() → ((lengths + 1) ** 2).sum()
            Without a cache, the first pass reads the prompt alone: each pass is one word too
            long.
        lengths[1:].sum() → (lengths + 1).sum()
            With a cache you count one pass too many: the last word that is written is not read.
        (lengths**2).sum() → (lengths[1:] ** 2).sum()
            Without a cache the first pass, over the prompt, is missing.
        np.arange(n_prompt, n_prompt + n_tokens) → np.arange(n_prompt, n_prompt + n_tokens, 1, 'f')
        lengths[1:].sum() → int(lengths[1:].sum()) ;; (lengths**2).sum() → int((lengths**2).sum())
            The numbers went through few digits; whole numbers are exact.
        np.arange(n_prompt, n_prompt + n_tokens) → np.arange(n_prompt, n_prompt + n_tokens, 1, "i")
        lengths[1:].sum() → lengths[1:].sum(dtype="i")
        (lengths**2).sum() → (lengths**2).sum(dtype="i")
            The numbers were kept in 32 bits, and beyond 2³¹ these begin again.
    """,
    otherwise="Add up the scores of all passes; the text grows by one word from pass to pass.",
)
def counted(n_prompt: int, n_tokens: int) -> tuple[int, int]:
    """Scores with a cache, and without."""
    lengths = np.arange(n_prompt, n_prompt + n_tokens)
    return n_prompt**2 + lengths[1:].sum(), (lengths**2).sum()


# ---- 15.6 ---------------------------------------------------------------------------------


def _beams() -> Iterator[Case]:
    no, none = -np.inf, np.array([False, False])
    totals, logs = np.array([-1.0, -2.0]), np.array([[-3.0, -1.0, -4], [-1, -0.5, -3]])
    why = "The totals are −4, −2, −5 and −3, −2.5, −5: the best are word 1 of 0, then word 1 of 1."
    want = ([0, 1], [1, 1], [-2, -2.5])
    yield case(totals=totals, logs=logs, ended=none, width=2, want=want, why=why)
    why = "Text 0 has ended and keeps its −1; nothing is added to it."
    want = ([0, 1, 1], [-1, 1, 0], [-1, -2.5, -3])
    yield case(totals=totals, logs=logs, ended=np.array([True, False]), width=3, want=want, why=why)
    why = "The totals are −2 for text 0, which has ended, and −2, −4 for text 1: 0 comes before 1."
    tied = np.array([[-1.0, -1.0], [-1.0, -3.0]])
    want, one = ([0, 1], [-1, 0], [-2, -2]), np.array([True, False])
    yield case(totals=[-2.0, -1.0], logs=tied, ended=one, width=2, want=want, why=why)
    why = "−3 has ended; of −1.5, −2 and −3 it is the third."
    far, want = np.array([[-1.0, -1.0], [-0.5, -1.0]]), ([1, 1], [0, 1], [-1.5, -2])
    yield case(totals=[-3.0, -1.0], logs=far, ended=one, width=2, want=want, why=why)
    why = "Text 0 is the likelier one, but goes on with −6 at best, and text 1 with −2.5."
    far, want = np.array([[-5.0, -5.0], [-0.5, -3.0]]), ([1], [0], [-2.5])
    yield case(totals=totals, logs=far, ended=none, width=1, want=want, why=why)
    why = "−2.5 comes three times: text 0 before text 1, and word 0 before word 2."
    tied = np.array([[-1.5, -3.0, -1.5], [-0.5, -1.0, -2.0]])
    want = ([0, 0, 1], [0, 2, 0], [-2.5, -2.5, -2.5])
    yield case(totals=totals, logs=tied, ended=none, width=3, want=want, why=why)
    why = "Only two words can come, though three are wanted."
    few = np.array([[no, -1.0, no], [no, no, -1.0]])
    want = ([0, 1], [1, 2], [-2, -3])
    yield case(totals=totals, logs=few, ended=none, width=3, want=want, why=why)
    why = "All have ended: they stay, in the order of their totals."
    want = ([1, 0], [-1, -1], [-1, -2])
    yield case(
        totals=totals[::-1].copy(),
        logs=logs,
        ended=np.array([True, True]),
        width=2,
        want=want,
        why=why,
    )
    yield case(totals=[0.0], logs=[[-1.0, -2.0]], ended=np.array([False]), width=1)
    low = "Logarithms may be far below 0: only −∞ says that a word cannot come."
    for least in (-60.0, -2000.0, -(2.0**40)):
        yield case(
            totals=[0.0, least],
            logs=[[least, no, least - 1], [no, -1.0, least]],
            ended=np.array([False, False]),
            width=9,
            why=low,
        )
    yield case(
        totals=[-1.0, -1.0 - 2**-40, -1.0],
        logs=[[-1.0 - 2**-41, -2.0], [-1.0, -1.0 + 2**-40], [-1.0, -1.0]],
        ended=np.array([False, False, True]),
        width=5,
        why="Nearly equal totals are not equal; sums are exact.",
    )
    for seed, (B, N, width) in enumerate(((3, 4, 3), (4, 6, 2), (2, 5, 7), (5, 30, 5), (1, 9, 4))):
        rng = np.random.default_rng(seed)
        logs = -rng.integers(1, 9, (B, N)) / 2
        logs[rng.random((B, N)) < 0.2] = no
        totals = -rng.integers(2, 8, B) / 2
        for ended in (np.zeros(B, dtype=bool), rng.random(B) < 0.5):
            yield case(totals=totals, logs=logs, ended=ended, width=width)
    many = {"totals": np.array([-3.0, -4, -1]), "logs": np.array([[-1.0, -2], [-3, -1], [-2, -1]])}
    yield from promised(whole, **many, ended=np.array([False, False, True]), width=4)
    why = "A text that has ended competes with its total alone, whatever the logarithms beside it."
    for beside in (no, 0.0):
        yield case(
            totals=[-1.0, -2],
            logs=np.array([[beside, beside], [-0.5, no]]),
            ended=np.array([True, False]),
            width=2,
            want=([0, 1], [-1, 0], [-1, -2.5]),
            why=why,
        )


def _each_by_itself(
    totals: Array, logs: Array, ended: Array, width: int
) -> tuple[Array, Array, Array]:
    """The best word of each text."""
    word = np.where(ended, -1, logs.argmax(axis=1))
    found = np.where(ended, totals, totals + logs.max(axis=1))
    order = np.argsort(-found, kind="stable")[:width]
    return order, word[order], found[order]


def _chosen(choose: Callable[..., Array]) -> Callable[..., tuple[Array, Array, Array]]:
    """The beam that chooses in some way from all that compete, the best first."""

    def answer(totals: Array, logs: Array, ended: Array, width: int) -> tuple[Array, Array, Array]:
        text, word, total = beam_step(totals, logs, ended, logs.size + len(logs))
        best = np.argsort(-totals, kind="stable")[:width]
        order = choose(text=text, word=word, total=total, best=best, width=width)
        return text[order], word[order], total[order]

    return answer


def _with_all_ended(word: Array, n: int) -> Array:
    """All that have ended, and the first n that go on."""
    return np.sort(np.append(np.flatnonzero(word < 0), np.flatnonzero(word >= 0)[: max(n, 0)]))


@exercise(
    "15.6",
    praise="Texts that have ended, totals that tie, words that cannot come, and too few of them.",
    hints=(
        "How many continuations are there, of all texts together? Write their totals in one table.",
        "Give a text that has ended a table row with one entry: its own total, in an extra column.",
        "Sort the whole table, flattened, from the largest total on, and keep the order of equal "
        "ones. Then leave out −∞.",
    ),
    cases=_beams,
    kind=Several(names=("array of texts", "array of words", "array of totals")),
    mutants={
        "Each text kept its own best word; continuations of all texts compete with one another.": (
            _each_by_itself
        ),
        "What has ended came after its equals; the earlier text comes first, ended or not.": (
            _chosen(
                lambda text, word, total, width, **_: np.lexsort((word, text, word < 0, -total))[
                    :width
                ]
            )
        ),
        "Texts were dropped before they were continued; a worse one may go on better.": (
            _chosen(lambda text, best, width, **_: np.flatnonzero(np.isin(text, best))[:width])
        ),
        "What has ended was kept in any case; it competes, and may be dropped.": (
            _chosen(lambda word, width, **_: _with_all_ended(word, width - (word < 0).sum()))
        ),
        "More than `width` came: those that have ended count among them.": (
            _chosen(lambda word, width, **_: _with_all_ended(word, width))
        ),
    },
    slips="""
        totals[:, None] + logs → logs + 0.0
            The newest word decided alone; what counts is the total of the whole text.
        totals[:, None] + logs → totals[:, None] * logs
            Probabilities are multiplied, so their logarithms are added.
        going[ended] = -np.inf →
            A text that had ended was continued.
        going[ended] = -np.inf →
        np.where(ended, totals, -np.inf) → np.full(len(totals), -np.inf)
            What has ended was treated like the rest; it is not continued, and its word is −1.
        np.where(ended, totals, -np.inf) → np.full(len(totals), -np.inf)
            A text that had ended is gone; it goes on competing with its total.
        np.argsort(-table, kind="stable")[:width] → np.argsort(table, kind="stable")[:width]
            The least likely came first.
        np.argsort(-table, kind="stable")[:width] → np.argsort(-table, kind="stable")
            All continuations came back; the beam is `width` wide.
        np.argsort(-table, kind="stable")[:width] → np.argsort(table, kind="stable")[::-1][:width]
            Of equal totals the later one came first: earlier texts, and smaller words, come before.
        order = order[table[order] > -np.inf] →
            A word that cannot come was taken, since too few others were left.
        order % (N + 1) - 1, table[order] → order % (N + 1) - 1, np.exp(table[order])
            The totals are logarithms, and stay that.
        - 1, table[order] → - 1, table[order] - totals[order // (N + 1)]
            What the newest word adds came back; the total of the text is asked.
        order // (N + 1), order % (N + 1) - 1, → order % (N + 1) - 1, order // (N + 1),
            Texts and words are exchanged: first the text that is continued.
        order % (N + 1) - 1, → np.maximum(order % (N + 1) - 1, 0),
            A text that had ended got word 0; its word is −1.
        argsort(-table → argsort(-np.concatenate([stay[:, None], logs + 0 * going], axis=1).ravel()
            The words were ranked by their own logarithms; totals of whole texts compete.
        N = logs.shape[1] → N = logs.shape[1]; i = np.arange((N + 1) * len(logs))
        np.argsort(-table, kind="stable") → np.lexsort((i // (N + 1), i % (N + 1), -table))
            Of equal totals the one with the smaller word was put first; the earlier text comes
            before that.
        np.where(ended, totals, -np.inf) → np.where(ended, totals + logs.max(axis=1), -np.inf)
            To the total of a text that has ended something was added; nothing comes after its end.
    """,
    otherwise="All continuations of all texts compete by their totals; equal ones stand by text, "
    "and then by word.",
)
def beam_step(totals: Array, logs: Array, ended: Array, width: int) -> tuple[Array, Array, Array]:
    """The texts that are continued, by which words, and the new totals."""
    N = logs.shape[1]
    going = totals[:, None] + logs
    going[ended] = -np.inf
    stay = np.where(ended, totals, -np.inf)
    table = np.concatenate([stay[:, None], going], axis=1).ravel()
    order = np.argsort(-table, kind="stable")[:width]
    order = order[table[order] > -np.inf]
    return order // (N + 1), order % (N + 1) - 1, table[order]
