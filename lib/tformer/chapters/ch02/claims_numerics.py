"""The claims of chapter 2, softmax: what floating-point numbers make of it."""

from __future__ import annotations

import math
from itertools import product
from typing import Any

import numpy as np
import sympy as sp

from tformer import reference as ref
from tformer.claims.registry import claim, require
from tformer.claims.tools import Array, grid, identity, near, row, show

LARGEST = {"float16": 11.08, "bfloat16": 88.5, "float32": 88.72, "float64": 709.78}


@claim(
    "prop-naive-overflow",
    "exhaustive",
    broken={
        "no shift": {"shifted": False},
        "bfloat16 overflows like float16": {"largest": LARGEST | {"bfloat16": 11.08}},
    },
)
def naive_overflow(shifted: bool = True, largest: dict[str, float] = LARGEST) -> str:
    """exp(x) is finite up to the logarithm of the largest number of the format, of whose numbers
    the last is 11.08… in float16, 88.5 in bfloat16, 88.72… in float32, 709.78… in float64. Above it
    exp(x_i)/Σ exp(x_j) is ∞/∞, NaN; if only the sum overflows, every quotient is 0. For all finite
    scores, after the shift by the largest no exponent exceeds 0 and the denominator lies in [1, n].
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
        _denominators_in_range(grid(n).astype(name))
    return (
        "bisection over all positive numbers of each format; NaN at the next number, 0 for two of "
        "the last; denominators in float16, 32 and 64 for all 780 rows in {−2, …, 2}, n ≤ 4"
    )


def _denominators_in_range(x: Array) -> None:
    """Require 1 ≤ Σ exp(x_j − max x) ≤ n, and that the library divides by it."""
    denominator = np.exp(x - x.max(axis=-1, keepdims=True)).sum(axis=-1)
    least, most, n = denominator.min(), denominator.max(), x.shape[-1]
    require(1 <= least <= most <= n, f"{x.dtype}, n = {n}: denominators {least:g} to {most:g}")
    one = ref.softmax(x).max(axis=-1) * denominator
    divided = near(one, 1, 4 * float(np.finfo(x.dtype).eps))
    require(divided, f"{x.dtype}, n = {n}: largest weight times denominator is not 1")


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


@claim("exm-log-of-softmax", "numeric", broken={"scores within range": {"far": 100.0}})
def log_of_softmax(far: float = 1000.0) -> str:
    """For x = (0, 1000) in float64, log(softmax(x)) begins with −inf where log_softmax(x) has
    −1000.
    """
    x = np.array([0.0, far])
    with np.errstate(divide="ignore"):
        taken_after = np.log(ref.softmax(x))[0]
    require(taken_after == -np.inf, f"x = {show(x)}: log(softmax(x)) is {taken_after:g}, not −inf")
    together = ref.log_softmax(x)[0]
    require(together == -far, f"x = {show(x)}: log_softmax(x) is {together:g}, not {-far:g}")
    return "−inf and −1000 exactly: exp(−1000) is below the smallest float64, about 4.9e-324"


@claim("prop-epsilon-denominator", "symbolic", broken={"no deficit": {"factor": 0}})
def epsilon_denominator(factor: int = 1) -> str:
    """For all e_j > 0 and ε > 0, with Z = Σ e_j, the weights e_i/(Z + ε) sum to Z/(Z + ε), short of
    1 by ε/(Z + ε). With shifted scores 1 ≤ Z ≤ n, and the deficit lies from ε/(n + ε) to ε/(1 + ε);
    without the shift the row sum is below Z/ε and tends to 0 with Z.
    """
    total, epsilon = sp.symbols("Z epsilon", positive=True)
    for n in (1, 2, 3, 4):
        e = row("e", n, positive=True)
        row_sum = sum(e_i / (e.sum() + epsilon) for e_i in e)
        deficit = factor * epsilon / (e.sum() + epsilon)
        identity(1 - row_sum, deficit, "1 − Σ e_i/(S + ε) = deficit")
    slope = sp.diff(epsilon / (total + epsilon), total)
    identity(slope, -epsilon / (total + epsilon) ** 2, "the deficit falls as Z grows")
    identity(sp.limit(total / (total + epsilon), total, 0), 0, "limit of the row sum as Z → 0")
    small, scores = 0.01, grid(4)
    totals = 1 / ref.softmax(scores).max(axis=-1)
    short = small / (totals + small)
    inside = short.min() >= small / (4 + small) - 1e-12 and short.max() <= small / (1 + small)
    require(inside, f"ε = {small:g}: deficits from {short.min():.6f} to {short.max():.6f}")
    return (
        "row sum, deficit, its slope −ε/(Z + ε)² < 0 and its limit for symbols, n ≤ 4; "
        "the bounds on all 625 rows in {−2, …, 2}⁴ at ε = 0.01, within 1e-12"
    )


@claim("exm-epsilon", "numeric", broken={"with the shift": {"shift": True}})
def epsilon_by_hand(shift: bool = False) -> str:
    """Four scores of −40 without the shift, divided by Σ exp(x_j) + 1e-12, sum to 1.7e-5, not 1."""
    x = np.full(4, -40.0)
    terms = np.exp(x - x.max() if shift else x)
    row_sum = (terms / (terms.sum() + 1e-12)).sum()
    require(near(row_sum, 1.7e-5, 5e-7), f"the row sums to {row_sum:.2e}, not 1.7e-05")
    require(near(ref.softmax(x), 0.25), f"the library gives {show(ref.softmax(x))}")
    return "1.7e-5 to two digits; the library gives 1/4 four times within 1e-12"


@claim("exm-half-precision", "exhaustive", broken={"eleven bits": {"significant_bits": 11}})
def half_precision(significant_bits: int = 8) -> str:
    """float16 ends at 65504, its smallest positive number is 2⁻²⁴, and exp(x) rounds to 0 below
    x = −25 ln 2 = −17.33 (from −17.34375, the next number).
    bfloat16 keeps 8 significant bits: it stores 1/3 as 0.333984375, and ten thousand weights 1e-4
    added to it one by one stall at 1/32 instead of 1.
    """
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
