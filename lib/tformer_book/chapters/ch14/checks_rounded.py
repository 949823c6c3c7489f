"""Exercise 14.5: gradients that float16 loses, and what saves them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tformer_book.exercises.kinds import Several
from tformer_book.exercises.registry import exercise
from tformer_book.exercises.table import Case, case

Array = np.ndarray


def _small_numbers() -> Iterator[Case]:
    small = "2⁻²⁶ becomes 0; so does 2⁻²⁵, halfway between 0 and 2⁻²⁴; 2⁻²⁴ is a number of float16."
    said = "grads = (1, 2⁻²⁶, 0)"
    yield case(grads=[1, 2.0**-26, 0], said=said, want=(1, 4, 0), why=small)
    fine = "Nothing is lost: the scale is 1."
    yield case(grads=[0.5, -3, 0], want=(0, 1, 0), why=fine)
    yield case(grads=[0, 0], want=(0, 1, 0), why="Zeros are no loss.")
    low = "Below 2⁻¹⁴ = 6.1e-05 numbers of float16 lose digits, and are not lost."
    yield case(grads=[1e-6, -2e-7, 1e-3], want=(0, 1, 0), why=low)
    half = "Above 2⁻²⁵ a number is rounded up to 2⁻²⁴."
    above = "grads = (1.5 · 2⁻²⁵, −1.5 · 2⁻²⁵)"
    yield case(grads=[1.5 * 2.0**-25, -1.5 * 2.0**-25], said=above, want=(0, 1, 0), why=half)
    said = "grads = (2⁻²⁵ + 2⁻⁵⁵, 65,520 − 2⁻³⁰)"
    twice = "Both lie just on this side of a border: they are 2⁻²⁴ and 65,504 in float16."
    yield case(grads=[2.0**-25 + 2.0**-55, 65520 - 2.0**-30], said=said, want=(0, 1, 0), why=twice)
    tie = "2⁻²⁵ lies halfway between 0 and 2⁻²⁴, and goes to 0."
    yield case(grads=[2.0**-25], said="grads = (2⁻²⁵)", want=(1, 2, 0), why=tie)
    both = "What saves the smallest takes the largest beyond 65,504: they are 2⁴⁰ apart."
    yield case(grads=[-200, 3e-9, 40, -1e-10], why=both)
    yield case(grads=[-1e-8, 3e-8, 2e-3], why="Gradients below 0 are lost as well.")
    edge = "65,519 is rounded to 65,504, and 65,520 to ∞."
    yield case(grads=[65519, 65520, -65520, 1e5], want=(0, 1, 3), why=edge)
    beyond = "From 65,520 on all are infinite; 65,536 is no bound."
    yield case(grads=[65520, -65530, 7e4, 2e5], want=(0, 1, 4), why=beyond)
    far = "The scale may be beyond 65,504 itself; numbers are multiplied before they are rounded."
    for grads in ([1.7e-13, 0.1], [1e-20, 1e-3], [1e-20, 2.9e-8]):
        yield case(grads=grads, why=far)
    twice = "Two equal gradients are two: 1e-9 · 32 is above 2⁻²⁵ = 2.98e-08."
    yield case(grads=[1e-9, 1e-9, 1], want=(2, 32, 0), why=twice)
    said, one = (
        "grads = 999 times 1 and once 1e-9",
        "One of a thousand is lost, and none should be.",
    )
    yield case(grads=[1.0] * 999 + [1e-9], said=said, want=(1, 32, 0), why=one)
    tiny = "Gradients may be as small as 1e-25."
    yield case(grads=[1e-25, -1e-25], why=tiny)
    rng = np.random.default_rng(4)
    for centre in (-7.0, -9.0):
        table = (10 ** rng.normal(centre, 1.2, (2, 4)) * rng.choice([-1, 1], (2, 4))).astype(float)
        table = np.array([[float(f"{x:.3g}") for x in row] for row in table])
        yield case(grads=table, why="Some are lost and some are not; the shape has no say.")


def _as_large_as_can_be(grads: Array) -> tuple[int, float, int]:
    large = np.abs(grads).max()
    scale = 2.0 ** max(0, np.floor(np.log2(65504 / large))) if large else 1.0
    return saved(grads)[0], scale, int(np.isinf((scale * grads).astype(np.float16)).sum())


def _for_the_smallest(grads: Array) -> tuple[int, float, int]:
    lost, _, infinite = saved(grads)
    return (lost, *saved(grads[np.abs(grads) == np.abs(grads).min()])[1:2], infinite)


@exercise(
    "14.5",
    praise="Ties between 0 and the smallest number, digits lost, overflow, zeros, signs.",
    hints=(
        "x.astype(np.float16) rounds as the hardware does: where is what comes out 0?",
        "Only what was not 0 before can be lost. Double the scale while anything is lost.",
        "np.isinf after rounding at the scale you found counts what the scale has cost.",
    ),
    cases=_small_numbers,
    kind=Several(names=("lost", "scale", "infinite"), scalars=True),
    mutants={
        "That is the largest scale that the largest gradient allows; the exercise asks for the "
        "smallest that saves all.": _as_large_as_can_be,
        "You look at the smallest gradient, and 0 is smaller than any: look at those that are not "
        "0.": _for_the_smallest,
    },
    slips="""
        (grads != 0) & (small == 0) → small == 0
            You count zeros among the lost; they were 0 before, and no scale saves them.
        small == 0 → np.abs(scale * grads) < 2.0**-14
            You stop at the smallest normal number, 2⁻¹⁴. Below it float16 has fewer digits, down to
            2⁻²⁴, and what is rounded up to that is not lost.
        small == 0 → np.abs(scale * grads) < 2.0**-24
            You count all below 2⁻²⁴; what lies above its half, 2⁻²⁵, is rounded up to it.
        small == 0 → np.abs(scale * grads) < 2.0**-25
            2⁻²⁵ itself lies halfway between 0 and 2⁻²⁴, and is rounded to 0.
        grads != 0 → grads > 0
            Gradients below 0 can be lost as well.
        np.float16 → np.float32
            float32 has numbers down to 1e-45; the exercise asks for float16.
        scale, np.isinf(small).sum() → max(scale, 2), np.isinf(small).sum()
            You begin with the scale 2; if nothing is lost, it is 1.
        scale *= 2 → scale *= 10
            The scale should be a power of 2: then scaling changes no digit.
        scale *= 2 → scale *= 4
            You go up in steps of 4, and jump over a scale that would do.
        scale *= 2 → scale += 1
            The scale should be a power of 2.
        gone.any() → gone.all()
            You stop as soon as one gradient is saved; none should be lost.
        gone.any() → gone.mean() > 0.01
            You stop when most are saved: with your scale a few are still lost, and none should be.
        (scale * grads).astype( → (scale * grads).astype(np.float32).astype(
            You round twice, first to float32: there 2⁻²⁵ + 2⁻⁵⁵ becomes 2⁻²⁵, which is lost.
        gone.sum() if first is None else first → gone.sum()
            You count the lost at the scale that was found; how many are lost without one?
        first, scale, np.isinf(small).sum() → first, scale, (np.abs(grads) >= 65520).sum()
            You count overflow without the scale; it is asked for at the scale.
        np.isinf(small).sum() → (np.abs(scale * grads) > 65504).sum()
            Numbers below 65,520 are rounded to 65,504 at most, and are not infinite.
        np.isinf(small).sum() → (small == np.inf).sum()
            −∞ is infinite as well.
        np.isinf(small).sum() → (np.abs(scale * grads) >= 65536).sum()
            Numbers from 65,520 on become infinite.
        gone.sum() if first is None → np.any(gone, axis=-1).sum() if first is None
            You counted each row once, however many of its numbers are lost.
        gone.sum() if first is None → np.unique(grads[gone]).size if first is None
            You counted equal gradients once; each of them is lost.
        first, scale, np.isinf(small).sum() → first, np.log2(scale), np.isinf(small).sum()
            That is the exponent; the exercise asks for the scale.
        first, scale, np.isinf(small).sum() → first, scale / 2, np.isinf(small).sum()
            At half of that scale something is still lost.
        first, scale, np.isinf(small).sum() → first > 0, scale, np.isinf(small).any()
            The exercise asks how many, and not whether any.
        first, scale, np.isinf(small).sum() → first / gone.size, scale, np.isinf(small).mean()
            Those are shares; the exercise asks how many.
        first, scale, np.isinf(small).sum() → np.isinf(small).sum(), scale, first
            The lost come first, and the infinite last.
    """,
)
def saved(grads: Array) -> tuple[int, float, int]:
    """How many are lost, the least scale at which none is, and how many are infinite there."""
    scale: float = 1.0
    first: Any = None
    for _ in range(200):
        small = (scale * grads).astype(np.float16)
        gone = (grads != 0) & (small == 0)
        first = gone.sum() if first is None else first
        if not gone.any():
            break
        scale *= 2
    return first, scale, np.isinf(small).sum()
