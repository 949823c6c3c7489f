"""Claims of chapter 16's deeper page: windows and layouts, safe shifts, sums that stop growing."""

from __future__ import annotations

from typing import Any

import numpy as np

from tformer import reference as ref
from tformer.claims.registry import claim, require
from tformer.claims.tools import near, show
from tformer.reference.blockwise import _fits


@claim(
    "prop-window",
    "numeric",
    mutants={
        "each query looks at its window alone": {"strip": False},
        "a layout sees the future of its block": {"causal": False},
    },
    scope="T, S ≤ 40; windows, blocks and layouts of many sizes",
)
def window(strip: bool = True, causal: bool = True) -> str:
    """Windows and layouts against the large mask; and the scores of each block are counted."""
    rng = np.random.default_rng(0)
    for n, m, wide, block, offset in (
        *((40, 40, 5, 8, 0), (23, 40, 9, 4, 17), (7, 3, 2, 50, 0), (1, 12, 4, 3, 11)),
        *((30, 30, 1, 7, 0), (12, 12, 30, 5, 0)),
    ):
        q, k, v = (rng.standard_normal((x, 4)) for x in (n, m, m))
        want = ref.attention(q, k, v, ref.sliding_window_mask(n, m, wide, offset))
        got = ref.window_attention(q, k, v, wide, offset, block=block)
        require(
            near(got, want, 1e-12), f"a window of {wide}: {show(got[-1])}, not {show(want[-1])}"
        )
        looked = _looked(n, m, wide, block, offset)
        most = n * (wide + block - 1 if strip else wide)
        require(looked <= most, f"{looked} scores, {n} queries, a window of {wide}")
        layout = rng.random((-(-n // block), -(-m // block))) < 0.5
        mask = np.kron(layout, np.ones((block, block), bool))[:n, :m]
        mask = mask & ref.causal_mask(n, m, offset) if causal else mask
        want = ref.attention(q, k, v, mask)
        got = ref.block_sparse_attention(q, k, v, layout, block, True, offset)
        far = float(np.abs(got - want).max())
        require(far < 1e-12, f"blocks of {block}: {far:.3g} from the mask")
    return "six sizes, windows and random layouts, within 1e-12; scores counted block by block"


def _looked(n: int, m: int, wide: int, block: int, offset: int) -> int:
    """How many scores the blocks of queries compute."""
    found = 0
    for start in range(0, n, block):
        stop = min(start + block, n)
        least = min(max(start + offset - wide + 1, 0), m)
        found += (stop - start) * max(min(stop + offset, m) - least, 0)
    return found


@claim(
    "prop-safe-shift",
    "numeric",
    mutants={
        "the mean length is a bound": {"largest": False},
        "the scale may be forgotten": {"scale": 0.1},
        "any score may be exponentiated as it is": {"safe": False},
    },
    scope="60 draws of all sizes, float32 and float64",
)
def safe_shift(largest: bool = True, scale: float = 1.0, safe: bool = True) -> str:
    """Scores against the bound; and where the bound allows it, exponentials without a shift."""
    for seed in range(60):
        rng = np.random.default_rng(seed)
        q, k = 10.0 ** rng.uniform(-1, 1) * rng.standard_normal((2, 9, 4))
        lengths = [np.linalg.norm(x, axis=1) for x in (q, k)]
        bound = scale * float(np.prod([x.max() if largest else x.mean() for x in lengths]))
        most = float(np.abs(q @ k.T).max())
        require(most <= bound + 1e-9, f"a score of {most:.2f}, and a bound of {bound:.2f}")
        v = rng.standard_normal((9, 2))
        for kind in (np.float32, np.float64):
            x: list[Any] = [one.astype(kind) for one in (q, k, v)]
            if safe and not _fits(x[0], x[1], x[2], 1.0):
                continue
            with np.errstate(all="ignore"):
                terms = np.exp(x[0] @ x[1].T)
                got = terms @ x[2] / terms.sum(axis=1, keepdims=True)
            want = ref.attention(q, k, v, scale=1.0)
            off = float(np.nan_to_num(np.abs(got - want), nan=9.0).max())
            require(off < (1e-3 if kind is np.float32 else 1e-10), f"draw {seed}: off by {off:.3g}")
    return "no score above the bound in 60 draws; where it allows it, no shift is needed"


@claim(
    "prop-swamped",
    "exhaustive",
    mutants={
        "float16 adds ones to the end of its range": {"stops": 65504},
        "float32 stops as early": {"wide": np.float16},
        "in blocks of 64 it stops as well": {"block": 1},
    },
    scope="every sum of ones, to 5,000; blocks of 64 and 2,048",
)
def swamped(stops: int = 2048, wide: type = np.float32, block: int = 64) -> str:
    """Ones are added in float16, one by one and block by block, and in float32."""
    total, wider = np.float16(0), wide(0)
    for n in range(1, 5001):
        total, wider = np.float16(total + np.float16(1)), wide(wider + wide(1))
        require(total == min(n, stops), f"after {n} ones the sum is {total:.0f}")
        require(wider == n, f"after {n} ones the wider sum is {wider:.0f}")
    total = np.float16(0)
    for _ in range(0, 4096, block):
        total = np.float16(total + np.float16(block))
    require(total == 4096, f"4096 ones in blocks of {block} sum to {total:.0f}")
    return "float16 stops at 2,048 and float32 does not; blocks of 64 reach 4,096"
