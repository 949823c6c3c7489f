"""Exercise 3.7: the order of rows."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np

from tformer import reference
from tformer.exercises.answer import Answer, Wrong
from tformer.exercises.kinds import Name
from tformer.exercises.registry import exercise
from tformer.exercises.samples import integers
from tformer.exercises.table import Case, case

Layer = Callable[[np.ndarray], np.ndarray]


def _kind(
    layer: Layer,
    x: np.ndarray,
    orders: Iterable[Sequence[int] | np.ndarray],
    same: Callable[[np.ndarray, np.ndarray], bool] = np.allclose,
) -> str:
    """The kind of a layer as far as these orders of the rows show it."""
    before, after = layer(x), [(list(order), layer(x[list(order)])) for order in orders]
    if all(same(out, before[order]) for order, out in after):
        return "equivariant"
    return "invariant" if all(same(out, before) for _, out in after) else "neither"


_SOME_ORDERS = [  # exchanges of neighbours lead to all orders
    [1, 0, 2, 3, 4],
    [0, 2, 1, 3, 4],
    [0, 1, 3, 2, 4],
    [0, 1, 2, 4, 3],
    [4, 2, 0, 1, 3],
    [3, 0, 4, 1, 2],
]


@exercise(
    "3.7",
    praise="Thirteen layers named rightly: exact symmetries told from rounding, and layers that "
    "respect only some permutations, such as shifts or a reversal, from those that respect all.",
    hints=(
        "Shuffle the rows, apply the layer, and compare with two things: the old outputs shuffled "
        "alike, and the old outputs as they were.",
        "One permutation is not enough. A layer may respect every shift, or the reversal, and no "
        "other permutation.",
        "Try all permutations of a few rows, or some dozens at random. Compare with a tolerance, "
        "because sums in another order are rounded differently.",
    ),
    cases=lambda: (*_layers(), _two_permutations),
    mutants={
        "You tried shifts of the rows only.": lambda layer, x: _kind(
            layer, x, [np.roll(range(len(x)), places) for places in range(1, len(x))]
        ),
        "You tried the reversal of the rows only.": lambda layer, x: _kind(
            layer, x, [range(len(x))[::-1]]
        ),
        "You exchanged the first two rows only.": lambda layer, x: _kind(
            layer, x, [[1, 0, 2, 3, 4]]
        ),
        "You exchanged the first row with the last only.": lambda layer, x: _kind(
            layer, x, [[4, 1, 2, 3, 0]]
        ),
        "The first row stayed in its place whatever you tried.": lambda layer, x: _kind(
            layer, x, [[0, 2, 1, 3, 4], [0, 1, 3, 2, 4], [0, 1, 2, 4, 3]]
        ),
        "All that you tried are made of an even number of exchanges.": lambda layer, x: _kind(
            layer, x, [[1, 2, 0, 3, 4], [0, 2, 3, 1, 4], [0, 1, 3, 4, 2]]
        ),
        "Does your comparison allow for rounding errors?": lambda layer, x: _kind(
            layer, x, _SOME_ORDERS, same=np.array_equal
        ),
        "Differences of a hundredth are no rounding errors.": lambda layer, x: _kind(
            layer, x, _SOME_ORDERS, same=lambda a, b: np.allclose(a, b, atol=0.01)
        ),
        "The two names are exchanged: an equivariant layer moves with its rows, an invariant one "
        "stays.": lambda layer, x: {"equivariant": "invariant", "invariant": "equivariant"}.get(
            _kind(layer, x, _SOME_ORDERS), "neither"
        ),
    },
    kind=Name(names=("equivariant", "invariant", "neither")),
)
def kind_of(layer: Layer, x: np.ndarray) -> str:
    """Name a layer: equivariant, invariant or neither."""
    return _kind(layer, x, itertools.permutations(range(len(x))))


def _layers() -> Iterator[Case]:
    x = np.random.default_rng(3).normal(size=(5, 3))
    for words, layer, kind, evidence in _LAYERS:
        yield case(layer=layer, x=x, want=kind, why=evidence, said=f"a layer that {words}")


def _two_permutations(f: Answer) -> None:
    """No single permutation is enough to know that a layer respects all of them."""
    x, seen = np.random.default_rng(4).normal(size=(5, 3)), set()

    def layer(rows: np.ndarray) -> np.ndarray:
        seen.add(np.asarray(rows, dtype=float).tobytes())
        return np.tanh(rows)

    f.raw("a layer that takes tanh of each entry of x", layer=layer, x=x)
    if len(seen) < 3:
        raise Wrong(
            f"All thirteen layers are named rightly, but {f.name} tries one permutation, and for "
            "each of them there are layers that respect it, its powers and no other."
        )


def _sign(x: np.ndarray) -> float:
    """Return 1 or −1, as an even or an odd number of exchanges sorts the numbers."""
    return float(np.prod([np.sign(b - a) for a, b in itertools.combinations(x, 2)]))


_PLACES = np.arange(5.0)[:, np.newaxis]


def _attend(x: np.ndarray, mask: np.ndarray | None = None) -> np.ndarray:
    x = np.asarray(x, dtype=float)
    return reference.attention(x, x, x, mask=mask)


def _asked_from_outside(x: np.ndarray) -> np.ndarray:
    x = np.asarray(x, dtype=float)
    return reference.attention(integers(7, (5, 3)) / 2, x, x)


_LAYERS: list[tuple[str, Layer, str, str]] = [
    # in words, the function, its kind, and why; for five rows of width three
    (
        "is self-attention without a mask",
        _attend,
        "equivariant",
        "shuffle the rows of x, and the rows of the output are shuffled alike.",
    ),
    (
        "is self-attention with a causal mask",
        lambda x: _attend(x, np.tri(5, dtype=bool)),
        "neither",
        "the row that comes first sees itself only, so its output changes when it moves.",
    ),
    (
        "asks with five fixed queries and has the rows of x as memory",
        _asked_from_outside,
        "invariant",
        "shuffle the rows of x, and the output stays as it was.",
    ),
    (
        "takes tanh of each entry of x",
        lambda x: np.tanh(x),
        "equivariant",
        "shuffle the rows of x, and the rows of the output are shuffled alike.",
    ),
    (
        "is self-attention in which each row sees itself and the next, the last row seeing the "
        "first",
        lambda x: _attend(x, (_PLACES.T - _PLACES) % 5 <= 1),
        "neither",
        "it respects every shift of the rows, but exchange two rows and their neighbours change.",
    ),
    (
        "is self-attention in which each row sees itself and its neighbours on both sides",
        lambda x: _attend(x, np.abs(_PLACES.T - _PLACES) <= 1),
        "neither",
        "it respects the reversal of all rows, but exchange two rows and their neighbours change.",
    ),
    (
        "sorts the rows of x",
        lambda x: np.array(sorted(np.asarray(x).tolist())),
        "invariant",
        "whatever order the rows come in, the output is the same.",
    ),
    (
        "adds the first row of x to every row",
        lambda x: np.asarray(x) + np.asarray(x)[:1],
        "neither",
        "move another row to the top, and every output changes. Permutations that leave the first "
        "row in place do not show it.",
    ),
    (
        "adds the sum of the first two rows of x to every row",
        lambda x: np.asarray(x) + np.asarray(x)[:2].sum(axis=0),
        "neither",
        "exchange the second row with the third, and every output changes. A permutation that "
        "exchanges the first two only does not show it.",
    ),
    (
        "adds the sum of the first and the last row of x to every row",
        lambda x: np.asarray(x) + np.asarray(x)[[0, -1]].sum(axis=0),
        "neither",
        "exchange the first row with the second, and every output changes. A permutation that "
        "exchanges the first and the last only does not show it.",
    ),
    (
        "adds 1 to every row if an even number of exchanges sorts the rows, and −1 if an odd one",
        lambda x: np.asarray(x) + _sign(np.asarray(x)[:, 0]),
        "neither",
        "exchange two rows, and every output changes. Shifts of five rows, their reversal, and all "
        "else that is made of an even number of exchanges do not show it.",
    ),
    (
        "adds to each row its place, 0 to 4, divided by a thousand",
        lambda x: np.asarray(x) + _PLACES / 1000,
        "neither",
        "exchange the first two rows, and both outputs differ by 0.001 from the old ones. Is your "
        "comparison fine enough?",
    ),
    (
        "adds to each row its place, 0 to 4, and then attends",
        lambda x: _attend(np.asarray(x) + _PLACES),
        "neither",
        "a row that moves gets another number added.",
    ),
]
