"""Exercises 3.1 to 3.4: one query, two sentences, a printed table, a mask."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tformer import reference
from tformer.exercises import say
from tformer.exercises.answer import Answer, Wrong
from tformer.exercises.registry import exercise
from tformer.exercises.samples import integers
from tformer.exercises.scales import wrong_scales, wrongly_scaled
from tformer.exercises.table import Case, case
from tformer.world import sources


@exercise(
    "3.1",
    praise="Checked by hand, for keys and values of several widths, and for scores so far apart "
    "that one value is copied.",
    hints=(
        "Three steps, each a line: scores, weights, mean. The first gives one number for each key.",
        "The weights are a softmax of the scaled scores. They say how much of each row of v is "
        "taken.",
        "A row vector of weights times the table of values adds up the rows of the table. Before "
        "the exponential, subtract the largest score.",
    ),
)
def answer(f: Answer) -> None:
    """Attention of one query."""
    mean = "The output is a mean of the rows of v."
    f.expect((4, 5), _WRONG_ANSWERS, mean, q=_Q, k=_K, v=_V)
    far = {"exp(1000) is more than a float64 can hold. Subtract the largest score.": [np.nan]}
    f.expect([5.0], far, q=np.array([1000.0]), k=np.array([[1.0], [0]]), v=np.array([[5.0], [7]]))
    for seed, (n, width, deep) in enumerate([(1, 1, 1), (3, 2, 1), (2, 1, 3), (3, 3, 3)]):
        q, k, v = (
            integers(seed, (width,)),
            integers(seed + 9, (n, width)),
            integers(seed, (n, deep)),
        )
        weights = reference.attention_weights(q[np.newaxis], k)[0]
        sideways = (
            {"Each weight belongs to a row of v, not to a column.": v @ weights}
            if (n == deep)
            else {}
        )
        f.expect(weights @ v, sideways, mean, q=q, k=k, v=v)


_Q, _V = np.array([2.0, 1, 0, 0]), np.array([[6.0, 0], [0, 6], [6, 6]])
_K = np.array([[0.0, 0, 0, 0], [np.log(2), 0, 0, 0], [np.log(3), 0, 0, 0]])
_DIVISORS = {  # the scores are 2 log 1, 2 log 2 and 2 log 3, and should be divided by 2
    "The scores are not scaled: divide them by √4 = 2.": 1.0,
    "You divided the scores by K = 4; the scale is 1/√K.": 4.0,
    "You multiplied the scores by √K; divide by it.": 0.5,
    "You divided the scores by 8: in `/ K**1/2` one divides by K, and then by 2.": 8.0,
    "You divided the scores by √3, the root of the number of keys. Queries have width 4.": 3**0.5,
    "You divided the scores by 3, the number of keys; take the root of the width.": 3.0,
    "You divided the scores by the root of the width of the values.": 2**0.5,
    "You divided the scores by the length of q, √5. Its width is 4, whatever q is.": 5**0.5,
}
_WRONG_ANSWERS = {
    why: reference.softmax(_K @ _Q / divisor) @ _V for why, divisor in _DIVISORS.items()
} | {
    "Those are the weights; the values have not been mixed yet.": np.array([1, 2, 3]) / 6,
    "The weighted rows of v have not been added up yet.": np.array([[1, 0], [0, 2], [3, 3]]),
    "The exponentials are not divided by their sum: the weights add up to 6.": (24, 30),
    "The scaled scores served as weights; their softmax should.": _K @ _Q / 2 @ _V,
    "The weights are scores divided by their sum; softmax takes the exponentials first.": (
        _K @ _Q @ _V / (_K @ _Q).sum()
    ),
    "All values got the same weight.": (4, 4),
    "That is the value of the best key alone; all keys have a say.": (6, 6),
    "You divided by √4 = 2 after the softmax; the scores are scaled, before it.": (
        np.array([1, 4, 9]) @ _V / 28
    ),
}


def _sentences() -> Iterator[Case]:
    memory = np.array([[1.0, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 0], [0, 1, 1]])
    yield case(
        x=np.eye(2, 3),
        memory=memory,
        w_q=np.array([[1.0], [0], [0]]),
        w_k=np.array([[0], [np.log(2)], [0]]),
        w_v=8 * np.eye(3, 2),
        want=[[3, 6], [3.2, 4.8]],
    )
    for seed, (n, width) in enumerate([(2, 2), (2, 4), (3, 2), (1, 3)]):
        yield _reading(seed, (2, 2), (n, 2), width, 3)
    x, (w_q, w_k, w_v) = integers(4, (3, 2)), integers(5, (3, 2, 2))
    yield case(x=x, memory=x, w_q=w_q, w_k=w_k, w_v=w_v)
    batches = "Each batch reads its own memory."
    for seed, (n, width) in enumerate([(4, 1), (3, 2), (2, 3)]):
        yield _reading(seed, (2, n, 2), (2, 3, 2), width, 2, batches)
    yield _reading(7, (2, 3, 2, 2), (2, 3, 4, 2), 4, 1, batches)
    words = np.eye(3)
    yield case(x=words[:2], memory=words, w_q=words, w_k=2 * words, w_v=words[:, ::-1], whole=True)


def _reading(
    seed: int,
    rows: tuple[int, ...],
    memory: tuple[int, ...],
    width: int,
    deep: int,
    why: str = "",
) -> Case:
    w_q, w_k = integers(seed + 20, (2, rows[-1], width))
    w_v = integers(seed + 1, (rows[-1], deep))
    x = integers(seed, rows)
    return case(x=x, memory=integers(seed + 5, memory), w_q=w_q, w_k=w_k, w_v=w_v, why=why)


@exercise(
    "3.2",
    praise="Checked for sentences of different lengths, for a sentence that reads itself, for keys "
    "narrower and wider than the rows, and in batches.",
    hints=(
        "Of the three tables, one is made from the rows that ask. From which rows are the other "
        "two made?",
        "Give the shapes a letter each. The table of weights has a row for each row of x and a "
        "column for each row of memory.",
        "The scale belongs to the width of the queries, not to the width of x. In a batch, only "
        "the last two axes of the keys are exchanged.",
    ),
    cases=_sentences,
    mutants={
        "The mean is taken of the rows of memory. Project them with w_v.": (
            lambda x, memory, w_q, w_k, w_v: reference.attention(x @ w_q, memory @ w_k, memory)
        ),
        "Keys and values come from x; here they come from memory.": (
            lambda x, memory, w_q, w_k, w_v: reference.attention(x @ w_q, x @ w_k, x @ w_v)
        ),
        "x and memory have changed places: the rows of x ask, those of memory answer.": (
            lambda x, memory, w_q, w_k, w_v: reference.attention(memory @ w_q, x @ w_k, x @ w_v)
        ),
        "w_q and w_k have changed places.": lambda x, memory, w_q, w_k, w_v: reference.attention(
            x @ w_k, memory @ w_q, memory @ w_v
        ),
        "You divided by the root of the width of x. The scale belongs to the width of the "
        "queries.": lambda x, memory, w_q, w_k, w_v: reference.attention(
            x @ w_q, memory @ w_k, memory @ w_v, scale=x.shape[-1] ** -0.5
        ),
        "`shape[1]` is the width of the queries in a single table only; in a stack it is the "
        "number of queries. Count from the end: `shape[-1]`.": (
            lambda x, memory, w_q, w_k, w_v: reference.attention(
                x @ w_q, memory @ w_k, memory @ w_v, scale=(x @ w_q).shape[1] ** -0.5
            )
        ),
        "The softmax runs down the columns; each query needs weights that add up to one.": (
            lambda x, memory, w_q, w_k, w_v: (
                reference.softmax(_scores(x, memory, w_q, w_k), axis=-2) @ (memory @ w_v)
            )
        ),
        "The weights of all queries together add up to one; those of each query should.": (
            lambda x, memory, w_q, w_k, w_v: (
                _all_together(_scores(x, memory, w_q, w_k)) @ (memory @ w_v)
            )
        ),
    }
    | wrongly_scaled(
        lambda scale, x, memory, w_q, w_k, w_v: reference.attention(
            x @ w_q, memory @ w_k, memory @ w_v, scale=scale(x @ w_q, memory @ w_k)
        )
    ),
    otherwise="Compare with softmax(Q Kᵀ/√d_k) V, step by step.",
)
def read(
    x: np.ndarray, memory: np.ndarray, w_q: np.ndarray, w_k: np.ndarray, w_v: np.ndarray
) -> np.ndarray:
    """Cross-attention from rows and three matrices."""
    return reference.attention(x @ w_q, memory @ w_k, memory @ w_v)


def _scores(x: np.ndarray, memory: np.ndarray, w_q: np.ndarray, w_k: np.ndarray) -> np.ndarray:
    return np.asarray((x @ w_q) @ (memory @ w_k).mT / w_q.shape[-1] ** 0.5)


def _all_together(scores: np.ndarray) -> np.ndarray:
    terms = np.exp(scores - scores.max(axis=(-2, -1), keepdims=True))
    return np.asarray(terms / terms.sum(axis=(-2, -1), keepdims=True))


@exercise(
    "3.3",
    praise="Your checker marks the four wrong weights of the seminar's page, and passes what is "
    "rightly rounded, to any number of decimals.",
    hints=(
        "First compute the table as it should be. Then ask how far a printed number may lie from "
        "it.",
        "0.33 is right for 1/3, and 0.16 is wrong for 1/6. What is the largest error that rounding "
        "to two decimals can make?",
        "Rounding moves a number by at most half a unit of its last decimal, 0.005 for two "
        "decimals. Compare the magnitude of the difference with that.",
    ),
)
def slips(f: Answer) -> None:
    """Where a printed table of weights is not the right one, rounded."""
    q, k = np.ones((1, 1)), np.log([[1.0], [2.0], [3.0]])
    far = np.array([[0.14, 0.33, 0.53]])
    f.expect([[True, False, True]], _WRONG_MARKS, q=q, k=k, printed=far, decimals=2)
    want = np.array([[True, False, False]])
    whole = {
        "1/6 = 0.1667 rounds to 0.17. A whole unit of the last decimal is too much to allow, and "
        "cutting decimals off is not rounding.": [[False, False, False]]
    }
    f.expect(want, whole, q=q, k=k, printed=np.array([[0.16, 0.33, 0.5]]), decimals=2)
    fixed = {
        "Here four decimals are printed, so rounding explains no more than 0.00005.": np.zeros(
            (1, 3), dtype=bool
        )
    }
    four = np.array([[0.1667, 0.3333, 0.5001]])
    f.expect(want[:, ::-1], fixed, q=q, k=k, printed=four, decimals=4)
    _check_pages(f)


def _check_pages(f: Answer) -> None:
    """The page of the seminar, and tables with one wrong number each."""
    q, k = sources.THREE_TOKENS.q, sources.THREE_TOKENS.k
    rows = sources.THREE_TOKENS.printed["weights"]
    printed = np.array([[float(text) for text in row.split()] for row in rows])
    _expect_marks(f, q, k, printed, 2)
    for decimals in (1, 2, 3, 5):
        q, k = integers(decimals, (2, 2)), integers(decimals + 9, (3, 2))
        printed = np.round(reference.attention_weights(q, k), decimals)
        printed[1, decimals % 3] += 1.2 * 10.0**-decimals
        _expect_marks(f, q, k, printed, decimals)


_WRONG_MARKS = {
    "0.14 is less than 1/6. A number printed too low is as wrong as one printed too high.": (
        [[False, False, True]]
    ),
    "0.53 is more than 1/2. A number printed too high is as wrong as one printed too low.": (
        [[True, False, False]]
    ),
    "0.14 for 1/6 and 0.53 for 1/2 are off by more than 0.02, although the row adds up to one. "
    "Rounding to two decimals explains 0.005.": [[False, False, False]],
    "You mark 0.33 too. The weights are 1/6, 1/3 and 1/2, and a number may be off by rounding.": (
        [[True, True, True]]
    ),
    "True marks the entries that are wrong.": [[False, True, False]],
    "Those are the weights; True or False is asked for.": [[1 / 6, 1 / 3, 1 / 2]],
    "Those are the differences; True or False is asked for.": (
        [[1 / 6 - 0.14, 1 / 3 - 0.33, 0.53 - 1 / 2]]
    ),
    "Those are the places of the wrong entries; a table of True and False is asked for.": (
        [[0, 0], [0, 2]]
    ),
    "One True for the whole table does not say where it is wrong.": True,
}


def _expect_marks(
    f: Answer, q: np.ndarray, k: np.ndarray, printed: np.ndarray, decimals: int
) -> None:
    half = 0.5 * 10.0**-decimals
    mistakes = {
        why: np.abs(printed - reference.attention_weights(q, k, scale=scale)) > half
        for why, scale in wrong_scales(q, k).items()
    }
    want = np.abs(printed - reference.attention_weights(q, k)) > half
    why = "Are the weights you compare with those of the definition?"
    f.expect(want, mistakes, why, q=q, k=k, printed=printed, decimals=decimals)


@exercise(
    "3.4",
    praise="Hidden keys have no influence, however large their scores; the others share the whole "
    "weight; and a query that may look nowhere gets zeros. Masks of fewer axes are welcome.",
    hints=(
        "Which score gives a hidden key exactly the weight 0? The mask has to act before the "
        "softmax.",
        "Set the hidden scores to −∞. The largest score of a row, to be subtracted, is then one "
        "that the query may look at.",
        "In a row that is all −∞ the maximum is −∞ and the sum 0. Replace that maximum by 0 before "
        "you subtract and that sum by 1 before you divide.",
    ),
)
def masked_attention(f: Answer) -> None:
    """Attention with a boolean mask; a row that may look nowhere is zero."""
    q, k, v = np.ones((1, 1)), np.log([[1.0], [3.0], [4.0]]), np.array([[8.0], [16], [24]])
    mask = np.array([[True, True, False]])
    why = "The visible keys have the weights 1/4 and 3/4, exactly."
    f.expect([[14.0]], _WRONG_MASKS | _scaled(q, k, v, mask), why, q=q, k=k, v=v, mask=mask)
    _check_blind_query(f, q, k, v)
    far = np.array([[1.0], [1001]])
    over = {"exp(1001) is more than a float64 can hold. Subtract a score.": [[np.nan]]}
    hidden = (
        "The hidden score was used as the shift, and exp(−1000) is 0 for every key that may be "
        "seen. Take the maximum over those."
    )
    f.expect([[8.0]], over, hidden, q=q, k=far, v=v[:2], mask=np.array([[True, False]]))
    causal = np.tri(3, dtype=bool)
    q, k, v = integers(1, (3, 4)), integers(2, (3, 4)), integers(3, (3, 1))
    _expect_masked(f, q, k, v, causal, {"The mask lies on its side.": causal.T})
    for seed in range(4):
        q, k, v = (
            integers(seed, (2, 2, 4)),
            integers(seed + 5, (2, 3, 4)),
            integers(seed, (2, 3, 1)),
        )
        mask = integers(seed + 9, ((1, 3), (2, 3), (2, 1, 3), (2, 2, 3))[seed]) > 0
        _expect_masked(f, q, k, v, mask, {})


_WRONG_MASKS = {  # scores log 1, log 3 and log 4; the last key is hidden
    "You masked after the softmax: the hidden key took half of the weight with it, and the rest "
    "adds up to 1/2 only.": [[7.0]],
    "The mask is read the wrong way round: True means that the query may look.": [[24.0]],
    "The mask has no effect.": [[19.0]],
    "A score multiplied by 0 is 0, and exp(0) = 1: the key is not hidden.": [[16.0]],
    "The mask was added to the scores as the numbers 0 and 1.": (
        [[(56 * np.e + 96) / (4 * np.e + 4)]]
    ),
    "A nan comes of 0 · ∞, if a mask is multiplied by ∞, or of ∞ − ∞, if a softmax runs along an "
    "axis where all is hidden.": [[np.nan]],
}


def _scaled(q: np.ndarray, k: np.ndarray, v: np.ndarray, mask: np.ndarray) -> dict[str, np.ndarray]:
    """Masked attention with a wrong scale, by what is said to it."""
    return {
        why: reference.attention(q, k, v, mask=mask, scale=scale)
        for why, scale in wrong_scales(q, k).items()
    }


def _expect_masked(
    f: Answer,
    q: np.ndarray,
    k: np.ndarray,
    v: np.ndarray,
    mask: np.ndarray,
    other_masks: dict[str, np.ndarray],
) -> None:
    want = reference.attention(q, k, v, mask=mask)
    mistakes = {why: reference.attention(q, k, v, mask=m) for why, m in other_masks.items()}
    mistakes |= _scaled(q, k, v, mask)
    mistakes["You masked after the softmax."] = (reference.attention_weights(q, k) * mask) @ v
    blind = np.broadcast_to(~mask.any(axis=-1, keepdims=True), want.shape)
    if blind.any():
        alone = "Among other queries, too, one that may look nowhere gets zeros and not nan."
        mistakes[alone] = np.where(blind, np.nan, want)
        mistakes["One query that may look nowhere does not silence the others."] = 0 * want
    why = "Row t of the mask says which keys query t may look at."
    f.expect(want, mistakes, why, q=q, k=k, v=v, mask=mask)


def _check_blind_query(f: Answer, q: np.ndarray, k: np.ndarray, v: np.ndarray) -> None:
    """A row that may look nowhere."""
    mask = np.zeros((1, 3), dtype=bool)
    said = f.said(q=q, k=k, v=v, mask=mask)
    got = f.array(said, q=q, k=k, v=v, mask=mask)
    nothing = {
        "The query may look nowhere, and 0/0 is nan. By the book's contract its output is zero.": [
            [np.nan]
        ]
    }
    if got.shape == (1, 1) and 8 <= got[0, 0] <= 24:
        raise Wrong(
            f"With {said}, {f.name} gives {say.show(got)}, a mean of values that are all hidden. "
            "A large negative number in place of −∞ does that, since only differences of scores "
            "count. The output should be zero."
        )
    f.judge(got, [[0.0]], nothing, said=said)
