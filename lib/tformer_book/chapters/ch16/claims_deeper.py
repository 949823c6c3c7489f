"""Claims of chapter 16's deeper page: windows and layouts, safe shifts, sums that stop growing."""

from __future__ import annotations

import math

import numpy as np

from tformer import reference as ref
from tformer.reference.blockwise import _exp_in_range, _ScoreBias
from tformer_book.claims.registry import claim, require
from tformer_book.claims.tools import near, show


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
        spans = _ScoreBias(None, None, True, offset, wide).spans(n, m, block)
        looked = sum(_size(rows) * _size(cols) for rows, keys in spans for cols in keys)
        most = n * (wide + block - 1 if strip else wide)
        require(looked <= most, f"{looked} scores, {n} queries, a window of {wide}")
        layout = rng.random((-(-n // block), -(-m // block))) < 0.5
        table = np.kron(layout, np.ones((block, block), bool))[:n, :m]
        for past in (True, False):
            mask = table & ref.causal_mask(n, m, offset) if past and causal else table
            want = ref.attention(q, k, v, mask)
            got = ref.block_sparse_attention(q, k, v, layout, block, past, offset)
            far = float(np.abs(got - want).max())
            require(far < 1e-12, f"blocks of {block}: {far:.3g} from the mask")
    return "six sizes, windows and random layouts, within 1e-12; scores counted block by block"


def _size(span: slice) -> int:
    return int(span.stop - span.start)


@claim(
    "prop-safe-shift",
    "numeric",
    mutants={
        "the mean length is a bound": {"largest": False},
        "the scale may be forgotten": {"scale": 0.1},
        "any score may be exponentiated as it is": {"safe": False},
        "values may be of any size": {"sized": False},
    },
    scope="400 draws, float32 and float64, values of 1e-9 to 1e9",
)
def safe_shift(
    largest: bool = True, scale: float = 1.0, safe: bool = True, sized: bool = True
) -> str:
    """Scores against the bound; where the bound allows it, errors of states that have m = 0."""
    held = 0
    for seed in range(400):
        rng = np.random.default_rng(seed)
        kind, n = (np.float32, np.float64)[seed % 2], 9
        info = np.finfo(kind)
        v = (10.0 ** rng.uniform(-9, 9) * rng.standard_normal((n, 2))).astype(kind)
        most_v = float(np.abs(v).max())
        small, large = (min(1, most_v), max(1, most_v)) if sized else (1, 1)
        lowest, highest = float(info.tiny), float(info.max)
        allowed = min(-math.log(lowest / small), math.log(highest / (2 * n * large)))
        q, k = rng.standard_normal((2, n, 4)) * (1, 0.01)[seed // 2 % 2] + rng.choice((-1, 0, 1))
        reach = max(np.linalg.norm(q, axis=1)) * max(np.linalg.norm(k, axis=1))
        q, k = (q * (rng.uniform(0.5, 1.2) * allowed / reach)).astype(kind), k.astype(kind)
        q *= rng.choice((-1, 1))
        lengths = [np.linalg.norm(x.astype(float), axis=1) for x in (q, k)]
        bound = scale * float(np.prod([x.max() if largest else x.mean() for x in lengths]))
        scores = q @ k.T
        most = float(np.abs(scores).max())
        require(most <= bound * (1 + 1e-5), f"a score of {most:.2f}, and a bound of {bound:.2f}")
        require(
            bound <= allowed or not _exp_in_range(q, k, v, 1.0), f"draw {seed}: {bound:.2f} fits"
        )
        if safe and bound > allowed:
            continue
        held += 1
        with np.errstate(all="ignore"):
            terms = np.exp(scores)
            got = terms @ v / terms.sum(axis=1, keepdims=True)
        want = ref.softmax(scores.astype(float)) @ v.astype(float)
        off = float(np.nan_to_num(np.abs(got - want), nan=np.inf).max()) / most_v
        limit = (n + 8) * float(info.eps)
        said = f"{off:.2g} of" if off < 1e9 else "a billion times"
        require(off <= limit, f"draw {seed}: off by {said} the largest value")
    require(held > 200, f"only {held} draws were allowed")
    return f"no score above the bound; {held} draws without a shift, off by (S + 8) roundings"


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
        part = np.float16(0)
        for _ in range(block):
            part = np.float16(part + np.float16(1))
        total = np.float16(total + part)
    require(total == 4096, f"4096 ones in blocks of {block} sum to {total:.0f}")
    return "float16 stops at 2,048 and float32 does not; blocks of 64 reach 4,096"
