"""Exercises 3.8 to 3.10: two thin matrices, a capacity, the gradient."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from tformer import reference
from tformer.exercises.answer import Answer, Wrong
from tformer.exercises.kinds import Several, parts
from tformer.exercises.registry import exercise
from tformer.exercises.samples import integers
from tformer.exercises.scales import wrongly_scaled
from tformer.exercises.table import Case, case


@exercise(
    "3.8",
    praise="The product is the table asked for: square and lopsided tastes, with rank below, at "
    "and far below the width, and with widths beyond that of the rows.",
    hints=(
        "The proof of the theorem is a recipe. It begins with the singular value decomposition.",
        "Only the first singular values are not zero. Which columns belong to them, and which of "
        "the two matrices takes the stretch?",
        "`np.linalg.svd` returns the right singular vectors as the rows of its third result, so "
        "they have to be transposed. If `width` exceeds D, columns of zeros fill the rest.",
    ),
)
def factors(f: Answer) -> None:
    """W_Q, W_K of shape (D, width) with W_Q W_Kᵀ = taste."""
    _check_factors(f, np.array([[4.0, 0], [3, 0]]), 1)
    _check_factors(f, np.array([[1.0, 2], [2, 4]]), 1)
    _check_factors(f, np.array([[1.0, 2], [3, 0]]), 2)
    for seed, (d, rank, width) in enumerate(
        [(3, 1, 1), (3, 2, 2), (3, 1, 2), (2, 2, 3), (4, 2, 3)]
    ):
        left, right = integers(seed + 30, (2, d, rank))
        left[0], right[-1] = 1.0, 2.0
        _check_factors(f, left @ right.T, width)


def _check_factors(f: Answer, taste: np.ndarray, width: int) -> None:
    said = f.said(taste=taste, width=width)
    pair = f.raw(said, taste=taste, width=width).value
    w_q, w_k = parts(f, pair, said, ("w_q", "w_k"))
    form = (len(taste), width)
    for part, name in (w_q, "w_q"), (w_k, "w_k"):
        if part.shape != form:
            why = ""
            if part.shape == form[::-1]:
                why = " It lies on its side."
            elif part.ndim == 2 and part.shape < form:
                why = " Zeros may fill the columns that are left over."
            raise Wrong(f"With {said}, {name} has shape {part.shape}; it should be {form}.{why}")
    wrong = _wrong_products(taste, min(width, len(taste)))
    if width == len(taste):
        u, sigma, vt = np.linalg.svd(taste)
        rows = "The singular values stretch the columns of their matrix, and here its rows."
        wrong[rows] = sigma[:, np.newaxis] * u @ vt
    f.judge(w_q @ w_k.T, taste, wrong, _TASTE, said, "your product w_q w_kᵀ")


def _wrong_products(taste: np.ndarray, n: int) -> dict[str, np.ndarray]:
    u, sigma, vt = np.linalg.svd(taste)
    left, directions, right = u[:, :n], vt[:n], vt[:, :n].T
    return {
        "The sign is turned round.": -taste,
        "The stretch by the singular values is missing.": left @ directions,
        "Both matrices are stretched by the singular values, so they count twice. One of the two "
        "is enough, or a root for each.": (left * sigma[:n] ** 2) @ directions,
        "A root of the singular values stretches one matrix only; the other needs it too.": (
            (left * np.sqrt(sigma[:n])) @ directions
        ),
        "Rows of the third result of the decomposition are the directions of the keys; you took "
        "its columns.": (left * sigma[:n]) @ right,
        "w_q and w_k have changed places: the product is the transpose of the taste.": taste.T,
        "Both matrices are stretched by a root, but the directions of the queries serve for both. "
        "That gives symmetric tables only.": (left * sigma[:n]) @ left.T,
    }


_TASTE = "Every table whose rank is at most the width is such a product."


@exercise(
    "3.9",
    praise="The numbers of pairs that the theorem vouches for, from two pairs in two dimensions to "
    "more than 10¹² in a thousand.",
    hints=(
        "The theorem bounds the mean weight of the right key from below, and the bound falls as "
        "more pairs are stored. Where does it reach the share?",
        "Solve 1/(1 + (n − 1) b) ≥ share for n, where b stands for the power in the theorem.",
        "n − 1 is at most (1/share − 1)/b. A number of pairs is whole, so round down.",
    ),
)
def pairs_that_fit(f: Answer) -> None:
    """The largest n whose bound on the right key's weight is at least `share`."""
    for d, beta, share in _CAPACITIES:
        base = (1 + np.exp(-2 * beta / d)) / 2
        want = np.floor(1 + (1 / share - 1) / base**d)
        mistakes = _wrong_capacities(d, beta, share)
        if (d, beta, share) == _CAPACITIES[0]:  # where no two of them are equal
            mistakes |= _wrong_rooms(d, beta, share)
        why = "Put your n and n + 1 into the bound: only the first may reach the share."
        f.expect(want, mistakes, why, d=d, beta=beta, share=share)


def _wrong_capacities(d: int, beta: float, share: float) -> dict[str, Any]:
    room = (1 / share - 1) / ((1 + np.exp(-2 * beta / d)) / 2) ** d
    return {
        "One more: the theorem counts n − 1 wrong keys beside the right one.": np.floor(room),
        "Pairs come in whole numbers.": 1 + room,
        "With one pair more the bound falls below the share: round down.": np.ceil(1 + room),
    }


def _wrong_rooms(d: int, beta: float, share: float) -> dict[str, Any]:
    """Capacities made of a wrong number of keys beside the right one."""
    odds, base = 1 / share - 1, (1 + np.exp(-2 * beta / d)) / 2
    rooms = {
        "That is the number for a share of 1/2.": 1 / base**d,
        "The exponent of e is −2β/d; the 2 is missing.": (
            odds * (2 / (1 + np.exp(-beta / d))) ** d
        ),
        "The exponent of e is −2β/d; the d is missing.": odds * (2 / (1 + np.exp(-2 * beta))) ** d,
        "The exponent of e is −2β/d; the minus is missing.": (
            odds * (2 / (1 + np.exp(2 * beta / d))) ** d
        ),
        "The power of d is missing.": odds / base,
        "The base is a mean of 1 and a power of e; the 2 below it is missing.": (
            odds / (2 * base) ** d
        ),
        "1/share counts the right key's own term too: subtract 1.": 1 / share / base**d,
        "The right key gets the share, the others the rest: their odds are 1/share − 1.": (
            (1 - share) / base**d
        ),
        "The power divides; here it multiplies.": odds * base**d,
    }
    return {why: np.floor(1 + room) for why, room in rooms.items()}


_CAPACITIES = [
    (2, 2.0, 0.05),
    (2, float(np.log(2)), 0.5),
    (4, 2.0, 0.9),
    (16, 8.0, 0.5),
    (64, 16.0, 0.8),
    (1000, 30.0, 0.5),
]


def _tables() -> Iterator[Case]:
    q, k, v = np.zeros((2, 4)), np.zeros((2, 4)), np.array([[0.0], [4]])
    q[0, 0], k[:, 0] = 2, np.log([2, 6])
    yield case(q=q, k=k, v=v, grad=np.array([[1.0], [2]]))
    sizes = [(2, 2, 1, 1), (2, 3, 4, 2), (3, 3, 4, 3), (2, 3, 1, 1), (1, 2, 3, 2), (2, 4, 3, 2)]
    stacks: list[tuple[int, ...]] = [(), (), (), (2,), (2, 2), ()]
    for seed, (batch, (n, m, width, deep)) in enumerate(zip(stacks, sizes, strict=True)):
        q, k = integers(seed + 40, (*batch, n, width)), integers(seed + 5, (*batch, m, width))
        v, grad = integers(seed + 12, (*batch, m, deep)), integers(seed + 17, (*batch, n, deep))
        yield case(q=q, k=k, v=v, grad=grad, whole=seed == 5)


_NAMES = ("dq", "dk", "dv")
Gradients = tuple[np.ndarray, ...]


def _gradients(q: np.ndarray, k: np.ndarray, v: np.ndarray, grad: np.ndarray) -> Gradients:
    return reference.attention_vjp(q, k, v, grad)[:3]


def _times(*powers: float) -> Callable[..., Gradients]:
    """The right gradients, each times a power of the scale."""

    def backward(q: np.ndarray, *others: np.ndarray) -> Gradients:
        right = _gradients(q, *others)
        return tuple(q.shape[-1] ** (-p / 2) * x for p, x in zip(powers, right, strict=True))

    return backward


def _through(step: Callable[[np.ndarray, np.ndarray], np.ndarray]) -> Callable[..., Gradients]:
    """Gradients with another step through the softmax, from weights and their gradient."""

    def backward(q: np.ndarray, k: np.ndarray, v: np.ndarray, grad: np.ndarray) -> Gradients:
        weights = reference.attention_weights(q, k)
        d_scores = q.shape[-1] ** -0.5 * step(weights, grad @ v.mT)
        return d_scores @ k, d_scores.mT @ q, weights.mT @ grad

    return backward


def _untransposed(q: np.ndarray, k: np.ndarray, v: np.ndarray, grad: np.ndarray) -> Gradients:
    dq, _, dv = _gradients(q, k, v, grad)
    d_scores = reference.softmax_vjp(reference.attention_weights(q, k), grad @ v.mT)
    return dq, q.shape[-1] ** -0.5 * d_scores @ q, dv


def _in_order(*places: int) -> Callable[..., Gradients]:
    return lambda *inputs: tuple(_gradients(*inputs)[place] for place in places)


_ORDERS = {
    f"That is {_NAMES[places[first]]}; the order is dq, dk, dv. Yours is "
    f"{', '.join(_NAMES[place] for place in places)}.": _in_order(*places)
    for first, places in [
        (0, (1, 0, 2)),
        (0, (1, 2, 0)),
        (0, (2, 1, 0)),
        (0, (2, 0, 1)),
        (1, (0, 2, 1)),
    ]
}
_STEPS = {
    "The softmax step is missing: that is made of the gradient of the weights, not of the "
    "scores.": lambda a, grad: grad,
    "In the softmax step the mean of the row is not subtracted yet.": lambda a, grad: a * grad,
    "The softmax step used the diagonal of the Jacobian, a(1 − a); its other entries count "
    "too.": lambda a, grad: a * (1 - a) * grad,
    "In the softmax step the mean was taken with equal weights; take it under the "
    "attention weights.": lambda a, grad: a * (grad - grad.mean(-1, keepdims=True)),
    "The mean of the softmax step was taken over everything; each row has its own.": (
        lambda a, grad: a * (grad - (a * grad).sum())
    ),
    "The mean of the softmax step was taken down the columns; each row has its own.": (
        lambda a, grad: a * (grad - (a * grad).sum(-2, keepdims=True))
    ),
}
_WRONG_GRADIENTS = {
    "The scale is missing.": _times(-1, -1, 0),
    "The scale came in twice.": _times(1, 1, 0),
    "Multiplied by √d_k; the scale divides by it.": _times(-2, -2, 0),
    "The scale has no place here: it multiplied the scores.": _times(0, 0, 1),
    "The sign is turned round.": lambda *inputs: tuple(-x for x in _gradients(*inputs)),
    "grad has no effect here.": lambda q, k, v, grad: (
        *_gradients(q, k, v, grad)[:2],
        reference.attention_weights(q, k).mT @ np.ones_like(grad),
    ),
    "The gradient of the scores has to be transposed here.": _untransposed,
    "Here the weights have to be transposed: v was on their right.": lambda q, k, v, grad: (
        *_gradients(q, k, v, grad)[:2],
        reference.attention_weights(q, k) @ grad,
    ),
}


@exercise(
    "3.10",
    praise="The three gradients agree with differences of the output, by hand and in stacks of "
    "every shape, for keys and values of different widths.",
    hints=(
        "Go back through the three steps one at a time: the mixing, the softmax, the scores. Each "
        "hands a gradient to the step before.",
        "Through the softmax: each entry of the gradient of the weights minus the mean of its row "
        "under the weights, and the difference times the weight.",
        "A table that multiplied from the left comes back transposed from the left. The scale "
        "multiplied the scores, so it multiplies what is handed to queries and to keys.",
    ),
    cases=_tables,
    mutants=_WRONG_GRADIENTS
    | _ORDERS
    | {why: _through(step) for why, step in _STEPS.items()}
    | {
        f"Already the weights are others. {why}": backward
        for why, backward in wrongly_scaled(
            lambda scale, q, k, v, grad: reference.attention_vjp(q, k, v, grad, scale=scale(q, k))[
                :3
            ]
        ).items()
    },
    kind=Several(names=_NAMES),
)
def attention_backward(q: np.ndarray, k: np.ndarray, v: np.ndarray, grad: np.ndarray) -> Gradients:
    """dq, dk, dv of attention."""
    return _gradients(q, k, v, grad)
