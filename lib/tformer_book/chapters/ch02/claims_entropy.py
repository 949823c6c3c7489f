"""The claims of chapter 2, softmax: entropy, the smooth maximum, temperature."""

from __future__ import annotations

from math import exp

import numpy as np
import sympy as sp

from tformer import reference as ref
from tformer_book.claims import plain
from tformer_book.claims.registry import claim, require
from tformer_book.claims.tools import (
    BETA,
    BETAS,
    Array,
    formula,
    grid,
    identity,
    near,
    one_winner,
    row,
    show,
    simplex_grid,
    weights,
)


def divergence(p: Array, r: Array) -> Array:
    """Return Σ p_i log(p_i/r_i) along the last axis, with 0 log 0 = 0 and p log(p/0) = ∞."""
    with np.errstate(divide="ignore"):
        cross = np.where(p > 0, p * np.log(np.where(p > 0, r, 1)), 0)
    return -ref.entropy(p) - cross.sum(axis=-1)


@claim(
    "lem-gibbs",
    "symbolic",
    mutants={"r sums to two": {"total": 2}},
    scope="every z; 834 pairs p and r, n ≤ 3",
)
def gibbs(total: int = 1) -> str:
    """The inequality behind it for every t; the sum itself on a grid. Beyond the statement r may
    have zeros: the sum is then ∞ where p_i > 0 = r_i.
    """
    pairs = 0
    for p in (simplex_grid(n, 6) for n in (1, 2, 3)):
        values = divergence(p[:, None], total * p[None])
        pairs += values.size
        i, j = np.unravel_index(np.argmin(values), values.shape)
        numbers = f"p = {show(p[i])}, r = {show(total * p[j])}: the sum is {values[i, j]:.4f} < 0"
        require(values.min() > -1e-12, numbers)
        require(np.array_equal(values < 1e-12, np.eye(len(p), dtype=bool)), "zero although p ≠ r")
    t = sp.Symbol("t", positive=True)
    gap = t - 1 - sp.log(t)
    identity(gap.subs(t, 1), 0, "log 1 = 1 − 1")
    identity(sp.diff(gap, t), (t - 1) / t, "the slope of t − 1 − log t")
    return (
        "t − 1 − log t has slope (t − 1)/t, hence its only zero and minimum at t = 1 (symbolic); "
        f"all {pairs} pairs of probability rows in sixths, n ≤ 3, within 1e-12"
    )


@claim(
    "thm-softmax-variational",
    "symbolic",
    mutants={"H(p) times β": {"power": 1}},
    scope="n ≤ 4, every score and weight",
)
def softmax_variational(power: int = -1) -> str:
    """What is short of the maximum is a relative entropy, for symbols; lem-gibbs does the rest."""
    scores, p_all = grid(3, (-1, 0, 2)), simplex_grid(3, 12)
    for beta in BETAS:
        best, lse = ref.softmax(scores, beta=beta), ref.logsumexp(scores, beta=beta)
        reached = ref.dot(best, scores) + ref.entropy(best) * beta**power
        numbers = f"{reached[0]:.4f} at softmax_β(s), but lse_β(s) = {lse[0]:.4f}"
        require(near(reached, lse), f"s = {show(scores[0])}, β = {beta:g}: {numbers}")
        short = lse - ref.pairwise_dot(p_all, scores) - ref.entropy(p_all)[:, None] / beta
        require(near(short, divergence(p_all[:, None], best) / beta), f"β = {beta:g}: not KL/β")
    top = sp.Symbol("L", real=True)
    for n in (1, 2, 3, 4):
        s, p = row("s", n), row("p", n, positive=True)
        log_p = np.array([sp.log(p_i) for p_i in p], dtype=object)
        value = (p * s).sum() - BETA**power * (p * log_p).sum()
        from_softmax = (p * (log_p - BETA * (s - top))).sum()
        identity(top * p.sum() - value, from_softmax / BETA, "lse − ⟨p, s⟩ − H(p)/β = KL/β")
    return (
        f"lse_β(s) − ⟨p, s⟩ − H(p)/β = KL(p, softmax_β(s))/β for symbols, n ≤ {n}; "
        "which is ≥ 0 by Gibbs' inequality; the library on 91 rows p and 27 rows s "
        "at β = 1/2, 1, 4 (1e-12)"
    )


@claim(
    "thm-lse-bounds",
    "numeric",
    mutants={"half the excess": {"share": 0.5}},
    scope="780 rows, n ≤ 4",
)
def lse_bounds(share: float = 1.0) -> str:
    """On a grid, with rows of equal scores and rows of one score."""
    rows = 0
    for n in (1, 2, 3, 4):
        scores = grid(n)
        rows += len(scores)
        level = scores.max(axis=-1) == scores.min(axis=-1)
        for beta in BETAS:
            excess = ref.logsumexp(scores, beta=beta) - scores.max(axis=-1)
            bound, worst = share * np.log(n) / beta, int(excess.argmax())
            numbers = f"lse − max = {excess[worst]:.4f} > {bound:.4f}"
            above = f"s = {show(scores[worst])}, β = {beta:g}: {numbers}"
            require(excess[worst] <= bound + 1e-12, above)
            require(excess.min() >= -1e-12, f"n = {n}, β = {beta:g}: lse below the maximum")
            equal = np.array_equal(excess > bound - 1e-12, level)
            require(equal, f"n = {n}, β = {beta:g}: the bound is reached off the equal scores")
    return f"all {rows} rows of scores in {{−2, …, 2}}, n ≤ {n}, at β = 1/2, 1, 4, within 1e-12"


@claim(
    "thm-lse-convex",
    "symbolic",
    mutants={"gradient β softmax": {"power": 1}},
    scope="n ≤ 3, every score",
)
def lse_convex(power: int = 0) -> str:
    """Symbols to n = 3; convexity by prop-jacobian-null, and for midpoints on a grid."""
    for n in (1, 2, 3):
        s = row("s", n)
        p = weights(s, BETA)
        lse = sp.log(sum(sp.exp(BETA * s_i) for s_i in s)) / BETA
        gradient = [sp.diff(lse, s_i) for s_i in s]
        identity(gradient, BETA**power * p, "gradient of lse_β = softmax_β")
        hessian = BETA * formula(ref.softmax_jacobian)(p)
        identity(sp.hessian(lse, list(s)), hessian, "Hessian of lse_β = β(diag p − pᵀp)")
    scores = grid(3)
    for beta in BETAS:
        value = ref.logsumexp(scores, beta=beta)
        require(near(value, np.log(np.exp(beta * scores).sum(axis=1)) / beta), "by the definition")
        middle = ref.logsumexp((scores[:, None] + scores) / 2, beta=beta)
        require((middle <= (value[:, None] + value) / 2 + 1e-12).all(), f"β = {beta:g}: not convex")
    return (
        f"differentiated for symbols, n ≤ {n}; the Hessian is semidefinite by prop-jacobian-null; "
        f"midpoints of all {middle.size} pairs in {{−2, …, 2}}³ at β = 1/2, 1, 4, within 1e-12"
    )


FAR = 12
"""A lead βΔ at which the exponential bounds are all but reached."""


def far_ahead(n: int, beta: float) -> Array:
    """Return the weights of n scores of which the first leads the others, all equal, by FAR/β."""
    return np.asarray(ref.softmax(np.append(FAR / beta, np.zeros(n - 1)), beta=beta))


@claim(
    "prop-softmax-limits",
    "symbolic",
    mutants={"twice the gap": {"rate": 2}, "half the gap, as reached": {"rate": 0.5}},
    scope="n ≤ 4, every gap; the rate on 198 rows",
)
def softmax_limits(rate: float = 1) -> str:
    """Limits for symbols, n ≤ 4; the rate on a grid, and as β → ∞ it is reached by equal losers."""
    rows = 0
    for n in (2, 3, 4):
        for winners in range(1, n + 1):
            p = weights(np.append([0] * winners, -row("g", n - winners, positive=True)), BETA)
            hot, cold = ([sp.limit(p_i, BETA, end, "+") for p_i in p] for end in (0, sp.oo))
            identity(hot, [sp.Rational(1, n)] * n, "the limit as β → 0")
            identity(cold, [sp.Rational(i < winners, winners) for i in range(n)], "that as β → ∞")
        scores, gaps = one_winner(n)
        rows += len(scores)
        for beta in BETAS:
            missing = 1 - ref.softmax(scores, beta=beta).max(axis=-1)
            bound = (n - 1) * np.exp(-rate * beta * gaps)
            i = int(np.argmax(missing - bound))
            numbers = f"β = {beta:g}: 1 − p_max = {missing[i]:.4f} > {bound[i]:.4f}"
            require(missing[i] <= bound[i] + 1e-12, f"s = {show(scores[i])}, {numbers}")
            reached = far_ahead(n, beta)[1:].sum() / ((n - 1) * exp(-rate * FAR))
            require(
                near(reached, 1, 1e-4), f"n = {n}, βΔ = {FAR}: {reached:.4f} of the bound, not 1"
            )
    return (
        f"limits at β → 0 and ∞ for symbolic gaps and every number of winners, n ≤ {n}; the rate "
        "on "
        f"all {rows} rows in {{0, …, 3}} with one winner, β = 1/2, 1, 4 (1e-12), and within 1e-4 "
        f"of equality for equal losers at βΔ = {FAR}"
    )


@claim(
    "thm-saturation",
    "numeric",
    mutants={
        "twice the gap": {"rate": 2},
        "half the gap, as reached": {"rate": 0.5},
        "without the 2": {"factor": 1},
    },
    scope="198 rows, n ≤ 4",
)
def saturation(rate: float = 1, factor: int = 2) -> str:
    """On a grid; beyond the statement, two keys reach the bound as βΔ grows."""
    rows = 0
    for n in (2, 3, 4):
        scores, gaps = one_winner(n)
        rows += len(scores)
        for beta in BETAS:
            jacobians = ref.softmax_jacobian(ref.softmax(scores, beta=beta), beta=beta)
            norms = np.linalg.norm(jacobians, 2, axis=(-2, -1))
            bound = factor * beta * (n - 1) * np.exp(-rate * beta * gaps)
            i = int(np.argmax(norms - bound))
            numbers = f"norm {norms[i]:.4f} > {bound[i]:.4f}"
            where = f"s = {show(scores[i])}, β = {beta:g}"
            require(norms[i] <= bound[i] + 1e-12, f"{where}: {numbers}")
    for beta in BETAS:
        norm = np.linalg.norm(ref.softmax_jacobian(far_ahead(2, beta), beta=beta), 2)
        reached = norm / (factor * beta * exp(-rate * FAR))
        require(near(reached, 1, 1e-4), f"n = 2, βΔ = {FAR}: {reached:.4f} of the bound, not 1")
    return (
        f"all {rows} rows in {{0, …, 3}} with one winner, 2 ≤ n ≤ {n}, β = 1/2, 1, 4, within "
        "1e-12; "
        f"within 1e-4 of equality at n = 2, βΔ = {FAR}"
    )


@claim(
    "thm-entropy-temperature",
    "symbolic",
    mutants={"without β": {"power": 0}},
    scope="n ≤ 3, every score; the bounds on 155 rows",
)
def entropy_temperature(power: int = 1) -> str:
    """The slope for symbols, n ≤ 3; the bounds of H on a grid."""
    rows = 0
    for n in (1, 2, 3):
        s = row("s", n)
        p = weights(s, BETA)
        mean = (p * s).sum()
        variance = (p * (s - mean) ** 2).sum()
        entropy = sp.log(sum(sp.exp(BETA * s_i) for s_i in s)) - BETA * mean
        says = "dH/dβ = −β Var_p(s)"
        identity(sp.diff(entropy, BETA), -(BETA**power) * variance, says)
        scores = grid(n)
        rows += len(scores)
        for beta in BETAS:
            p_n = ref.softmax(scores, beta=beta)
            require(near(p_n, plain.softmax(beta * scores)), f"n = {n}, β = {beta:g}: the weights")
            found = ref.entropy(p_n)
            by_lse = beta * (ref.logsumexp(scores, beta=beta) - ref.dot(p_n, scores))
            require(near(found, by_lse), f"n = {n}, β = {beta:g}: H(p) ≠ β(lse − ⟨p, s⟩)")
            inside = found.min() >= -1e-12 and found.max() <= np.log(n) + 1e-12
            require(inside, f"n = {n}, β = {beta:g}: H from {found.min():.4f} to {found.max():.4f}")
    return (
        f"H = β(lse_β(s) − ⟨p, s⟩) differentiated for symbols, n ≤ {n}; that form and the bounds "
        "for "
        f"all {rows} rows in {{−2, …, 2}}, n ≤ {n}, at β = 1/2, 1, 4, within 1e-12"
    )
