"""Exercise 3.7: the order of rows."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from tformer import reference
from tformer_book.exercises.answer import Answer, Wrong
from tformer_book.exercises.kinds import Name
from tformer_book.exercises.registry import exercise
from tformer_book.exercises.samples import integers
from tformer_book.exercises.table import Case, Function, case, each

Array = np.ndarray
Layer = Callable[[Array], Array]


def _kind(
    orders: Iterable[Sequence[int] | Array],
    layer: Layer,
    x: Array,
    same: Function = np.allclose,
    several: Function = all,
) -> str:
    """The kind of a layer as far as these orders of the rows show it."""
    before, after = layer(x), [(list(order), layer(x[list(order)])) for order in orders]
    if all(same(out, before[order]) for order, out in after):
        return "equivariant"
    return "invariant" if several(same(out, before) for _, out in after) else "neither"


def _alike_at(place: int, a: Array, b: Array) -> bool:
    return bool(np.allclose(a[place], b[place]))


def _twice(layer: Layer, x: Array) -> str:
    """The kind of a layer whose outputs are shuffled where their shuffle should be taken back."""
    before, after = layer(x), [(order, layer(x[order])) for order in _SOME_ORDERS]
    if all(np.allclose(out[order], before) for order, out in after):
        return "equivariant"
    return "invariant" if all(np.allclose(out, before) for _, out in after) else "neither"


def _by_columns(layer: Layer, x: Array) -> str:
    """The kind of a layer whose inputs get their columns reversed, and not their rows shuffled."""
    before, after = layer(x), layer(x[:, ::-1])
    if before.shape == x.shape and np.allclose(after, before[:, ::-1]):
        return "equivariant"
    return "invariant" if np.allclose(after, before) else "neither"


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
    praise="Nineteen layers named rightly: exact symmetries told from rounding, and layers that "
    "respect only some permutations, such as shifts or a reversal, from those that respect all.",
    hints=(
        "Shuffle the rows, apply the layer, and compare with two things: the old outputs shuffled "
        "alike, and the old outputs as they were.",
        "One permutation is not enough. A layer may respect every shift, or the reversal, and no "
        "other permutation.",
        "Try all permutations of a few rows, or some dozens at random. Compare with a tolerance, "
        "because sums in another order are rounded differently.",
    ),
    cases=lambda: (*_layers(), _all_permutations),
    mutants=each(
        _kind,
        {
            "You tried shifts of the rows only.": [np.roll(range(5), n) for n in range(1, 5)],
            "You tried the reversal of the rows only.": [[4, 3, 2, 1, 0]],
            "You exchanged the first two rows only.": [[1, 0, 2, 3, 4]],
            "You exchanged the first row with the last only.": [[4, 1, 2, 3, 0]],
            "The first row stayed in its place whatever you tried.": _SOME_ORDERS[1:4],
            "All that you tried are made of an even number of exchanges.": (
                [[1, 2, 0, 3, 4], [0, 2, 3, 1, 4], [0, 1, 3, 4, 2]]
            ),
        },
    )
    | {
        "Does your comparison allow for rounding errors?": partial(
            _kind, _SOME_ORDERS, same=np.array_equal
        ),
        "Differences of a hundredth are no rounding errors.": partial(
            _kind, _SOME_ORDERS, same=partial(np.allclose, atol=0.01)
        ),
        "You compare sums of the outputs; compare row with row.": (
            lambda layer, x: _kind(
                _SOME_ORDERS, layer, x, lambda a, b: np.allclose(a.sum(), b.sum())
            )
        ),
        **{
            f"You compared only the {name} row of the outputs; all of them have to be right.": (
                partial(_kind, _SOME_ORDERS, same=partial(_alike_at, place))
            )
            for name, place in (("first", 0), ("last", -1))
        },
        "You compare row with row only after a second shuffle. To take back a shuffle needs its "
        "inverse; or shuffle the old outputs.": lambda layer, x: _twice(layer, x),
        "You shuffled the columns; it is the rows that are to be shuffled.": (
            lambda layer, x: _by_columns(layer, x)
        ),
        "That holds for one of the permutations that you tried. It should hold for all.": (
            lambda layer, x: _kind(_SOME_ORDERS[:4], layer, x, several=any)
        ),
        "The two names are exchanged: an equivariant layer moves with its rows, an invariant one "
        "stays.": lambda layer, x: {"equivariant": "invariant", "invariant": "equivariant"}.get(
            _kind(_SOME_ORDERS, layer, x), "neither"
        ),
    },
    kind=Name(names=("equivariant", "invariant", "neither")),
)
def kind_of(layer: Layer, x: Array) -> str:
    """Name a layer: equivariant, invariant or neither."""
    return _kind(itertools.permutations(range(len(x))), layer, x)


_RUNNING = (
    "of rows in order it returns each as it is, and of shuffled ones it does not. The first row "
    "alone does not show it, nor the last."
)


def _layers() -> Iterator[Case]:
    x = np.random.default_rng(3).normal(size=(5, 3))
    for words, (layer, kind, evidence) in _LAYERS.items():
        yield case(layer=layer, x=x, want=kind, why=evidence, said=f"a layer that {words}")
    for axis, words in ((0, "so far"), (1, "from here on")):

        def largest(rows: Array, axis: int = axis) -> Array:
            there = slice(None, None, 1 - 2 * axis)
            return np.asarray(np.maximum.accumulate(np.asarray(rows)[there])[there])

        said = f"a layer that takes the largest number {words} in each column, of rows in order"
        order = np.sort(x, axis=0)[:: 1 - 2 * axis]
        yield case(layer=largest, x=order, want="neither", why=_RUNNING, said=said)


def _all_permutations(f: Answer) -> None:
    """Some permutations tell that a layer respects all of them only if all can be made of them."""
    x = np.random.default_rng(4).normal(size=(5, 3))
    layers: dict[str, Layer] = {"takes tanh of each entry": np.tanh, "sorts the rows": _sorted}
    for words, function in layers.items():
        tried: set[tuple[int, ...]] = set()

        def layer(rows: Array, function: Layer = function, tried: Any = tried) -> Array:
            rows = np.asarray(rows, dtype=float)
            order = np.abs(rows[:, np.newaxis] - x).sum(axis=-1).argmin(axis=-1)
            tried.add(tuple(order.tolist()) if np.array_equal(x[order], rows) else ())
            return function(rows)

        f.raw(f"a layer that {words}", layer=layer, x=x)
        if () in tried or len(_made_of(tried)) == 120:
            continue
        some = len(tried - {(0, 1, 2, 3, 4)})
        alike = "one permutation" if some < 2 else f"{some} permutations, too much alike"
        raise Wrong(
            f"All layers are named rightly, but {f.name} tries {alike}, and there are layers that "
            "respect all shuffles that these make up, and no other."
        )


def _made_of(orders: set[tuple[int, ...]]) -> set[tuple[int, ...]]:
    """Return all permutations that come of doing some of these one after the other."""
    found: set[tuple[int, ...]] = {(0, 1, 2, 3, 4)}
    new = found
    while new:
        new = {tuple(made[i] for i in order) for made in new for order in orders} - found
        found = found | new
    return found


def _sorted(x: Array) -> Array:
    return np.array(sorted(np.asarray(x).tolist()))


def _sign(x: Array) -> float:
    """Return 1 or −1, as an even or an odd number of exchanges sorts the numbers."""
    return float(np.prod([np.sign(b - a) for a, b in itertools.combinations(x, 2)]))


_PLACES = np.arange(5.0)[:, np.newaxis]


def _attend(x: Array, mask: Array | None = None) -> Array:
    x = np.asarray(x, dtype=float)
    return reference.attention(x, x, x, mask=mask)


_ALIKE = "shuffle the rows of x, and the rows of the output are shuffled alike."
_LAYERS: dict[str, tuple[Layer, str, str]] = {
    # in words: the function, its kind, and why; for five rows of width three
    "is self-attention without a mask": (_attend, "equivariant", _ALIKE),
    "is self-attention with a causal mask": (
        lambda x: _attend(x, np.tri(5, dtype=bool)),
        "neither",
        "the row that comes first sees itself only, so its output changes when it moves.",
    ),
    "asks with five fixed queries and has the rows of x as memory": (
        lambda x: reference.attention(integers(7, (5, 3)) / 2, np.asarray(x), np.asarray(x)),
        "invariant",
        "shuffle the rows of x, and the output stays as it was.",
    ),
    "takes tanh of each entry of x": (lambda x: np.tanh(x), "equivariant", _ALIKE),
    "is self-attention in which each row sees itself and the next, the last row seeing the first": (
        lambda x: _attend(x, (_PLACES.T - _PLACES) % 5 <= 1),
        "neither",
        "it respects every shift of the rows, but exchange two rows and their neighbours change.",
    ),
    "is self-attention in which each row sees itself and its neighbours on both sides": (
        lambda x: _attend(x, np.abs(_PLACES.T - _PLACES) <= 1),
        "neither",
        "it respects the reversal of all rows, but exchange two rows and their neighbours change.",
    ),
    "sorts the rows of x": (
        _sorted,
        "invariant",
        "whatever order the rows come in, the output is the same.",
    ),
    "adds the first row of x to every row": (
        lambda x: np.asarray(x) + np.asarray(x)[:1],
        "neither",
        "move another row to the top, and every output changes. Permutations that leave the first "
        "row in place do not show it.",
    ),
    "adds the sum of the first two rows of x to every row": (
        lambda x: np.asarray(x) + np.asarray(x)[:2].sum(axis=0),
        "neither",
        "exchange the second row with the third, and every output changes. A permutation that "
        "exchanges the first two only does not show it.",
    ),
    "adds the sum of the first and the last row of x to every row": (
        lambda x: np.asarray(x) + np.asarray(x)[[0, -1]].sum(axis=0),
        "neither",
        "exchange the first row with the second, and every output changes. A permutation that "
        "exchanges the first and the last only does not show it.",
    ),
    "adds 1 to every row if an even number of exchanges sorts the rows, and −1 if an odd one": (
        lambda x: np.asarray(x) + _sign(np.asarray(x)[:, 0]),
        "neither",
        "exchange two rows, and every output changes. Shifts of five rows, their reversal, and all "
        "else that is made of an even number of exchanges do not show it.",
    ),
    "adds to each row its place, 0 to 4, divided by a thousand": (
        lambda x: np.asarray(x) + _PLACES / 1000,
        "neither",
        "exchange the first two rows, and both outputs differ by 0.001 from the old ones. Is your "
        "comparison fine enough?",
    ),
    "adds 0.001 to the second number of the last row": (
        lambda x: np.asarray(x) + 0.001 * np.outer(np.arange(5) == 4, [0, 1, 0]),
        "neither",
        "one number of one row differs by 0.001 from what a shuffle would give. Compare all.",
    ),
    "takes 0.001 from the first number of the last row and adds it to the third": (
        lambda x: np.asarray(x) + 0.001 * np.outer(np.arange(5) == 4, [-1, 0, 1]),
        "neither",
        "two numbers of one row differ by 0.001 from what a shuffle would give, and their sum does "
        "not. Compare all.",
    ),
    "hands back the rows of x in reverse order": (
        lambda x: np.asarray(x)[::-1].copy(),
        "neither",
        "a shuffle of x shuffles the rows of the output, but not alike: they have the same "
        "numbers, at other places.",
    ),
    "replaces each row by its length": (
        lambda x: np.linalg.norm(np.asarray(x), axis=-1, keepdims=True),
        "equivariant",
        _ALIKE + " Rows of the output may be shorter than those of x.",
    ),
    "adds the last row of x to every row": (
        lambda x: np.asarray(x) + np.asarray(x)[-1:],
        "neither",
        "move another row to the end, and every output changes. Permutations that leave the last "
        "row in place do not show it.",
    ),
    "sorts the first three rows of x and leaves the other two": (
        lambda x: np.concatenate([_sorted(np.asarray(x)[:3]), np.asarray(x)[3:]]),
        "neither",
        "exchange the third row with the fourth, and the output is neither what it was nor "
        "shuffled alike.",
    ),
    "adds to each row its place, 0 to 4, and then attends": (
        lambda x: _attend(np.asarray(x) + _PLACES),
        "neither",
        "a row that moves gets another number added.",
    ),
}
