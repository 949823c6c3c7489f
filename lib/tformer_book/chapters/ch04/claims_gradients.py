"""The claims of chapter 4, why divide by √d: what is left of the gradient."""

from __future__ import annotations

from functools import partial
from math import erf, log, pi, sqrt

import numpy as np
from scipy.special import chdtr, expit, ndtr

from tformer import reference as ref
from tformer_book.chapters.ch04.claims_weights import QUADRATURE, SIGMAS, SIZES
from tformer_book.chapters.ch04.scores import SCALES, answers, jacobian_norm
from tformer_book.claims import plain
from tformer_book.claims.registry import claim, require
from tformer_book.claims.tools import Array, near, show, simplex_grid
from tformer_book.experiments.gaussian_rows import (
    expected_max,
    expected_row,
    inverse_norm,
    over_normal,
    over_queries,
    two_keys_norm,
)
from tformer_book.experiments.intervals import (
    bernstein_margin,
    cdf_gap,
    cdf_margin,
    hoeffding_margin,
    mean_interval,
    median_interval,
)


@claim(
    "thm-jacobian-bounds",
    "numeric",
    mutants={"without the 2": {"factor": 1}, "3, not 2, for two keys": {"factor": 3}},
    scope="all weights in tenths, 2 to 5 keys",
)
def jacobian_bounds(factor: int = 2) -> str:
    """On a grid; two weights reach the upper bound, equal weights and one winner the lower ones."""
    rows = 0
    for n in (2, 3, 4, 5):
        p = simplex_grid(n, 10)
        rows += len(p)
        norms = np.linalg.norm(ref.softmax_jacobian(p), 2, axis=(-2, -1))
        spread, ordered = (p * (1 - p)).max(axis=-1), np.sort(p)
        low = np.maximum(spread, ordered[:, -2])
        high = np.minimum(factor * spread, np.minimum(ordered[:, -1], 1 - (p * p).sum(axis=-1)))
        worst = int(np.argmax(np.maximum(low - norms, norms - high)))
        numbers = f"‖J‖ = {norms[worst]:.4f}, bounds {low[worst]:.4f} and {high[worst]:.4f}"
        inside = near(norms, np.clip(norms, low, high))
        require(inside, f"p = {show(p[worst])}: {numbers}")
        require(near(jacobian_norm(p), norms, 1e-9), f"n = {n}: bisection gives another norm")
        require(n > 2 or near(norms, factor * spread), f"n = 2: ‖J‖ is not {factor} p₁(1 − p₁)")
        level = np.linalg.norm(ref.softmax_jacobian(np.full(n, 1 / n)), 2)
        require(near(level, 1 / n), f"n = {n}: ‖J‖ = {level:.4f} at equal weights")
    return (
        f"all {rows} rows of weights in tenths, 2 ≤ n ≤ {n}, within 1e-12; for n = 2 the upper "
        "bound "
        "is reached, for equal weights the norm is 1/n"
    )


@claim(
    "thm-jacobian-two-keys",
    "numeric",
    mutants={
        "half the constant": {"constant": 0.5},
        "π²/24": {"divisor": 24},
        "π²/11, as exact": {"divisor": 11},
    },
    scope="eight deviations from 1/8 to 64",
)
def jacobian_two_keys(constant: float = 1.0, divisor: int = 12) -> str:
    """By quadrature; beyond the statement, the second term of the lower bound is exact."""
    pairs = np.random.default_rng(0).standard_normal((100, 2))
    norms = np.linalg.norm(ref.softmax_jacobian(ref.softmax(pairs)), 2, axis=(-2, -1))
    p = expit(pairs[:, 0] - pairs[:, 1])
    require(near(norms, 2 * p * (1 - p)), "‖J‖ is not 2p(1 − p)")
    for sigma in (*SIGMAS, 64.0):
        scaled = sigma * sqrt(pi) * two_keys_norm(sigma)
        low = constant * (1 - pi**2 / (divisor * sigma**2))
        numbers = f"σ√π E‖J‖ = {scaled:.6f}, not from {low:.6f} to {constant:g}"
        require(low - 1e-9 <= scaled <= constant + 1e-9, f"σ = {sigma:g}: {numbers}")
    second = (constant - scaled) * divisor * sigma**2 / pi**2
    require(near(second, 1, 1e-3), f"σ = 64: the second term is {second:.4f} of π²/({divisor}σ²)")
    return (
        "both bounds by quadrature for eight σ from 1/8 to 64, within 1e-9, and the second term of "
        "the lower one within 1e-3 at σ = 64; ‖J‖ on 100 pairs"
    )


@claim(
    "thm-jacobian-many-keys",
    "statistical",
    mutants={"half the constant": {"constant": 0.5}},
    scope="2 to a million keys; 60 000 rows",
)
def jacobian_many_keys(constant: float = 1.0) -> str:
    """The bounds by quadrature, with ‖J‖ ≤ 1 − Σ p_i² from thm-jacobian-bounds. Beyond the
    statement: E‖J‖ first rises from 1/n as σ grows from 0, and σE‖J‖ → m_n.
    """
    for sigma in (*SIGMAS, 32.0):
        for n in SIZES:
            mean, high = 1 - expected_row(sigma, n).coincidence, constant * expected_max(n) / sigma
            require(mean <= high + QUADRATURE, f"σ = {sigma:g}, n = {n}: {mean:.4f} > {high:.4f}")
            low = high - log(n) / sigma**2
            require(mean >= low - QUADRATURE, f"σ = {sigma:g}, n = {n}: {mean:.4f} < {low:.4f}")
    n, rows, low_sigma, high_sigma = 16, 60_000, 2.0, 100.0
    unit = np.random.default_rng(0).standard_normal((rows, n))
    p = ref.softmax(low_sigma * unit)
    norms, apart = jacobian_norm(p), 1 - (p * p).sum(axis=-1)
    want, margin = 1 - expected_row(2.0, n).coincidence, hoeffding_margin(rows, failure=2e-7)
    require(near(apart.mean(), want, margin), f"σ = 2: mean 1 − Σ p² {apart.mean():.4f}")
    require(norms.mean() - margin > 2 / n, f"n = 16, σ = 2: mean norm {norms.mean():.4f} ≤ 2/16")
    p = ref.softmax(high_sigma * unit)
    rest = 1 - (p * p).sum(axis=-1) - jacobian_norm(p)
    require(rest.min() >= -1e-9, f"σ = 100: 1 − Σ p² − ‖J‖ = {rest.min():.4f} < 0")
    most = high_sigma * (rest.mean() + bernstein_margin(rest, failure=5e-7))
    require(most < 0.1 * expected_max(n), f"n = 16, σ = 100: σE‖J‖ is {most:.4f} below m_n")
    return (
        "the bounds by quadrature, 8 σ × 6 n, within 1e-6; for n = 16 60000 rows: "
        f"E‖J‖ > 2/16 at σ = {low_sigma:g} and σE‖J‖ within a tenth of m_n at σ = {high_sigma:g} "
        "(failure ≤ 1e-6)"
    )


@claim(
    "cor-jacobian-scales",
    "statistical",
    mutants={
        "1/(n − 1) at scale 1/d": {"fewer": 1},
        "√(2 log n), not m_n": {"bound": True},
        "d, not √d": {"power": 1.0},
        "r, not 3r/2": {"factor": 1.0},
        "2r, as reached": {"factor": 2.0},
    },
    scope="two keys; 16 keys at width 10 000",
)
def jacobian_scales(
    fewer: int = 0, bound: bool = False, power: float = 0.5, factor: float = 1.5
) -> str:
    """By quadrature for two keys and by sampling for sixteen; for scale 1 by the bound of the
    proof, 1 − Σ p_i² − ‖J‖ ≤ (3/2) r, where r is the sum of all weights but the two largest.
    """
    tried = 0
    for p in (simplex_grid(n, 10) for n in (2, 3, 4, 5)):
        rest = 1 - (p * p).sum(axis=-1) - jacobian_norm(p)
        most, tried = factor * _others(p), tried + len(p)
        i = int(np.argmax(rest - most))
        numbers = f"1 − Σ p² − ‖J‖ = {rest[i]:.4f} > {factor:g} r = {most[i]:.4f}"
        require(rest[i] <= most[i] + 1e-9, f"p = {show(p[i])}: {numbers}")
    p = np.array([[0.4975, 0.4975, 0.005]])
    share = float(((1 - (p * p).sum(axis=-1) - jacobian_norm(p)) / _others(p))[0])
    require(near(share, factor, 0.01), f"two even weights: 1 − Σ p² − ‖J‖ = {share:.4f} r")
    _two_keys_by_scale(_top(2, bound), 1 / (2 - fewer), power)
    _sixteen_keys_by_scale(_top(16, bound), 1 / (16 - fewer), factor)
    return (
        f"the last bound for {tried} rows of weights in tenths; for n = 2 by quadrature all limits "
        "within 1/(4d), d = 16, …, 4096; for n = 16 sampled at d = 10⁴ within 0.004, 0.004, and a "
        "tenth (failure ≤ 1e-6)"
    )


def _top(n: int, bound: bool) -> float:
    """Return m_n, or its bound."""
    return sqrt(2 * log(n)) if bound else expected_max(n)


def _others(p: Array) -> Array:
    """Return the sum of all weights but the two largest."""
    return np.sort(p, axis=-1)[..., :-2].sum(axis=-1)


def _two_keys_by_scale(top: float, level: float, power: float) -> None:
    """Require the three limits of E‖J‖ by averages over ‖q‖."""
    for name, limit in (("1", top), ("1/√d", two_keys_norm(1.0)), ("1/d", level)):
        for d in (16, 64, 256, 1024, 4096):
            mean = _two_keys(SCALES[name](d), d) * (d**power if name == "1" else 1)
            numbers = f"{mean:.6f}, not {limit:.6f} ± 1/(4d)"
            require(near(mean, limit, 1 / (4 * d)), f"n = 2, d = {d}, scale {name}: {numbers}")


def _two_keys(scale: float, d: int) -> float:
    """Return E‖J‖ for two keys, over standard normal q and keys of width d."""
    return float(over_queries(np.vectorize(two_keys_norm), d, scale, points=60))


def _sixteen_keys_by_scale(top: float, level: float, factor: float) -> None:
    """Require the three limits of E‖J‖ near width 10⁴; for scale 1 by the bounds of the proof."""
    n, d, rng, few = 16, 10_000, np.random.default_rng(0), slice(20_000)
    unit, length = rng.standard_normal((100_000, n)), np.sqrt(rng.chisquare(d, (100_000, 1)))
    scores = unit, unit * length / sqrt(d), unit * length / d
    normal, root, flat = (jacobian_norm(ref.softmax(x[few])) for x in scores)
    for name, gap in (("1/√d", root - normal), ("1/d", flat - level)):
        off = abs(gap.mean()) + bernstein_margin(gap, failure=3e-7)
        require(off <= 0.004, f"n = {n}, d = {d}, scale {name}: E‖J‖ off by {off:.4f}")
    r = _others(ref.softmax(unit * length))
    lost = log(n) / (d - 2) + factor * (r.mean() + bernstein_margin(r, failure=3e-7))
    high = sqrt(d) * expected_max(n) * inverse_norm(d)
    low = high - sqrt(d) * lost
    inside = 0.9 * top <= low <= high <= 1.1 * top
    require(inside, f"n = {n}, d = {d}: √d E‖J‖ from {low:.4f} to {high:.4f}, not near {top:.4f}")


@claim(
    "prop-live-rows",
    "numeric",
    mutants={"rate 1/σ²": {"power": 2}},
    scope="three ε, seven deviations",
)
def live_rows(power: int = 1) -> str:
    """By quadrature; beyond the statement, the bound is reached as σ grows."""
    z = np.arange(-12, 12, 0.001)
    for epsilon in (0.01, 0.1, 0.3):
        lead = log(1 / epsilon - 1)
        for sigma in SIGMAS:
            p = expit(sqrt(2) * sigma * z)
            alive = over_normal(np.minimum(p, 1 - p) >= epsilon, z)
            want, bound = erf(lead / (2 * sigma)), lead / (sigma**power * sqrt(pi))
            where = f"ε = {epsilon:g}, σ = {sigma:g}"
            require(near(alive, want, 1e-3), f"{where}: share {alive:.4f}, not {want:.4f}")
            require(want <= bound, f"{where}: share {want:.4f} > {bound:.4f}")
        require(near(want / bound, 1, 0.01), f"{where}: share {want / bound:.4f} of its bound")
    return (
        "shares by quadrature for ε = 0.01, 0.1, 0.3 and seven σ from 1/8 to 16, within 1e-3; at "
        "σ = 16 the bound is reached within a hundredth"
    )


@claim(
    "prop-gradient-to-q",
    "statistical",
    mutants={
        "scale forgotten": {"power": 0},
        "the part along q as well": {"across": False},
        "always one direction": {"turns": False},
        "one variance for all scores": {"own": False},
    },
    scope="100 000 rows, width 8, three scales",
)
def gradient_to_q(power: int = 1, across: bool = True, turns: bool = True, own: bool = True) -> str:
    """The loss is linear in the output of the library's attention; one width and three scales. The
    d − 1 directions by the length of the part and by one coordinate.
    """
    d, n, rows, rng = 8, 6, 100_000, np.random.default_rng(0)
    one_q, one_v, one_grad = (rng.standard_normal(shape) for shape in ((1, d), (n, 2), (1, 2)))
    q, v, grad = (np.broadcast_to(x, (rows, *x.shape)) for x in (one_q, one_v, one_grad))
    k = rng.standard_normal((rows, n, d))
    along, aside = np.linalg.qr(np.stack([one_q[0], np.ones(d)], axis=-1))[0].T
    for scale in (1.0, d**-0.5, 1 / d):
        dq = ref.attention_vjp(q, k, v, grad, scale=scale)[0][:, 0]
        a, da = plain.softmax(scale * q @ k.mT), grad @ v.mT
        g = a * (da - (a * da).sum(axis=-1, keepdims=True))
        worst = np.abs(dq - scale**power * (g @ k)[:, 0]).max()
        require(worst < 1e-12, f"scale {scale:.4f}: dq and the chain rule differ by {worst:.4f}")
        part = dq - np.outer(dq @ along, along) if across else dq
        part = part if turns else np.outer(ref.norm(part), aside)
        length = ref.norm(g)[:, 0]
        size = scale * (length if own else sqrt(np.mean(length**2)))
        _require_orthogonal_part(part.T / size, aside, length, f"scale {scale:.4f}")
    return (
        f"the library's gradient at d = 8, three scales, 1e-12 from the chain rule; over {rows} "
        "rows the distribution of its squared length and of one coordinate, and of this where g is "
        "longer (failure ≤ 1e-6)"
    )


def _require_orthogonal_part(part: Array, aside: Array, length: Array, where: str) -> None:
    """Require that columns are standard normal in the directions orthogonal to the query."""
    one, longer, degrees = aside @ part, length > np.median(length), len(part) - 1
    for says, values, cdf in (
        (
            f"squared length, from χ² with {degrees} degrees",
            (part**2).sum(axis=0),
            partial(chdtr, degrees),
        ),
        ("one coordinate, from N(0, 1)", one, ndtr),
        ("one coordinate for longer g, from N(0, 1)", one[longer], ndtr),
    ):
        gap = cdf_gap(values, cdf)
        require(gap <= cdf_margin(len(values), 1e-7), f"{where}: {says}: off by {gap:.4f}")


CROSSINGS = {
    ("worst", "mean"): (300, 600),
    ("worst", "median"): (90, 150),
    ("random", "mean"): (45, 90),
    ("random", "median"): (25, 45),
}
"""Wish, average -> a width at which scale 1 answers more than 1/√d, and one at which less."""


@claim(
    "exm-worst-and-random",
    "statistical",
    mutants={
        "worst wish, as if random": {"wish": "random"},
        "random wish, as if worst": {"wish": "worst"},
        "not saturated at d = 64": {"saturated": 0.5},
    },
    scope="8000 rows at each of 7 widths",
)
def worst_and_random(wish: str | None = None, saturated: float = 0.86) -> str:
    """Means by Student's intervals of the differences, medians by exact ones of the two samples."""
    rows, failure = 8000, 1e-7
    drawn = {d: answers(d, n_rows=rows) for d in {64}.union(*CROSSINGS.values())}
    for name, want in (("1", saturated), ("1/√d", 0.095)):
        middle, low, high = median_interval(drawn[64][name].largest, 1 - failure)
        says = f"d = 64, scale {name}: median largest weight {middle:.4f}, not {want:g}"
        require(low <= want <= high, says)
    for (kind, average), widths in CROSSINGS.items():
        for d, sign in zip(widths, (1, -1), strict=True):
            plain, scaled = (getattr(drawn[d][name], wish or kind) for name in ("1", "1/√d"))
            if average == "mean":
                gap, half = mean_interval(sign * (plain - scaled), 1 - failure)
                apart = bool(gap > half)
            else:
                one, two = (median_interval(x, 1 - failure) for x in (plain, scaled))
                apart = one[1] > two[2] if sign > 0 else one[2] < two[1]
            found = f"{getattr(np, average)(plain):.4f} and {getattr(np, average)(scaled):.4f}"
            require(apart, f"{kind} wish, {average} at d = {d}: {found} under 1 and 1/√d")
    return (
        f"{rows} rows of 64 keys at each of {len(drawn)} widths; the two medians, and at both ends "
        "of the four ranges which scale answers more, within Student's and exact intervals "
        "(failure ≤ 2e-6)"
    )
