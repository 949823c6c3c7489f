"""Exercises 15.1 to 15.3: temperature, top-p with ties, and a draw by one uniform number."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from tformer_book.exercises.answer import Answer
from tformer_book.exercises.kinds import Marks
from tformer_book.exercises.promises import promised, single
from tformer_book.exercises.registry import exercise
from tformer_book.exercises.table import Case, case, type_test

Array = np.ndarray


# ---- 15.1 ---------------------------------------------------------------------------------


def _temperatures() -> Iterator[Case]:
    why = "The powers are 0.64 and 0.04, and are divided by their sum."
    yield case(p=[0.8, 0.2], tau=0.5, want=[16 / 17, 1 / 17], why=why)
    yield case(
        p=[0.64, 0.36, 0], tau=2.0, want=[4 / 7, 3 / 7, 0], why="The powers are 0.8 and 0.6."
    )
    why = "At 0 the likeliest words share everything, each as much as the others."
    yield case(p=[0.25, 0.375, 0.375], tau=0.0, want=[0, 0.5, 0.5], why=why)
    yield case(p=[[0.5, 0.25, 0.25], [0, 0.5, 0.5]], tau=0.0, want=[[1, 0, 0], [0, 0.5, 0.5]])
    why = "At 0 words that are nearly as likely as the likeliest get nothing either."
    yield case(p=[0.501, 0.499], tau=0.0, want=[1, 0], why=why)
    near, said = [0.5 + 1e-10, 0.5 - 1e-10], "p = (½ + 10⁻¹⁰, ½ − 10⁻¹⁰) and tau = 0"
    yield case(p=near, tau=0.0, want=[1, 0], said=said, why=why)
    why = "At ∞ all words that can come are equally likely; what cannot come stays out."
    yield case(p=[0.9, 0, 0.1], tau=np.inf, want=[0.5, 0, 0.5], why=why)
    yield case(p=[[1.0, 0, 0], [0.5, 0.25, 0.25]], tau=1.0, want=[[1, 0, 0], [0.5, 0.25, 0.25]])
    yield case(p=[[1.0]], tau=3.0, want=[[1.0]], why="There may be one word alone.")
    for i, shape in enumerate(((3, 5), (2, 3, 4), (6,))):
        p = np.random.default_rng(i).gamma(0.7, size=shape) + 1e-3
        for tau in (0.3, 1.7, np.inf, 0.0):
            yield case(p=p / p.sum(axis=-1, keepdims=True), tau=tau)
    why = "0.2 to the power 500 is below what a float can hold, and so is every other power here."
    yield case(p=[0.3, 0.3, 0.2, 0.2], tau=0.001, want=[0.5, 0.5, 0, 0], why=why)
    why = "0.001 is not 0: 0.4998/0.5002 to the power 1000 is about 0.449."
    yield case(p=[0.5002, 0.4998], tau=0.001, why=why)
    why = "A row of other numbers stands beside it: each is divided by its own largest one first."
    yield case(p=[[1.0, 0, 0, 0], [0.25] * 4], tau=0.001, want=[[1, 0, 0, 0], [0.25] * 4], why=why)
    why = "1000 is not ∞: the powers are still a little apart, and 0 stays 0."
    yield case(p=[0.75, 0, 0.25], tau=1000.0, why=why)
    said, why = "p = (1, 10⁻³⁰⁰) and tau = {}", "10⁻³⁰⁰ is not 0: what is so rare can come."
    yield case(p=[1.0, 1e-300], tau=100.0, said=said.format(100), why=why)
    yield case(p=[1.0, 1e-300], tau=np.inf, want=[0.5, 0.5], said=said.format("∞"), why=why)
    some = np.array([[4.0, 0, 1, 3], [2, 1, 2, 3]]) / 8
    yield from promised(single, p=some, tau=0.5)
    yield case(p=np.full(1000, 1e-3), tau=0.001, why="A thousand words may be equally likely.")


@exercise(
    "15.1",
    praise="Cold and warm, at 0, at ∞ and at 1, with ties and words that never come.",
    hints=(
        "The logits are unknown, but logarithms of the probabilities do as well. Why?",
        "What is exp(ln(p) / τ) without a logarithm? What happens to a ratio of two words?",
        "First divide by the largest of each row. At 0 only ratios of 1 are left, and at ∞ every "
        "ratio above 0 becomes 1.",
    ),
    cases=_temperatures,
    slips="""
        ratio ** (1 / tau) → ratio**tau
            The power is τ here. Half the temperature has to sharpen: the power is its inverse.
        np.where(p > 0, ratio ** (1 / tau), 0) → ratio ** (1 / tau)
            At τ = ∞ a word comes that cannot come; 0 to the power 0 is 1.
        ratio == 1 if tau == 0 else →
            At τ = 0 there is a division by 0. Ask what the limit gives to each word.
        ratio == 1 → np.arange(p.shape[-1]) == p.argmax(axis=-1)[..., None]
            At τ = 0 one word was chosen; words that tie for the first place share it.
        ratio == 1 → p > 0
            That is the limit for ∞; towards 0 the likeliest words take everything.
        sharp / sharp.sum(axis=-1, keepdims=True) → sharp * 1.0
            The powers do not add up to 1 yet.
        sharp.sum(axis=-1, keepdims=True) → sharp.sum()
            Everything was added up; each row adds up to 1 by itself.
        p / p.max(axis=-1, keepdims=True) → p / 1
        ratio == 1 → p == p.max(axis=-1, keepdims=True)
            At a low temperature all powers are too small for a float, and 0 is divided by 0.
        p / p.max(axis=-1, keepdims=True) → p / p.max()
            The largest number of the whole table was taken; a row needs its own.
        p / p.max(axis=-1, keepdims=True) → p / p.max()
        ratio == 1 → p == p.max(axis=-1, keepdims=True)
            Where another row has a far larger number, all powers of your row are 0: it is that of
            the row itself that belongs below.
        np.where(p > 0, → np.where(p > 1e-6,
            You gave a rare word the probability 0; only 0 is 0.
        np.where(p > 0, ratio ** (1 / tau), 0) → np.exp(p / tau)
            The softmax of probabilities was taken; logits are their logarithms.
        ratio ** (1 / tau) → ratio / tau
            Dividing probabilities by τ changes nothing that normalising does not undo.
        ratio == 1 → np.isclose(ratio, 1)
            At τ = 0 words that are nearly tied are not tied; only the likeliest stay.
        = temper(p, max(tau, 0.001))
            At 0 you took a small temperature, which is not the limit if two words nearly tie.
        tau == 0 → tau == 0 or tau == np.inf
            At ∞ you took the likeliest word, as at 0; heat makes all alike.
        np.where(p > 0, ratio ** (1 / tau), 0) → (p + 1e-12) ** (1 / tau)
            Something small was added to the probabilities, so a word of probability 0 can come.
        ratio = p / → p = np.maximum(p, 1e-10) if 0 < tau < np.inf else p; ratio = p /
            Something small was put in the place of 0; a word that cannot come has probability 0 at
            every τ.
        ratio = p / p.max(axis=-1, keepdims=True) → ratio = p / p.max()
        sharp / sharp.sum(axis=-1, keepdims=True) → sharp / np.maximum($, 1e-300)
            One largest probability was taken of all rows, and a row far below it lost all its
            words.
    """,
    otherwise="Each probability to the power 1/τ, and then divided by the sum of the row.",
)
def temper(p: Array, tau: float) -> Array:
    """Probabilities at another temperature."""
    ratio = p / p.max(axis=-1, keepdims=True)
    sharp = ratio == 1 if tau == 0 else np.where(p > 0, ratio ** (1 / tau), 0)
    return sharp / sharp.sum(axis=-1, keepdims=True)


# ---- 15.2 ---------------------------------------------------------------------------------


def _nuclei() -> Iterator[Case]:
    def of(*parts: int) -> Array:
        return np.array(parts) / sum(parts)

    why = "Word 1 has 0.5, and word 3 takes the sum to 0.75; only then is 0.7 reached."
    yield case(p=of(1, 4, 1, 2), share=0.7, want=[False, True, False, True], why=why)
    why = "Words 0 and 2 reach 0.75 exactly, so nothing else is needed."
    yield case(p=of(4, 1, 2, 1), share=0.75, want=[True, False, True, False], why=why)
    why = "0.5 is not yet 0.6, and words 1 and 2 tie: both stay."
    yield case(p=of(4, 2, 2), share=0.6, want=[True, True, True], why=why)
    why = "The likeliest word stays, however small the share."
    yield case(p=of(1, 4, 2, 1), share=0.0625, want=[False, True, False, False], why=why)
    why = "At 1 every word stays that can come."
    yield case(p=of(1, 0, 4, 3), share=1.0, want=[True, False, True, True], why=why)
    why = "Words 1 and 2 have 0.25 each, and 0.875 together with word 0, which reaches 0.75."
    yield case(p=of(3, 2, 2, 1), share=0.75, want=[True, True, True, False], why=why)
    for exponent, power in ((30, "2⁻³⁰"), (45, "2⁻⁴⁵")):
        small = 2.0**-exponent
        said = f"p = (½, ½ − {power}, {power}) and share = ½ + {power}"
        p, why = np.array([0.5, 0.5 - small, small]), f"½ does not reach the share, by {power}."
        yield case(p=p, share=0.5 + small, want=[True, True, False], said=said, why=why)
        said = f"p = (½ + {power}, ½ − {power}) and share = ½"
        p, why = np.array([0.5 + small, 0.5 - small]), "Word 0 alone reaches ½; they do not tie."
        yield case(p=p, share=0.5, want=[True, False], said=said, why=why)
    said, why = "p = (½, ½ − 2⁻⁴⁵, 2⁻⁴⁵) and share = 1", "Only all three together reach 1."
    yield case(p=[0.5, 0.5 - 2.0**-45, 2.0**-45], share=1.0, want=[True] * 3, said=said, why=why)
    yield case(p=of(1), share=0.5, want=[True], why="There may be one word alone.")
    yield case(p=of(1, 1, 1, 1), share=0.25, want=[True] * 4, why="All tie, so all stay.")
    why = "Word 2 has 0.5, words 0 and 4 tie and take the sum to 0.75, which reaches 0.625."
    yield case(
        p=of(4, 3, 16, 3, 4, 2), share=0.625, want=np.array([1, 0, 1, 0, 1, 0]) == 1, why=why
    )
    for seed, (n, share) in enumerate(((6, 0.3), (9, 0.5), (12, 0.9), (40, 0.75), (40, 0.95))):
        rng = np.random.default_rng(seed)
        p = rng.multinomial(1024, rng.dirichlet(np.full(n, 0.6))) / 1024
        sums = [(one, p[p >= one].sum()) for one in np.unique(p[p > 0])[::-1]]
        least, reached = next(found for found in sums if found[1] >= share)
        why = f"Words of {least:g} or more have {reached:g} together, and fewer do not reach it."
        yield case(p=p, share=share, why=why)
        yield case(p=p, share=float(sums[0][1]), why="The likeliest word alone reaches this share.")


@exercise(
    "15.2",
    praise="Shares that are reached exactly, passed, or reached by words that tie.",
    hints=(
        "When does a word stay? Ask what the words that are likelier have together.",
        "Sorting is not needed: for each word, add up all probabilities that are larger.",
        "A word stays if that sum has not reached the share. Compare with < or with ≤?",
    ),
    cases=_nuclei,
    kind=Marks(),
    mutants={
        "Of words that tie, one was kept and another dropped; they share one fate.": (
            lambda p, share: _by_order(p, share)
        ),
        "The word with which the share is passed was dropped; without it the rest falls short.": (
            lambda p, share: _by_order(p, share, own=True)
        ),
        "Words that tie have their probability each, and count each; you counted one of them.": (
            lambda p, share: np.array([np.unique(p[p > one]).sum() < share for one in p])
        ),
        "Those are the numbers of the words that stay; True or False is asked for each word.": (
            lambda p, share: _numbers_of_kept(p, share)
        ),
        "You added up in the order of the numbers; the likeliest words come first.": (
            lambda p, share: np.cumsum(p) - p < share
        ),
        "The mask is in the order of falling probabilities; entry i belongs to word i.": (
            lambda p, share: _in_falling_order(p, share)
        ),
    },
    slips="""
        likelier < share → likelier <= share
            The likelier words have reached the share already, and one more was kept.
        p[None, :] > p[:, None] → p[None, :] >= p[:, None]
            The word itself was counted among the likelier ones, so the one that reaches the share
            is gone.
        p[None, :] > p[:, None] → p[None, :] < p[:, None]
            You count from the least likely word on; the likeliest come first.
        likelier < share → p >= share
            Each word was compared with the share by itself; it is what they have together.
        likelier < share → p >= share * p.max()
            That is min-p, which compares each word with the likeliest.
        likelier < share → likelier < 1 - share
            The share is what stays, not what is dropped.
        likelier < share → np.where(likelier < share, p, 0)
            Those are the probabilities of what stays; True or False is asked for each word.
        likelier < share → p == p.max()
            Only the likeliest was kept; does it reach the share?
        likelier < share → p > 0
            Everything was kept that can come; the share may be reached before.
        likelier < share → ~(likelier < share)
            True and False are exchanged: True for a word that stays.
        p[None, :] * (p[None, :] > p[:, None]) → (p[None, :] > p[:, None]) / len(p)
            Words were counted; what counts is their probability together.
        likelier < share → (likelier < share) & (p > 1e-6)
            A rare word was dropped, and without it the share is not reached; only 0 is 0.
        likelier < share → (likelier < share) | (p == 0)
            A word that cannot come was kept.
        (p[None, :] * (p[None, :] > p[:, None])).sum(axis=1) → np.cumsum(p) - p
        return likelier < share → return (likelier < share) & (p > 0)
            The words were added up in the order given; start with the likeliest.
        = (np.cumsum(np.sort(p)[::-1]) - np.sort(p)[::-1] < share) & (np.sort(p)[::-1] > 0)
            The answer is in the order of the sorted words; return it in the order of p.
        return likelier < share → return (p >= 1 - share) & (p > 0)
            A probability was compared with 1 − share; a word stays by what those before it have
            together.
        return likelier < share → return (likelier <= share) & (p > 0)
            Where likelier words reach the share exactly, the next word is not needed.
        return likelier < share → return (likelier < share) | (share == 1)
            With the share 1, too, a word of probability 0 does not stay.
    """,
    otherwise="A word stays if those that are likelier have less than the share together.",
)
def kept(p: Array, share: float) -> Array:
    """Which words stay with top-p."""
    likelier = (p[None, :] * (p[None, :] > p[:, None])).sum(axis=1)
    return likelier < share


def _numbers_of_kept(p: Array, share: float) -> Array:
    return np.flatnonzero(kept(p, share))


def _in_falling_order(p: Array, share: float) -> Array:
    return kept(np.sort(p)[::-1], share)


def _by_order(p: Array, share: float, own: bool = False) -> Array:
    order = np.argsort(-p, kind="stable")
    sums = np.cumsum(p[order])
    found = np.zeros(len(p), dtype=bool)
    found[order] = sums <= share if own else sums - p[order] < share
    return found


# ---- 15.3 ---------------------------------------------------------------------------------


def _draws() -> Iterator[Case | Callable[[Answer], None]]:
    why = "The sums are 0.25, 0.75 and 1: 0.25 does not exceed 0.25, and 0.75 does."
    u = [0.1, 0.25, 0.5, 0.75]
    yield case(p=[0.25, 0.5, 0.25], u=u, want=[0, 1, 1, 2], why=why)
    why = "Word 0 cannot come, and its sum, 0, does not exceed 0."
    yield case(p=[0.0, 0.5, 0, 0.5], u=[0.0, 0.499, 0.5, 0.999], want=[1, 1, 3, 3], why=why)
    why = "In floats the ten sum to less than 1, and no sum exceeds u; word 9 is the last that can."
    said = "p = ten times 0.1 and then 0, and u = (1 − 2⁻⁵³, 0.05)"
    yield case(p=[0.1] * 10 + [0.0], u=[1 - 2**-53, 0.05], want=[9, 0], said=said, why=why)
    said = "p = five times 0.1, 0 and five times 0.1, and u = 1 − 2⁻⁵³"
    why = "No sum exceeds u. Word 10 is the last that can come; one that cannot stands before it."
    yield case(p=[0.1] * 5 + [0.0] + [0.1] * 5, u=[1 - 2**-53], want=[10], said=said, why=why)
    said, u = "p = 30 times 1/30 and twice 0, and u = (0.31, 1 − 2⁻⁵³)", [0.31, 1 - 2**-53]
    why = "In floats the 30 sum to less than 1; word 29 is the last that can come."
    yield case(p=[1 / 30] * 30 + [0.0, 0.0], u=u, want=[9, 29], said=said, why=why)
    said, why = "p = (2⁻⁵⁰, 1 − 2⁻⁵⁰) and u = (0, 2⁻⁵⁰)", "2⁻⁵⁰ exceeds 0, and not itself."
    yield case(p=[2**-50, 1 - 2**-50], u=[0.0, 2**-50], want=[0, 1], said=said, why=why)
    said, why = (
        "p = (0.1, 0.9) and u = (0.1, the float before it)",
        "0.1 exceeds only the second u.",
    )
    yield case(p=[0.1, 0.9], u=[0.1, np.nextafter(0.1, 0)], want=[1, 0], said=said, why=why)
    said = "p = ten times 0.1, and u = (0.1, 0.05)"
    why = "0.1 does not exceed 0.1, although the last sum is a little below 1."
    yield case(p=[0.1] * 10, u=[0.1, 0.05], want=[1, 0], said=said, why=why)
    said = "p = 20 times 0.05, and u = 0.05"
    yield case(p=[0.05] * 20, u=[0.05], said=said, why="The sum 0.05 does not exceed 0.05.")
    yield case(p=[1.0], u=[0.0, 0.99], want=[0, 0], why="There may be one word alone.")
    yield case(p=[0.5, 0.5], u=[], want=np.zeros(0), why="There may be no number to draw with.")
    for seed, n in enumerate((3, 5, 8, 40)):
        rng = np.random.default_rng(seed)
        p = rng.multinomial(1024, rng.dirichlet(np.ones(n))) / 1024
        yield case(p=p, u=rng.random(50))
        yield case(p=p, u=np.cumsum(p)[np.cumsum(p) < 1], why="Each u is one of the sums.")
    yield type_test("an int", p=np.array([0.25, 0.75]), u=np.array([0.1, 0.9]))
    yield type_test("an int", p=np.array([0.25, 0.75]), u=np.zeros(0))


@exercise(
    "15.3",
    praise="Numbers at every edge, words that never come at both ends, and sums short of 1.",
    hints=(
        "Lay the probabilities end to end on a line from 0 to 1. Where does u fall?",
        "`np.cumsum` gives the ends. How many of them are at most u?",
        "That number is the word, unless rounding has left the last end below u: then it is the "
        "last word whose probability is not 0.",
    ),
    cases=_draws,
    slips="""
        (sums[None, :] <= u[:, None]) → (sums[None, :] < u[:, None])
            Where u is one of the sums, the sum does not exceed it: the next word is drawn.
        np.minimum(passed, last) → passed
            Rounding left every sum at most u, and a word came that is not there, or cannot come.
        np.minimum(passed, last) → np.where(passed < len(p), passed, 0)
            Rounding left every sum at most u, and `argmax` of nothing but False is 0.
        np.flatnonzero(p)[-1] → np.count_nonzero(p) - 1
            Rounding left every sum at most u, and the words that can come were counted: one that
            cannot may stand among them.
        np.flatnonzero(p)[-1] → len(p) - 1
            Rounding left every sum at most u, and a word was drawn that has probability 0.
        np.cumsum(p) → np.cumsum(p) - p
            The sum up to a word contains its own probability; yours is a word late.
        np.minimum(passed, last) → np.maximum(np.minimum(passed, last) - 1, 0)
            You drew the word before: the sum has to exceed u.
        np.cumsum(p) → np.cumsum(p).round(12)
            The sums were rounded; a word with a very small probability comes too, if rarely.
        u[:, None] → 1 - u[:, None]
            You counted from the other end; the sums begin with word 0.
        np.cumsum(p) → np.cumsum(np.sort(p)[::-1])
            The words were put in the order of their probabilities; they stand in that of numbers.
        np.minimum(passed, last) → np.abs(sums[None, :] - u[:, None]).argmin(axis=1)
            You took the sum nearest to u; it is the first one that exceeds it.
        np.minimum(passed, last) → np.full(len(u), p.argmax())
            That is the likeliest word each time, whatever u says.
        (sums[None, :] <= u[:, None]) → (p[None, :] <= u[:, None])
            u was compared with probabilities; it belongs among their sums.
        np.minimum(passed, last) → np.minimum(passed, last) + 1
            Words are counted from 0.
        = np.argsort(-p, kind="stable")[np.minimum((np.cumsum(np.sort(p)[::-1]) <=
        u[:, None]).sum(axis=1), len(p) - 1)]
            The words were sorted first; the sums start at word 0.
        sums, last = np.cumsum(p), np.flatnonzero(p)[-1] → $; sums = sums / sums[-1]
            The sums were divided by the last one. By rounding that moves them, and u may be one of
            them.
        return np.minimum(passed, last) → return (u * len(p)).astype(int)
            All words were given stretches of one length; each has one as long as its probability.
        sums, last = → o = np.argsort(-p, kind="stable"); p = p[o]; sums, last =
        return np.minimum(passed, last) → return o[np.minimum(passed, last)]
            The words were put in the order of their probabilities; the sums run from word 0 on.
        sums, last = → u, p = u.astype(np.float32), p.astype(np.float32); sums, last =
            The sums went through float32: where u lies near one of them another word is drawn.
    """,
    otherwise="The first word at which the sum of the probabilities exceeds u.",
)
def drawn(p: Array, u: Array) -> Array:
    """The word that each number draws."""
    sums, last = np.cumsum(p), np.flatnonzero(p)[-1]
    passed = (sums[None, :] <= u[:, None]).sum(axis=1)
    return np.minimum(passed, last)
