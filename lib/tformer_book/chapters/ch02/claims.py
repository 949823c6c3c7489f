"""The claims of chapter 2, softmax: the function and its Jacobian."""

from __future__ import annotations

from collections.abc import Callable
from itertools import permutations, product
from typing import Any

import numpy as np
import sympy as sp

from tformer import reference as ref
from tformer_book.claims import plain
from tformer_book.claims.registry import claim, require
from tformer_book.claims.tools import (
    BETA,
    BETAS,
    distribution,
    formula,
    grid,
    identity,
    near,
    row,
    show,
    simplex_grid,
    weights,
)


@claim(
    "exm-softmax-by-hand",
    "symbolic",
    mutants={"not exponentiated": {"exponentiate": False}},
    scope="all three weights",
)
def softmax_by_hand(exponentiate: bool = True) -> str:
    """By symbols and by the library."""
    scores = np.array([sp.Integer(0), sp.log(2), sp.log(3)], dtype=object)
    want = [sp.Rational(1, n) for n in (6, 3, 2)]
    identity(weights(scores) if exponentiate else scores / scores.sum(), want, "the by-hand row")
    got = ref.softmax(scores.astype(float))
    require(near(got, [1 / 6, 1 / 3, 1 / 2]), f"the library gives {show(got)}")
    return "exactly (1/6, 1/3, 1/2); the library within 1e-12"


@claim(
    "prop-softmax-two",
    "symbolic",
    mutants={"sigmoid of b − a": {"sign": -1}},
    scope="every a and b",
)
def softmax_two(sign: int = 1) -> str:
    """Beyond the statement, the library on a grid."""
    a, b = x = row("x", 2)
    identity(weights(x)[0], 1 / (1 + sp.exp(-sign * (a - b))), "softmax(x1, x2)_1 = sigmoid")
    scores = grid(2)
    sigmoid = 1 / (1 + np.exp(-sign * (scores[:, 0] - scores[:, 1])))
    require(near(ref.softmax(scores)[:, 0], sigmoid), "the library's weights differ")
    return "for symbols a and b; the library on the 25 pairs of {−2, …, 2}² within 1e-12"


@claim(
    "thm-shift-invariance",
    "symbolic",
    mutants={"scale, not shift": {"scale": True}},
    scope="n ≤ 4, every score and shift",
)
def shift_invariance(scale: bool = False) -> str:
    """Symbols to n = 4; the converse by the formula that gives the scores back."""
    c = sp.Symbol("c", real=True)
    for n in (1, 2, 3, 4):
        x = row("x", n)
        changed = c * x if scale else x + c
        identity(weights(changed, BETA), weights(x, BETA), "softmax of the changed scores")
        ratios = [sp.exp(BETA * (x_i - x[0])) for x_i in x]
        identity(weights(x, BETA) / weights(x, BETA)[0], ratios, "p_i/p_1 = exp(β(x_i − x_1))")
    scores = grid(3)
    for shift, beta in product((-1000.0, 0.5, 1000.0), BETAS):
        same = near(ref.softmax(scores + shift, beta=beta), plain.softmax(beta * scores))
        require(same, f"β = {beta:g}: the library's softmax changes under a shift by {shift:g}")
    return (
        f"for symbols, n ≤ {n}; the weights give back x_i − x_1 = log(p_i/p_1)/β, hence the "
        "converse; "
        "the library under shifts of 1/2 and ±1000 at β = 1/2, 1, 4, within 1e-12"
    )


def exponential(t: Any) -> Any:
    """Return a·exp(bt) for a positive symbol a and a real symbol b."""
    return sp.Symbol("a", positive=True) * sp.exp(sp.Symbol("b", real=True) * t)


@claim(
    "prop-why-exponential",
    "symbolic",
    mutants={
        "1 + x² will do": {"g": lambda t: 1 + t**2},
        "e^x + 1": {"g": lambda t: sp.exp(t) + 1},
    },
    scope="two scores, differentiable f",
)
def why_exponential(g: Callable[[Any], Any] = exponential) -> str:
    """Short of the statement: the converse is for differentiable g, not every continuous one."""
    x, c, b = sp.symbols("x c b", real=True)
    identity(g(x + c) * g(sp.Integer(0)), g(x) * g(c), "g(x + c)/g(c) = g(x)/g(0)")
    log_g = sp.Function("log_g")
    solution = sp.dsolve(log_g(x).diff(x) - b, log_g(x)).rhs
    identity(solution - solution.subs(x, 0), b * x, "log g(x) − log g(0) = bx")
    return (
        "the ratio of two weights for symbols; conversely, for differentiable g, its slope in the "
        "shift gives (log g)' = b, solved by log g = bx + constant; g that is only continuous is "
        "not tried"
    )


@claim(
    "prop-softmax-permutation",
    "numeric",
    mutants={"any selection": {"distinct": False}},
    scope="every order of two rows, n ≤ 5",
)
def softmax_permutation(distinct: bool = True) -> str:
    """Every permutation of a few rows, n ≤ 5, with and without ties."""
    tried = 0
    for n in range(1, 6):
        orders = list(permutations(range(n)) if distinct else product(range(n), repeat=n))
        tried += len(orders)
        rows = np.array([[0.0, 1.0, -2.0, 0.5, 3.0], [1.0, 1.0, -np.inf, 1.0, 0.0]])[:, :n]
        for x, beta, order in product(rows, BETAS, map(list, orders)):
            after, before = ref.softmax(x, beta=beta)[order], ref.softmax(x[order], beta=beta)
            numbers = f"softmax(xP) = {show(before)}, softmax(x)P = {show(after)}"
            require(near(before, after), f"x = {show(x)}, β = {beta:g}: {numbers}")
            want = plain.softmax(beta * x[order])
            require(near(before, want), f"x = {show(x[order])}: {show(before)}, not {show(want)}")
    return (
        f"all {tried} permutations of n ≤ 5 scores, distinct ones and such with ties and −∞, at "
        "β = 1/2, 1, 4, within 1e-12"
    )


@claim(
    "thm-softmax-jacobian",
    "symbolic",
    mutants={"the wrong sign": {"sign": 1}, "without β": {"power": 0}},
    scope="n ≤ 4, every score",
)
def softmax_jacobian(sign: int = -1, power: int = 1) -> str:
    """Symbols to n = 4; beyond the statement, the library's Jacobian and its product."""
    for n in (1, 2, 3, 4):
        x, p = row("x", n), row("p", n)
        by_hand = np.diag(p) + sign * np.outer(p, p)
        with_weights = dict(zip(p, weights(x, BETA), strict=True))
        derivative = sp.Matrix(weights(x, BETA)).jacobian(x)
        matrix = BETA**power * sp.Matrix(by_hand).subs(with_weights)
        identity(derivative, matrix, "∂p/∂x = β(diag p − pᵀp)")
        identity(formula(ref.softmax_jacobian)(p, beta=2), 2 * by_hand, "the library's Jacobian")
        gradient = row("g", n)
        passed_back = formula(ref.softmax_vjp)(p, gradient, beta=2)
        identity(passed_back, 2 * gradient @ by_hand, "the library's product")
    return (
        f"differentiated for symbols, n ≤ {n}; the library's Jacobian and product, run on symbols"
    )


@claim(
    "prop-jacobian-null",
    "symbolic",
    mutants={
        "invertible": {"null_dimension": 0},
        "two directions": {"null_dimension": 2},
        "a score of −inf": {"hidden": 1},
    },
    scope="the sign to n = 5, the null space to n = 4",
)
def jacobian_null(null_dimension: int = 1, hidden: int = 0) -> str:
    """Symbols to n = 5 for the sign; the null space by eigenvalues on a grid, n ≤ 4."""
    for n in (1, 2, 3, 4):
        scores = grid(n, (-1, 0, 2))
        scores[:, : min(hidden, n - 1)] = -np.inf
        jacobians = ref.softmax_jacobian(ref.softmax(scores))
        eigenvalues = np.linalg.eigvalsh(jacobians)
        require(near(jacobians, jacobians.mT) and eigenvalues.min() > -1e-12, "not semidefinite")
        for x, found in zip(scores, (eigenvalues < 1e-12).sum(axis=-1), strict=True):
            numbers = f"null space of dimension {found}, not {null_dimension}"
            require(found == null_dimension, f"x = {show(x)}: {numbers}")
        require(near(jacobians.sum(axis=-1), 0), "constants are not mapped to zero")
    for n in (2, 3, 4, 5):
        p, g = distribution(n), row("g", n)
        squares = sum(p[i] * p[j] * (g[i] - g[j]) ** 2 for j in range(n) for i in range(j))
        identity(g @ formula(ref.softmax_jacobian)(p) @ g, squares, "gJgᵀ = Σ p_i p_j (g_i − g_j)²")
    return (
        f"g(diag p − pᵀp)gᵀ = Σ_{{i<j}} p_i p_j (g_i − g_j)² for symbols with Σp = 1, n ≤ {n}; "
        "eigenvalues for all scores in {−1, 0, 2}, n ≤ 4 (zero means below 1e-12)"
    )


@claim(
    "thm-jacobian-norm",
    "numeric",
    mutants={"bound 0.4": {"bound": 0.4}, "bound 0.55": {"bound": 0.55}},
    scope="559 rows p, 2 ≤ n ≤ 4",
)
def jacobian_norm(bound: float = 0.5) -> str:
    """Gershgorin's row sums for symbols; beyond the statement, 1/2 nowhere else on the grid."""
    rows = 0
    for n in (2, 3, 4):
        p, points = distribution(n), simplex_grid(n, 12)
        rows += len(points)
        for i in range(n):
            others = sum(p[i] * p[j] for j in range(n) if j != i)
            identity(p[i] * (1 - p[i]) + others, 2 * p[i] * (1 - p[i]), "absolute sum of row i")
        norms = np.linalg.norm(ref.softmax_jacobian(points), 2, axis=(-2, -1))
        middle = 2 * (points * (1 - points)).max(axis=-1)
        for point, norm, by_rows in zip(points, norms, middle, strict=True):
            chain = f"norm {norm:.4f}, row bound {by_rows:.4f}, constant {bound:g}"
            require(norm <= by_rows + 1e-12 <= bound + 2e-12, f"p = {show(point)}: {chain}")
        half = points[norms >= bound - 1e-12]
        at_halves = half.size and (np.sort(half)[:, -2:] == 0.5).all()
        require(at_halves, f"n = {n}: {bound:g} is not reached at two halves, or elsewhere as well")
    return (
        f"all {rows} probability rows in twelfths, 2 ≤ n ≤ 4, within 1e-12; 1/2 only at two "
        "halves; the row sums of Gershgorin's bound, 2p_i(1 − p_i), for symbols"
    )


@claim(
    "cor-softmax-lipschitz",
    "numeric",
    mutants={"β/4": {"constant": 0.25}, "0.55 β, as the best constant": {"constant": 0.55}},
    scope="15,625 pairs of rows, n = 3",
)
def softmax_lipschitz(constant: float = 0.5) -> str:
    """On a grid; beyond the statement, β/2 is the best constant."""
    scores = grid(3)
    distances = np.sqrt(ref.pairwise_squared_distance(scores, scores))
    for beta in BETAS:
        p = ref.softmax(scores, beta=beta)
        moved = np.sqrt(ref.pairwise_squared_distance(p, p))
        i, j = np.unravel_index(np.argmax(moved - constant * beta * distances), moved.shape)
        numbers = f"{moved[i, j]:.4f} > {constant:g}·{beta:g}·{distances[i, j]:.4f}"
        within = near(moved, np.minimum(moved, constant * beta * distances))
        require(within, f"x = {show(scores[i])}, y = {show(scores[j])}: {numbers}")
    h = sp.Symbol("h", positive=True)
    difference = weights(np.array([h, -h]), BETA) - weights(np.array([-h, h]), BETA)
    ratio = sp.limit(difference[0] / (2 * h), h, 0)
    best = sp.nsimplify(constant) * BETA
    identity(ratio, best, "the ratio at x = −y = (h, −h), h → 0, is the constant")
    return (
        f"all {moved.size} pairs in {{−2, …, 2}}³ at β = 1/2, 1, 4, within 1e-12; "
        "at x = −y = (h, −h) the ratio tends to β/2 as h → 0 (symbolic), so β/2 is best"
    )
