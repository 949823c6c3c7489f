"""The claims of chapter 2, softmax: what floating-point numbers make of it."""

from __future__ import annotations

import math
from itertools import product
from typing import Any

import numpy as np
import sympy as sp

from tformer import reference as ref
from tformer_book.claims.registry import claim, require
from tformer_book.claims.tools import Array, grid, identity, near, row, show

LARGEST = {"float16": 11.08, "bfloat16": 88.5, "float32": 88.72, "float64": 709.78}
"""The last number of each format whose exponential is finite, cut to two decimals."""
BITS = {"float16": 11, "bfloat16": 8, "float32": 24}
"""Significant bits p. Sums of up to 2^p ones are exact; float64 has 53, too many terms to try."""


@claim(
    "prop-naive-overflow",
    "numeric",
    mutants={
        "no shift": {"shifted": False},
        "bfloat16 overflows like float16": {"largest": LARGEST | {"bfloat16": 11.08}},
        "at most n for every n, in float16": {"bits": BITS | {"float16": 12}},
        "at most n for every n, in bfloat16": {"bits": BITS | {"bfloat16": 9}},
    },
    scope="four formats; rows of n ≤ 4, equal scores to 2^24",
)
def naive_overflow(
    shifted: bool = True, largest: dict[str, float] = LARGEST, bits: dict[str, int] = BITS
) -> str:
    """Every number of each format for the overflow. The denominator on a grid and at up to 2^p
    equal scores, where p is the number of significant bits: beyond that rounding passes n.
    """
    for name, want in largest.items():
        last, log_of_largest, beyond = _largest_finite_exp(name)
        require(math.floor(100 * last) == round(100 * want), f"{name}: {last:.4f}, not {want}")
        require(last <= log_of_largest < beyond, f"{name}: not at {log_of_largest:.4f}")
        if name == "bfloat16":
            continue
        x, twice = np.array([beyond, 0], dtype=name), np.full(2, last, dtype=name)
        require(np.isnan(_naive(x)[0]), f"{name}: the naive form survives {beyond:.4f}")
        require((_naive(twice) == 0).all(), f"{name}: the naive sum survives {show(twice)}")
        p = ref.softmax(x) if shifted else _naive(x)
        require(near(p.sum(), 1, 1e-3), f"{name}: the scores {show(x)} get the weights {show(p)}")
    for name, n in product(("float16", "float32", "float64"), range(1, 5)):
        x = grid(n).astype(name)
        one = ref.softmax(x).max(axis=-1) * _denominators(x)
        divided = near(one, 1, 4 * float(np.finfo(name).eps))
        require(divided, f"{name}, n = {n}: largest weight times denominator is not 1")
    for (name, p), n in product(bits.items(), (1, 2, 3, 255, 256, 259, 2047, 2048, 2051, 2**24)):
        if n <= 2**p:
            _denominators(np.zeros((1, n), dtype="float32"), name)
    past = _denominators(np.zeros((1, 2051)), "float16", past=1)[0]
    also = _denominators(np.zeros((1, 259)), "bfloat16", past=1)[0]
    full = _denominators(np.zeros((1, 65504)), "float16")[0]
    require((past, also, full) == (2052, 260, 65504), f"{past:g}, {also:g}, {full:g}")
    in_turn = np.cumsum(np.ones(2051, dtype="float16"), dtype="float16")[-1]
    require(in_turn == 2048, f"float16: 2051 ones added one by one give {in_turn:g}")
    return (
        "bisection over the numbers of each format; NaN at the next, 0 for two of the last; "
        "denominators of rows in {−2, …, 2}, n ≤ 4, and of n ≤ 2^p ones, p = 11, 8, 24 bits; "
        "2051 ones in float16: 2052, or 2048 in turn"
    )


def _denominators(x: Array, name: str = "", past: int = 0) -> Array:
    """Return Σ exp(x_j − max x) as computed; require it from 1 to n, or `past` beyond n."""
    import torch

    dtype = getattr(torch, name or x.dtype.name)
    scores = torch.as_tensor(x).to(dtype)
    denominator = (scores - scores.amax(dim=-1, keepdim=True)).exp().sum(dim=-1).double().numpy()
    least, most, n = denominator.min(), denominator.max(), x.shape[-1]
    where = f"{name or x.dtype}, n = {n}"
    require(1 <= least <= most <= n + past, f"{where}: denominators {least:g} to {most:g}")
    return np.asarray(denominator)


def _naive(x: Any) -> Any:
    with np.errstate(over="ignore", invalid="ignore"):
        return np.exp(x) / np.exp(x).sum()


def _largest_finite_exp(name: str) -> tuple[float, float, float]:
    """Return the last number with a finite exponential, log of the largest number, and the next.

    Positive numbers are ordered like their bit patterns, and exp is monotone, so bisection over
    the patterns tries every number that matters.
    """
    import torch

    dtype = getattr(torch, name)
    pattern = {2: torch.int16, 4: torch.int32, 8: torch.int64}[dtype.itemsize]
    low, high = 0, int(torch.tensor(math.inf, dtype=dtype).view(pattern).item())
    while high - low > 1:
        middle = (low + high) // 2
        finite = torch.tensor(middle, dtype=pattern).view(dtype).exp().isfinite()
        low, high = (middle, high) if finite else (low, middle)
    last, beyond = torch.tensor([low, high], dtype=pattern).view(dtype).tolist()
    return last, math.log(torch.finfo(dtype).max), beyond


@claim(
    "exm-log-of-softmax",
    "numeric",
    mutants={"scores within range": {"far": 100.0}},
    scope="both logarithms",
)
def log_of_softmax(far: float = 1000.0) -> str:
    """By the library, in float64."""
    x = np.array([0.0, far])
    with np.errstate(divide="ignore"):
        taken_after = np.log(ref.softmax(x))[0]
    require(taken_after == -np.inf, f"x = {show(x)}: log(softmax(x)) is {taken_after:g}, not −inf")
    together = ref.log_softmax(x)[0]
    require(together == -far, f"x = {show(x)}: log_softmax(x) is {together:g}, not {-far:g}")
    return f"−inf and −{far:g} exactly: exp(−{far:g}) is below the smallest float64, about 4.9e-324"


@claim(
    "prop-epsilon-denominator",
    "symbolic",
    mutants={"no deficit": {"factor": 0}},
    scope="n ≤ 4, exact arithmetic",
)
def epsilon_denominator(factor: int = 1) -> str:
    """In exact arithmetic: rounding of Z, Z + ε and the quotients is left out."""
    total, epsilon = sp.symbols("Z epsilon", positive=True)
    for n in (1, 2, 3, 4):
        e = row("e", n, positive=True)
        row_sum = sum(e_i / (e.sum() + epsilon) for e_i in e)
        deficit = factor * epsilon / (e.sum() + epsilon)
        identity(1 - row_sum, deficit, "1 − Σ e_i/(Z + ε) = deficit")
    slope = sp.diff(epsilon / (total + epsilon), total)
    identity(slope, -epsilon / (total + epsilon) ** 2, "the deficit falls as Z grows")
    identity(sp.limit(total / (total + epsilon), total, 0), 0, "limit of the row sum as Z → 0")
    small, scores = 0.01, grid(4, (-np.inf, -2, -1, 0, 2))[1:]
    totals = 1 / ref.softmax(scores).max(axis=-1)
    short = small / (totals + small)
    ends, reached = (small / (4 + small), small / (1 + small)), (short.min(), short.max())
    require(
        near(reached, ends), f"ε = {small:g}: deficits from {reached[0]:.6f} to {reached[1]:.6f}"
    )
    return (
        f"row sum, deficit, its slope −ε/(Z + ε)² < 0 and its limit for symbols, n ≤ {n}; the "
        "bounds "
        f"on {len(scores)} rows in {{−∞, −2, −1, 0, 2}}⁴ at ε = {small:g}, reached within 1e-12; "
        "rounding is not tried"
    )


@claim("exm-epsilon", "numeric", mutants={"with the shift": {"shift": True}}, scope="the row's sum")
def epsilon_by_hand(shift: bool = False) -> str:
    """Beyond the statement, the library on the same row."""
    x = np.full(4, -40.0)
    terms = np.exp(x - x.max() if shift else x)
    row_sum = (terms / (terms.sum() + 1e-12)).sum()
    require(near(row_sum, 1.7e-5, 5e-7), f"the row sums to {row_sum:.2e}, not 1.7e-05")
    require(near(ref.softmax(x), 0.25), f"the library gives {show(ref.softmax(x))}")
    return "1.7e-5 to two digits; the library gives 1/4 four times within 1e-12"


@claim(
    "exm-half-precision",
    "exhaustive",
    mutants={"eleven bits": {"significant_bits": 11}},
    scope="every float16, two numbers of bfloat16",
)
def half_precision(significant_bits: int = 8) -> str:
    """Every float16; of bfloat16 the two numbers that the example names."""
    import torch

    numbers = np.arange(2**16, dtype=np.uint16).view(np.float16)
    numbers = numbers[np.isfinite(numbers)]
    require(numbers.max() == 65504, f"float16 ends at {numbers.max():g}")
    require(numbers[numbers > 0].min() == 2.0**-24, "another smallest number")
    negative = numbers[numbers < 0].astype(np.float64)
    vanished = negative[np.exp(negative).astype(np.float16) == 0].max()
    require(vanished == -17.34375, f"exp vanishes from {vanished:g} on")
    third = torch.tensor(1 / 3, dtype=torch.bfloat16).item()
    rounded = round(2 ** (significant_bits + 1) / 3) / 2 ** (significant_bits + 1)
    bits = f"{significant_bits} significant bits"
    require(third == rounded, f"bfloat16 has 1/3 as {third:.9f}; {bits} give {rounded:.9f}")
    weight, total = (torch.tensor(x, dtype=torch.bfloat16) for x in (1e-4, 0.0))
    for _ in range(10_000):
        total += weight
    require(total.item() == 1 / 32, f"the sum stalls at {total.item():g}")
    return "all 63488 finite float16 numbers; 1/3 and the sum of ten thousand weights in bfloat16"
