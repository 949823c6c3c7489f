"""The claims of chapter 14: what Adam's parts do, what clipping keeps, and what makes one curve."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import sympy as sp

from tformer_book.claims.registry import claim, require
from tformer_book.claims.tools import identity, near
from tformer_book.experiments.training import Adam

PAIRS = ((0.9, 0.95), (0.9, 0.999), (0.5, 0.5), (0.3, 0.9))
FIRST, SECOND, RATE, DECAY = sp.symbols("beta1 beta2 eta lambda", positive=True)


def moves(gradients: Any, betas: tuple[float, float], eps: float = 0.0) -> list[float]:
    """What Adam makes of the gradients of one number, before the rate."""
    adam = Adam([np.zeros(1)], betas, eps)
    return [float(adam.moves([np.array([float(g)])])[0][0]) for g in gradients]


@claim(
    "thm-adam",
    "symbolic",
    mutants={
        "the averages need no correction": {"corrected": False},
        "half the loss, half the move": {"power": 1},
        "no move is larger than the rate": {"most": 1.0},
    },
    scope="t ≤ 5, symbols; four pairs of β, t ≤ 60; the library",
)
def adam(corrected: bool = True, power: int = 0, most: float | None = None) -> str:
    """Averages for symbols; then the library's moves, random ones and those that are largest."""
    g = sp.Symbol("g")
    mean = square = sp.Integer(0)
    for t in range(1, 6):
        mean = FIRST * mean + (1 - FIRST) * g
        square = SECOND * square + (1 - SECOND) * g**2
        by = (1 - FIRST**t, 1 - SECOND**t) if corrected else (1, 1)
        identity(mean / by[0], g, f"the mean after {t} steps")
        identity(square / by[1], g**2, f"the mean square after {t} steps")
    rng = np.random.default_rng(14)
    for betas in PAIRS:
        drawn = rng.standard_normal(60)
        for c in (0.5, 1e-4, 2.0**20):
            got, want = moves(c * drawn, betas), np.array(moves(drawn, betas))
            off = float(np.abs(got - c**power * want).max())
            require(off < 1e-9, f"gradients times {c:g}: moves differ by {off:.3g}")
        for t in (1, 2, 10, 60):
            bound = largest(*betas, t) if most is None else most
            some = np.vstack([rng.standard_normal((200, t)), worst(*betas, t)])
            got = [abs(moves(row, betas)[-1]) for row in some]
            require(max(got) <= bound + 1e-9, f"{betas}, step {t}: a move of {max(got):.4f}")
            require(near(got[-1], bound, 1e-9), f"{betas}, step {t}: {got[-1]:.4f}, not {bound}")
    return (
        "constant gradients give exact averages; rescaled losses give the same moves; 800 rows of "
        "gradients for each pair stay within the bound, and one row attains it"
    )


def largest(first: float, second: float, t: int) -> float:
    """The largest move of Adam at step t, over the rate, whatever the gradients were."""
    ages = np.arange(t)
    whole = ((1 - first) ** 2 / (1 - second) * (first**2 / second) ** ages).sum()
    return float(math.sqrt(whole * (1 - second**t)) / (1 - first**t))


def worst(first: float, second: float, t: int) -> np.ndarray:
    """The gradients that make it."""
    return (first / second) ** np.arange(t)[::-1].astype(float)


@claim(
    "prop-decay",
    "symbolic",
    mutants={
        "two steps under gradient descent": {"other": 1},
        "one step under Adam": {"apart": False},
        "both forget the scale of the loss": {"scaled": True},
    },
    scope="symbols; 40 steps of the library on random gradients",
)
def decay(other: int = 0, apart: bool = True, scaled: bool = False) -> str:
    """Gradient descent by symbols; then Adam with both decays, small and large losses."""
    x, g = sp.symbols("x g")
    inside, outside = x - RATE * (g + DECAY * x), (1 - RATE * DECAY) * x - RATE * g
    identity(inside, outside + other * RATE, "a step of gradient descent")
    for share in (0.0, 0.1, 0.3):
        got = _run(np.ones(1), inside=share)
        want = 1 - RUN if apart else _run(np.ones(1), decay=share)
        require(near(got, want, 1e-9), f"decay {share} inside: {got:.4f}, not {want:.4f}")
    draws = np.random.default_rng(0).standard_normal(40)
    one, same = _run(draws, decay=0.3), _run(draws, inside=0.3)
    for c in (1e-3, 1.0, 1e3):
        got = _run(c * draws, decay=0.3)
        require(near(got, one, 1e-9), f"loss times {c:g}: {got:.4f} apart, {one:.4f} before")
        got, want = _run(c * draws, inside=0.3), _run(draws, inside=0.3 / c)
        require(near(got, want, 1e-9), f"loss times {c:g}: {got:.4f}, not {want:.4f}")
        require(not scaled or near(got, same, 1e-9), f"loss times {c:g}: {got:.4f}, not {same:.4f}")
    return (
        "gradient descent takes the same step for symbols; Adam's first step is the same for "
        "three decays inside the gradient; three scales of the loss"
    )


RUN = 0.05
"""The rate of these runs."""


def _run(draws: np.ndarray, inside: float = 0.0, decay: float = 0.0) -> float:
    """Where one number stands that began at 1 and saw these gradients, with both decays."""
    x = np.ones(1)
    adam = Adam([x], eps=0.0, decay=decay)
    for grad in draws:
        adam.step([grad + inside * x], RUN)
    return float(x[0])


@claim(
    "prop-clip",
    "numeric",
    mutants={
        "each tensor by itself": {"whole": False},
        "the mean of clipped gradients is the clipped mean": {"mean": True},
        "a sphere, not a ball": {"ball": False},
    },
    scope="200 random lists of three tensors, of every length; PyTorch",
)
def clip(whole: bool = True, mean: bool = False, ball: bool = True) -> str:
    """Directions and lengths by PyTorch's own clipping, and other points of the ball."""
    import torch
    from torch.nn.utils import clip_grad_norm_

    rng, turned = np.random.default_rng(1), 0
    for trial in range(200):
        parts = [rng.standard_normal(n) * 10.0 ** rng.uniform(-3, 2) for n in (1, 4, 30)]
        numbers = [torch.zeros(len(x), dtype=torch.float64) for x in parts]
        for x, g in zip(numbers, parts, strict=True):
            x.grad = torch.from_numpy(g.copy())
        for some in [numbers] if whole else [[x] for x in numbers]:
            clip_grad_norm_(some, 1.0)
        g, got = (
            np.concatenate(parts),
            np.concatenate([x.grad for x in numbers if x.grad is not None]),
        )
        size = float(np.linalg.norm(g))
        cosine = float(g @ got / size / np.linalg.norm(got))
        require(cosine > 1 - 1e-9, f"trial {trial}: the cosine with the gradient is {cosine:.4f}")
        want = min(size, 1.0) if ball else 1.0
        require(near(np.linalg.norm(got), want, 1e-5), f"length {np.linalg.norm(got):.4f}")
        others = rng.standard_normal((50, len(g)))
        others /= np.maximum(np.linalg.norm(others, axis=1, keepdims=True), 1)
        nearest = np.linalg.norm(others - g, axis=1).min()
        require(np.linalg.norm(got - g) <= nearest + 1e-5, f"a point at {nearest:.4f} is nearer")
        again = [shortened(one) for one in (g, -0.5 * g + 1e-9)]
        both = shortened((g - 0.5 * g) / 2)
        apart = float(np.linalg.norm(np.mean(again, axis=0) - both))
        turned += apart > 0.1
        require(not mean or apart < 1e-6, f"means differ by {apart:.4f}")
    require(turned > 0, f"{turned} means differ")
    return f"200 lists keep their direction; no other point of the ball is nearer; {turned} means"


def shortened(g: np.ndarray, most: float = 1.0) -> np.ndarray:
    """A gradient, clipped."""
    return g * min(1.0, most / float(np.linalg.norm(g)))


@claim(
    "prop-lost",
    "numeric",
    mutants={
        "lost only below a quarter of that": {"lost": 0.25, "kept": 0.25},
        "lost up to twice that": {"lost": 2.0},
        "all above half of that arrive": {"kept": 0.5},
    },
    scope="all normal float16 and bfloat16 in [1, 4); 10,000 of float32",
)
def lost(lost: float = 1.0, kept: float = 1.0) -> str:
    """Every number of two octaves, up and down, just below and above the two bounds."""
    import torch

    tried = 0
    for name, bits in (("float16", 11), ("bfloat16", 8), ("float32", 24)):
        kind = getattr(torch, name)
        n = min(2 ** (bits - 1), 5000)
        steps = torch.arange(n, dtype=torch.float64) * 2.0 ** (1 - bits)
        x = torch.cat([1 + steps, 2 + 2 * steps]).to(kind)
        for sign in (1, -1):
            for bound, share, arrives in (
                (2.0 ** (-bits - 1) * lost, 0.999, False),
                (2.0**-bits * kept, 1.001, True),
            ):
                exact = x.double() + sign * bound * share * x.double()
                moved = exact.to(kind) != x
                wrong = int((moved != arrives).sum())
                first = float(x[(moved != arrives).int().argmax()])
                require(
                    not wrong,
                    f"{name}: {wrong} of {len(x)} {'stay' if arrives else 'move'}, first {first}",
                )
                tried += len(x)
    return f"{tried} sums, rounded to the nearest; below the first bound none moves, above all do"


@claim(
    "prop-one-curve",
    "numeric",
    mutants={
        "a mean of the parts' means": {"by_parts": True},
        "batches from one stream of draws": {"streamed": True},
        "moments begin anew": {"forgotten": "moments"},
        "the scale of the loss begins anew": {"forgotten": "scale"},
    },
    scope="24 steps; 1, 2 and 7 parts; stopped at 2 places; float16",
)
def one_curve(by_parts: bool = False, streamed: bool = False, forgotten: str = "") -> str:
    """The library's loop: whole, in parts, and stopped and gone on with; in sixteen bits too."""
    import tempfile

    from tformer_book.chapters.ch14 import curve

    whole = curve.losses(curve.RECIPE)
    for parts in (2, 7):
        recipe = replace(curve.RECIPE, accumulate=parts)
        got = curve.by_means(parts) if by_parts else curve.losses(recipe)
        off = float(np.abs(np.subtract(got, whole)).max())
        require(off < 1e-9, f"in {parts} parts the losses differ by {off:.3g}")
    for recipe, stop in product((curve.RECIPE, curve.HALF), (5, 23)):
        want = curve.losses(recipe)
        with tempfile.TemporaryDirectory() as folder:
            got = curve.resumed(folder, stop, streamed, forgotten, recipe)
            halved = recipe is curve.RECIPE or forgotten or curve.scale(folder) < 2**16
        require(halved, "in 24 steps of sixteen bits no scaled gradient overflows")
        off = float(np.abs(np.subtract(got, want)).max())
        said = f"{recipe.precision}, stopped after step {stop}: the losses differ by {off:.1g}"
        require(off == 0, said)
    return (
        "parts agree within 1e-9; trainings that were stopped end the same, to the last bit, in "
        "sixteen bits too, where steps are left out and the scale is halved"
    )
