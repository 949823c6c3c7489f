"""Exercises 14.1 and 14.2: one step of AdamW, and a schedule."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tformer_book.exercises.kinds import Array as Kind
from tformer_book.exercises.kinds import Several
from tformer_book.exercises.promises import promised, single, whole
from tformer_book.exercises.registry import exercise
from tformer_book.exercises.samples import integers
from tformer_book.exercises.table import Case, case
from tformer_book.exercises.whereabouts import whereabouts

Array = np.ndarray


class BySteps(Kind):
    """A number for each step of a training, from step 1 on."""

    def where(self, got: Any, want: Any) -> str:
        """Say which steps are wrong."""
        return whereabouts(got, want, ("step", "steps"), 1)


def _steps() -> Iterator[Case]:
    small = (
        "The means become 1.5 and 2.25, corrected 3 and 9; the move is 3 / (3 + 1), the decay "
        "0.1 · 10, and x loses the rate times their sum."
    )
    one: dict[str, Any] = {"x": np.array(10.0), "grad": np.array(3.0)}
    none: dict[str, Any] = {"mean": np.array(0.0), "square": np.array(0.0)}
    dials: dict[str, Any] = {"rate": 0.5, "betas": (0.5, 0.75), "eps": 1.0, "decay": 0.1}
    yield case(**one, **none, step=1, **dials, want=(9.125, 1.5, 2.25), why=small)
    later = "At step 2 the means are not 0, and the corrections are 1 − β²."
    two: dict[str, Any] = {"x": [2, -4], "grad": [1, -2], "mean": [3, 1], "square": [8, 4]}
    yield case(**two, step=2, **dials, why=later)
    past = "The gradient is 0 now, and the mean of earlier ones still moves the parameter."
    rests: dict[str, Any] = {"x": [2, -4], "grad": [0, -2], "mean": [3, 1], "square": [8, 4]}
    yield case(**rests, step=2, **dials, why=past)
    grown = "Where gradients have grown, a move may be longer than the rate."
    large: dict[str, Any] = {"x": [5, -5], "grad": [3, -4], "mean": [3, -4], "square": [1, 2]}
    yield case(**large, step=2, **dials, why=grown)
    still = "Where a gradient has always been 0, nothing but the decay moves the parameter."
    zero: dict[str, Any] = {"grad": [0, 0], "mean": [0, 0], "square": [0, 0]}
    yield case(x=[5, 0], **zero, step=7, **dials, why=still)
    usual: dict[str, Any] = {"betas": (0.9, 0.999), "eps": 1e-8, "decay": 0.0}
    first = "At the first step each number moves by the rate, whatever the size of its gradient."
    given: dict[str, Any] = {"x": [1, 1, 1], "grad": [1000, 0.001, -7]}
    given |= {"mean": [0, 0, 0], "square": [0, 0, 0]}
    yield case(**given, step=1, rate=0.25, **usual, want=_first(), why=first)
    rng = np.random.default_rng(1)
    table: dict[str, Any] = {name: rng.normal(size=(2, 3)).round(2) for name in ("x", "grad")}
    table |= {"mean": rng.normal(size=(2, 3)).round(2), "square": rng.uniform(size=(2, 3)).round(2)}
    long = "Late in a training the corrections are nearly 1."
    yield case(**table, step=5000, rate=0.1, betas=(0.99, 0.9999), eps=0.1, decay=0.5, why=long)
    short = "With β₁ = β₂ = 0 nothing is remembered."
    yield case(**table, step=3, rate=0.1, betas=(0.0, 0.0), eps=0.5, decay=0.2, why=short)
    fresh = integers(4, (3, 4))
    numbers = {"x": integers(3, (3, 4)), "grad": fresh, "mean": -fresh, "square": fresh**2 + 1}
    yield from promised(whole, single, **numbers, step=4, **dials)


def _first() -> tuple[Array, Array, Array]:
    """What the first step makes of gradients of 1000, 0.001 and −7; eps takes off 1 in 10⁵."""
    grad = np.array([1000, 0.001, -7])
    x = 1 - 0.25 * np.array([1000 / (1000 + 1e-8), 0.001 / (0.001 + 1e-8), -7 / (7 + 1e-8)])
    return x, 0.1 * grad, 0.001 * grad**2


@exercise(
    "14.1",
    praise="Single numbers and tables, first steps and late ones, gradients of 0, no memory.",
    hints=(
        "Three things in turn: the two means, their corrections, and the move of x.",
        "mean ← β₁ mean + (1 − β₁) grad, and likewise of grad²; they are divided by 1 − βᵗ.",
        "x − rate · (corrected mean / (root of corrected square + eps) + decay · x).",
    ),
    cases=_steps,
    otherwise="Two means that forget, both corrected, and the decay apart from them.",
    kind=Several(names=("x", "mean", "square")),
    slips="""
        right / size + decay * x → (right + (1 - beta1) * decay * x / (1 - beta1**step)) / size
            Your decay goes into the mean, and through the root; it stands apart from both.
        / (1 - beta1**step) →
            The mean is not corrected: at step 1 it is 1 − β₁ times the gradient.
        / (1 - beta2**step) →
            The square is not corrected: at step 1 it is 1 − β₂ times the gradient's square, so the
            move is too long by 1 / √(1 − β₂).
        / (1 - beta1**step) → ;; / (1 - beta2**step) →
            Neither mean is corrected for the zeros that it began with.
        / (1 - beta1**step) → / (1 - beta1 ** (step + 1))
        / (1 - beta2**step) → / (1 - beta2 ** (step + 1))
            Steps count from 1: at step 1 the corrections are 1 − β₁ and 1 − β₂.
        / (1 - beta1**step) → / (1 - beta1 ** (step - 1))
        / (1 - beta2**step) → / (1 - beta2 ** (step - 1))
            Steps count from 1 already: with step − 1 the first correction is 1 − 1 = 0.
        / (1 - beta1**step) → / (1 - beta1)
        / (1 - beta2**step) → / (1 - beta2)
            The corrections have no step in them: 1 − βᵗ goes to 1 as steps go by.
        / (1 - beta1**step) → * (1 - beta1**step)
        / (1 - beta2**step) → * (1 - beta2**step)
            The means are too small at first; the corrections divide.
        np.sqrt(new_square / (1 - beta2**step)) + eps → np.sqrt(new_square / (1-beta2**step) + eps)
            eps stands under your root; it is added to the root.
        np.sqrt(new_square / (1 - beta2**step)) + eps → np.sqrt(new_square / (1 - beta2**step))
            eps is missing: where all gradients were 0 you divide 0 by 0.
        np.sqrt(new_square → np.maximum(eps, $ ;; (1 - beta2**step)) + eps → (1 - beta2**step)))
            You took the larger one of root and eps; they are added.
        right / size + → np.where(grad == 0, 0, right / size) +
            Where the gradient is 0 now, nothing but your decay moves the parameter; the mean of
            earlier gradients should move it too.
        right / size + → np.clip(right / size, -1, 1) +
            Your moves are cut at the rate; where gradients have grown they are longer.
        np.sqrt(new_square / (1 - beta2**step)) + eps → new_square / (1 - beta2**step) + eps
            The root is missing: the move is then one over a gradient, and not a number of its own.
        np.sqrt(new_square / (1 - beta2**step)) → np.sqrt(new_square) / (1 - beta2**step)
            The correction of the square belongs under the root.
        rate * (right / size + decay * x) → rate * right / size - decay * x
            The decay is not multiplied by the rate.
        rate * (right / size + decay * x) → rate * (right + decay * x) / size
            Your decay is divided by the gradient's size, and so it nearly vanishes where gradients
            are large: that is what AdamW cures.
        rate * (right / size + decay * x) → rate * right / size
            The decay is missing.
        x - rate * (right / size + decay * x) → x * (1 + rate * decay) - rate * right / size
            Your decay lets parameters grow: its sign is turned.
        x - rate * (right / size + decay * x) → (x - rate * right / size) * (1 - rate * decay)
            Your decay takes its share of x after the step; it is that of x before.
        x - rate * (right / size + decay * x) → x + rate * (right / size - decay * x)
            You go with the gradient; a step goes against it.
        rate * (right / size + decay * x) → rate * (right / size + decay * np.sign(x))
            Your decay takes off the same from all; it should be a share of each parameter.
        rate * (right / size + decay * x) → rate * (right / size + decay * x**2)
            The decay is a share of x itself: the square belongs to the penalty, not to its slope.
        (1 - beta2) * grad**2 → (1 - beta2) * grad
            The second mean is one of squares.
        (1 - beta2) * grad**2 → (1 - beta2) * new_mean**2
            The second mean is one of the squares of gradients, and not of the first mean.
        (1 - beta2) * grad**2 → (1 - beta2) * (grad - new_mean)**2
            You keep a variance; Adam keeps the mean of the squares themselves.
        (1 - beta2) * grad**2 → (1 - beta2) * (grad**2).sum()
            Each number keeps a mean of its own squares; you took the length of the whole gradient.
        beta2 * square + (1 - beta2) → np.maximum(beta2 * square, (1 - beta2) ;; * grad**2 → $)
            You keep the larger one of the two; the mean is their sum.
        np.sqrt(new_square / (1 - beta2**step)) + eps → np.sqrt(new_square) + eps
        right / size + → right * np.sqrt(1 - beta2**step) / size +
            You add eps before the square is corrected, so that early it counts for more.
        (1 - beta1) * grad → grad
            The first mean lacks 1 − β₁: that is the sum that momentum keeps.
        (1 - beta1) * grad → (1 - beta1) * (grad + decay * x)
        (1 - beta2) * grad**2 → (1 - beta2) * (grad + decay * x)**2
        rate * (right / size + decay * x) → rate * right / size
            You added the decay to the gradient: that is Adam with a penalty, and not AdamW.
        beta1 * mean + (1 - beta1) * grad → (1 - beta1) * mean + beta1 * grad
        beta2 * square + (1 - beta2) * grad**2 → (1 - beta2) * square + beta2 * grad**2
            β belongs to what is remembered, and 1 − β to what is new.
        beta1, beta2 = betas → beta2, beta1 = betas
            β₁ belongs to the mean and comes first, β₂ to the squares.
        return new_x, new_mean, new_square → return new_x, right, size**2
            The means that you hand on are corrected; only the move uses corrected ones.
        right = new_mean → right = mean
            The move uses the mean from before this gradient.
        np.sqrt(new_square → np.sqrt(square
            The move uses the square from before this gradient.
        right = new_mean / (1 - beta1**step) → right = grad
            The move takes the gradient itself; Adam takes its mean.
        return new_x, new_mean, new_square → return new_x, right, new_square / (1 - beta2**step)
            The means were returned corrected; they are kept without correction.
    """,
)
def adamw(
    x: Array,
    grad: Array,
    mean: Array,
    square: Array,
    step: int,
    rate: float,
    betas: tuple[float, float],
    eps: float,
    decay: float,
) -> tuple[Array, Array, Array]:
    """One step of AdamW."""
    beta1, beta2 = betas
    new_mean = beta1 * mean + (1 - beta1) * grad
    new_square = beta2 * square + (1 - beta2) * grad**2
    right = new_mean / (1 - beta1**step)
    size = np.sqrt(new_square / (1 - beta2**step)) + eps
    new_x = x - rate * (right / size + decay * x)
    return new_x, new_mean, new_square


def _schedules() -> Iterator[Case]:
    small = "Two steps up to 8, then half a wave down to a half of 8."
    yield case(steps=4, warmup=2, rate=8.0, last=0.5, want=np.array([4.0, 8, 6, 4]), why=small)
    zero = "Without warm-up the wave starts at step 0: after a third of it cos is 1/2."
    yield case(steps=3, warmup=0, rate=4.0, last=0.0, want=np.array([3.0, 1, 0]), why=zero)
    line = "A warm-up that lasts to the end is a line alone, up to the full rate."
    yield case(steps=3, warmup=3, rate=6.0, last=0.1, want=np.array([2.0, 4, 6]), why=line)
    one = "One step: the last one."
    yield case(steps=1, warmup=0, rate=2.0, last=0.25, want=np.array([0.5]), why=one)
    yield case(steps=1, warmup=1, rate=2.0, last=0.25, want=np.array([2.0]), why=one)
    yield case(steps=12, warmup=1, rate=2.0, last=0.2, why="A warm-up of one step is none to see.")
    for steps, warmup, last in ((10, 4, 0.1), (13, 5, 0.0), (9, 2, 0.75)):
        why = f"A line up to step {warmup}, then half a wave to {last:g} of the rate."
        yield case(steps=steps, warmup=warmup, rate=0.5, last=last, why=why)
    yield case(steps=6, warmup=2, rate=0.5, last=1.0, why="With last = 1 the rate does not fall.")


def _by_linspace(steps: int, warmup: int, rate: float, last: float) -> Array:
    wave = (1 + np.cos(np.linspace(0, np.pi, steps - warmup))) / 2
    return np.concatenate([np.linspace(0, rate, warmup), rate * (last + (1 - last) * wave)])


@exercise(
    "14.2",
    praise="No warm-up and nothing but warm-up, one step, and ends from 0 to the full rate.",
    hints=(
        "Number the steps from 1. Which of them lie before step `warmup`?",
        "After it, count how much of the way to the last step is done: from 0 to 1.",
        "The wave is last + (1 − last) (1 + cos(π · done)) / 2, times the rate.",
    ),
    cases=_schedules,
    otherwise="A straight line up, half a wave of the cosine down, and last · rate at the end.",
    kind=BySteps(),
    mutants={
        "Both of your pieces hold both of their ends: the line is 0 at step 1, and the full rate "
        "stands twice.": _by_linspace,
    },
    slips="""
        np.arange(1, steps + 1) → np.arange(steps)
            Steps count from 1: your list begins with step 0 and lacks the last one.
        (t - warmup) / max(steps - warmup, 1) → t / steps
            Your wave began at step 0, so that after the warm-up part of it is gone already.
        (t - warmup) / max(steps - warmup, 1) → (t - warmup) / steps
            Your wave is as long as the whole training; only what is left after the warm-up counts.
        (t - warmup) / max(steps - warmup, 1) → (t - warmup) / (steps - warmup)
            If the warm-up lasts to the end, you divide 0 by 0.
        (t - warmup) / max(steps - warmup, 1) → (t - warmup - 1) / max(steps - warmup - 1, 1)
            Your wave begins one step late: at step `warmup` the rate is full, and after it falls.
        np.cos(np.pi * done) → np.cos(2 * np.pi * done)
            That is a whole wave, which comes up again at the end.
        np.cos(np.pi * done) → np.cos(np.pi / 2 * done)
            That is a quarter of a wave: it ends in the middle.
        (1 + np.cos(np.pi * done)) / 2 → np.cos(np.pi / 2 * done)
            A quarter of a wave falls steepest at the end; half of one, (1 + cos πu) / 2, is flat
            at both ends.
        (1 + np.cos(np.pi * done)) / 2 → (1 - done)
            That is a straight line down.
        (1 + np.cos(np.pi * done)) / 2 → np.cos(np.pi * done)
            Half a wave goes from 1 to −1; lift it by 1 and halve it.
        t < warmup → t <= warmup ;; (t - warmup) / max(steps - warmup, 1) → t / steps
            After the warm-up part of your wave is gone already: count from step `warmup` on.
        t < warmup → t <= warmup ;; last + (1 - last) * (1 + np.cos → last + 1.0 * (1 + np.cos
            You lifted the wave by `last` without making it lower: after the warm-up it begins above
            the full rate.
        t < warmup → t <= warmup ;; done)) / 2 → done))
            1 + cos goes from 2 to 0: halve it, or the rate doubles after the warm-up.
        (1 + np.cos(np.pi * done)) / 2 → (1 + np.cos(np.pi * done))
            1 + cos goes from 2 to 0: it has to be halved.
        last + (1 - last) * (1 + np.cos(np.pi * done)) / 2 → (1 + np.cos(np.pi * done)) / 2
            Your wave falls to 0, and not to `last` times the rate.
        last + (1 - last) * (1 + np.cos(np.pi * done)) / 2 → last + (1 + np.cos(np.pi * done)) / 2
            You lifted the wave by `last` and kept its height: it begins above the full rate.
        last + (1 - last) * (1 + np.cos → np.maximum(last, (1 + np.cos ;; done)) / 2 → $)
            You cut the wave off at `last`; it should be squeezed, and reach it at the last step.
        last + (1 - last) * (1 + np.cos → last / rate + (1 - last / rate) * (1 + np.cos
            `last` is a share of the rate; you took it for a rate.
        t / max(warmup, 1) → (t - 1) / max(warmup, 1)
            Your line starts at 0 in step 1; it is 0 at step 0, so that step 1 moves already.
        t / max(warmup, 1) → t / (warmup + 1)
            Your line is full one step after `warmup`.
        t / max(warmup, 1), wave → t / max(warmup, 1) * wave, wave
            While the rate rises it falls at the same time.
        np.where(t < warmup, t / max(warmup, 1), wave) → np.minimum(t / max(warmup, 1), wave)
            You take the lower one of line and wave: while the rate rises the wave has no say.
        done = (t - warmup) / max(steps - warmup, 1) → done = t / steps
        np.where(t < warmup, t / max(warmup, 1), wave) → np.minimum(t / max(warmup, 1), wave)
            You take the lower one of the line and a wave that begins at step 0; the wave begins
            where the line ends.
        warmup, 1), wave → warmup, 1), np.sqrt(max(warmup, 1) / t)
            That is the inverse root, which needs no end; the exercise asks for a wave that ends at
            the last step.
        t / max(warmup, 1), wave → 1, wave
            There is no line: the first steps have the full rate.
        t / max(warmup, 1), wave → 0, wave
            The rate rises in a line; yours is 0 during the warm-up.
        t / max(warmup, 1), wave → (1 - np.cos(np.pi * t / max(warmup, 1))) / 2, wave
            The warm-up is a line; yours is a wave too.
        t / max(warmup, 1), wave → np.sqrt(t / max(warmup, 1)), wave
            The warm-up is a line; yours is a root.
        rate * np.where → np.where
            Those are shares of the rate.
        / max(steps - warmup, 1) → / (steps - warmup + 1)
            The wave would end one step after the last; at the last step it is at its end.
        wave = last → done = np.maximum(t - warmup - 1, 0) / max(steps - warmup - 1, 1); wave = last
            The wave was begun one step late; step `warmup` itself stands at its top.
        t / max(warmup, 1) → last + (1 - last) * t / max(warmup, 1)
            The line begins at 0, and not at `last` times the rate.
    """,
)
def rates(steps: int, warmup: int, rate: float, last: float) -> Array:
    """The learning rates of all steps: a line up, half a wave down."""
    t = np.arange(1, steps + 1)
    done = (t - warmup) / max(steps - warmup, 1)
    wave = last + (1 - last) * (1 + np.cos(np.pi * done)) / 2
    return rate * np.where(t < warmup, t / max(warmup, 1), wave)
