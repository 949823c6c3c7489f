"""Exercises 2.8 and 2.9: where softmax is most sensitive, and how sharp it should be."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tformer import reference
from tformer_book.exercises import describe
from tformer_book.exercises.answer import Answer, Wrong
from tformer_book.exercises.describe import pair, show
from tformer_book.exercises.registry import exercise

Array = np.ndarray


@exercise(
    "2.8",
    praise="At your scores the norm of the Jacobian is 1/2 to within a millionth, for n = 2, 3, 4, "
    "10, 100 and 1000: the bound of the theorem is reached.",
    hints=(
        "The theorem says at which weights the bound is attained. Find scores that give these "
        "weights, or come close enough.",
        "Two weights of 1/2 leave nothing for the rest. How small does a score have to be for its "
        "weight not to matter?",
        "A weight of exactly 0 needs the score −∞, but e⁻¹⁰⁰ is far below a millionth.",
    ),
)
def sensitive_scores(f: Answer) -> None:
    """n finite scores at which ‖∂softmax/∂x‖ is 1/2 within 1e-6."""
    for n in (2, 3, 4, 10, 100, 1000):
        x = f.array(n=n).astype(float)
        head = f"With n = {n}, {f.name} gives"
        f.shaped(x, (n,), f"n = {n}", f"{n} scores are asked for.")
        if not np.isfinite(x).all():
            raise Wrong(
                f"{head} a score that is not finite. The norm 1/2 can be approached with finite "
                "scores, and for n above 2 only approached."
            )
        p = reference.softmax(x)
        norm = float(np.linalg.eigvalsh(reference.softmax_jacobian(p)).max())
        gap = 0.5 - norm
        if gap > 1e-6:
            raise Wrong(
                f"{head} {_described(x)}; the largest weights are {show(np.sort(p)[:-3:-1])} "
                f"and the norm falls short of 1/2 by {pair(gap, 1e-6, 2)[0]}; a millionth is "
                f"allowed. {_reason(p)}"
            )


def _described(x: Array) -> str:
    return f"the scores {show(x)}" if x.size <= describe.FEW else f"{x.size} scores"


def _reason(p: Array) -> str:
    if p.max() > 0.99:
        return "One score has won, and a softmax that has made up its mind hardly moves."
    if np.ptp(p) < 1e-9:
        return "With all weights equal, a change of one score is shared among all of them."
    if abs(np.sort(p)[-1] - np.sort(p)[-2]) > 1e-3:
        return "The two largest weights should be equal: in a tie every little push decides."
    if len(p) > 3:
        return "The other scores still hold a share of the sum."
    place = ("first", "second", "third")[p.argmin()]
    return f"The {place} score still holds a share of the sum."


@exercise(
    "2.9",
    praise="The entropy meets its target within a millionth, for scores a thousandth apart and a "
    "thousand apart, for scores far from 0 on both sides, and for targets close to both ends.",
    hints=(
        "The chapter proves that entropy falls as β grows. So each trial value of β tells you on "
        "which side the answer lies.",
        "Halve an interval again and again, keeping the half in which the entropy passes the "
        "target. Sixty halvings exhaust a float64.",
        "Where should the interval end? Start with 1 and double until the entropy is below the "
        "target; scores that are close together need a very large β.",
    ),
)
def beta_for_entropy(f: Answer) -> None:
    """The β at which softmax_β(scores) has a given entropy."""
    for scores, beta in _TARGETS:  # of whole numbers some are integers
        s = np.array(scores, dtype=float)
        target = float(reference.entropy(reference.softmax(s, beta=beta)))
        said = f"scores = {show(s)} and target = {show(target)}"
        got = f.array(said, scores=np.array(scores), target=target)
        head = f"With {said}, {f.name} gives β = {show(got)}"
        if got.size != 1:
            raise Wrong(f"{head}; one number is asked for.")
        _judge_beta(head, s, target, float(got.reshape(())))


def _judge_beta(head: str, s: Array, target: float, got: float) -> None:
    if not 0 < got < np.inf:
        far = " Without a shift the exponentials overflow." * bool(np.abs(s).max() > 700)
        raise Wrong(f"{head}; β is a finite number above 0.{far}")
    entropy = _entropy_at(s, got)
    if abs(entropy - target) < 1e-6:
        return
    if abs(_entropy_at(s, min(1 / got, 1e9)) - target) < 1e-6:
        raise Wrong(f"{head}, which is the temperature. β is its inverse.")
    if abs(entropy / np.log(2) - target) < 1e-6:
        raise Wrong(f"{head}, where the entropy meets the target in bits; it is given in nats.")
    for words, spread in {"standard deviation": s.std(), "range": np.ptp(s)}.items():
        if abs(_entropy_at(s, got / spread) - target) < 1e-6:
            raise Wrong(
                f"{head}, which is right for the scores divided by their {words}. β multiplies the "
                "scores as they are."
            )
    if abs(got - target) < 1e-6:
        raise Wrong(f"{head}, which is the target itself, an entropy and no β.")
    for words, other in _READINGS.items():
        if abs(other(s, got) - target) < 1e-6:
            raise Wrong(f"{head}. {words}")
    if np.abs(s).min() > 700:
        raise Wrong(
            f"{head}, where the entropy is {pair(entropy, target)[0]}. All scores lie far from "
            "0 on one side: without a shift their exponentials are all ∞ or all 0, and the weights "
            "nan. Subtract the largest score."
        )
    head += f", where the entropy is {pair(entropy, target)[0]}"
    if abs(entropy - target) < 0.02:
        raise Wrong(
            f"{head}: close, but not within a millionth. Keep halving the interval; and all "
            "weights count, however small."
        )
    if entropy > target:
        together = (
            "; scores this close together may need a β far beyond any end you fixed beforehand."
        )
        more = together if np.ptp(s) < 0.1 else "."
        raise Wrong(f"{head}: β is too small. Entropy falls as β grows, so go up{more}")
    raise Wrong(f"{head}: β is too large. Entropy falls as β grows, so below the target go down.")


def _entropy_at(s: Array, beta: float) -> float:
    return float(reference.entropy(reference.softmax(s, beta=beta)))


def _collision(s: Array, beta: float) -> float:
    return -float(np.log((reference.softmax(s, beta=beta) ** 2).sum()))


_READINGS: dict[str, Callable[[Array, float], float]] = {  # what else may have met the target
    "There the entropy is the logarithm of the target; the target is an entropy already.": (
        lambda s, beta: float(np.exp(_entropy_at(s, beta)))
    ),
    "There the target is met by the two largest scores alone; all scores have weight.": (
        lambda s, beta: _entropy_at(np.sort(s)[-2:], beta)
    ),
    "There the target is met by the scores in float32, which holds seven digits of each: far from "
    "0 it loses their differences.": (
        lambda s, beta: _entropy_at(s.astype(np.float32).astype(float), beta)
    ),
    "There the target is met by the entropy over the logarithm of the number of scores; nothing is "
    "divided.": lambda s, beta: _entropy_at(s, beta) / float(np.log(len(s))),
    "There −log Σ p² meets the target; the entropy is the mean of −log p.": _collision,
    "There −log of the largest weight meets the target; the entropy is the mean of −log p.": (
        lambda s, beta: -float(np.log(reference.softmax(s, beta=beta).max()))
    ),
}


_TARGETS: list[tuple[list[float], float]] = [
    ([0, 1], float(np.log(3))),
    ([0, 1, 2], 1.0),
    ([0, 1, 2], 0.01),
    ([1, 1, 3], 3.0),
    ([0, 0.001], 3000.0),
    ([0, 1000], 0.002),
    ([-5, 2, 0, 7], 0.3),
    ([1000, 1001], 1.0),
    ([-1000, -1002, -1001], 2.0),
    ([20_000, 20_001, 20_003], 0.7),
    ([-20_000, -20_001], 3.0),
    ([0, -4, -4, 1, 1], 6.0),
    ([3, 0, 0, 0], 0.05),
    ([1000, 1000, 1000.001], 2000.0),
    ([0, 0.001], 14_000.0),
    ([0, 1000], 1e-4),
    ([0, -0.001, -1000], 1400.0),
    ([0, 1, 2, 3] * 25, 0.4),
]
