"""Exercise 5.6: a leak detector, and the layers that it is tried on."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from tformer_book.exercises.kinds import Marks
from tformer_book.exercises.registry import exercise
from tformer_book.exercises.table import Case, case

Array = np.ndarray
Layer = Callable[[Array], Array]
LATER, NEXT, NONE = "later", "next", "none"
T = 5
X = np.random.default_rng(5).normal(size=(T, 3)) / 2
LOW = -np.random.default_rng(6).uniform(0.8, 1.5, (8, 3))  # below every gate, by a tenth at least
NEAR = np.random.default_rng(7).uniform(-0.55, 0.55, (8, 2))


def _attend(x: Array, mask: Array | None = None) -> Array:
    scores = x @ x.T / x.shape[1] ** 0.5
    scores = np.where(np.tri(len(x), dtype=bool) if mask is None else mask, scores, -np.inf)
    terms = np.exp(scores - scores.max(axis=1, keepdims=True))
    return np.asarray(terms / terms.sum(axis=1, keepdims=True) @ x)


def _late(x: Array) -> Array:
    """Attention that is masked after the softmax."""
    terms = np.exp(x @ x.T / x.shape[1] ** 0.5)
    return np.asarray(terms / terms.sum(axis=1, keepdims=True) * np.tri(len(x)) @ x)


def _shifted(x: Array) -> Array:
    """Causal attention whose softmax subtracts the largest score of all, hidden ones included."""
    scores = x @ x.T / x.shape[1] ** 0.5
    terms = np.exp(scores - scores.max(axis=1, keepdims=True)) * np.tri(len(x))
    return np.asarray(terms / terms.sum(axis=1, keepdims=True) @ x)


def _following(x: Array) -> Array:
    """Return the row after each row, and zeros after the last."""
    return np.append(x[1:], np.zeros_like(x[:1]), axis=0)


def _later(told: Array) -> Array:
    """Return for each row the sum of what all later rows tell."""
    return np.asarray(told[::-1].cumsum(axis=0)[::-1] - 1.0 * told)


def _normed(x: Array) -> Array:
    x = x - x.mean(axis=1, keepdims=True)
    return np.asarray(x / (x.std(axis=1, keepdims=True) + 1e-9))


def _length(x: Array) -> Array:
    return np.asarray(np.sqrt((x * x).sum(axis=1, keepdims=True)))


def _hole(x: Array) -> Array:
    mask = np.tri(len(x), dtype=bool)
    mask[1, 3] = True
    return x + _attend(x + _attend(x, mask))


_GATE = "Every second row of random normal numbers opens the gate, or a few more: {}"
_LAYERS: list[tuple[str, Layer, object, str]] = [
    # in words, the function, where it leaks, and why
    (
        "adds the next row to each",
        lambda x: x + _following(x),
        NEXT,
        "Row t holds row t + 1 alone.",
    ),
    ("is causal attention", _attend, NONE, "Every later key is hidden before the softmax."),
    (
        "subtracts from every row the mean of all rows",
        lambda x: x - x.mean(axis=0),
        LATER,
        "The mean is made of all rows, the later ones too.",
    ),
    (
        "divides every column by its spread over the rows",
        lambda x: x / x.std(axis=0),
        LATER,
        "The spread is made of all rows, the later ones too.",
    ),
    (
        "masks its weights after the softmax",
        _late,
        LATER,
        "The hidden scores are in the sum by which the row was divided.",
    ),
    (
        "has a causal mask whose edge is off by one",
        lambda x: _attend(x, np.tri(len(x), k=1, dtype=bool)),
        NEXT,
        "Each row sees the next one.",
    ),
    (
        "subtracts the largest score of the whole row before a causal softmax",
        _shifted,
        NONE,
        "The shift cancels: what is left are differences of the last digits.",
    ),
    (
        "takes from every row the mean of the rows up to it",
        lambda x: x - np.cumsum(x, axis=0) / np.arange(1, len(x) + 1)[:, None],
        NONE,
        "The mean of the rows up to t knows no later one.",
    ),
    (
        "adds the next row, rounded to whole numbers",
        lambda x: x + np.round(_following(x)),
        NEXT,
        "A small step is rounded away, another row is not.",
    ),
    (
        "adds a thousandth of the square of the next row's last number",
        lambda x: x + _following(x)[:, -1:] ** 2 / 1000,
        NEXT,
        "Only one number of the next row counts, and its sign does not.",
    ),
    (
        "adds the sign of the last row's first number to the first row",
        lambda x: x + np.eye(len(x))[:, :1] * np.sign(x[-1, 0]),
        [[0], [-1]],
        "Only the sign of a number leaks, and every second exchange keeps it. Exchange the row "
        "many times, and count a leak that any of them shows.",
    ),
    (
        "multiplies each row by the sum of the next, and sums what comes before",
        lambda x: np.cumsum(x, axis=0) * (1 + 0.1 * _following(x).sum(axis=1, keepdims=True)),
        NEXT,
        "A product with the next row leaks it as a sum does.",
    ),
    (
        "is two causal layers, the first of which lets row 2 see row 4",
        _hole,
        [[1, 2], [3, 3]],
        "Row 3 attends to row 2 in the second layer, and there row 2 has seen row 4.",
    ),
    (
        "adds to each row the largest numbers of the rows from it on",
        lambda x: x + np.maximum.accumulate(x[::-1])[::-1],
        LATER,
        "Any later row may hold the largest number.",
    ),
    ("returns its input", lambda x: x, NONE, "Each row knows itself alone."),
    (
        "adds up to 4e-10 to each row, by what comes after it",
        lambda x: x + 4e-10 * np.tanh(_later(x)),
        NONE,
        "Differences below 1e-9 are rounding errors.",
    ),
    (
        "adds 3, and 1.5e-6 more before a row that begins above 0",
        lambda x: x + 3 + 1.5e-6 * (_following(x)[:, :1] > 0),
        NEXT,
        "This leak is faint, of 1.5e-6, and counts: more than 1e-6 is no rounding error.",
    ),
    (
        "adds a million, and a tenth of the next row",
        lambda x: 1e6 + x + _following(x) / 10,
        NEXT,
        "A difference of 0.1 is a leak, however large the outputs are.",
    ),
    (
        "returns rows of seven numbers, of which the last is from the next row",
        lambda x: np.concatenate([x, x, _following(x)[:, 1:2]], axis=1),
        NEXT,
        "An output has moved if any number of its row has, the last one too.",
    ),
    (
        "adds to each row's first number what it subtracts from the second: one of the next row's",
        lambda x: x + _following(x)[:, :1] * [1, -1, 0],
        NEXT,
        "The sum of the row stays as it was, and its numbers move.",
    ),
    (
        "adds the next row and brings each row to length 1",
        lambda x: (y := x + _following(x)) / _length(y),
        NEXT,
        "The length of the row stays as it was, and its numbers move.",
    ),
    (
        "adds the last row to the first, and subtracts it from the second",
        lambda x: x + np.eye(len(x))[:, :1] * x[-1] - np.eye(len(x))[:, 1:2] * x[-1],
        [[0, 1], [-1, -1]],
        "The sum of the table stays as it was, and two rows move.",
    ),
    (
        "adds the next row, brought to mean 0 and spread 1",
        lambda x: x + _normed(_following(x)),
        NEXT,
        "A row with a number added, or multiplied by one, is the same row here.",
    ),
    (
        "counts the later rows that begin and end above −0.56",
        lambda x: x + _later(np.minimum(x[:, :1], x[:, -1:]) > -0.56),
        LATER,
        _GATE.format("two numbers have to change at once. Exchange whole rows, and many of them."),
    ),
    (
        "subtracts what is above −0.02 in the first column of later rows",
        lambda x: x - _later(np.maximum(x[:, :1] + 0.02, 0)),
        LATER,
        _GATE.format(
            "those that begin above −0.02. How many rows do you try, and are they normal?"
        ),
    ),
    (
        "adds 1 for each later row that ends below 0",
        lambda x: x + _later(x[:, -1:] < 0),
        LATER,
        _GATE.format("those that end below 0. How many rows do you try, and are they normal?"),
    ),
    (
        "adds how far the first column of later rows lies inside of ±0.69",
        lambda x: x + _later(np.maximum(0.69 - abs(x[:, :1]), 0)),
        LATER,
        _GATE.format("those that begin near 0. Large numbers never do."),
    ),
    (
        "adds how far the last column of later rows lies outside of ±0.66",
        lambda x: x + _later(np.maximum(abs(x[:, -1:]) - 0.66, 0)),
        LATER,
        _GATE.format("those that end far from 0. Zeros and small numbers never do."),
    ),
    (
        "counts the later rows that begin and end on two sides of 0",
        lambda x: x + _later(x[:, :1] * x[:, -1:] < 0),
        LATER,
        _GATE.format("those whose first and last signs differ. One number, repeated, never does."),
    ),
]
_GIVEN = {"column of later": LOW, "ends below 0": -LOW, "±0.66": NEAR, "counts": LOW}


def _tried() -> Iterator[Case]:
    for words, layer, where, why in _LAYERS:
        x = next((given for part, given in reversed(_GIVEN.items()) if part in words), X)
        yield _case(layer, x, where, why, words)
    for shape in ((2, 1), (1, 1), (1, 4)):
        words, layer, _, why = _LAYERS[0]
        x = np.ones(shape)
        yield _case(layer, x, NEXT, why, f"{words}, and x of shape {shape}")


def _case(layer: Layer, x: Array, where: object, why: str, words: str) -> Case:
    n = len(x)
    leaks = {LATER: ~np.tri(n, dtype=bool), NEXT: np.eye(n, k=1, dtype=bool)}
    want = leaks.get(str(where), np.zeros((n, n), dtype=bool))
    if isinstance(where, list):
        want[tuple(where)] = True
    return case(layer=_floats(layer), x=x, want=want, why=why, said=f"a layer that {words}")


def _floats(layer: Layer) -> Layer:
    return lambda x: layer(np.array(x, dtype=float))


@exercise(
    "5.6",
    praise=f"{len(_LAYERS)} layers examined, with leaks of 1.5e-6 and rounding errors of 8e-10. Of "
    "the five, only the one that shifts by the largest score is innocent: mean, spread, late mask "
    "and wrong edge all leak.",
    hints=(
        "Change one row of x, call the layer again, and see which rows of the output have moved.",
        "Put random normal numbers in the place of the whole row, not a small step; and do it many "
        "times, because one exchange may change nothing by chance.",
        "Rounding moves outputs by less than 1e-9, leaks by more than 1e-6. Compare with a number "
        "in between, and keep only the places above the diagonal.",
    ),
    cases=_tried,
    slips="""
        > 1e-8 → > 0
            Rounding is no leak: the comparison is too fine.
        > 1e-8 → > 1e-10
            Differences below 1e-9 are rounding as well: the comparison is a little too fine.
        > 1e-8 → > 0.05
            The comparison is too coarse for faint leaks.
        > 1e-8 → > 3e-5
            The comparison is too coarse for the faintest leaks: they are a little above 1e-6.
        np.abs(change) > 1e-8 → ~np.isclose(change + before, before)
            The comparison allows for differences in proportion to the outputs, as `np.allclose` and
            `np.isclose` do with their own `rtol`; large outputs hide a leak from it.
        np.abs(change) → change
            An output that falls has moved as well: compare differences without their signs.
        np.abs(change) → -change
            An output that grows has moved as well: compare differences without their signs.
        layer(other) - before → ($).sum(axis=1, keepdims=True)
            You compared the sums of the rows; numbers may move and their sum stay.
        layer(other) - before → _length(layer(other)) - _length(before)
            You compared the lengths of the rows; a row may turn and keep its length.
        .any(axis=1) → [:, 0]
            You looked at the first number of each output only.
        .any(axis=1) → [:, -1]
            You looked at the last number of each output only.
        .any(axis=1) → .all(axis=1)
            An output has moved if one of its numbers has; you asked for all of them.
        rng.standard_normal(x.shape[1]) → x[s] + 1e-3 * $ ;; 1e-8 → 1e-9
            A small step is rounded away by some layers; exchange the whole row.
        other[s] → other[s, 0] ;; x.shape[1] → None
            You changed the first number of the row only.
        rng.standard_normal(x.shape[1]) → -x[s]
            You turned the sign of the row, and some layers do not mind.
        rng.standard_normal(x.shape[1]) → 2 * x[s]
            You doubled the row, and some layers know its direction only.
        rng.standard_normal(x.shape[1]) → x[s] + 1
            You added one number to the whole row, and some layers do not mind.
        rng.standard_normal(x.shape[1]) → np.zeros(x.shape[1])
            A row of zeros is one exchange; others show more.
        rng.standard_normal(x.shape[1]) → rng.uniform(size=x.shape[1])
            Numbers between 0 and 1 leave out every row with a number below 0.
        rng.standard_normal(x.shape[1]) → np.full(x.shape[1], 100.0)
            Huge numbers are unlike normal ones: some layers react to small ones only.
        rng.standard_normal(x.shape[1]) → x[s - 1]
            Another row of the table is one exchange; others show more.
        other = x.copy() → other = x.copy() if s == 0 else other
            You have not put back the row that you exchanged before: two rows differ at once.
        other[s] → other[s:]
            You changed all rows from s on; each row has to be tried alone.
        k=1 → k=0
            Each word may know itself: the diagonal is no leak.
        np.triu(found, k=1) → found
            What an earlier word tells a later one is no leak.
        np.triu(found, k=1) → $.T
            Rows and columns have changed places: t is the output row, s the input row.
        np.triu(found, k=1) → np.triu(np.triu(found, 1).any(1)[:, None].repeat(len(x), 1), 1)
            Each later row was blamed for what one of them did: exchange one row at a time.
        np.triu(found, k=1) → found & np.eye(len(x), k=1, dtype=bool)
            You changed the next row only; a leak may come from farther off.
        rng.standard_normal(x.shape[1]) → rng.standard_normal()
            You filled the row with one number, repeated. Draw a number for each of its places.
        rng.standard_normal(x.shape[1]) → np.nan
            You put nan there, and a comparison with nan is never True. Put random numbers there.
        rng.standard_normal(x.shape[1]) → np.nan ;; np.abs(change) > 1e-8 → np.isnan(change)
            nan also comes through a weight of 0, as 0 times nan is nan. Put random numbers there,
            and compare.
        np.triu(found, k=1) → np.tril(found, k=-1)
            You kept what rows know of earlier ones, below the diagonal. Keep the places with s > t,
            above it.
    """,
    kind=Marks(),
    otherwise="A leak is an output that moves when a later row is exchanged.",
)
def leaks(layer: Layer, x: Array) -> Array:
    """Where a later row leaks into an earlier one, by exchanging each row forty times."""
    rng, before = np.random.default_rng(1), layer(x)
    found = np.zeros((len(x), len(x)), dtype=bool)
    for s in range(len(x)):
        for _ in range(40):
            other = x.copy()
            other[s] = rng.standard_normal(x.shape[1])
            change = layer(other) - before
            found[:, s] |= (np.abs(change) > 1e-8).any(axis=1)
    return np.triu(found, k=1)
