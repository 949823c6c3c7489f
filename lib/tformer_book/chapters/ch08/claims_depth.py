"""The claims of chapter 8 about depth: variance, and vectors that melt; squares in float16."""

from __future__ import annotations

from itertools import product

import numpy as np

from tformer import reference as ref
from tformer_book.chapters.ch08.rows import PLAIN
from tformer_book.claims.registry import claim, require
from tformer_book.claims.tools import Array, grid, near, show, simplex_grid


@claim(
    "thm-variance",
    "numeric",
    mutants={
        "pre-norm grows by a factor": {"pre_adds": False},
        "entries with a mean": {"mean": 0.5},
        "matrices not independent": {"tied": True},
    },
    scope="d ≤ 2, up to 3 layers, entries ±s/√d, every choice of signs",
)
def variance(pre_adds: bool = True, mean: float = 0.0, tied: bool = False) -> str:
    """Expectations over all choices of signs, which are sums and no samples; RMSNorm with ε 0."""
    tried = 0
    for (d, depth), s in product(((1, 1), (1, 2), (1, 3), (2, 1), (2, 2), (2, 3)), (0.5, 0.7)):
        count = d * d * (1 if tied else depth)
        signs = grid(count, (-1, 1)).reshape(-1, 1 if tied else depth, d, d)
        w = np.broadcast_to(signs, (len(signs), depth, d, d)) * s / d**0.5 + mean
        x = np.broadcast_to(np.array([1.5, -0.4])[:d], (len(w), 1, d))
        start = float(np.mean(x[0] ** 2))
        found = [_mean_square(x, w, order) for order in ("none", "pre", "post")]
        grown = start * (1 + s * s) ** depth
        want = [grown, start + s * s * depth if pre_adds else grown, 1.0]
        require(near(found, want, 1e-9), f"d = {d}, L = {depth}: {show(found)}, not {show(want)}")
        tried += 1
    return f"the exact mean over all signs of all entries, {tried} stacks, within 1e-9"


def _mean_square(x: Array, w: Array, order: str) -> float:
    """The mean square of the coordinates after all layers, over all stacks."""
    for layer in range(w.shape[1]):
        x = x + (_rms(x) if order == "pre" else x) @ w[:, layer]
        x = _rms(x) if order == "post" else x
    return float(np.mean(x * x))


def _rms(x: Array) -> Array:
    return x / np.sqrt(np.mean(x * x, axis=-1, keepdims=True))


@claim(
    "thm-melt",
    "numeric",
    mutants={
        "twice as fast": {"speed": 2},
        "the largest weight in the place of the least": {"least": np.max},
        "vectors that are added to melt as fast": {"added": True},
        "vectors that are added to melt more slowly, always": {"slower": True},
    },
    scope="weights in eighths (2 words), quarters (3); 200 stacks",
)
def melt(
    speed: float = 1, least: object = np.min, added: bool = False, slower: bool = False
) -> str:
    """All such tables on all columns of whole numbers; then layers one after the other."""
    tried, reached = 0, 0
    for n, parts, values in ((2, 8, range(-2, 3)), (3, 4, range(-1, 2))):
        shares = simplex_grid(n, parts)
        columns = grid(n, values).T
        for chosen in product(range(len(shares)), repeat=n):
            a = shares[list(chosen)]
            delta = float(least(a))  # type: ignore[operator]
            before, after = np.ptp(columns, axis=0), np.ptp(a @ columns, axis=0)
            most = max(0.0, 1 - speed * n * delta) * before
            worst = int((after - most).argmax())
            said = f"weights {show(a)} leave {show(columns[:, worst])} {after[worst]:.3g} apart"
            require(after[worst] <= most[worst] + 1e-12, f"{said}, not {most[worst]:.3g}")
            both = np.ptp(columns + a @ columns, axis=0) / 2
            slow = (1 - n * delta * (1 if added else 0.5)) * before
            require((both <= slow + 1e-12).all(), f"weights {show(a)}, added: {both.max():.3g}")
            require((both >= after - 1e-12).all() or not slower, f"weights {show(a)}: not slower")
            tried, reached = tried + 1, reached + bool(np.any(near(after, most)))
    for seed in range(200):
        rng = np.random.default_rng(seed)
        x, bound = rng.standard_normal((4, 3)), 1.0
        apart = np.ptp(x, axis=0)
        for _ in range(5):
            a = ref.softmax(rng.standard_normal((4, 4)))
            x, bound = a @ x, bound * max(0.0, 1 - speed * 4 * float(least(a)))  # type: ignore[operator]
        require((np.ptp(x, axis=0) <= bound * apart + 1e-12).all(), f"stack {seed}")
    return f"{tried} tables of weights, alone and added to the vectors; 200 stacks of five tables"


@claim(
    "prop-half",
    "exhaustive",
    mutants={
        "from 181 on": {"limit": 181.0},
        "the format float32": {"wide": True},
    },
    scope="all 63,488 finite numbers of float16",
)
def half(limit: float = 256.0, wide: bool = False) -> str:
    """Every finite number squared; the norm of a vector that holds it, computed in float16."""
    x = np.arange(2**16, dtype=np.uint16).view(np.float16)
    x = x[np.isfinite(x)]
    kind = np.float32 if wide else np.float16
    with np.errstate(over="ignore", under="ignore"):
        squares = x.astype(kind) ** 2
    off = np.isinf(squares) != (abs(x) >= limit)
    where = float(abs(x[off]).min()) if off.any() else 0.0
    require(not off.any(), f"the square of {where:g} is {'' if where < limit else 'not '}inf")
    with np.errstate(over="ignore"):
        rows = np.stack([x, np.ones_like(x)], axis=-1)[abs(x) >= limit]
        naive = rows / np.sqrt((rows * rows).mean(axis=-1, keepdims=True) + np.float16(1e-5))
    require(not naive.any(), "a vector with such a number does not become 0")
    n = ref.rms_norm(rows, PLAIN).astype(float)
    require(near((n * n).mean(axis=-1), 1, 2e-3), "the library's norm is off")
    return (
        f"{len(x)} squares; {len(rows)} vectors with such a number become 0 by the formula in "
        "float16, and vectors of mean square 1 within 2e-3 in the library, which computes in "
        "float32"
    )
