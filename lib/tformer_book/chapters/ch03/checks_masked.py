"""Exercise 3.4: attention with a mask."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tformer import reference
from tformer_book.exercises.registry import exercise
from tformer_book.exercises.samples import integers
from tformer_book.exercises.scales import SCALE_MUTANTS
from tformer_book.exercises.softmaxes import (
    MASK_MUTANTS,
    OF_ITS_OWN,
    measured_from,
    scaled_scores,
    visible,
)
from tformer_book.exercises.table import Case, Function, case, each

Array = np.ndarray


def _masked_tables() -> Iterator[Case]:
    q, k, v = np.array([[2.0, 1, 0, 0]]), np.zeros((3, 4)), np.array([[8.0], [16], [24]])
    k[:, 0] = np.log([1, 3, 4])
    exactly = "The visible keys have the weights 1/4 and 3/4, exactly."
    yield case(q=q, k=k, v=v, mask=np.array([[True, True, False]]), want=[[14]], why=exactly)
    nothing = "The query may attend to no key, so its output is zero."
    yield case(q=q, k=k, v=v, mask=np.zeros((1, 3), dtype=bool), want=[[0]], why=nothing)
    hidden = "The answer is what it would be without the hidden keys: only scores that may be "
    hidden += "seen count."
    for scores, seen in (
        ([1, 1001], [True, False]),
        ([1001, 1], [True, False]),
        ([-1001, -1000, -1000], [True, True, False]),
        ([0, -3000, 3000], [False, True, False]),
        ([-1e10, 0], [True, False]),
        ([0, 2e10], [True, False]),
        ([0, 1e300], [True, False]),
        ([-1e10, 1e300, -1e10], [True, False, True]),
    ):
        k = np.array(scores, dtype=float)[:, np.newaxis]
        yield case(q=[[1.0]], k=k, v=v[: len(k)], mask=np.array([seen]), why=hidden)
    mask = np.tri(3, dtype=bool)
    yield case(q=integers(1, (3, 4)), k=integers(2, (3, 4)), v=integers(3, (3, 2)), mask=mask)
    yield case(q=[[1000.0], [0], [-1000]], k=[[1.0], [2], [2]], v=v, mask=mask, why=OF_ITS_OWN)
    shapes = [(1, 3), (2, 3), (2, 1, 3), (2, 2, 3), (3,), (2, 1), (1, 1, 3), (2, 1, 1), (1,)]
    for seed, shape in enumerate(shapes):
        q, k = integers(seed, (2, 2, 4)), integers(seed + 5, (2, 3, 4))
        mask = integers(seed + 9, shape) > 0
        yield case(q=q, k=k, v=integers(seed, (2, 3, 2)), mask=mask, whole=seed == 3)
    q, k, v = integers(5, (3, 2, 4, 2)), integers(6, (3, 2, 5, 2)), integers(7, (3, 2, 5, 3))
    yield case(q=q, k=k, v=v, mask=integers(8, (3, 1, 4, 5)) > 0)
    why = "An axis may have length 1."
    for n, m in ((1, 1), (1, 3), (3, 1)):
        for seed in range(3):
            q, k, v = (integers(seed + i, (rows, 2)) for i, rows in enumerate((n, m, m)))
            yield case(q=q, k=k, v=v, mask=integers(seed, (n, m)) > 0, why=why)


def _weighed(weigh: Function, q: Array, k: Array, v: Array, mask: Array) -> Array:
    """Return attention with weights made from scores and a mask."""
    return np.asarray(weigh(scaled_scores(q, k), mask) @ v)


def _shares(terms: Array, more: float = 0.0) -> Array:
    """Divide the terms of each row by their sum and some more, and by 1 where that is 0."""
    total = terms.sum(axis=-1, keepdims=True) + more
    return np.asarray(terms / np.where(total == 0, 1, total))


def _with_more(scores: Array, mask: Array) -> Array:
    high = visible(scores, mask).max(axis=-1, keepdims=True)
    return _shares(np.exp(visible(scores, mask) - np.where(high > -np.inf, high, 0)), more=1e-6)


def _all_or_none(scores: Array, mask: Array) -> Array:
    """Return zeros for all queries as soon as one row is fully masked."""
    weights = measured_from(visible(scores, mask))
    return np.zeros_like(weights) if np.isnan(weights).any() else weights


def _square(mask: Array) -> bool:
    return mask.ndim > 1 and mask.shape[-1] == mask.shape[-2]


_WEIGHT_MUTANTS: dict[str, Function] = {  # from scores and a mask
    "A nan comes of 0 · ∞, if a mask is multiplied by ∞.": lambda scores, mask: measured_from(
        scores + (1 - mask) * -np.inf
    ),
    "The softmax runs down the columns; each query needs weights that add up to one.": (
        lambda scores, mask: measured_from(visible(scores, mask), axis=-2)
    ),
    "exp(1001) is more than a float64 can hold. Subtract a score.": (
        lambda scores, mask: _shares(np.exp(scores) * mask)
    ),
    "Something is added to the sum of the exponentials, and the weights no longer add up to "
    "one. Only a sum of 0 is special.": _with_more,
    "The mask is transposed.": lambda scores, mask: np.nan_to_num(
        measured_from(visible(scores, mask.mT if _square(mask) else mask))
    ),
    "One fully masked row does not silence the other queries.": _all_or_none,
    "Among other queries, too, a fully masked row gets zeros and not nan.": lambda scores, mask: (
        measured_from(visible(scores, mask)) if mask.any() else np.zeros_like(scores)
    ),
}


@exercise(
    "3.4",
    praise="Hidden keys have no influence, however large their scores; the others share the whole "
    "weight; and a fully masked row gets zeros. Masks of fewer axes are welcome.",
    hints=(
        "Which score gives a hidden key exactly the weight 0? The mask has to act before the "
        "softmax.",
        "Set the hidden scores to −∞. The largest score of a row, to be subtracted, is then one "
        "that the query may attend to.",
        "In a row that is all −∞ the maximum is −∞ and the sum 0. Replace that maximum by 0 before "
        "you subtract and that sum by 1 before you divide.",
    ),
    cases=_masked_tables,
    mutants=each(_weighed, _WEIGHT_MUTANTS | MASK_MUTANTS)
    | each(
        lambda scale, q, k, v, mask: reference.attention(
            q, k, v, mask=np.atleast_2d(mask), scale=scale(q, k)
        ),
        SCALE_MUTANTS,
    )
    | {
        "You divided by the root of the width of the values. The scale belongs to that of the "
        "queries.": lambda q, k, v, mask: reference.attention(
            q, k, v, mask=np.atleast_2d(mask), scale=v.shape[-1] ** -0.5
        )
    },
    slips="""
= masked_attention(q, k, v, np.broadcast_to(mask, (q @ k.mT).shape).all(axis=-2, keepdims=True))
    A key that is hidden from one query was hidden from all.
= masked_attention(q, k, v, mask & np.tri(q.shape[-2], k.shape[-2], dtype=bool))
    A causal mask came on top; the one that is given may show later keys.
= masked_attention(q, k, v, mask if mask.ndim < 3 else mask.reshape(-1, *mask.shape[-2:])[0])
    The mask of the first batch served for all.
    """,
    otherwise="Row t of the mask says which keys query t may attend to.",
)
def masked_attention(q: Array, k: Array, v: Array, mask: Array) -> Array:
    """Attention with a boolean mask; a fully masked row is zero."""
    return reference.attention(q, k, v, mask=np.atleast_2d(mask))
