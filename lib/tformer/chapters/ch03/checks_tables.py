"""Exercise 3.4: a table of which some keys are hidden."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tformer import reference
from tformer.exercises.registry import exercise
from tformer.exercises.samples import integers
from tformer.exercises.scales import wrongly_scaled
from tformer.exercises.softmaxes import (
    OF_ITS_OWN,
    measured_from,
    scaled_scores,
    wrongly_masked,
)
from tformer.exercises.table import Case, Function, case


def _masked_tables() -> Iterator[Case]:
    q, k, v = np.array([[2.0, 1, 0, 0]]), np.zeros((3, 4)), np.array([[8.0], [16], [24]])
    k[:, 0] = np.log([1, 3, 4])
    exactly = "The visible keys have the weights 1/4 and 3/4, exactly."
    yield case(q=q, k=k, v=v, mask=np.array([[True, True, False]]), want=[[14]], why=exactly)
    yield case(q=q, k=k, v=v, mask=np.zeros((1, 3), dtype=bool), want=[[0]], why=_FULLY)
    one = np.ones((1, 1))
    for scores, seen in (
        ([1, 1001], [True, False]),
        ([1001, 1], [True, False]),
        ([-1001, -1000, -1000], [True, True, False]),
        ([0, -3000, 3000], [False, True, False]),
        ([-1e10, 0], [True, False]),
        ([0, 2e10], [True, False]),
    ):
        k = np.array(scores, dtype=float)[:, np.newaxis]
        yield case(q=one, k=k, v=v[: len(k)], mask=np.array([seen]), why=_HIDDEN)
    apart, mask = np.array([[1000.0], [0], [-1000]]), np.tri(3, dtype=bool)
    yield case(q=integers(1, (3, 4)), k=integers(2, (3, 4)), v=integers(3, (3, 1)), mask=mask)
    yield case(q=apart, k=np.array([[1.0], [2], [2]]), v=v, mask=mask, why=OF_ITS_OWN)
    shapes = [(1, 3), (2, 3), (2, 1, 3), (2, 2, 3), (3,), (2, 1), (1, 1, 3)]
    for seed, shape in enumerate(shapes):
        q, k = integers(seed, (2, 2, 4)), integers(seed + 5, (2, 3, 4))
        mask = integers(seed + 9, shape) > 0
        yield case(q=q, k=k, v=integers(seed, (2, 3, 1)), mask=mask, whole=seed == 3)
    q, k, v = integers(5, (3, 2, 4, 2)), integers(6, (3, 2, 5, 2)), integers(7, (3, 2, 5, 3))
    yield case(q=q, k=k, v=v, mask=integers(8, (3, 1, 4, 5)) > 0)


_FULLY = "Nothing may be looked at, so nothing is handed over."
_HIDDEN = (
    "The answer is what it would be without the hidden keys: only scores that may be seen count."
)


def _attend(
    q: np.ndarray, k: np.ndarray, v: np.ndarray, mask: np.ndarray, scale: float | None = None
) -> np.ndarray:
    return reference.attention(q, k, v, mask=np.atleast_2d(mask), scale=scale)


def _with_more(q: np.ndarray, k: np.ndarray, v: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """Return masked attention with a small number added to every sum."""
    visible = np.where(mask, scaled_scores(q, k), -np.inf)
    high = visible.max(axis=-1, keepdims=True)
    return np.asarray(_or_one(np.exp(visible - np.where(high > -np.inf, high, 0)), 1e-6) @ v)


def _or_one(terms: np.ndarray, least: float = 0.0) -> np.ndarray:
    """Divide the terms of each row by their sum, and by 1 where that is 0."""
    total = terms.sum(axis=-1, keepdims=True) + least
    return np.asarray(terms / np.where(total == 0, 1, total))


def _with_nan(q: np.ndarray, k: np.ndarray, v: np.ndarray, mask: np.ndarray) -> np.ndarray:
    return measured_from(np.where(mask, scaled_scores(q, k), -np.inf)) @ v


def _all_or_none(*inputs: np.ndarray) -> np.ndarray:
    """Return zeros for all queries as soon as one row is fully masked."""
    out = _with_nan(*inputs)
    return np.zeros_like(out) if np.isnan(out).any() else out


def _turned(mask: np.ndarray) -> np.ndarray:
    square = mask.ndim > 1 and mask.shape[-1] == mask.shape[-2]
    return mask.mT if square else mask


_WRONG_MASKS: dict[str, Function] = {
    "A nan comes of 0 · ∞, if a mask is multiplied by ∞.": lambda q, k, v, mask: (
        measured_from(scaled_scores(q, k) + (1 - mask) * -np.inf) @ v
    ),
    "The softmax runs down the columns; each query needs weights that add up to one.": (
        lambda q, k, v, mask: (
            measured_from(np.where(mask, scaled_scores(q, k), -np.inf), axis=-2) @ v
        )
    ),
    "exp(1001) is more than a float64 can hold. Subtract a score.": lambda q, k, v, mask: (
        _or_one(np.exp(scaled_scores(q, k)) * mask) @ v
    ),
    "Something is added to the sum of the exponentials, and the weights no longer add up to "
    "one. Only a sum of 0 is special.": _with_more,
    "The mask lies on its side.": lambda q, k, v, mask: reference.attention(
        q, k, v, mask=_turned(mask)
    ),
    "One fully masked row does not silence the other queries.": _all_or_none,
    "Among other queries, too, a fully masked row gets zeros and not nan.": (
        lambda q, k, v, mask: (
            _with_nan(q, k, v, mask) if mask.any() else np.zeros_like(q @ k.mT @ v)
        )
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
        "that the query may look at.",
        "In a row that is all −∞ the maximum is −∞ and the sum 0. Replace that maximum by 0 before "
        "you subtract and that sum by 1 before you divide.",
    ),
    cases=_masked_tables,
    mutants=_WRONG_MASKS
    | wrongly_masked(lambda weigh, q, k, v, mask: weigh(scaled_scores(q, k), mask) @ v)
    | wrongly_scaled(lambda scale, q, k, v, mask: _attend(q, k, v, mask=mask, scale=scale(q, k))),
    otherwise="Row t of the mask says which keys query t may look at.",
)
def masked_attention(q: np.ndarray, k: np.ndarray, v: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """Attention with a boolean mask; a fully masked row is zero."""
    return _attend(q, k, v, mask=mask)
