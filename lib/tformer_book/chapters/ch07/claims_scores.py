"""The claims of chapter 7, position: a bias by distance, no encoding, the number of keys."""

from __future__ import annotations

from math import exp

import numpy as np

from tformer import reference as ref
from tformer_book.claims.registry import claim, require
from tformer_book.claims.tools import Array, grid, near, show, sizes

HEADS = 8
"""Heads of ALiBi in the trials: slopes 1/2 to 1/256."""


@claim(
    "thm-alibi",
    "numeric",
    mutants={"no factor for the words": {"factor": 0.0}, "one place more": {"places": 1}},
    scope="all contents in a grid, up to 6 keys; eight slopes",
)
def alibi(factor: float = 1.0, places: int = 0) -> str:
    """The library's biases under every content in a small grid, and at lengths up to 1024; with
    equal contents the bound is reached but for the end of the text.
    """
    slopes, tried = ref.alibi_slopes(HEADS), 0
    for n in (1, 2, 4, 6):
        for content in (0.0, 1.0, 3.0):
            scores = grid(n, (0.0, content))
            bias = ref.alibi_bias(HEADS, 1, n, offset=n - 1)
            a = ref.softmax(scores[:, None] + bias[:, 0])
            gaps = np.ptp(scores, axis=-1)[:, None]
            for r in range(n):
                far = a[..., : n - 1 - r].sum(axis=-1)
                bound = np.exp(factor * gaps - slopes * (r + 1 + places))
                worst = np.unravel_index((far - bound).argmax(), far.shape)
                numbers = (
                    f"{far[worst]:.4f} > {bound[worst]:.4f}, contents {show(scores[worst[0]])}"
                )
                require(far[worst] <= bound[worst] + 1e-12, f"{r} places back: {numbers}")
                tried += far.size
    for n in (16, 1024):
        a = ref.softmax(ref.alibi_bias(HEADS, 1, n, offset=n - 1)[:, 0])
        ratio = a[:, 1:] / a[:, :-1]
        require(near(ratio, np.exp(slopes)[:, None], 1e-12), f"ratios {show(ratio[:, 0])}")
        reached = a[0, : n - 4].sum()
        require(near(reached, exp(-4 * slopes[0]), 1e-2), f"equal contents: {reached:.4f}")
    return (
        f"{tried} cases of contents in grids, up to 6 keys, slopes 1/2 to 1/256; equal contents: "
        "each key e^μ times the one before it, up to 1024 keys, within 1e-12"
    )


@claim(
    "thm-counting",
    "numeric",
    mutants={
        "no mask": {"causal": False},
        "the second word is marked as well": {"marked": 2},
        "one word of many differs": {"alike": False},
    },
    scope="texts of up to 64 words; three layers",
)
def counting(causal: bool = True, marked: int = 1, alike: bool = True) -> str:
    """Both parts by the library; the second with three random layers, each with its residual."""
    for n in range(1, 65):
        values = (np.arange(n) < marked).astype(float)[:, None]
        mask = np.tri(n, dtype=bool) if causal else None
        y = ref.attention(np.ones((n, 2)), np.zeros((n, 2)), values, mask=mask)[:, 0]
        t = int(abs(y - 1 / np.arange(1, n + 1)).argmax())
        require(near(y, 1 / np.arange(1, n + 1), 1e-15), f"word {t + 1} of {n} gets {y[t]:.4f}")
    rng = np.random.default_rng(0)
    for n in (1, 2, 7, 64):
        x = np.tile(rng.standard_normal((1, 4)), (n, 1))
        x[: n // 2] += 0 if alike else 1
        for w in rng.standard_normal((3, 3, 4, 4)):
            q, k, v = (x @ part for part in w)
            x = x + ref.attention(q, k, v, mask=np.tri(n, dtype=bool))
        numbers = f"the first {show(x[0])}, the last {show(x[-1])}"
        require(near(x, x[0], 1e-9 * abs(x).max()), f"{n} words: {numbers}")
    return "1/t for all t ≤ n ≤ 64 within 1e-15; alike words stay alike through three layers"


@claim(
    "prop-disperses",
    "numeric",
    mutants={
        "half the spread": {"factor": 0.5},
        "hidden keys are counted": {"hidden": True},
    },
    scope="scores in a grid, up to 5 keys, every mask; Δ up to 700",
)
def disperses(factor: float = 1.0, hidden: bool = False) -> str:
    """All four bounds, hidden keys left out; the two in the middle are also reached, by one key
    that leads or trails all others, for one key alone, for ties, and for scores far apart.
    """
    tried = 0
    for n in sizes(5):
        scores = grid(n, (0.0, 1.0, 3.0))
        for mask in grid(n, (0, 1)).astype(bool)[1:]:
            a = ref.attention_weights(np.ones((1, 1)), scores[..., None], mask=mask[None])[:, 0]
            seen, keys = a[:, mask], n if hidden else int(mask.sum())
            bounds = np.array(_bounds(keys, factor * np.ptp(scores[:, mask], axis=-1)))[..., None]
            low, high = bounds[1] - 1e-12, bounds[2] + 1e-12
            i = int(np.maximum(low - seen, seen - high).max(axis=-1).argmax())
            numbers = f"{show(seen[i])} is not within {low[i, 0]:.4f} and {high[i, 0]:.4f}"
            require(((low <= seen) & (seen <= high)).all(), f"{show(scores[i][mask])}: {numbers}")
            require((np.diff(bounds, axis=0) >= -1e-12).all(), "the four bounds are not in order")
            tried += len(scores)
    for n in (1, 2, 32, 256, 4096):
        for gap in (0.0, 1e-9, 1.0, 5.5, 40.0, 700.0):
            gap *= n > 1  # a single key differs from no other
            _, least, most, _ = _bounds(n, np.array(factor * gap))
            leads, trails = (ref.softmax(sign * gap * np.eye(1, n)[0])[0] for sign in (1, -1))
            says = f"{n} keys, {gap:g} apart: {show((trails, leads))}, not {show((least, most))}"
            require(near(leads, most) and near(trails, least, 1e-12 * trails), says)
    return f"{tried} rows of scores and masks; one key leads or trails up to {n} keys by up to 700"


def _bounds(n: int, gap: Array) -> tuple[Array, Array, Array, Array]:
    """What the weight of one of n keys lies between: (least, reached, reached, most)."""
    small = np.exp(-gap)
    return small / n, small / (small + n - 1), 1 / (1 + (n - 1) * small), 1 / small / n
