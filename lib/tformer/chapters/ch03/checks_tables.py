"""Exercises 3.3 and 3.4: a printed table, and a table of which some keys are hidden."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

from tformer import reference
from tformer.chapters.ch03.checks_rows import (
    FAR,
    KEYS,
    QUERY,
    Mutant,
)
from tformer.exercises.kinds import Marks
from tformer.exercises.registry import exercise
from tformer.exercises.samples import integers
from tformer.exercises.scales import wrongly_scaled
from tformer.exercises.softmaxes import (
    OF_ITS_OWN,
    measured_from,
    scaled_scores,
    wrongly_masked,
    wrongly_weighed,
)
from tformer.exercises.table import Case, case
from tformer.world import sources


def _printed_tables() -> Iterator[Case]:
    q, k = QUERY[np.newaxis], KEYS
    pages: list[tuple[list[float], list[bool], int]] = [
        ([0.14, 0.33, 0.53], [True, False, True], 2),
        ([0.16, 0.33, 0.5], [True, False, False], 2),
        ([0.1667, 0.3333, 0.5001], [False, False, True], 4),
        ([0.166667, 0.333333, 0.500004], [False, False, True], 6),
    ]
    for numbers, marks, decimals in pages:
        yield case(q=q, k=k, printed=np.array([numbers]), decimals=decimals, want=[marks])
    scales = (0.5, 1, 0.25, 2, 3**-0.5, 1 / 3, 1 / 8)  # the first is right
    rows = [reference.attention_weights(q, k, scale=scale)[0] for scale in scales]
    q_same = np.repeat(q, len(rows), axis=0)
    yield case(q=q_same, k=k, printed=np.round(rows, 2), decimals=2)
    k = np.log([[0.12501], [0.37499], [0.5]])
    nearly, why = np.array([[0.12, 0.38, 0.5]]), "0.12501 rounds to 0.13, and 0.37499 to 0.37."
    yield case(q=np.ones((1, 1)), k=k, printed=nearly, decimals=2, why=why)
    zero = np.zeros((8, 1))
    eighths = np.array([[0.12, 0.13, 0.12, 0.13, 0.12, 0.13, 0.11, 0.14]])
    want = [[False] * 6 + [True] * 2]
    yield case(q=zero[:1], k=zero, printed=eighths, decimals=2, want=want, why=_TIE)
    quarters = np.array([[0.2, 0.3, 0.2, 0.4], [0.3, 0.1, 0.2, 0.3]])
    yield case(q=zero[:2], k=zero[:4], printed=quarters, decimals=1, why=_TIE)
    example = sources.THREE_TOKENS
    page = np.array([[float(x) for x in row.split()] for row in example.printed["weights"]])
    yield case(q=example.q, k=example.k, printed=page, decimals=2)
    for decimals, size in ((1, (2, 3)), (2, (3, 4)), (3, (4, 3)), (5, (2, 3)), (0, (2, 2))):
        q, k = integers(decimals, (size[0], 2)), integers(decimals + 9, (size[1], 2))
        printed = np.round(reference.attention_weights(q, k), decimals)
        printed[1, decimals % size[1]] += 1.2 * 10.0**-decimals
        yield case(q=q, k=k, printed=printed, decimals=decimals)
    far = np.array([[1000.0], [-1000], [0]])
    printed = np.array([[1.0, 0, 0], [0, 0.8, 0.1], [0.3, 0.3, 0.4]])
    yield case(q=far, k=far, printed=printed, decimals=1, why=FAR)


_TIE = (
    "1/8 = 0.125 lies in the middle between 0.12 and 0.13, and 1/4 between 0.2 and 0.3: printed "
    "either way they are right."
)
_THIRDS = "0.14 for 1/6 and 0.53 for 1/2 are off by more than 0.02"
_BELOW = "0.14 is less than 1/6. A number printed too low is as wrong as one printed too high."
_ABOVE = "0.53 is more than 1/2. A number printed too high is as wrong as one printed too low."


def _marks(
    q: np.ndarray,
    k: np.ndarray,
    printed: np.ndarray,
    decimals: int,
    units: float = 0.5,
    scale: float | None = None,
    size: Callable[[np.ndarray], np.ndarray] = np.abs,
) -> np.ndarray:
    """Tell where printed weights are off by more than so many units of the last decimal."""
    error = size(printed - reference.attention_weights(q, k, scale=scale))
    return np.asarray(error > units * 10.0**-decimals + 1e-12)


def _off_by(judge: Mutant) -> Mutant:
    """Return a mutant made of a judgement on printed and right weights, and decimals."""
    return lambda q, k, printed, decimals: judge(
        printed, reference.attention_weights(q, k), decimals
    )


_WRONG_MARKS: dict[str, Mutant] = {
    _BELOW: partial(_marks, size=lambda error: error),
    _ABOVE: partial(_marks, size=np.negative),
    f"{_THIRDS}, although the row adds up to one. Rounding to two decimals explains 0.005.": (
        partial(_marks, units=5.0)
    ),
    f"{_THIRDS}, and make up for each other. That a row adds up to one shows nothing.": _off_by(
        lambda printed, right, decimals: np.broadcast_to(
            abs(printed.sum(-1, keepdims=True) - 1) > 1e-9, printed.shape
        )
    ),
    "You mark 0.33 too. The weights are 1/6, 1/3 and 1/2, and a number may be off by "
    "rounding.": _off_by(lambda printed, right, decimals: printed != right),
    "True marks the entries that are wrong.": lambda *inputs: ~_marks(*inputs),
    "Those are the weights; True or False is asked for.": _off_by(
        lambda printed, right, decimals: right
    ),
    "Those are the differences; True or False is asked for.": _off_by(
        lambda printed, right, decimals: np.abs(printed - right)
    ),
    "Those are the places of the wrong entries; a table of True and False is asked for.": (
        lambda *inputs: np.argwhere(_marks(*inputs))
    ),
    "One True for the whole table does not say where it is wrong.": (
        lambda *inputs: _marks(*inputs).any()
    ),
    "1/6 = 0.1667 rounds to 0.17. A whole unit of the last decimal is too much to allow.": (
        partial(_marks, units=1.0)
    ),
    "1/6 = 0.1667 rounds to 0.17; cutting decimals off is not rounding.": _off_by(
        lambda printed, right, decimals: (
            abs(printed - np.floor(right * 10**decimals) / 10**decimals) > 1e-9
        )
    ),
    "Here four decimals are printed, so rounding explains no more than 0.00005.": (
        lambda q, k, printed, decimals: _marks(q, k, printed, 2)
    ),
    "Six decimals leave room for 0.0000005. `isclose` allows a hundred-thousandth of the "
    "number beside that.": _off_by(
        lambda printed, right, decimals: ~np.isclose(printed, right, atol=0.5 * 10.0**-decimals)
    ),
    "In binary such a difference comes out a little above half a unit: leave room.": _off_by(
        lambda printed, right, decimals: abs(printed - right) > 0.5 * 10.0**-decimals
    ),
    "`round` knows one of the two roundings.": _off_by(
        lambda printed, right, decimals: abs(printed - np.round(right, decimals)) > 1e-9
    ),
}


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
        "decimals. Compare the magnitude of the difference with that, and leave a little more room "
        "for numbers in the middle.",
    ),
    cases=_printed_tables,
    mutants=_WRONG_MARKS
    | wrongly_weighed(
        lambda weigh, q, k, printed, decimals: (
            abs(printed - weigh(scaled_scores(q, k))) > 0.5 * 10.0**-decimals + 1e-12
        )
    )
    | wrongly_scaled(
        lambda scale, q, k, printed, decimals: _marks(q, k, printed, decimals, scale=scale(q, k))
    ),
    kind=Marks(),
    otherwise="Are the weights you compare with those of the definition?",
)
def slips(q: np.ndarray, k: np.ndarray, printed: np.ndarray, decimals: int) -> np.ndarray:
    """Where a printed table of weights is not the right one, rounded."""
    return _marks(q, k, printed, decimals)


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


_WRONG_MASKS: dict[str, Mutant] = {
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
