"""Exercises 3.5 to 3.7: a sharp lookup, a distance in a dot product, the order of rows."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np

from tformer import reference
from tformer.exercises import say
from tformer.exercises.answer import Answer, Wrong
from tformer.exercises.kinds import Name, parts
from tformer.exercises.registry import exercise
from tformer.exercises.samples import integers
from tformer.exercises.table import Case, case


@exercise(
    "3.5",
    praise="Each β brings the output within eps of the best key's value, and none is larger than "
    "the theorem asks for.",
    hints=(
        "The theorem bounds the distance between the output and the best value. Set its right side "
        "equal to eps.",
        "The bound needs three numbers: how many other keys there are, by how much the best score "
        "beats the second best, and how far the other values lie from the best key's value.",
        "Solve (S − 1) e^{−βΔ} R = eps for β: take logarithms on both sides.",
    ),
)
def beta_for_lookup(f: Answer) -> None:
    """A β at which softmax_β(scores) @ v is within eps of the best value, and not too large."""
    for scores, values, eps in _LOOKUPS:
        s, v = np.array(scores, dtype=float), np.array(values, dtype=float)
        said = f.said(scores=s, v=v, eps=eps)
        got = f.array(said, scores=s, v=v, eps=eps)
        head = f"With {said}, {f.name} gives {say.show(got)}; β is one number above 0."
        if got.size != 1:
            raise Wrong(head)
        beta = float(got.reshape(()))
        if abs(beta) == np.inf:
            raise Wrong(f"{head} A margin of 0 does that: which two scores differ by yours?")
        if abs(beta + _bound(s, v, eps)) < 1e-6 * abs(beta):
            raise Wrong(f"{head} The fraction under the logarithm is upside down.")
        if not beta > 0:
            raise Wrong(head)
        _judge_lookup(f, said, s, v, eps, beta)


def _bound(s: np.ndarray, v: np.ndarray, eps: float, **other: float) -> float:
    """The β of the theorem, with `other` numbers in the place of its own."""
    order = np.sort(s)
    numbers = {
        "count": len(s) - 1,
        "far": float(reference.norm(v - v[s.argmax()]).max()),
        "margin": order[-1] - order[-2],
    } | other
    return float(np.log(numbers["count"] * numbers["far"] / eps) / numbers["margin"])


def _judge_lookup(
    f: Answer, said: str, s: np.ndarray, v: np.ndarray, eps: float, beta: float
) -> None:
    best, right = int(s.argmax()), _bound(s, v, eps)
    error = float(reference.norm(reference.softmax(s, beta=beta) @ v - v[best]))
    head = f"With {said}, {f.name} gives β = {say.pair(beta, right)[0]}."
    if error > eps * (1 + 1e-9):
        head += f" The output is then {say.show(error)} away from the value of key {best}."
    elif beta > right * (1 + 1e-9):
        head += f" The theorem is content with {say.pair(beta, right)[1]}."
    else:
        return
    wrong = _wrong_bounds(s, v, eps)
    same = [why for why, b in wrong.items() if abs(beta - b) < 1e-6 * abs(b)]
    raise Wrong(f"{head} {same[0] if same else _OTHER_BETA}")


def _wrong_bounds(s: np.ndarray, v: np.ndarray, eps: float) -> dict[str, float]:
    right, logarithm = _bound(s, v, eps), _bound(s, v, eps, margin=1)
    away, pairs = v - v[s.argmax()], reference.norm(v[:, np.newaxis] - v)
    return {
        "Δ is the lead over the second best score, not over the worst.": (
            _bound(s, v, eps, margin=np.ptp(s))
        ),
        "Every other key may be as close as the second best: the factor S − 1 counts them.": (
            _bound(s, v, eps, count=1)
        ),
        "You counted all S keys; the best one is none of the others.": (
            _bound(s, v, eps, count=len(s))
        ),
        "How far the other values lie from the best one matters too.": _bound(s, v, eps, far=1),
        "It is the distance from the best value that counts, not the length of the values.": (
            _bound(s, v, eps, far=reference.norm(v).max())
        ),
        "You took the largest distance between any two values; only those from the best count.": (
            _bound(s, v, eps, far=pairs.max())
        ),
        "One norm was taken of all differences together; each value has its own distance.": (
            _bound(s, v, eps, far=np.sqrt((away**2).sum()))
        ),
        "That is made of the largest difference in one coordinate; take the distance.": (
            _bound(s, v, eps, far=np.abs(away).max())
        ),
        "The logarithm is the natural one here.": right / np.log(10),
        "The margin divides the logarithm; here it multiplies.": logarithm**2 / right,
        "The logarithm still has to be divided by the margin.": logarithm,
    }


_OTHER_BETA = "Which β makes the right side of the theorem equal to eps?"
_LOOKUPS: list[tuple[list[float], list[list[float]], float]] = [
    ([2.5, 0.5, 0.5], [[0, 0], [3, 4], [3, 4]], 0.1),
    ([0, 2.5, 0.5], [[3, 4], [0, 0], [3, 4]], 0.1),
    ([0, 3, 0], [[4], [0], [3]], 0.1),
    ([0, 3, 0], [[-4], [0], [3]], 0.1),
    ([3, 2.5, -4, 2.5], [[10], [30], [30], [30]], 0.5),
    ([-8, -6], [[0.5], [0]], 0.001),
    ([1, 1, 1, 5, 1, 1], [[6], [6], [6], [2], [6], [6]], 0.01),
]


@exercise(
    "3.6",
    praise="The softmax of your dot products gives the weights of the Gaussian kernel, for places "
    "near and far and for every width of the kernel.",
    hints=(
        "Write out the square in the exponent. One of the three terms is the same for all keys. "
        "What does softmax do with such a term?",
        "Of the two terms that matter, one is a product of the places and the other depends on the "
        "key alone. A dot product of vectors of width two has two terms.",
        "A key can carry a second coordinate, −x²/(2h²), if every query carries a 1 to meet it.",
    ),
)
def lifted(f: Answer) -> None:
    """Queries and keys whose dot products give Gaussian weights."""
    cases = [([1], [0, 1, 3], 1.0), ([0, 2], [0, 1, 3], 0.5), ([-1, 0, 4], [-2, 1], 2.0)]
    for t, x, h in [*cases, ([5], [4, 5, 6, 9], 0.25), ([100, -3], [99, 0, 2], 3.0)]:
        _judge_lift(f, np.array(t, dtype=float), np.array(x, dtype=float), h)


def _judge_lift(f: Answer, t: np.ndarray, x: np.ndarray, h: float) -> None:
    said = f.said(t=t, x=x, h=h)
    value = f.raw(said, t=t, x=x, h=h).value
    q, k = (part.astype(float) for part in parts(f, value, said, ("queries", "keys")))
    rows, wanted = [q.shape[:1], k.shape[:1]], [(len(t),), (len(x),)]
    if q.ndim != 2 or k.ndim != 2 or rows != wanted or q.shape[1] != k.shape[1]:
        sides = q.ndim == k.ndim == 2 and [q.shape[1:], k.shape[1:]] == wanted
        raise Wrong(
            f"With {said}, {f.name} returns arrays of shape {q.shape} and {k.shape}; they need a "
            f"row for each of {len(t)} queries and {len(x)} keys, and the same number of columns."
            + " They lie on their sides." * sides
            + " They have changed places." * (rows == wanted[::-1])
        )
    tables = {why: reference.softmax(scores) for why, scores in _wrong_lifts(t, x, h).items()}
    want = reference.softmax(-((t[:, np.newaxis] - x) ** 2) / (2 * h**2))
    why = "Compare with exp(−(t − x)²/(2h²)), each row divided by its sum."
    f.judge(reference.softmax(q @ k.T), want, tables, why, said, "the softmax of your q kᵀ")


def _wrong_lifts(t: np.ndarray, x: np.ndarray, h: float) -> dict[str, np.ndarray]:
    """Scores that are not those of the kernel, by what is said to them."""
    gap, product = -((t[:, np.newaxis] - x) ** 2), t[:, np.newaxis] * x
    return {
        "Those are the weights of the kernel exp(tx/h²). Far places have long keys, and win "
        "by their length: the term −x²/(2h²) is missing.": product / h**2,
        "The 2 in the exponent is missing: Gaussians divide by 2h².": gap / h**2,
        "h enters as its square.": gap / (2 * h),
        "h has no effect.": gap / 2,
        "h² divides the squared distance; here it multiplies.": gap * h**2 / 2,
        "The nearest places have the smallest weights: a sign is turned round.": -gap / (2 * h**2),
        "Your term in x² has the wrong sign.": (product + x**2 / 2) / h**2,
        "Your term −x²/h² is twice as large as the square asks for.": (product - x**2) / h**2,
        "The mixed term of the square is 2tx, so it stands with tx/h² in the exponent.": (
            (product - x**2) / (2 * h**2)
        ),
        "Queries and keys both carry a square, and the two are multiplied. The term of a key "
        "should be the same for all queries.": product / h**2 + (product / h**2) ** 2 / 4,
        "The scale is 1 here; you counted on a division by √2.": gap / (np.sqrt(2) * h**2),
    }


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


def _all_orders(x: np.ndarray) -> Iterable[Sequence[int]]:
    return itertools.permutations(range(len(x)))


@exercise(
    "3.7",
    praise="Twelve layers named rightly: exact symmetries told from rounding, and layers that "
    "respect only some permutations, such as shifts or a reversal, from those that respect all.",
    hints=(
        "Shuffle the rows, apply the layer, and compare with two things: the old outputs shuffled "
        "alike, and the old outputs as they were.",
        "One permutation is not enough. A layer may respect every shift, or the reversal, and no "
        "other permutation.",
        "Try all permutations of a few rows, or some dozens at random. Compare with a tolerance, "
        "because sums in another order are rounded differently.",
    ),
    cases=lambda: _layers(),
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
            layer, x, [(0, *rest) for rest in itertools.permutations(range(1, len(x)))]
        ),
        "Does your comparison allow for rounding errors?": lambda layer, x: _kind(
            layer, x, _all_orders(x), same=np.array_equal
        ),
        "Differences of a hundredth are no rounding errors.": lambda layer, x: _kind(
            layer, x, _all_orders(x), same=lambda a, b: np.allclose(a, b, atol=0.01)
        ),
        "The two names are exchanged: an equivariant layer moves with its rows, an invariant one "
        "stays.": lambda layer, x: {"equivariant": "invariant", "invariant": "equivariant"}.get(
            _kind(layer, x, _all_orders(x)), "neither"
        ),
    },
    kind=Name(names=("equivariant", "invariant", "neither")),
)
def kind_of(layer: Layer, x: np.ndarray) -> str:
    """Name a layer: equivariant, invariant or neither."""
    return _kind(layer, x, _all_orders(x))


def _layers() -> Iterator[Case]:
    x = np.random.default_rng(3).normal(size=(5, 3))
    for words, layer, kind, evidence in _LAYERS:
        yield case(layer=layer, x=x, want=kind, why=evidence, said=f"a layer that {words}")


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
