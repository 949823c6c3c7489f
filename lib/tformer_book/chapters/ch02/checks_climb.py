"""Exercise 2.12: a climb to the softmax."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tformer import reference
from tformer_book.exercises.answer import Answer, Wrong
from tformer_book.exercises.describe import pair, show
from tformer_book.exercises.registry import exercise

Array = np.ndarray
Objective = tuple[str, Callable[[Array], Array], Array]


@exercise(
    "2.12",
    praise="Your climb ends at softmax for the objective of the chapter, and at the right maximum "
    "for two others, always on the simplex.",
    hints=(
        "A plain step p + η·gradient leaves the simplex: the sum changes, and a weight can fall "
        "below 0. Either subtract the mean of the gradient first and keep the weights from "
        "falling below 0, or take steps that keep them positive by themselves.",
        "Multiply instead of adding: each weight by e to the power η times its gradient. Positive "
        "stays positive. Then restore the sum.",
        "A step of η = 0.1, repeated 2000 times from equal weights, is enough for every objective "
        "of the check.",
    ),
)
def climb(f: Answer) -> None:
    """The maximiser over the simplex of a concave function, given its gradient."""
    for words, gradient, best in _objectives():
        p = f.array(words, gradient=_on_simplex(f, gradient), n=len(best)).astype(float)
        if p.shape != best.shape:
            f.judge(p, best, said=words)
        if not (np.isfinite(p).all() and (p >= -1e-12).all() and abs(p.sum() - 1) < 1e-6):
            raise Wrong(_outside(f, p))
        if np.abs(p - best).max() < 1e-5:
            continue
        texts = pair(p, best)
        slope = gradient(np.maximum(p, 1e-300))
        raise Wrong(
            f"With {words}, {f.name} stops at {texts[0]}; the maximum is at {texts[1]}. "
            + _reason(p, best, slope, gradient(np.full(len(best), 1 / len(best))))
        )


def _reason(p: Array, best: Array, slope: Array, start: Array) -> str:
    if np.abs(p - 1 / len(p)).max() < 1e-12:
        return (
            "That is where it started: are the steps carried over, or so long that they jump back "
            "and forth?"
        )
    if p.max() > 1 - 1e-9:
        return (
            "It stopped in the corner where a weight is 1. Start from equal weights, and step "
            "along the gradient, not against it."
        )
    first = reference.softmax(start)
    if np.abs(p - first).max() < 1e-9:
        return "That is the softmax of the gradient at equal weights: where are the steps?"
    ratios = slope / p
    if np.ptp(ratios) < 1e-3 * np.abs(ratios).max():
        return (
            f"The gradient there is {show(slope)}, a multiple of the weights: a step along it, "
            "divided by the new sum, leads back. At a maximum its entries are equal."
        )
    distance = np.abs(p - best).max()
    if distance < 1e-3:
        return (
            f"It is {pair(distance, 1e-5, 2)[0]} away, and 1e−05 is allowed: take longer "
            "steps, or more of them. Steps of one fixed length go past it in the end, and a result "
            "that is rounded stops short."
        )
    if (p - 1 / len(p)) @ (best - 1 / len(p)) < 0:
        return "It went downhill from equal weights: step along the gradient, not against it."
    return (
        f"The gradient there is {show(slope)}, and at a maximum inside the simplex its entries "
        "are equal: the climb is not over, or its steps end somewhere else."
    )


def _on_simplex(f: Answer, gradient: Callable[[Array], Array]) -> Callable[..., Array]:
    """Wrap a gradient so that it answers on the simplex only."""

    def wrapped(p: Array) -> Array:
        weights = np.asarray(p, dtype=float)
        listed = weights.ravel().tolist()  # called many times: lists this short are the fastest
        if not (min(listed, default=0) >= 0 and abs(sum(listed) - 1) < 1e-6):
            raise Wrong(_outside(f, weights))
        return np.asarray(gradient(weights if min(listed) else np.maximum(weights, 1e-300)))

    return wrapped


def _outside(f: Answer, p: Array) -> str:
    if not np.isfinite(p).all():
        return f"{f.name} arrives at {show(p)}: a step was too large, or 0 was divided by 0."
    if (p < 0).any():
        return (
            f"{f.name} leaves the simplex: at {show(p)} a weight is negative. Choose a step "
            "that keeps weights positive."
        )
    return (
        f"{f.name} leaves the simplex: the weights {show(p)} sum to {show(p.sum())}. "
        "Restore the sum after each step."
    )


def _objectives() -> list[Objective]:
    """Concave functions on the simplex: in words, their gradient, and where they are largest."""
    s, r, c = np.log([1.0, 2, 3]), np.array([0.5, 0.25, 0.25]), np.array([0.2, 0.5, 0.2, 0.1])

    def free(beta: float) -> Objective:
        words = f"⟨p, s⟩ + H(p)/β, s = (0, ln 2, ln 3) and β = {beta:g}"
        return words, lambda p: s - (np.log(p) + 1) / beta, reference.softmax(s, beta=beta)

    return [
        free(1.0),
        free(2.0),
        free(0.5),
        (
            "⟨p, s⟩ − Σ p log(p/r), s = (0, ln 2, ln 3) and r = (1/2, 1/4, 1/4)",
            lambda p: s - np.log(p / r) - 1,
            np.array([2, 2, 3]) / 7,
        ),
        ("−2‖p − c‖² and c = (0.2, 0.5, 0.2, 0.1)", lambda p: 4 * (c - p), c),
    ]
