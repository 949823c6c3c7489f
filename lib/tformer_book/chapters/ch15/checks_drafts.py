"""Exercises 15.7 and 15.8: a draft that is accepted or not, and two rules that disagree."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tformer_book.exercises.answer import Answer, Wrong
from tformer_book.exercises.compare import rounding
from tformer_book.exercises.describe import pair, show
from tformer_book.exercises.kinds import Several
from tformer_book.exercises.promises import promised, single
from tformer_book.exercises.registry import exercise
from tformer_book.exercises.table import INTEGERS, Case, case

Array = np.ndarray


# ---- 15.7 ---------------------------------------------------------------------------------


def _drafts() -> Iterator[Case]:
    why = "The chance is 0.25 + 0.25 + 0.125; the target has 0.25 and 0.125 more at 0 and 2."
    yield case(
        p=[0.5, 0.25, 0.25], q=[0.25, 0.625, 0.125], want=(0.625, [2 / 3, 0, 1 / 3]), why=why
    )
    why = "The target has 0.375 and 0.125 more at 0 and 2, of 0.5 in all."
    yield case(p=[0.5, 0.25, 0.25], q=[0.125, 0.75, 0.125], want=(0.5, [0.75, 0, 0.25]), why=why)
    why = "The rows nearly agree: 0.005 is missing, all of it at word 1."
    yield case(p=[0.5, 0.5], q=[0.505, 0.495], want=(0.995, [0, 1]), why=why)
    said, why = "p = (½, ½) and q = (½ + 2⁻²⁰, ½ − 2⁻²⁰)", "2⁻²⁰ is missing, all of it at word 1."
    near, want = [0.5 + 2**-20, 0.5 - 2**-20], (1 - 2**-20, [0, 1])
    yield case(p=[0.5, 0.5], q=near, want=want, said=said, why=why)
    why = "Nothing is ever rejected, so what would be drawn then is p itself."
    yield case(p=[0.5, 0, 0.5], q=[0.5, 0, 0.5], want=(1.0, [0.5, 0, 0.5]), why=why)
    why = "The draft never says what the target says."
    yield case(p=[0, 0.5, 0.5], q=[1.0, 0, 0], want=(0.0, [0, 0.5, 0.5]), why=why)
    why = "Rows stand for themselves; in the second the two agree."
    yield case(
        p=[[0.75, 0.25], [0.5, 0.5]],
        q=[[0.25, 0.75], [0.5, 0.5]],
        want=([0.5, 1.0], [[1, 0], [0.5, 0.5]]),
        why=why,
    )
    yield case(p=[[1.0]], q=[[1.0]], want=([1.0], [[1.0]]), why="There may be one word alone.")
    for seed, shape in enumerate(((2, 4), (3, 2, 5), (7,), (4, 30))):
        rng = np.random.default_rng(seed)
        p, q = (
            rng.multinomial(1024, rng.dirichlet(np.ones(shape[-1])), shape[:-1]) / 1024
            for _ in "pq"
        )
        yield case(p=p, q=q)
        yield case(p=p, q=p.copy(), why="The two agree in every row.")
    rare = [0.75, 0.25 - 2**-55, 2**-55]
    said = "p = (¾, ¼ − 2⁻⁵⁵, 2⁻⁵⁵) and q = (¾, ¼, 0)"
    why = "2⁻⁵⁵ is missing, all of it at word 2."
    yield case(p=rare, q=[0.75, 0.25, 0], want=(1.0, [0, 0, 1]), said=said, why=why)
    yield from promised(single, p=np.array([0.5, 0.125, 0.375]), q=np.array([0.25, 0.5, 0.25]))
    pair = [0.0, 1], [0.25, 0.75]
    yield case(p=pair[0], q=pair[1], whole=True, why=INTEGERS)
    yield case(p=pair[1], q=pair[0], whole=True, why=INTEGERS)


@exercise(
    "15.7",
    praise="Proposals that always fit, never fit, or fit in some rows, with words that never come.",
    hints=(
        "The draft proposes word x with q(x). How often is x accepted, as a share of all draws?",
        "Word x should come with p(x) in all. How much of that is still missing after acceptance?",
        "What is missing is p − min(p, q). It has to be made a distribution; where nothing is "
        "missing, nothing is drawn again.",
    ),
    cases=_drafts,
    kind=Several(names=("chance of acceptance", "row after a rejection")),
    slips="""
        np.maximum(p - q, 0) → np.maximum(q - p, 0)
            Those are the words that the draft says too often; after a rejection the others come.
        np.maximum(p - q, 0) → np.where(p > q, p, 0)
            Words that were accepted in part come too often: what is missing is p − q, not p.
        np.where(rest > 0, missing / np.where(rest > 0, rest, 1), p) → np.where(rest > 0.01, $, p)
            Rows that nearly agree do not agree: something is missing, however little.
        np.where(rest > 0, missing / np.where(rest > 0, rest, 1), p) → np.where(rest > 1e-8, $, p)
            You take rows that nearly agree as equal: they are only if no word at all is missing.
        np.where(rest > 0, rest, 1) → (1 - (a := np.minimum(p, q).sum(-1)[..., None]) + (a == 1))
            1 minus what is accepted has lost its digits where rows nearly agree: add up what is
            missing itself.
        np.where(rest > 0, missing / np.where(rest > 0, rest, 1), p) → missing / 1
            What is missing does not add up to 1; it has to be a distribution.
        np.where(rest > 0, missing / np.where(rest > 0, rest, 1), p) → missing / (rest + 1e-300)
            Where p and q agree, nothing is missing and your row adds up to 0; p is asked for.
        np.where(rest > 0, missing / np.where(rest > 0, rest, 1), p) → missing / rest
            Where p and q agree, 0 was divided by 0; nothing is missing there, and p is asked for.
        np.where(rest > 0, missing / np.where(rest > 0, rest, 1), p) → p * 1.0
            Drawing from p after a rejection makes words too frequent that were accepted before.
        np.maximum(p - q, 0) → np.abs(p - q)
            Only words that the draft says too rarely are missing; you took both kinds.
        np.minimum(p, q).sum(axis=-1) → np.minimum(p, q).sum()
            Everything was added up; each row has an acceptance of its own.
        np.minimum(p, q).sum(axis=-1) → (p * q).sum(axis=-1)
            That is how often two independent draws agree; an accepted word need not be drawn twice.
        np.minimum(p, q).sum(axis=-1) → 1 - np.abs(p - q).sum(axis=-1)
            What one has too much the other has too little: the differences count every miss twice.
        np.minimum(p, q).sum(axis=-1) → np.maximum(p, q).sum(axis=-1)
            The larger of both was added up; no word is accepted more often than proposed.
        np.minimum(p, q).sum(axis=-1) → np.minimum(p, q).mean(axis=-1)
            The mean over the words was taken; the shares add up.
        np.minimum(p, q).sum(axis=-1) → np.minimum(1, p / q).mean(axis=-1)
            All words count alike in your mean; the draft says each as often as q tells.
        np.minimum(p, q).sum(axis=-1) → np.minimum(p, q).max(axis=-1)
            Only the word that is accepted most often was counted.
        np.minimum(p, q).sum(axis=-1) → missing.sum(axis=-1)
            That is how often a proposal is rejected.
        (axis=-1, keepdims=True) → ()
            What is missing was added up over all rows; each row is divided by its own sum.
        np.minimum(p, q).sum → (p * np.minimum(1, p / np.where(q > 0, q, 1))).sum
            The chances were averaged with the weights p; proposals come from q.
        np.where(rest > 0, missing → np.where(rest > 1e-5, missing
            Nearly equal rows were taken for equal; what is missing may be small and is still
            missing.
        missing / np.where(rest > 0, rest, 1) → missing / (rest + 1e-9)
            Something small was added to the divisor; where little is missing it shows.
    """,
    otherwise="The chance of acceptance is the sum of min(p, q); what is missing is p − min(p, q).",
)
def speculate(p: Array, q: Array) -> tuple[Array, Array]:
    """How often a proposal is accepted, and what is drawn after a rejection."""
    missing = np.maximum(p - q, 0)
    rest = missing.sum(axis=-1, keepdims=True)
    again = np.where(rest > 0, missing / np.where(rest > 0, rest, 1), p)
    return np.minimum(p, q).sum(axis=-1), again


# ---- 15.8 ---------------------------------------------------------------------------------

LEAST, HAIR = 1e-6, 1e-9
"""The room that both rules are left; by how much rounding may take from it."""
ASKED = (
    *((4, 0.9, 0.1), (2, 0.9, 0.2), (3, 0.99, 0.05), (605, 0.95, 0.05), (1000, 0.5, 0.01)),
    *((5, 0.3, 0.9), (40, 0.4, 0.05), (2, 0.6, 0.9)),
    *((2, 0.5266, 0.9), (1000, 0.0912, 0.01), (5, 0.2181, 0.9)),
    (1000, 1 / 10.99 + 1e-5, 0.01),
)
"""n, share and m; of the last four both bounds matter, since they lie close together."""

_SUM = "They should add up to 1."
_NEGATIVE = "A probability is 0 or more."
_NUCLEUS = (
    "top-p drops a word as soon as the likelier ones have reached the share. So the likeliest has "
    "to stay below it, and no word between may take the sum there."
)
_MORE = (
    "min-p keeps a word that has a large enough part of what the likeliest has. Spread the rest "
    "more evenly, or give the likeliest more."
)


def _flat(n: int, first: float) -> Array:
    return np.append(first, np.full(n - 1, (1 - first) / max(n - 1, 1)))


def _between(n: int, share: float, m: float, part: float) -> Array:
    """The likeliest word between the least that min-p asks for and the most that top-p allows."""
    least = 1 / (1 + m * (n - 1))
    return _flat(n, least + part * (share - least))


@exercise(
    "15.8",
    praise="For two words and for a thousand, whichever of the two rules is the stricter.",
    hints=(
        "Begin with four words, share 0.9 and m 0.1. Which probabilities would min-p cut to a "
        "single word?",
        "Let all words but the likeliest be equal. What have top-p and min-p to say of the "
        "likeliest one alone?",
        "With a for the likeliest, the others have (1 − a)/(n − 1). top-p keeps all if a is below "
        "the share. From which a on does min-p drop the others?",
    ),
    mutants={
        _NUCLEUS: lambda n, share, m: _between(n, share, m, 1.05),
        _MORE: lambda n, share, m: _between(n, share, m, -0.05),
        _SUM: lambda n, share, m: 0.9 * _between(n, share, m, 0.5),
        _NEGATIVE: lambda n, share, m: np.append(2.0, np.full(n - 1, -1 / (n - 1))),
    },
)
def disagree(f: Answer) -> None:
    """Probabilities of which top-p keeps all, and min-p one."""
    for n, share, m in ASKED:
        said = f"n = {n}, share = {share:g} and m = {m:g}"
        got = f.numbers(f.raw(said, n=n, share=share, m=m).value, said)
        p = got.astype(float)
        head = f"With {said}, {f.name} returns"
        if p.shape != (n,):
            raise Wrong(f"{head} an array of shape {p.shape}; it should be ({n},).")
        if not np.isfinite(p).all() or (p < 0).any():
            bad = p[~(p >= 0) | ~np.isfinite(p)][0]
            raise Wrong(f"{head} {show(bad)} for a word. {_NEGATIVE}")
        if abs(p.sum() - 1) > 1e-9 + rounding(got):
            total = pair(p.sum(), 1.0)[0]
            raise Wrong(f"{head} probabilities that add up to {total}. {_SUM}")
        _judge(p, share, m, head)


def _judge(p: Array, share: float, m: float, head: str) -> None:
    """Ask both rules; words that tie have one fate."""
    falling = np.sort(p)[::-1]
    before = falling[falling > falling[-1]].sum()
    if before > share - LEAST + HAIR:
        total, says = show(before), f"and {share:g} is reached"
        if before < share:
            total, says = pair(before, share)[0], f"which is not 10⁻⁶ below {share:g}"
        raise Wrong(
            f"{head} probabilities of which top-p keeps too few: those larger than the least, "
            f"{show(falling[-1])}, have {total} together, {says}. {_NUCLEUS}"
        )
    if falling[1] > (m - LEAST + HAIR) * falling[0]:
        least = (m - LEAST) * falling[0]
        raise Wrong(
            f"{head} probabilities of which min-p keeps more than one: the likeliest has "
            f"{show(falling[0])}, the next {pair(falling[1], least)[0]}, and ({m:g} − 10⁻⁶) "
            f"times the first is {pair(falling[1], least)[1]}. {_MORE}"
        )
