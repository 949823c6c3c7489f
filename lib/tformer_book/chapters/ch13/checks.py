"""Exercises 13.1 and 13.2: uncertainty, and what the last words leave of it."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tformer_book.exercises.kinds import Several
from tformer_book.exercises.promises import promised, single, whole
from tformer_book.exercises.registry import exercise
from tformer_book.exercises.table import Case, case

Array = np.ndarray


# ---- 13.1 ---------------------------------------------------------------------------------


def _chances() -> Iterator[Case]:
    yield case(p=[0.5, 0.25, 0.25], want=(1.5, 2**1.5), why="½ · 1 + ¼ · 2 + ¼ · 2 = 1.5 bits.")
    yield case(p=[0.5, 0.5, 0], want=(1.0, 2.0), why="What never comes adds nothing: a fair coin.")
    yield case(p=[[1.0, 0, 0], [0.25, 0.25, 0.5]], want=([0.0, 1.5], [1, 2**1.5]))
    yield case(p=[0, 0, 1.0, 0], want=(0.0, 1.0), why="A certain word: as a choice among one.")
    yield case(p=[[1.0]], want=([0.0], [1.0]), why="There may be one word alone.")
    for shape in ((3, 5), (2, 4), (2, 3, 4), (5,)):
        p = np.random.default_rng(len(shape)).gamma(0.7, size=shape) + 1e-3
        yield case(p=p / p.sum(axis=-1, keepdims=True))
    some = np.array([[3.0, 0, 1, 4], [0, 0, 2, 6]])
    yield case(p=some / some.sum(axis=-1, keepdims=True))
    yield case(p=np.full(1000, 1e-3), want=(np.log2(1000), 1000.0), why="1000 words, all alike.")
    rare = "A word may be very rare; only one of probability 0 adds nothing."
    said = "one word, and a thousand of 10⁻⁹ each"
    yield case(p=[1 - 1e-6, *[1e-9] * 1000], said=said, why=rare)
    yield from promised(whole, p=np.eye(3)[[1, 1, 0]])
    yield from promised(single, p=some / some.sum(axis=-1, keepdims=True))


@exercise(
    "13.1",
    praise="Fair choices, certain words and words that never come, in tables of any shape.",
    hints=(
        "How many bits does a word of probability ¼ cost? And one of probability ½?",
        "The entropy is the mean of these costs. What does the logarithm of 0 do in a mean?",
        "Replace each 0 inside the logarithm by 1. Then undo a logarithm to base 2.",
    ),
    cases=_chances,
    kind=Several(names=("entropy", "perplexity")),
    slips="""
        2**bits → 2 ** (bits * np.log(2))
            2 was raised to the entropy in nats; to the power of 2 belong bits.
        np.log2(sure) → np.log(sure) ;; 2**bits → np.exp(bits)
            The entropy is in nats; bits need logarithms to base 2.
        np.log2(sure) → np.log(sure)
            The entropy is in nats, and then 2 was raised to it: base and power have to fit.
        np.log2(sure) → np.log(sure) * np.log(2)
            A bit is 0.69 nats, so there are more bits than nats: divide by ln 2.
        2**bits → np.exp(bits)
            The entropy in bits is undone by powers of 2, not of e.
        np.log2(sure) → np.log2(p + 1e-9)
            Is something small added inside the logarithm? Replace each 0 by 1 there instead.
        np.where(p > 0, p, 1) → p
            0 · log 0 was computed, which is nan; a word that never comes adds 0.
        .sum(axis=-1) → .sum()
            Everything was added up; each row of probabilities has an entropy of its own.
        .sum(axis=-1) → .sum(axis=0)
            The sum runs over the first axis; the words stand along the last.
        .sum(axis=-1) → .mean(axis=-1)
            It is divided by the number of words; the probabilities already make it a mean.
        p * np.log2(sure) → np.log2(sure)
            The costs of all words were added; each comes only as often as p says.
        (p * np.log2(sure)).sum(axis=-1) → np.log2(sure).mean(axis=-1)
            All words got the same weight; each one's weight is its probability.
        -(p * np.log2(sure)) → (p * np.log2(sure))
            The logarithm of a probability is below 0: the minus sign is missing.
        = -np.log2(p.max(axis=-1)), 1 / p.max(axis=-1)
            That is the cost of the likeliest word alone; take the mean over all.
        = np.log2((p > 0).sum(axis=-1)), (p > 0).sum(axis=-1)
            You counted the words that can come; unequal chances leave less open.
        = -np.log2((p * p).sum(axis=-1)), 1 / (p * p).sum(axis=-1)
            That is another count, one over the sum of p²; perplexity undoes the entropy.
        bits, 2**bits → 2**bits, bits
            The two are exchanged: entropy first.
        2**bits → 2**-bits
            That is below 1; a perplexity counts words, and there is at least one.
        2**bits → bits**2
            The entropy was squared; 2 is to be raised to it.
        2**bits → 2 ** (bits / p.shape[-1])
            The entropy was divided by the number of words; it is that of one word already.
        .sum(axis=-1) → .sum(axis=-1) / np.log2(max(p.shape[-1], 2))
            It is divided by log₂ N, the most it can be: that is a share, and bits are asked for.
        = uncertain(np.exp(p) / np.exp(p).sum(axis=-1, keepdims=True))
            A softmax was taken; p are probabilities already.
        2**bits → 1 / p.max(axis=-1)
            That is one over the largest probability. Perplexity is 2 to the power of the entropy
            in bits.
        return bits, 2**bits → return np.where((p > 0).all(axis=-1), bits, 0), 2**bits
            Where a probability is 0 the entropy became 0; only that one term is 0.
        return bits, 2**bits → return bits, 1 / (p**2).sum(axis=-1)
            That is one over the sum of squares; perplexity is 2 to the power of the entropy in
            bits.
    """,
    otherwise="The entropy is the mean of −log₂ p, and the perplexity 2 to its power.",
)
def uncertain(p: Array) -> tuple[Array, Array]:
    """Entropy in bits, and perplexity."""
    sure = np.where(p > 0, p, 1)
    bits = -(p * np.log2(sure)).sum(axis=-1)
    return bits, 2**bits


# ---- 13.2 ---------------------------------------------------------------------------------


def _worlds() -> Iterator[Case]:
    small = np.array([[1, 8, 5], [2, 8, 6], [1, 9, 5], [3, 9, 5]])
    want = [np.log(4) - 0.75 * np.log(3), np.log(2) / 2, 0]
    why = "Half of the stories end in 8 and then 5 or 6; after 9 the patient is 5."
    yield case(stories=small, want=want, why=why)
    both = np.array([[1, 2, 0, 7], [2, 1, 0, 6], [1, 1, 0, 6], [2, 2, 0, 7]])
    why = "The word 0 tells nothing, and the one before it everything."
    yield case(stories=both, want=[np.log(2), np.log(2), 0, 0], why=why)
    apart = "Contexts that differ in one word are two, however large the numbers and long the rows."
    for large in (256, 2**16, 1000, 10**5, 10**6):
        rows = np.array([[1, 0, 5], [0, large, 6]])
        yield case(stories=rows, want=[np.log(2), 0, 0], why=apart)
    top = 10**6
    for base in (1000, 10**4, 10**5, top):
        for two in ([[base, 0, 5], [0, 1, 6]], [[1, 1, 0, 5], [0, base + 1, 0, 6]]):
            yield case(stories=np.array(two), why=apart)
    for place in (0, 2, 4, 6):
        rows = np.full((2, 8), top)
        rows[:, place], rows[:, -1] = (top, top - 1), (5, 6)
        yield case(stories=rows, why=apart)
    turned = np.array([[1, 2, 7], [2, 1, 8], [3, 2, 8], [3, 1, 7]])
    why = "The last word tells nothing alone; both together, in their order, tell all."
    yield case(stories=turned, want=[np.log(2), np.log(2), 0], why=why)
    yield case(stories=np.array([[4], [4], [9]]), why="T may be 1: nothing stands before it.")
    yield case(stories=np.array([[3, 1, 2]]), want=[0, 0, 0], why="One story leaves nothing open.")
    twice = np.array([[1, 5], [1, 5], [1, 5], [1, 6], [2, 6]])
    yield case(stories=twice, why="A story that stands three times is three times as likely.")
    for seed, (n, length, size) in enumerate(((6, 3, 2), (9, 4, 3), (20, 5, 2), (40, 4, 4))):
        rng = np.random.default_rng(seed)
        yield case(stories=rng.integers(0, size, (n, length)))
    far = np.array([[1, 10, 500_000], [11, 0, 1], [1, 10, 7], [0, 110, 1], [999_999, 10, 7]])
    yield case(stories=far, why=apart)


@exercise(
    "13.2",
    praise="Worlds of one story to forty, with words that tell nothing alone, and one word each.",
    hints=(
        "Fix k, and sort the stories by their last k words before the patient. What is left open "
        "inside such a group?",
        "Inside a group: the entropy of the shares of its patients. How much does a group weigh?",
        "A story that is one of n in its group, c of them with its patient, adds ln(n / c). Take "
        "the mean over all stories; with k = 0 all are one group.",
    ),
    cases=_worlds,
    mutants={
        "You took windows anywhere in a story; only its patient is asked.": lambda stories: (
            np.array([_of_any_word(stories, k) for k in range(len(stories.T))])
        ),
    },
    slips="""
        T - 1 - k : T - 1 → 0 : k
            The first k words are known here; those just before the patient should be.
        T - 1 - k : T - 1 → 0 : T - 1 - k
            The last k words are hidden here, and those before them known.
        T - 1 - k : T - 1 → T - 1 - k : T
            The patient is among what is known: then nothing is ever left open.
        T - 1 - k : T - 1 → min(T - k, T - 1) : T - 1
            One word too few is known: for k = 1 it is the word before the patient.
        T - 1 - k : T - 1 → max(T - 2 - k, 0) : T - 1
            One word too many is known: for k = 0 it is none.
        T - 1 - k : T - 1 → T - 1 - k : min(T - k, T - 1)
            Only the word k places before the patient is known; those after it are as well.
        T - 1 - k : T - 1 → (T - k) % T : T - 1
            A slice from −k to −1 has k − 1 words, and for k = 0 it has all of them.
        stories[:, T - 1 - k : T - 1] → np.sort($, axis=1)
            The order of the known words is lost; a model knows where each of them stands.
        known = stories[:, T - 1 - k : T - 1] → $; known = known @ 1000 ** np.arange(k)[:, None]
            Contexts were packed into one number in base 1000; the numbers of words go to a million.
        known = stories[:, T - 1 - k : T - 1] → $; known = known.sum(axis=1, keepdims=True)
            The words of a context were added up: different ones have equal sums.
        np.log(counts / counts.sum()) → np.log2(counts / counts.sum())
            That is in bits; nats are asked for.
        np.log(counts / counts.sum()) → np.log(counts / n)
            That is what the known words and the patient leave open together: divide by the stories
            of the group, not by all.
        np.log(counts / counts.sum()) → np.log(1 / counts.sum())
            That is what is open about the story; asked is the patient alone.
        total -= (counts * np.log(counts / counts.sum())).sum() → total += counts.max()
        total / n → -np.log(total / n)
            That is −ln of how often the best guess is right; the loss is the mean of −ln.
        total / n → total
            That is the sum over the stories; take the mean.
        total / n → total / len(np.unique(known, axis=0))
            It is divided by the number of groups; take the mean over the stories.
        counts * np.log(counts / counts.sum()) → $ / counts.sum()
        total / n → total / len(np.unique(known, axis=0))
            All groups weigh the same here; a group of more stories weighs more.
        total / n → np.exp(total / n)
            That is the perplexity; the uncertainty in nats is asked for.
        (counts * np.log(counts / counts.sum())).sum() → -counts.sum() * np.log(len(counts))
            The patients of a group were taken as equally likely; some stand in more stories.
        (counts * np.log(counts / counts.sum())).sum() → n * np.log(counts.max() / n) / T
            The likeliest patient alone was counted; take the mean over all.
        n, T = stories.shape → stories = np.unique(stories, axis=0); n, T = stories.shape
            Equal stories were counted once; each row counts.
        np.array(found) → found[0] - np.array(found)
            That is what the known words tell; asked is what they leave open.
        np.array(found) → np.array(found[1:])
            The first entry is missing: k = 0, where nothing is known.
        total -= (counts * np.log(counts / counts.sum())).sum() → total = _larger(total, counts, n)
            That is the group in which most is open; take the mean over the stories.
        in range(T) → in reversed(range(T))
            The order is turned round: k = 0 comes first.
        = np.full(len(stories.T), (lambda c: -(c / c.sum() * np.log(c / c.sum())).sum())(
        np.unique(stories[:, -1], return_counts=True)[1]))
            That is the uncertainty if nothing is known, for every k.
        stories[:, T - 1 - k : T - 1] → stories[:, :-1][:, -k:]
            For k = 0 a slice [-k:] is the whole row; nothing should be known then.
        stories[:, T - 1 - k : T - 1] → stories[:, T - k :]
            The patient itself is among the known words; the k words end before it.
        total -= (counts * np.log(counts / → total -= (counts * np.log(counts.max() /
            That is −ln of the share of the likeliest patient; the loss is a mean over all that may
            come.
    """,
    otherwise="The entropy of the patients in each group, averaged over the stories.",
)
def left(stories: Array) -> Array:
    """What the last k words leave open, for each k."""
    n, T = stories.shape
    found = []
    for k in range(T):
        known = stories[:, T - 1 - k : T - 1]
        total = 0.0
        for one in {tuple(row) for row in known.tolist()}:
            group = (known == one).all(axis=1)
            _, counts = np.unique(stories[group, -1], return_counts=True)
            total -= (counts * np.log(counts / counts.sum())).sum()
        found.append(total / n)
    return np.array(found)


def _larger(total: float, counts: Array, n: int) -> float:
    share = counts / counts.sum()
    return max(total, float(-n * (share * np.log(share)).sum()))


def _of_any_word(stories: Array, k: int) -> float:
    """The uncertainty of a word given the k before it, over all windows."""
    windows = np.concatenate([stories[:, t - k : t + 1] for t in range(k, len(stories.T))])
    both, known = (
        np.unique([str(row) for row in rows.tolist()], return_counts=True)[1] / len(windows)
        for rows in (windows, windows[:, :-1])
    )
    return float((known * np.log(known)).sum() - (both * np.log(both)).sum())
