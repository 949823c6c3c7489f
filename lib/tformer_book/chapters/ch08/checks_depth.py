"""Exercises 8.3, 8.5 and 8.6: norms in a stack, what grows and what melts."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tformer_book.exercises.kinds import Number
from tformer_book.exercises.promises import promised, whole
from tformer_book.exercises.registry import exercise
from tformer_book.exercises.samples import integers
from tformer_book.exercises.table import Case, case

Array = np.ndarray
ORDERS = ("none", "pre", "post")


def _stacks() -> Iterator[Case]:
    one = np.array([[[1.0]]])
    for order, want in zip(ORDERS, (6, 4, 1), strict=True):
        why = f"One number, 3, and one layer that copies it, with {order!r}."
        yield case(x=[[3]], layers=one, order=order, want=[[want]], why=why)
    for n, d, depth in ((2, 2, 2), (3, 4, 3), (1, 3, 5)):
        x, layers = integers(n, (n, d)) + 0.5, integers(d, (depth, d, d)) / 4
        for order in ORDERS:
            yield case(x=x, layers=layers, order=order)
    small = "A very small vector above a very large one, and eps is 0."
    for order in ORDERS[1:]:
        layers = np.array([[[0.5, 1], [0, -1]]])
        yield case(x=[[1e-9, 3e-9], [1e9, 3e9]], layers=layers, order=order, why=small)
    none = "No layer at all: the vectors stay what they are."
    for order in ORDERS:
        yield case(x=[[1, 2]], layers=np.zeros((0, 2, 2)), order=order, want=[[1, 2]], why=none)
    x, layers = np.array([[1.0, 2], [3, -1]]), integers(2, (2, 2, 2))
    for order in ORDERS:
        yield from promised(whole, x=x, layers=layers, order=order)


@exercise(
    "8.3",
    praise="All three orders, with none to five layers.",
    hints=(
        "In which line does each order differ from x = x + x @ w?",
        "Before: the branch multiplies the normed vectors, and x itself is what is added to.",
        "After: each sum is normed and goes on as x.",
    ),
    cases=_stacks,
    otherwise="Where the norm stands decides what is added to what.",
    slips="""
        x + read @ w → read @ w
            Vectors are replaced and not added to.
        x + read @ w → read + read @ w
            With norms before, the stream itself was normed; only the branch reads the norm.
        order == "pre" → order == "post"
        x = norm(x) if order == "post" → x = norm(x) if order == "pre"
            Before and after are exchanged.
        norm(x) if order == "post" else x → x
            With norms after the sums, these were not normed.
        norm(x) if order == "pre" else x → x
            With norms before, the branch read the vectors without a norm.
        read @ w → (norm(x @ w) if order == "pre" else x @ w)
            With norms before, what a layer gives was normed; what it reads should be.
        read @ w → (norm(x @ w) if order == "post" else read @ w)
        norm(x) if order == "post" → x if order == "post"
            With norms after the sums, what is added was normed; the sum should be.
        return rows → return norm(rows) if order == "pre" and len(layers) else rows
            With norms before, the last vectors were normed too; they are asked for as they are.
        in layers → in layers[::-1]
            The layers were taken from the last to the first.
        in layers → in layers[:1]
            Only the first layer was used.
        (x**2).mean(axis=-1, keepdims=True) → ($ + 1e-5)
            An eps was added under the root; here it is 0, and vectors may be short.
        (x**2).mean → (x**2).sum
            Vectors were brought to length 1; RMSNorm divides by the root of the mean square.
        (x**2).mean(axis=-1, keepdims=True) → (x**2).mean()
            One size was taken of the whole table; each row has its own.
        norm(x) if order == "post" else x → norm(x) if order != "pre" else x
            Without norms, the sums were normed.
        norm(x) if order == "post" else x → x
        return rows → return norm(rows) if order == "post" else rows
            With norms after the sums, the vectors were normed at the end, also where no layer is.
        read @ w → read @ w.T
            Each matrix was turned over: rows stand to the left of it, so x @ w.
        return x / np.sqrt → x = x - x.mean(axis=-1, keepdims=True); $
            That is LayerNorm: the mean was subtracted. RMSNorm divides by the root mean square
            alone.
        x + read @ w → read @ w if order == "none" else x + read @ w
            Without norms, vectors were replaced; a layer's result is added to them in each order.
        read @ w → read @ layers[0]
            The first matrix was used in every layer; each layer has its own.
        read @ w → read @ (layers[0] if order == "none" else w)
            Without norms, the first matrix was used in every layer; each layer has its own.
    """,
)
def stack(x: Array, layers: Array, order: str) -> Array:
    """Vectors after all layers."""

    def norm(x: Array) -> Array:
        return x / np.sqrt((x**2).mean(axis=-1, keepdims=True))

    for w in layers:
        read = norm(x) if order == "pre" else x
        x = x + read @ w
        x = norm(x) if order == "post" else x
    rows = x
    return rows


def _squares() -> Iterator[Case]:
    why = "One layer with a = 1 adds as much as it reads: {}."
    reasons = ("3 is there, 3 is added", "3 is there, 1 is added", "it is normed")
    for order, want, said in zip(ORDERS, (6, 4, 1), reasons, strict=True):
        yield case(m=3.0, a=1.0, depth=1, order=order, want=want, why=why.format(said))
    for m, a, depth in ((1.0, 0.5, 2), (2.0, 0.25, 3), (0.5, 2.0, 5), (4.0, 0.01, 64)):
        for order in ORDERS:
            yield case(m=m, a=a, depth=depth, order=order)


@exercise(
    "8.5",
    praise="One layer and many, with much added and little, in all three orders.",
    hints=(
        "What is added is uncorrelated with what is there. What adds up?",
        "A layer adds a times the mean square of what it reads. What is that, after a norm?",
        "Without a norm a factor 1 + a for each layer; with a norm before, a for each layer.",
    ),
    cases=_squares,
    otherwise="Follow the mean square through one layer, then through all.",
    kind=Number(),
    slips="""
        m + a * depth → m * (1 + a) ** depth
            With norms before, a layer reads vectors of mean square 1, however long the sum is.
        m + a * depth → m * (1 + a * depth)
            What is added does not depend on how large the first vector was.
        m + a * depth → a * depth
            The first vector is still there.
        m + a * depth → 1 + a * depth
            The first vector is not normed before it is added to: it has the mean square m.
        m + a * depth → m + a**2 * depth
            The variance was squared.
        m + a * depth → m + a**2 * depth
        m * (1 + a) ** depth → m * (1 + a**2) ** depth
            The variance was squared in both orders: a is the α² of the theorem.
        m * (1 + a) ** depth → m * (1 + a * depth)
            Without norms a layer adds to what is there by then, and not to the first vector.
        return 1.0 → return 1.0 + a
            After a norm the mean square is 1: what was added is under it too.
        m + a * depth → m + a * (depth - 1)
        m * (1 + a) ** depth → m * (1 + a) ** (depth - 1)
            One layer is missing in each order.
        m + a * depth → (m**0.5 + a**0.5 * depth) ** 2
            Lengths were added up; of what is uncorrelated the squares add up.
        m * (1 + a) ** depth → m + a * depth
            Without norms each layer reads the whole sum, and adds a times its mean square.
        m * (1 + a) ** depth → m * a**depth
            The vectors are added to, not replaced.
        m * (1 + a) ** depth → (1 + a) ** depth
            The first vector has the mean square m.
        return 1.0 → return m
            After a norm the mean square is 1, whatever it was at first.
        (1 + a) ** depth → (1 + a) ** (depth - 1)
            Without norms, one layer is missing.
        m * (1 + a) ** depth → m * (1 + a**0.5) ** (2 * depth)
            Without norms too the squares add up, and not the lengths.
        m * (1 + a) ** depth → m * np.exp(a * depth)
            That is what many layers come to, each of which adds very little; here each has the
            factor 1 + a.
    """,
)
def mean_square(m: float, a: float, depth: int, order: str) -> float:
    """Expected mean square after some layers."""
    if order == "post":
        return 1.0
    return m + a * depth if order == "pre" else m * (1 + a) ** depth


def _melts() -> Iterator[Case]:
    why = "Two words, weights of at least 1/4: each layer leaves at most half of a spread."
    yield case(share=0.3, T=2, delta=0.25, want=2, why=why)
    exact = "After two layers it is exactly a quarter, and that is not more than a quarter."
    yield case(share=0.25, T=2, delta=0.25, want=2, why=exact)
    yield case(share=0.6, T=2, delta=0.25, want=1, why="Half is less than 0.6: one layer will do.")
    exact = "Each layer leaves 3/4: after three it is exactly 27/64, and that is not more."
    yield case(share=27 / 64, T=2, delta=0.125, want=3, why=exact)
    yield case(share=0.75**6, T=2, delta=0.125, want=6, why="It is exactly 3/4 to the power 6.")
    for share, n, delta in ((0.01, 4, 0.1), (0.5, 12, 0.01), (0.9, 12, 0.05), (0.002, 3, 0.3)):
        yield case(share=share, T=n, delta=delta)
    yield case(share=0.1, T=1000, delta=1e-5, why="Many words, and weights that are nearly 0.")
    many = "A layer may shrink a spread by very little: then it takes very many layers."
    yield case(share=0.01, T=2, delta=1e-5, why=many)


@exercise(
    "8.6",
    praise="Few words and many, even weights and sharp ones.",
    hints=(
        "By which factor does one layer shrink a spread, at least?",
        "The factor is 1 − T·delta. After n layers?",
        "The least n with (1 − T·delta)ⁿ ≤ share: count, or use logarithms, round up, and see "
        "whether one layer fewer is enough.",
    ),
    cases=_melts,
    otherwise="Each layer leaves at most the share 1 − T · delta of the spread.",
    kind=Number(),
    slips="""
        1 - T * delta → 1 - delta
            The factor of a layer is 1 − T·delta: delta is taken off each of T weights.
        1 - T * delta → T * delta
            That is what is lost; 1 − T·delta is left.
        1 - T * delta → 1 - T * delta / 2
            That is the rate of vectors that are added to; these are replaced.
        return n → return n - 1
            One layer fewer does not promise it yet.
        return n → return n - (spread < share)
            It was rounded down: so few layers leave more than the share.
        return n → return np.log(share) / np.log(1 - T * delta)
            There are only whole layers: round up.
        return n → return n + 1
            One layer fewer is enough.
        spread > share → spread >= share
            A spread that is exactly the share is not more than it: no layer is left to add.
        spread > share → spread > 1 - share
            So much may be lost; the share is what may be left.
        spread * (1 - T * delta) → spread - T * delta
            Each layer takes its part of what is left, not of what was there at first.
        1 - T * delta → 1 - 2 * delta
            The factor is that of two words; delta is taken off each of T weights.
        1 - T * delta → 1 - (T - 1) * delta
            One weight was left out; delta is taken off each of T weights, the word's own among
            them.
        return n → return max(1, int(np.rint(np.log(share) / np.log(1 - T * delta))))
            It was rounded to the nearest whole number; the next smaller one may leave more than the
            share.
        return n → return int(np.ceil(np.log10(share) / np.log(1 - T * delta)))
            One logarithm is to base 10 and the other to base e; their quotient needs one base.
        return n → return int(np.ceil(-np.log(share) / (T * delta)))
            A factor 1 − x is less than e to the power of −x; take its own logarithm.
        return n → return int(np.ceil(np.log(share) / np.log(1 - T * delta)))
            The quotient of the logarithms is a whole number here, and by rounding it came out a
            little
            above; see whether one layer fewer will do.
    """,
)
def layers_until(share: float, T: int, delta: float) -> int:
    """Least number of layers for which the theorem promises it."""
    n, spread = 0, 1.0
    while spread > share:
        n, spread = n + 1, spread * (1 - T * delta)
    return n
