"""The claims of chapter 7, position: a bias by distance, and no encoding at all."""

from __future__ import annotations

from math import exp

import numpy as np

from tformer import reference as ref
from tformer.claims.registry import claim, require
from tformer.claims.tools import grid, near, show

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
    "exhaustive",
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
