"""The claims of chapter 2, softmax: the function and its Jacobian."""

from __future__ import annotations

from collections.abc import Callable
from itertools import permutations, product
from typing import Any

import numpy as np
import sympy as sp

from tformer import reference as ref
from tformer.claims.registry import claim, require
from tformer.claims.tools import Array, formula, grid, identity, near, row, show, simplex_grid

BETA = sp.Symbol("beta", positive=True)
BETAS = (0.5, 1.0, 4.0)


def weights(x: Array, beta: Any = 1) -> Array:
    """Return softmax_β of a row of symbols."""
    terms = np.array([sp.exp(beta * score) for score in x], dtype=object)
    return terms / terms.sum()


def distribution(size: int) -> Array:
    """Return symbols p1, p2, … of which the last is one minus the others."""
    p = row("p", size)
    p[-1] = 1 - p[:-1].sum()
    return p


@claim("exm-softmax-by-hand", "symbolic", broken={"not exponentiated": {"exponentiate": False}})
def softmax_by_hand(exponentiate: bool = True) -> str:
    """The scores (0, ln 2, ln 3) have the softmax (1/6, 1/3, 1/2)."""
    scores = np.array([sp.Integer(0), sp.log(2), sp.log(3)], dtype=object)
    want = [sp.Rational(1, n) for n in (6, 3, 2)]
    identity(weights(scores) if exponentiate else scores / scores.sum(), want, "the by-hand row")
    got = ref.softmax(scores.astype(float))
    require(near(got, [1 / 6, 1 / 3, 1 / 2]), f"the library gives {show(got)}")
    return "exactly (1/6, 1/3, 1/2); the library within 1e-12"


@claim("prop-softmax-two", "symbolic", broken={"sigmoid of b − a": {"sign": -1}})
def softmax_two(sign: int = 1) -> str:
    """For all real a and b, the first weight of softmax(a, b) is sigmoid(a − b), which is
    1/(1 + exp(b − a)).
    """
    a, b = x = row("x", 2)
    identity(weights(x)[0], 1 / (1 + sp.exp(-sign * (a - b))), "softmax(x1, x2)_1 = sigmoid")
    scores = grid(2)
    sigmoid = 1 / (1 + np.exp(-sign * (scores[:, 0] - scores[:, 1])))
    require(near(ref.softmax(scores)[:, 0], sigmoid), "the library's weights differ")
    return "for symbols a and b; the library on the 25 pairs of {−2, …, 2}² within 1e-12"


@claim("thm-shift-invariance", "symbolic", broken={"scale, not shift": {"scale": True}})
def shift_invariance(scale: bool = False) -> str:
    """For all finite x and y and every β > 0, softmax_β(x) = softmax_β(y) if and only if
    x − y = c1, a constant row.
    """
    c = sp.Symbol("c", real=True)
    for n in (2, 3, 4):
        x = row("x", n)
        changed = c * x if scale else x + c
        identity(weights(changed, BETA), weights(x, BETA), "softmax of the changed scores")
        ratios = [sp.exp(BETA * (x_i - x[0])) for x_i in x]
        identity(weights(x, BETA) / weights(x, BETA)[0], ratios, "p_i/p_1 = exp(β(x_i − x_1))")
    scores = grid(3)
    for shift in (-1000.0, 0.5, 1000.0):
        same = near(ref.softmax(scores + shift), ref.softmax(scores))
        require(same, f"the library's softmax changes under a shift by {shift:g}")
    return (
        "for symbols, n ≤ 4; the weights give back x_i − x_1 = log(p_i/p_1)/β, hence the converse; "
        "the library under shifts of ±1000 within 1e-12"
    )


def exponential(t: Any) -> Any:
    """Return a·exp(bt) for a positive symbol a and a real symbol b."""
    return sp.Symbol("a", positive=True) * sp.exp(sp.Symbol("b", real=True) * t)


@claim(
    "prop-why-exponential",
    "symbolic",
    broken={"1 + x² will do": {"g": lambda t: 1 + t**2}, "e^x + 1": {"g": lambda t: sp.exp(t) + 1}},
)
def why_exponential(g: Callable[[Any], Any] = exponential) -> str:
    """For every continuous g > 0, no shift changes any row g(x_i)/Σ_j g(x_j), whatever its length,
    if and only if g(x) = a·exp(bx) for some a > 0 and some real b.
    """
    x, c, b = sp.symbols("x c b", real=True)
    identity(g(x + c) * g(sp.Integer(0)), g(x) * g(c), "g(x + c)/g(c) = g(x)/g(0)")
    log_g = sp.Function("log_g")
    solution = sp.dsolve(log_g(x).diff(x) - b, log_g(x)).rhs
    identity(solution - solution.subs(x, 0), b * x, "log g(x) − log g(0) = bx")
    return (
        "the ratio of two weights for symbols; conversely, for differentiable g, its slope in the "
        "shift gives (log g)' = b, solved by log g = bx + constant"
    )


@claim("prop-softmax-permutation", "exhaustive", broken={"any selection": {"distinct": False}})
def softmax_permutation(distinct: bool = True) -> str:
    """For every row x and every permutation matrix P, softmax(xP) = softmax(x)P."""
    tried = 0
    for n in range(1, 6):
        x = np.array([0.0, 1.0, -2.0, 0.5, 3.0])[:n]
        orders = list(permutations(range(n)) if distinct else product(range(n), repeat=n))
        tried += len(orders)
        for order in map(list, orders):
            after, before = ref.softmax(x)[order], ref.softmax(x[order])
            numbers = f"softmax(xP) = {show(before)}, softmax(x)P = {show(after)}"
            require(near(before, after), f"x = {show(x)}: {numbers}")
    return f"all {tried} permutations of n ≤ 5 distinct scores, within 1e-12"


@claim(
    "thm-softmax-jacobian",
    "symbolic",
    broken={"the wrong sign": {"sign": 1}, "without β": {"power": 0}},
)
def softmax_jacobian(sign: int = -1, power: int = 1) -> str:
    """For every finite x and every β > 0, the row p = softmax_β(x) has ∂p/∂x = β(diag p − pᵀp)."""
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
    return "differentiated for symbols, n ≤ 4; the library's Jacobian and product, run on symbols"


@claim(
    "prop-jacobian-null",
    "symbolic",
    broken={
        "invertible": {"null_dimension": 0},
        "two directions": {"null_dimension": 2},
        "a score of −inf": {"hidden": 1},
    },
)
def jacobian_null(null_dimension: int = 1, hidden: int = 0) -> str:
    """For every probability row p, diag p − pᵀp is symmetric and positive semidefinite; if p is the
    softmax of finite scores, it maps exactly the constant rows to zero.
    """
    for n in (2, 3, 4):
        scores = grid(n, (-1, 0, 2))
        scores[:, :hidden] = -np.inf
        jacobians = ref.softmax_jacobian(ref.softmax(scores))
        eigenvalues = np.linalg.eigvalsh(jacobians)
        require(near(jacobians, jacobians.mT) and eigenvalues.min() > -1e-12, "not semidefinite")
        for x, found in zip(scores, (eigenvalues < 1e-12).sum(axis=-1), strict=True):
            numbers = f"null space of dimension {found}, not {null_dimension}"
            require(found == null_dimension, f"x = {show(x)}: {numbers}")
        require(near(jacobians.sum(axis=-1), 0), "constants are not mapped to zero")
    for n in (2, 3, 4, 5):
        p, v = distribution(n), row("v", n)
        squares = sum(p[i] * p[j] * (v[i] - v[j]) ** 2 for j in range(n) for i in range(j))
        identity(v @ formula(ref.softmax_jacobian)(p) @ v, squares, "vJvᵀ = Σ p_i p_j (v_i − v_j)²")
    return (
        "v(diag p − pᵀp)vᵀ = Σ_{i<j} p_i p_j (v_i − v_j)² for symbols with Σp = 1, n ≤ 5; "
        "eigenvalues for all scores in {−1, 0, 2}, n ≤ 4 (zero means below 1e-12)"
    )


@claim("thm-jacobian-norm", "numeric", broken={"bound 0.4": {"bound": 0.4}})
def jacobian_norm(bound: float = 0.5) -> str:
    """For every probability row p, ‖diag p − pᵀp‖₂ ≤ 2 max_i p_i(1 − p_i) ≤ 1/2, and 1/2 is reached
    when two entries of p are 1/2.
    """
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
        half = points[norms >= 0.5 - 1e-12]
        require((np.sort(half)[:, -2:] == 0.5).all() and half.size, "1/2 not at two halves")
    return (
        f"all {rows} probability rows in twelfths, 2 ≤ n ≤ 4, within 1e-12; 1/2 only at two "
        "halves; the row sums of Gershgorin's bound, 2p_i(1 − p_i), for symbols"
    )


@claim("cor-softmax-lipschitz", "numeric", broken={"β/4": {"constant": 0.25}})
def softmax_lipschitz(constant: float = 0.5) -> str:
    """‖softmax_β(x) − softmax_β(y)‖₂ ≤ (β/2)‖x − y‖₂ for all finite x and y and every β > 0."""
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
    identity(ratio, BETA / 2, "the ratio at x = −y = (h, −h), h → 0")
    return (
        f"all {moved.size} pairs in {{−2, …, 2}}³ at β = 1/2, 1, 4, within 1e-12; "
        "at x = −y = (h, −h) the ratio tends to β/2 as h → 0 (symbolic), so β/2 is best"
    )
