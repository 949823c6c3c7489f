"""Exercise 5.6: a leak detector, and the layers that it is tried on."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from tformer import reference
from tformer.exercises.kinds import Marks
from tformer.exercises.registry import exercise
from tformer.exercises.table import Case, case

Array = np.ndarray
Layer = Callable[[Array], Array]
T = 5
CAUSAL = np.tri(T, dtype=bool)
LATER = np.triu(np.ones((T, T), dtype=bool), k=1)
NEXT = np.eye(T, k=1, dtype=bool)
NONE = np.zeros((T, T), dtype=bool)


def _attend(x: Array, mask: Array = CAUSAL) -> Array:
    return reference.attention(x, x, x, mask=mask)


def _late(x: Array) -> Array:
    return reference.attention_weights(x, x) * CAUSAL @ x


def _shifted(x: Array) -> Array:
    """Causal attention whose softmax subtracts the largest score of all, hidden ones included."""
    scores = x @ x.T / x.shape[1] ** 0.5
    terms = np.exp(scores - scores.max(axis=1, keepdims=True)) * CAUSAL
    return np.asarray(terms / terms.sum(axis=1, keepdims=True) @ x)


def _following(x: Array) -> Array:
    """Return the row after each row, and zeros after the last."""
    return np.append(x[1:], np.zeros_like(x[:1]), axis=0)


def _hole(x: Array) -> Array:
    mask = CAUSAL.copy()
    mask[1, 3] = True
    return x + _attend(x + _attend(x, mask))


_HOLE = np.zeros((T, T), dtype=bool)
_HOLE[1, 3] = _HOLE[2, 3] = True


_LAYERS: list[tuple[str, Layer, Array, str]] = [
    # in words, the function, where it leaks, and why; for five rows of width three
    ("adds the next row to each", lambda x: x + _following(x), NEXT, "Row t holds row t + 1."),
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
        lambda x: _attend(x, np.tri(T, k=1, dtype=bool)),
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
        lambda x: x - np.cumsum(x, axis=0) / np.arange(1, T + 1)[:, None],
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
        lambda x: x + np.eye(T)[:, :1] * np.sign(x[-1, 0]),
        np.outer(np.eye(T)[0], np.eye(T)[-1]).astype(bool),
        "Only whether a number is above or below 0 leaks: an exchange shows it every second time.",
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
        _HOLE,
        "Row 3 looks at row 2 in the second layer, and there row 2 has seen row 4.",
    ),
    (
        "adds to each row the largest numbers of the rows from it on",
        lambda x: x + np.maximum.accumulate(x[::-1])[::-1],
        LATER,
        "Any later row may hold the largest number.",
    ),
    ("returns its input", lambda x: x, NONE, "Each row knows itself alone."),
]


def _tried() -> Iterator[Case]:
    x = np.random.default_rng(5).normal(size=(T, 3)) / 2
    for words, layer, where, why in _LAYERS:
        yield case(layer=_floats(layer), x=x, want=where, why=why, said=f"a layer that {words}")


def _floats(layer: Layer) -> Layer:
    return lambda x: layer(np.array(x, dtype=float))


def _found(
    layer: Layer,
    x: Array,
    others: Callable[[Array, int, np.random.Generator], Array] | None = None,
    draws: int = 40,
    least: float = 1e-8,
    later: int = 1,
) -> Array:
    """Exchange row after row by what `others` makes of it, and note which outputs move."""
    rng, before = np.random.default_rng(1), layer(x)
    found = np.zeros((len(x), len(x)), dtype=bool)
    for s in range(len(x)):
        for _ in range(draws):
            other = x.copy()
            other[s] = others(x, s, rng) if others else rng.standard_normal(x.shape[1])
            found[:, s] |= (np.abs(layer(other) - before) > least).any(axis=1)
    return np.triu(found, k=later)


def _one_number(x: Array, s: int, rng: np.random.Generator) -> Array:
    return np.append(rng.standard_normal(1), x[s, 1:])


@exercise(
    "5.6",
    praise="Fifteen layers examined. Of the five, only the one that shifts by the largest score is "
    "innocent: mean, spread, late mask and wrong edge all leak.",
    hints=(
        "Change one row of x, call the layer again, and see which rows of the output have moved.",
        "Put random normal numbers in the place of the whole row, not a small step; and do it many "
        "times, because one exchange may change nothing by chance.",
        "Rounding moves outputs by about 1e-16, leaks by 1e-6 and more. Compare with a number in "
        "between, and keep only the places above the diagonal.",
    ),
    cases=_tried,
    mutants={
        "Rounding is no leak: the comparison is too fine.": lambda layer, x: _found(
            layer, x, least=0.0
        ),
        "The comparison is too coarse for faint leaks.": lambda layer, x: _found(
            layer, x, least=0.05
        ),
        "A small step is rounded away by some layers; exchange the whole row.": lambda layer, x: (
            _found(layer, x, lambda x, s, rng: x[s] + 1e-3 * rng.standard_normal(3), least=1e-9)
        ),
        "You changed the first number of the row only.": lambda layer, x: _found(
            layer, x, _one_number
        ),
        "You turned the sign of the row, and some layers do not mind.": lambda layer, x: _found(
            layer, x, lambda x, s, rng: -x[s], draws=1
        ),
        "Each word may know itself: the diagonal is no leak.": lambda layer, x: _found(
            layer, x, later=0
        ),
        "What an earlier word tells a later one is no leak.": lambda layer, x: _found(
            layer, x, later=-T
        ),
        "Rows and columns have changed places: t is the output row, s the input row.": (
            lambda layer, x: _found(layer, x).T
        ),
        "You changed the next row only; a leak may come from farther off.": lambda layer, x: (
            _found(layer, x) & NEXT
        ),
        "A row of zeros is one exchange; others show more.": lambda layer, x: _found(
            layer, x, lambda x, s, rng: np.zeros(3), draws=1
        ),
    },
    kind=Marks(),
    otherwise="A leak is an output that moves when a later row is exchanged.",
)
def leaks(layer: Layer, x: Array) -> Array:
    """Where a later row leaks into an earlier one, by exchanging each row forty times."""
    return _found(layer, x)
