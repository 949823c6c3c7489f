"""Exercises 3.8 to 3.10: two thin matrices, a capacity, the gradient."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from tformer import reference
from tformer.chapters.ch03.checks_rows import FAR
from tformer.exercises.answer import Answer, Wrong
from tformer.exercises.kinds import Parts, Several
from tformer.exercises.registry import exercise
from tformer.exercises.samples import integers
from tformer.exercises.scales import wrongly_scaled
from tformer.exercises.softmaxes import Weigh, scaled_scores, wrongly_weighed
from tformer.exercises.table import Case, case


@dataclass(frozen=True)
class Factors(Several):
    """Two matrices of the right shapes, judged by their product."""

    def fit(self, f: Answer, got: Parts, want: Parts, said: str) -> None:
        """Raise Wrong where a matrix has a wrong shape, and say how."""
        for part, right, name in zip(got, want, self.names, strict=True):
            if part.shape == right.shape:
                continue
            why = ""
            if part.shape == right.shape[::-1]:
                why = " It lies on its side."
            elif part.ndim == 2 and part.shape < right.shape:
                why = " Zeros may fill the columns that are left over."
            raise Wrong(
                f"With {said}, {name} has shape {part.shape}; it should be {right.shape}.{why}"
            )


def _tastes() -> Iterator[Case]:
    for taste, width in (
        ([[4, 0], [3, 0]], 1),
        ([[1, 2], [2, 4]], 1),
        ([[1, 2], [3, 0]], 2),
        ([[0, -1], [1, 0]], 2),
        ([[0, 1], [0, 0]], 1),
        ([[-2, 0], [0, -3]], 2),
        ([[0, 0], [0, 0]], 1),
        ([[-5]], 1),
        ([[-5]], 3),
    ):
        yield case(taste=np.array(taste, dtype=float), width=width, whole=width == len(taste))
    for seed, (d, rank, width) in enumerate(
        [(3, 1, 1), (3, 2, 2), (3, 1, 2), (2, 2, 3), (4, 2, 3), (5, 2, 2), (6, 3, 4)]
    ):
        left, right = integers(seed + 30, (2, d, rank))
        left[0], right[-1] = 1.0, 2.0
        yield case(taste=left @ right.T, width=width)


def _decomposed(
    left: Callable[[np.ndarray], np.ndarray] = lambda s: s,
    right: Callable[[np.ndarray], np.ndarray] = np.ones_like,
    keys: Callable[..., np.ndarray] = lambda u, vt: vt.T,
) -> Callable[..., Parts]:
    """Factors from the singular values, each matrix stretched by a function of them."""

    def factors(taste: np.ndarray, width: int) -> Parts:
        u, sigma, vt = np.linalg.svd(taste)
        n = min(width, len(taste))
        w_q, w_k = np.zeros((2, len(taste), width))
        w_q[:, :n] = u[:, :n] * left(sigma[:n])
        w_k[:, :n] = keys(u, vt)[:, :n] * right(sigma[:n])
        return w_q, w_k

    return factors


def _stretched_rows(taste: np.ndarray, width: int) -> Parts:
    w_q, w_k = _decomposed(left=np.ones_like)(taste, width)
    return np.linalg.svd(taste)[1][:, np.newaxis] * w_q, w_k


def _symmetric(taste: np.ndarray, width: int) -> Parts:
    """Factors from `eigh`, with the eigenvalues of largest magnitude."""
    value, vector = np.linalg.eigh(taste)
    first = np.argsort(-np.abs(value))[:width]
    w_q, w_k = np.zeros((2, len(taste), width))
    w_q[:, : len(first)], w_k[:, : len(first)] = vector[:, first] * value[first], vector[:, first]
    return w_q, w_k


def _last_eigenvalues(taste: np.ndarray, width: int) -> Parts:
    value, vector = np.linalg.eigh(taste)
    rest = ((0, 0), (0, max(width - len(taste), 0)))
    return (
        np.pad((vector * value)[:, -width:], rest),
        np.pad(vector[:, -width:], rest),
    )


def _last_directions(taste: np.ndarray, width: int) -> Parts:
    u, sigma, vt = np.linalg.svd(taste)
    rest = ((0, 0), (0, max(width - len(taste), 0)))
    return np.pad((u * sigma)[:, -width:], rest), np.pad(vt[-width:].T, rest)


@exercise(
    "3.8",
    praise="The product is the table asked for: square and lopsided tastes, with rank below, at "
    "and far below the width, and with widths beyond that of the rows.",
    hints=(
        "The proof of the theorem is a recipe. It begins with the singular value decomposition.",
        "Only the first singular values are not zero. Which columns belong to them, and which of "
        "the two matrices takes the stretch?",
        "`np.linalg.svd` returns the right singular vectors as the rows of its third result, so "
        "they have to be transposed. If `width` exceeds d, columns of zeros fill the rest.",
    ),
    cases=_tastes,
    mutants={
        "The sign is turned round.": _decomposed(left=np.negative),
        "The stretch by the singular values is missing.": _decomposed(left=np.ones_like),
        "Both matrices are stretched by the singular values, so they count twice. One of the two "
        "is enough, or a root for each.": _decomposed(right=lambda s: s),
        "A root of the singular values stretches one matrix only; the other needs it too.": (
            _decomposed(left=np.sqrt)
        ),
        "Rows of the third result of the decomposition are the directions of the keys; you took "
        "its columns.": _decomposed(keys=lambda u, vt: vt),
        "w_q and w_k have changed places: the product is the transpose of the taste.": (
            lambda taste, width: _decomposed()(taste, width)[::-1]
        ),
        "Both matrices are stretched by a root, but the directions of the queries serve for both. "
        "That gives symmetric tables only.": _decomposed(keys=lambda u, vt: u),
        "The directions of the keys serve for both matrices. That gives symmetric tables only.": (
            lambda taste, width: _decomposed(keys=lambda u, vt: vt.T)(
                np.linalg.svd(taste)[2].T * np.linalg.svd(taste)[1] @ np.linalg.svd(taste)[2], width
            )
        ),
        "The singular values stretch the columns of their matrix, and here its rows.": (
            _stretched_rows
        ),
        "`eigh` is for symmetric tables: it reads the lower half and takes the upper for its "
        "mirror image. A taste need not be symmetric.": _symmetric,
        "`eigh` is for symmetric tables, and a taste need not be one. It also lists eigenvalues in "
        "rising order, so that negative ones come first.": _last_eigenvalues,
        "The last singular values are the smallest; keep the first.": _last_directions,
    },
    kind=Factors(
        by=lambda w_q, w_k: w_q @ w_k.T,
        called="your product w_q w_kᵀ",
        names=("w_q", "w_k"),
    ),
    otherwise="Every table whose rank is at most the width is such a product.",
)
def factors(taste: np.ndarray, width: int) -> Parts:
    """W_Q, W_K of shape (d, width) with W_Q W_Kᵀ = taste."""
    return _decomposed()(taste, width)


def _capacities() -> Iterator[Case]:
    for d, beta, share in (
        (2, 2.0, 0.05),
        (2, float(np.log(2)), 0.5),
        (4, 2.0, 0.9),
        (16, 8.0, 0.5),
        (64, 16.0, 0.8),
        (1000, 30.0, 0.5),
        (1, 1.0, 0.3),
        (8, 5, 0.99),
        (300, 20.0, 0.999),
    ):
        yield case(d=d, beta=beta, share=share)
    why = "With β = 0 all keys weigh the same, so two of them have just the share 1/2 each."
    yield case(d=3, beta=0.0, share=0.5, want=2, why=why)


def _term(d: int, beta: float) -> float:
    """Return the bound on the mean weight of a wrong key, beside the right key's 1."""
    return float(((1 + np.exp(-2 * beta / d)) / 2) ** d)


def _room(room: Callable[[int, float, float], float]) -> Callable[..., float]:
    """Return a mutant that finds room for so many keys beside the right one."""
    return lambda d, beta, share: float(np.floor(1 + room(d, beta, share)))


def _odds(term: Callable[[int, float], float]) -> Callable[..., float]:
    """Return a mutant with another term for a wrong key."""
    return _room(lambda d, beta, share: (1 / share - 1) / term(d, beta))


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
    cases=_capacities,
    mutants={
        "One more: the theorem counts n − 1 wrong keys beside the right one.": (
            lambda d, beta, share: float(np.floor((1 / share - 1) / _term(d, beta)))
        ),
        "Pairs come in whole numbers.": lambda d, beta, share: 1 + (1 / share - 1) / _term(d, beta),
        "With one pair more the bound falls below the share: round down.": lambda d, beta, share: (
            float(np.ceil(1 + (1 / share - 1) / _term(d, beta)))
        ),
        "You round to the nearest whole number, which may be one too many: round down.": (
            lambda d, beta, share: float(np.round(1 + (1 / share - 1) / _term(d, beta)))
        ),
        "At least the share is asked for, so equality will do.": lambda d, beta, share: float(
            np.ceil((1 / share - 1) / _term(d, beta))
        ),
        "That is the number for a share of 1/2.": _room(lambda d, beta, share: 1 / _term(d, beta)),
        "The exponent of e is −2β/d; the 2 is missing.": _odds(
            lambda d, beta: ((1 + np.exp(-beta / d)) / 2) ** d
        ),
        "The exponent of e is −2β/d; the d is missing.": _odds(
            lambda d, beta: ((1 + np.exp(-2 * beta)) / 2) ** d
        ),
        "The exponent of e is −2β/d; the minus is missing.": _odds(
            lambda d, beta: ((1 + np.exp(2 * beta / d)) / 2) ** d
        ),
        "The exponent of e is −2β/d; yours has the root of d.": _odds(
            lambda d, beta: ((1 + np.exp(-2 * beta / d**0.5)) / 2) ** d
        ),
        "The power of d is missing.": _odds(lambda d, beta: (1 + np.exp(-2 * beta / d)) / 2),
        "The base is a mean of 1 and a power of e; the 2 below it is missing.": _odds(
            lambda d, beta: (1 + np.exp(-2 * beta / d)) ** d
        ),
        "1/share counts the right key's own term too: subtract 1.": _room(
            lambda d, beta, share: 1 / share / _term(d, beta)
        ),
        "The right key gets the share, the others the rest: their odds are 1/share − 1.": _room(
            lambda d, beta, share: (1 - share) / _term(d, beta)
        ),
        "The power divides; here it multiplies.": _odds(lambda d, beta: 1 / _term(d, beta)),
    },
    otherwise="Put your n and n + 1 into the bound: only the first may reach the share.",
)
def pairs_that_fit(d: int, beta: float, share: float) -> float:
    """The largest n whose bound on the right key's weight is at least `share`."""
    return float(np.floor(1 + (1 / share - 1) / _term(d, beta)))


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
    q, k = np.array([[1000.0], [0], [-1000]]), np.array([[1.0], [2], [4]])
    v, grad = np.array([[1.0, 2], [3, 1], [0, 5]]), np.array([[1.0, 1], [2, -1], [0, 3]])
    yield case(q=q, k=k, v=v, grad=grad, why=FAR)


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
    return _steps(step, reference.attention_weights)


def _weighed(weigh: Weigh, *inputs: np.ndarray) -> Gradients:
    """The right steps backward from the weights of another softmax."""
    return _steps(
        lambda a, grad: a * (grad - (a * grad).sum(-1, keepdims=True)),
        lambda q, k: weigh(scaled_scores(q, k)),
    )(*inputs)


def _steps(
    step: Callable[[np.ndarray, np.ndarray], np.ndarray],
    weigh: Callable[[np.ndarray, np.ndarray], np.ndarray],
) -> Callable[..., Gradients]:
    def backward(q: np.ndarray, k: np.ndarray, v: np.ndarray, grad: np.ndarray) -> Gradients:
        weights = weigh(q, k)
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
    | wrongly_weighed(_weighed)
    | {
        f"Already the weights are others. {why}": backward
        for why, backward in wrongly_scaled(
            lambda scale, q, k, v, grad: reference.attention_vjp(q, k, v, grad, scale=scale(q, k))[
                :3
            ]
        ).items()
    },
    kind=Several(names=_NAMES),
    otherwise="Move one entry by a millionth: by how much does the sum of grad times the "
    "output change?",
)
def attention_backward(q: np.ndarray, k: np.ndarray, v: np.ndarray, grad: np.ndarray) -> Gradients:
    """dq, dk, dv of attention."""
    return _gradients(q, k, v, grad)
