"""Exercise 12.8: how a gradient of scores was computed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import product

import numpy as np

from tformer import reference
from tformer_book.exercises.kinds import Name
from tformer_book.exercises.registry import exercise
from tformer_book.exercises.samples import integers
from tformer_book.exercises.table import Case, case

Array = np.ndarray
SLIPPED = ("right", "no sum", "wrong axis", "no softmax", "turned")


def _handed_in(said: str, a: Array, da: Array) -> Array:
    """What a colleague handed in, who multiplied out: the last digits are others."""
    axis = 0 if said == "wrong axis" else 1
    sums = 0.0 if said == "no sum" else (a * da).sum(axis=axis, keepdims=True)
    handed = a * da - a * sums
    return {"no softmax": da, "turned": -handed}.get(said, handed)


def _nearest(
    a: Array,
    da: Array,
    ds: Array,
    taken: Callable[[int], Array] | None = None,
    size: Callable[[Array], Array] = np.abs,
) -> str:
    """The name of the table nearest to ds, if `taken` is what is subtracted for an axis."""
    taken = taken or (lambda axis: (a * da).sum(axis=axis, keepdims=True))
    right, wrong = (a * (da - taken(axis)) for axis in (1, 0))
    made = dict(zip(SLIPPED, (right, a * da, wrong, da, -right), strict=True))
    return min(made, key=lambda name: float(size(made[name] - ds).max()))


def _handed() -> Iterator[Case]:
    said = {
        "right": "It is a ⊙ (da − the sum of a ⊙ da in each row), up to rounding.",
        "no sum": "It is a ⊙ da: the rows do not add up to 0.",
        "wrong axis": "The columns of a ⊙ da were summed; each row has its own softmax.",
        "no softmax": "It is da itself.",
        "turned": "It is the right one with the other sign.",
    }
    for seed, name in enumerate([*SLIPPED, *reversed(SLIPPED)]):
        rng = np.random.default_rng(seed)
        a = reference.softmax(rng.standard_normal((3, 4)))
        da = rng.standard_normal((3, 4))
        yield case(a=a, da=da, ds=_handed_in(name, a, da), want=name, why=said[name])
    for seed, name in enumerate(["turned", "no sum", "wrong axis", "right", "no softmax"]):
        for size in (1e-4, 1e-9, 1e-12, 1e6):
            rng = np.random.default_rng(seed)
            a = reference.softmax(rng.standard_normal((2, 3)))
            da = size * rng.standard_normal((2, 3))
            why = f"{said[name]} A tolerance has to be small beside the numbers that it judges."
            yield case(a=a, da=da, ds=_handed_in(name, a, da), want=name, why=why)
    for seed, name in enumerate(SLIPPED):
        rng = np.random.default_rng(seed)
        a, da = np.full((3, 4), 0.25), rng.standard_normal((3, 4))
        why = f"{said[name]} With equal weights a ⊙ da is da, but for its size: sizes count."
        yield case(a=a, da=da, ds=_handed_in(name, a, da), want=name, why=why)
        a, da = reference.softmax(rng.standard_normal((3, 4))), rng.standard_normal((3, 4))
        da[1] = 0.3
        why = f"{said[name]} In a row of equal da the right ds is 0, and rounding leaves 10⁻¹⁷."
        yield case(a=a, da=da, ds=_handed_in(name, a, da), want=name, why=why)
    for seed, name in enumerate(SLIPPED):
        a, da = reference.softmax(integers(seed, (2, 3))), integers(seed + 5, (2, 3)) + np.eye(2, 3)
        yield case(a=a, da=da, ds=_handed_in(name, a, da), want=name, why=said[name])
    for axis, place, name in product((0, 1), (0, 2), SLIPPED):
        rng = np.random.default_rng(place)
        a = reference.softmax(rng.standard_normal((3, 4)))
        there = np.indices((3, 4))[axis] == place
        da = np.where(there, rng.standard_normal((3, 4)), 0.0)
        why = f"{said[name]} Rows and columns where da is 0 do not tell: compare all entries."
        yield case(a=a, da=da, ds=_handed_in(name, a, da), want=name, why=why)
    for seed, name in enumerate(SLIPPED):
        rng = np.random.default_rng(seed)
        a, da = reference.softmax(rng.standard_normal((9, 4))), rng.standard_normal((9, 4))
        da[:, 0] = 0  # and then the row's sum itself: a zero is left there, but for rounding
        da[:, 0] = (a * da).sum(axis=1) / (1 - a[:, 0])
        why = f"{said[name]} Where large numbers cancel, an entry is right to few digits."
        yield case(a=a, da=da, ds=_handed_in(name, a, da), want=name, why=why)
    for seed in range(2):
        rng = np.random.default_rng(seed)
        a, da = reference.softmax(rng.standard_normal((3, 4))), rng.standard_normal((3, 4))
        da = da - da.mean(axis=1, keepdims=True)
        why = f"{said['no softmax']} Its rows add up to 0 here, and so do those of the right one."
        yield case(a=a, da=da, ds=da, want="no softmax", why=why)
    for seed, name in enumerate(SLIPPED):
        a, da = reference.softmax(integers(seed, (2, 3))), integers(seed, (2, 3)) + np.eye(2, 3)
        yield case(a=a, da=da, ds=_handed_in(name, a, da), want=name, whole=True, why=said[name])


@exercise(
    "12.8",
    praise="All tables of your colleague have been read, those of tiny gradients too.",
    hints=(
        "Compute the right one first. What should each row of it add up to?",
        "Then make each slip on purpose, and compare with what was handed in.",
        "a * da; the sum over axis 0; da itself; minus the right one. Compare with a tolerance.",
    ),
    cases=_handed,
    kind=Name(names=SLIPPED),
    otherwise="Make all five tables by their descriptions, and compare every entry of them with "
    "ds. What is subtracted is a sum of a ⊙ da, over the keys for the right one.",
    slips="""
        sums = (a * da).sum(axis=1, keepdims=True) → sums = (a * da).sum(axis=0, keepdims=True)
            Rows and columns are exchanged: a row of weights belongs to one query.
        1e-9 * np.abs(da).max() → 1e-8
            np.allclose lets any two numbers pass that differ by less than 1e-8: gradients may be
            smaller. Choose atol beside the numbers.
        alike(ds, right) → alike(ds, a * (da - (a * da).sum(axis=0, keepdims=True)))
            "right" and "wrong axis" are exchanged: a softmax's sum runs over the keys of a query.
        1e-9 * np.abs(da).max() → 0
            Where the right ds is 0, rounding leaves 10⁻¹⁷, and no share of 0 lets that pass: leave
            a tolerance beside the largest number.
        alike(ds, right) → (ds == right).all()
            The right one was compared digit by digit; sums in another order round otherwise.
        alike(ds, right) → (ds == right).all()
        alike(ds, -right) → (ds == -right).all()
            All were compared digit by digit; sums in another order round otherwise: leave a
            tolerance.
        return "no sum" → return "right"
            You let a ⊙ da pass; its rows do not add up to 0.
        return "turned" → return "right"
            You let the other sign pass: compare the numbers and not their sizes.
        return "no softmax" → return "no sum"
            da itself has not been through the softmax at all; a ⊙ da has, in part.
        return "wrong axis" → return "no sum"
            Something was taken off, over the wrong axis.
        partial(np.allclose, rtol=1e-6, atol=1e-9 * np.abs(da).max()) → np.array_equal
        return "wrong axis" → return "right"
            Tables were asked to be equal to the last digit, and what was none of them was called
            right:
            leave a tolerance.
        = min(SLIPPED, key=lambda name: abs(_handed_in(name, a, da).sum() - ds.sum()))
            Only the sums of all entries were compared; that of the right one is 0, and so is that
            of others.
        alike(ds, right) → alike(ds.sum(axis=1), 0.0) and (ds * da).sum() >= 0
            The rows of ds were added up; those of a wrong one may have the sum 0 as well.
        = _nearest(a, da, ds, lambda axis: da.sum(axis=axis, keepdims=True))
            You added up da alone. The sum is that of the products a ⊙ da.
        = _nearest(a, da, ds, lambda axis: (a * da).mean(axis=axis, keepdims=True))
            You subtracted a mean of the products. Subtract their sum: the weights are in it
            already.
        = _nearest(a, da, ds, lambda axis: (a * da).sum(axis=axis or None, keepdims=True))
            For "wrong axis" you added up the whole table. The sum there runs over the queries, one
            for each key.
        = _nearest(reference.softmax(a), da, ds)
            You took a softmax of a once more. It is the softmax already: use it as it is.
        = _nearest(a, da, ds, size=lambda x: x)
            You took the largest difference with its sign. Numbers that are too small differ as
            well: take its size.
    """,
)
def slip(a: Array, da: Array, ds: Array) -> str:
    """What is wrong with a gradient of scores."""
    sums = (a * da).sum(axis=1, keepdims=True)
    right = a * (da - sums)
    alike = partial(np.allclose, rtol=1e-6, atol=1e-9 * np.abs(da).max())
    if alike(ds, right):
        return "right"
    if alike(ds, -right):
        return "turned"
    if alike(ds, a * da):
        return "no sum"
    if alike(ds, da):
        return "no softmax"
    return "wrong axis"
