"""The claims of chapter 12: difference quotients, one curve of two libraries, and what is kept."""

from __future__ import annotations

from itertools import product

import numpy as np

from tformer import reference
from tformer.configuration import Configuration
from tformer_book.chapters.ch12.kept import numbers_of_block, read, there_and_back
from tformer_book.chapters.ch12.learning import DECAY, by_hand, by_torch
from tformer_book.chapters.ch12.small import as_model, drawn, surprise
from tformer_book.claims.registry import claim, require
from tformer_book.claims.tools import near

PLACES = (-1.5, -0.3, 0.0, 0.7, 2.0)
BEYOND = ("x2", "guess", "came", "tokens")
"""What the way back reads of the loss and the head, not of the block."""


@claim(
    "prop-differences",
    "numeric",
    mutants={
        "half of the truncation": {"sixth": 12},
        "half of the rounding": {"rounding": 0.5},
        "the best step is a square root": {"power": 0.5},
    },
    scope="x³, sin and exp at 5 places, errors of either sign",
)
def differences(sixth: int = 6, rounding: float = 1.0, power: float = 1 / 3) -> str:
    """The worst case of both errors; then no step of a fine grid is better than the best.

    Both values are off by one number, in the directions that hurt most.
    """
    cubic = (lambda x: x**3, lambda x: 3 * x**2, lambda x, h: 6.0)
    sine = (np.sin, np.cos, lambda x, h: 1.0)
    exponential = (np.exp, np.exp, lambda x, h: np.exp(x + h))
    for (f, slope, third), x in ((one, x) for one in (cubic, sine, exponential) for x in PLACES):
        for h in (0.5, 0.1, 1e-2, 1e-3):
            for off in (1e-3, -1e-3, 1e-6, -1e-6):
                got = (f(x + h) + off - f(x - h) + off) / (2 * h)
                bound = h * h * third(x, h) / sixth + rounding * abs(off) / h
                error = abs(got - slope(x))
                require(error <= bound + 1e-9, f"x = {x}, h = {h}: {error:.3g} above {bound:.3g}")
    for most, off in ((6.0, 1e-6), (1.0, 1e-12), (50.0, 1e-3)):
        best = (3 * off / most) ** power
        steps = best * np.linspace(0.2, 5, 2001)
        bounds = steps**2 * most / 6 + off / steps
        least = best**2 * most / 6 + off / best
        require(least <= bounds.min() + 1e-15, f"a step of {steps[bounds.argmin()]:.3g} is better")
        require(near(least / ((9 * off**2 * most) ** (1 / 3) / 2), 1, 1e-9), f"least {least:.3g}")
    return "240 quotients with errors of either sign within the bound, which x³ reaches; 3 minima"


@claim(
    "exm-one-curve",
    "numeric",
    mutants={
        "the second library in float32": {"single": True},
        "the second library without decay": {"decay": 0.0},
    },
    scope="40 steps of AdamW on 8 stories each, 2 blocks, width 16",
)
def one_curve(single: bool = False, decay: float = DECAY) -> str:
    """The largest difference of the two losses, step by step; and that something was learned."""
    ours, theirs = by_hand(40), by_torch(40, single, decay)
    worst = float(np.abs(ours - theirs).max())
    rounded = f"more than {10.0 ** np.floor(np.log10(worst)):.0e}"  # rounding is the machine's
    said = f"{worst:.2g}" if worst > 1e-5 else rounded
    require(worst <= 1e-10, f"the losses differ by {said}")
    require(ours[0] > 4.4 > 1.3 > ours[-1], f"from {ours[0]:.3g} to {ours[-1]:.3g}")
    return "the two losses before each of 40 steps, from the same first parameters, within 1e-10"


@claim(
    "prop-kept",
    "exhaustive",
    mutants={
        "the scores are kept too": {"tables": 2},
        "the hidden units are kept once": {"hidden": 1},
        "without the norms' results": {"rows": 2},
        "one table of weights for all heads": {"by_head": 0},
        "every head has the width of all": {"wide": 1},
    },
    scope="H, T, d_model, d_k and d_ff up to 3, all 243 sizes",
)
def kept(tables: int = 1, hidden: int = 2, rows: int = 4, by_head: int = 1, wide: int = 0) -> str:
    """The way back is watched: which intermediates does it ask for? Then the two crossings."""
    for H, T, d, d_k, d_ff in product((1, 2, 3), repeat=5):
        found = read(T, d, d_k, d_ff, H)
        got = sum(size for name, size in found.items() if name not in BEYOND)
        width = H ** (1 + wide) * d_k
        want = T * (rows * d + 4 * width + hidden * d_ff) + tables * H**by_head * T**2
        sizes = f"H = {H}, T = {T}, d = {d}, d_k = {d_k}, d_ff = {d_ff}"
        require(got == want, f"{sizes}: {got} numbers are read, not {want}")
        require(got == numbers_of_block(T, d, H * d_k, d_ff, H), f"{sizes}: the program's formula")
    for H in (1, 2, 3):
        _is_the_model(H)
    for width, n_heads in ((64, 4), (768, 12), (96, 6)):
        even = 16 * width // n_heads
        whole = numbers_of_block(even, width, width, 4 * width, n_heads)
        require(whole == 2 * n_heads * even**2, f"at {even} words the table is not half")
    return "the numbers that the way back reads of a block are those of the formula, at 243 sizes"


def _is_the_model(n_heads: int) -> None:
    """What is watched is the library's decoder, and its gradient that of the loss."""
    p = {name: 0.3 * x for name, x in drawn(0, d_k=2 * n_heads).items()}
    tokens = np.random.default_rng(1).integers(0, 7, (2, 6))
    f, d, _ = there_and_back(p, tokens, n_heads)
    c = Configuration(norm="rms", activation="gelu", positions="none")
    logits = reference.decoder(tokens[:, :-1], as_model(p, n_heads), c)
    require(near(logits, f["z"]), f"with {n_heads} heads it is another model")
    for name, x in p.items():
        move = np.random.default_rng(2).standard_normal(x.shape)
        up, down = (
            surprise(there_and_back(p | {name: x + by * move}, tokens, n_heads)[0])
            for by in (1e-5, -1e-5)
        )
        slope, want = (up - down) / 2e-5, float((d[name] * move).sum())
        require(near(slope, want, 1e-6), f"{n_heads} heads, {name}: {want:.6g}, not {slope:.6g}")
