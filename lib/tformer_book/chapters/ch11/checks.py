"""Exercises 11.1 to 11.4: masks, who is moved, the best guess and the least loss."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tformer_book.exercises.kinds import Marks, Number
from tformer_book.exercises.registry import Test, exercise
from tformer_book.exercises.table import Case, case, type_test


def _masks() -> Iterator[Case | Test]:
    for form, n, prefix, why in (
        ("encoder", 3, 1, "In an encoder every word sees every word."),
        ("decoder", 3, 2, "In a decoder no word sees a later one."),
        ("prefix", 3, 2, "The first two words see each other, and the third sees all."),
        ("prefix", 4, 0, "A prefix of no word leaves the causal mask."),
        ("prefix", 4, 4, "A prefix of all words leaves no mask."),
        ("prefix", 5, 3, "Word 4 is no part of the prefix: the first three do not see it."),
        ("encoder", 1, 0, "One word sees itself."),
        ("decoder", 5, 0, "Word t sees the words 0 to t."),
        ("prefix", 6, 1, "The first word is seen by all as it is."),
    ):
        said = f"the form {form!r}, {n} words and a prefix of {prefix}"
        yield case(form=form, n=n, n_prefix=prefix, why=why, said=said)
    yield type_test("True and False", form="prefix", n=3, n_prefix=1)


@exercise(
    "11.1",
    kind=Marks(),
    praise="All three forms, with prefixes of no word, some and all, and a single word.",
    hints=(
        "Number the words: t down, s across. When is s not later than t?",
        "The decoder's condition is s ≤ t. A prefix opens columns, for all rows.",
        "(s <= t) | (s < n_prefix), with t as a column of numbers.",
    ),
    cases=_masks,
    slips="""
        s <= t → s < t
            Each word sees itself too.
        s <= t → s >= t
            Rows and columns are exchanged: row t is the word that attends.
        s < n_prefix → s <= n_prefix
            The prefix is one word too long: words count from 0.
        s < n_prefix → t < n_prefix
            The words of the prefix do not see all words; all words see the prefix.
        causal | (s < n_prefix) → causal & (s < n_prefix)
            After the prefix words still see the words before them: either is enough.
        causal | (s < n_prefix) → (t >= 0) & (s < n_prefix)
            After the prefix words see those before them as well.
        if form == "prefix" else causal → if n_prefix else causal
            In a decoder the prefix plays no part.
        np.ones((n, n), dtype=bool) → causal
            An encoder has no causal mask.
        s < n_prefix → s >= n - n_prefix
            The prefix is the first words of the text, not the last.
        causal | (s < n_prefix) → ($) & ((t < n_prefix) == (s < n_prefix))
            The words after the prefix see the prefix, too.
        np.ones → np.zeros ;; s <= t → s > t ;; causal | (s < n_prefix) → causal & (s >= n_prefix)
            True and False are exchanged: True is where a word may attend.
        = np.where((form == "encoder") | (np.tri(n) > 0)
        | ((form == "prefix") & (np.arange(n) < n_prefix)), 0, -np.inf)
            That is what is added to the scores; True and False are asked for.
        return causal | (s < n_prefix) → return (causal | (s < n_prefix)).T
        else causal → else causal.T
            Rows and columns are exchanged: row t says which words word t may attend to.
        np.ones((n, n), dtype=bool) → ~np.eye(n, dtype=bool)
            In an encoder each word attends to itself as well.
    """,
    otherwise="Encoder: all s. Decoder: s not after t. Prefix: that, and each s in the prefix.",
)
def mask_of(form: str, n: int, n_prefix: int) -> np.ndarray:
    """Who may attend to whom."""
    t, s = np.arange(n)[:, None], np.arange(n)
    causal = s <= t
    if form == "encoder":
        return np.ones((n, n), dtype=bool)
    return causal | (s < n_prefix) if form == "prefix" else causal


def _exchanges() -> Iterator[Case | Test]:
    for s, t, text, place, why in (
        (2, 3, "source", 0, "All of the source sees it, and the whole target sees the source."),
        (2, 3, "target", 1, "The first target word stands before it, and the source sees none."),
        (3, 2, "target", 0, "Every target word sees the first one; no source word does."),
        (3, 2, "source", 2, "Source words before it see it too: there is no causal mask."),
        (1, 1, "target", 0, "The source's vector does not know the target."),
        (1, 4, "target", 3, "Only its own vector: no word comes after the last."),
        (4, 1, "source", 3, "One target word, and it sees all of the source."),
        (5, 6, "target", 2, "Vectors from it on."),
    ):
        said = f"{s} source words, {t} target words, and word {place} of the {text} exchanged"
        yield case(n_source=s, n_target=t, text=text, place=place, why=why, said=said)
    yield type_test("True and False", n_source=1, n_target=2, text="target", place=1)


@exercise(
    "11.2",
    kind=Marks(),
    praise="Words of either text, first and last, and texts of one word.",
    hints=(
        "Which words attend to the exchanged one, directly or through another word?",
        "The encoder has no mask, and every target word attends to all of its vectors. Who "
        "attends to the target?",
        "A source word moves everything. A target word moves its own vector and those after it.",
    ),
    cases=_exchanges,
    slips="""
        rows[:] = True → rows[:n_source] = True
            The target attends to the encoder's vectors, and these have moved.
        rows[:] = True → rows[place:] = True
            In the encoder the words before the exchanged one see it as well.
        rows[:] = True → rows[n_source:] = True
            The encoder's own vectors depend on the source's words, too.
        rows[:] = True → rows[[place, *range(n_source, n_source + n_target)]] = True
            In the encoder every word attends to the exchanged word.
        rows[n_source + place :] → rows[n_source:]
            A target word does not see later target words.
        rows[n_source + place :] → rows[n_source + place + 1 :]
            The vector of the exchanged word itself is another, too.
        rows[n_source + place :] → rows[place:]
            Vectors of the target come after those of the source.
        rows[n_source + place :] → rows[:]
            The encoder does not see the target.
        rows[n_source + place :] → rows[n_source + place]
            Later target words attend to the exchanged word.
        rows[n_source + place :] → rows[place : len(rows) - n_source]
            The encoder's vectors stand first in the answer, then the decoder's.
        rows[n_source + place :] → rows[max(n_source, place) :]
            The place counts in the target, from its first word.
        np.zeros → np.ones ;; rows[:] = True → rows[:] = False ;; :] = True → :] = False
            Those are the vectors that stay; asked are those that may change.
        rows[:] = True → rows[place] = True ;; rows[n_source + place :] → rows[n_source + place]
            Not only its own vector changes: other words attend to the exchanged one.
        rows[:] = True → rows[:n_source] = True; rows[n_source + place :] = True
            All words of the target see each source word; the place of a source word limits nothing
            there.
    """,
    otherwise="A source word moves all vectors; a target word its own and the target's later ones.",
)
def moved(n_source: int, n_target: int, text: str, place: int) -> np.ndarray:
    """Which vectors may change."""
    rows = np.zeros(n_source + n_target, dtype=bool)
    if text == "source":
        rows[:] = True
    else:
        rows[n_source + place :] = True
    return rows


def _texts() -> Iterator[tuple[list[int], list[int], str]]:
    yield [0, 0, 0], [1, 1, 2], "Two of the three have the answer 1."
    yield [0, 0, 1, 1], [5, 6, 6, 6], "Beginning 0 is a coin, beginning 1 is certain."
    yield [0, 1, 2], [4, 4, 7], "Each beginning has one answer."
    yield [3, 3, 3, 3], [1, 2, 3, 4], "Four answers, once each: one of four can be right."
    yield [0, 1, 0, 1, 0], [2, 2, 3, 2, 3], "Beginnings need not stand in order."
    yield [7], [0], "One text."
    yield [0, 0, 0, 1], [1, 2, 3, 1], "A beginning of three texts weighs three times as much."
    yield [2, 2, 2, 2, 9, 9], [1, 1, 2, 2, 1, 2], ""
    yield [1, 11, 1, 11], [11, 1, 11, 1], "1 and then 11 is another pair than 11 and then 1."
    most = 10**8
    ids = "Numbers may be as large as 10⁸: different ones stay different, and so do pairs."
    yield [most, most - 1, most, most - 1, 0, 0], [1, 2, 1, 2, most, most - 1], ids
    yield [most, most, most - 1, most - 1], [0, 1, 0, 1], ids
    yield [most, most], [most - 1, most], ids
    yield [0, 0, 0, 0, 1, 1], [most, 10**4, 1000, 100, 0, 0], ids


def _drawn() -> Iterator[Case]:
    for beginnings, answers, why in _texts():
        said = f"beginnings = {tuple(beginnings)} and answers = {tuple(answers)}"
        yield case(beginnings=np.array(beginnings), answers=np.array(answers), why=why, said=said)
    for seed in range(6):
        rng = np.random.default_rng(seed)
        n = 8 + 4 * seed
        yield case(beginnings=rng.integers(0, 2 + seed, n), answers=rng.integers(0, 3, n))


@exercise(
    "11.3",
    kind=Number(within=1e-9),
    praise="Coins, certain answers, beginnings of any number of texts, in any order.",
    hints=(
        "Fix one beginning. Which answer would you give, and how often is it right?",
        "The commonest. Its count is what this beginning contributes.",
        "Add up the largest counts over all beginnings, and divide by the number of texts.",
    ),
    cases=_drawn,
    slips="""
        counts.max() → counts.max() * (len(counts) == 1)
            Only beginnings with a single answer were counted; the commonest of several counts too.
        counts.max() → counts.max() / counts.sum()
            Shares of beginnings were added up; a beginning counts as often as it occurs.
        right / len(answers) → right / len(np.unique(beginnings))
            Divide by the number of texts.
        counts.max() → counts.min()
            That is the worst answer that occurs; take the commonest.
        counts.max() → len(counts)
            The number of different answers was taken; count how often the commonest occurs.
        answers[beginnings == one] → answers
            The beginning is known: count the answers after it alone.
        counts.max() → (counts * counts).sum() / counts.sum()
            That is what drawing an answer at random gives; the commonest is right more often.
        counts.max() → counts[0]
            The smallest answer was taken; take the commonest.
        = 1 / len(np.unique(answers))
            Not all answers occur equally often: count them after each beginning.
        right += counts.max() → right = max(np.unique(answers, return_counts=True)[1])
            That is the best guess without the beginning; after each another answer may be best.
        counts.max() → $ / counts.sum() ;; len(answers) → len(np.unique(beginnings))
            Not all beginnings weigh the same: one with more texts counts more.
        right += counts.max() → right = max(right, len(answers) * counts.max() / counts.sum())
            That is the share after the easiest beginning; all texts count.
        counts.max() → 1
            One text of each beginning was counted; the commonest answer can be right in several.
        np.unique(beginnings) → np.unique(answers) ;; answers[beginnings == → beginnings[answers ==
            The two are exchanged: the beginning is known, and the answer is guessed.
        counts.max() → (answers[beginnings == one] == answers[beginnings == one][0]).sum()
            The first answer of each beginning was guessed; the most frequent one is right more
            often.
        return right / len(answers) → kinds = {*zip(beginnings, answers, strict=True)}; $
        right / len(answers) → len(np.unique(beginnings)) / len(kinds)
            Equal texts were counted once; how often an answer comes decides which one is guessed.
    """,
    otherwise="The counts of the commonest answers, over the number of texts.",
)
def best_guess(beginnings: np.ndarray, answers: np.ndarray) -> float:
    """The largest share of right answers."""
    right = 0
    for one in np.unique(beginnings):
        _, counts = np.unique(answers[beginnings == one], return_counts=True)
        right += counts.max()
    return right / len(answers)


@exercise(
    "11.4",
    kind=Number(within=1e-9),
    praise="Coins, certain answers, beginnings of any number of texts, in any order.",
    hints=(
        "Which chances should the model give after one beginning, if it knew all texts?",
        "Their shares there. The mean of −ln of them is an entropy.",
        "For each beginning add −count · ln(count / sum of counts); divide by the number of texts.",
    ),
    cases=_drawn,
    slips="""
        counts * np.log → np.log
            Each text pays: an answer that occurs twice pays twice.
        counts / counts.sum() → counts / len(answers)
            Chances are those given the beginning: divide by how many texts have it.
        np.log(counts → np.log2(counts
            That is in bits; nats are asked for.
        total / len(answers) → total / len(np.unique(beginnings))
            Take the mean over texts, not over beginnings.
        total / len(answers) → total
            Take the mean over the texts.
        answers[beginnings == one] → answers
            The beginning is known: take the shares after it alone.
        counts * np.log(counts / counts.sum()) → counts.sum() * np.log(counts.max() / counts.sum())
            That is the surprise of the commonest answer; each answer has its own.
        counts * np.log(counts / counts.sum()) → -counts * np.log(len(counts))
            Not all answers occur equally often: each has its own share.
        answers[beginnings == one] → answers ;; len(answers) → (len(np.unique(beginnings)) * $)
            That is the loss of a model that knows nothing; this one knows the beginning.
        counts * np.log → counts / counts.sum() * np.log
        len(answers) → len(np.unique(beginnings))
            Not all beginnings weigh the same: one with more texts counts more.
        (counts * np.log(counts / counts.sum())).sum() → counts.max()
        total / len(answers) → -np.log(-total / len(answers))
            That is −ln of the best share of right answers; the mean of −ln is asked for.
        total = 0.0 → total = 0.0; c = np.unique(answers, return_counts=True)[1]
        return total → return -(c * np.log(c / c.sum())).sum() / len(answers) - total
            That is what the beginning tells about the answer; asked for is what it leaves open.
    """,
    otherwise="The entropy of the answers after each beginning, averaged over texts.",
)
def least_loss(beginnings: np.ndarray, answers: np.ndarray) -> float:
    """The entropy of the answer, given the beginning."""
    total = 0.0
    for one in np.unique(beginnings):
        _, counts = np.unique(answers[beginnings == one], return_counts=True)
        total -= (counts * np.log(counts / counts.sum())).sum()
    return total / len(answers)
