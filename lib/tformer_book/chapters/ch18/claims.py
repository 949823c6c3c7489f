"""The claims of chapter 18 that are proved: layers are steps, and which step is best."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import sympy as sp

from tformer_book.chapters.ch18.regression import (
    answer,
    answers,
    best_loss,
    best_step,
    layer,
    loss_of_step,
    ridge,
    tokens,
    with_question_as_key,
)
from tformer_book.claims.registry import claim, require
from tformer_book.claims.tools import expectation, identity, near, show, table

SIZES = ((1, 1, 1), (1, 3, 5), (2, 3, 8), (1, 8, 4))
"""Targets, numbers of a row and examples: more numbers than examples among them."""


def _drawn(seed: int, m: int, d: int, n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows, targets and a question."""
    rng = np.random.default_rng(seed)
    x, y = rng.standard_normal((n, d)), rng.standard_normal((n, m))
    return x, y, rng.standard_normal(d)


def _by_loops(
    x: np.ndarray, y: np.ndarray, eta: float, steps: int, mean: bool = True, sign: float = 1.0
) -> np.ndarray:
    """Gradient descent with the gradient as a sum over examples, number by number; (d, m)."""
    n, d = x.shape
    w = np.zeros((d, y.shape[1]))
    for _ in range(steps):
        move = np.zeros_like(w)
        for i, a, b in product(range(n), range(d), range(y.shape[1])):
            gap = sum(x[i, c] * w[c, b] for c in range(d)) - y[i, b]
            move[a, b] += gap * x[i, a]
        w = w - sign * eta * move / (n if mean else 1)
    return w


def _symbols(mean: bool, sign: int, steps: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Tokens after some layers, and rows, targets and w by derivatives, d = n = 2."""
    x, y, q, eta = table("x", 2, 2), table("y", 2, 1), table("q", 1, 2), sp.Symbol("eta")
    e = np.block([[x, y], [q, 0 * q[:, :1]]])
    w = np.array([[sp.Integer(0)], [sp.Integer(0)]], dtype=object)
    u = sp.symbols("u1:3")
    loss = sum((x[i] @ np.array(u) - y[i, 0]) ** 2 for i in range(2)) / (4 if mean else 2)
    slopes = [sp.diff(loss, one) for one in u]
    for _ in range(steps):
        r, keys, values = e[:, 2:], e[:2, :2], -e[:2, 2:]
        e = np.concatenate([e[:, :2], r + eta / 2 * (e[:, :2] @ keys.T) @ values], axis=1)
        at = dict(zip(u, w[:, 0], strict=True))
        w = w - sign * eta * np.array([[slope.subs(at)] for slope in slopes], dtype=object)
    return e, np.block([[y - x @ w], [-q @ w]]), w


@claim(
    "thm-linear-step",
    "symbolic",
    mutants={
        "the step is the sum and not the mean": {"mean": False},
        "the values are the residuals themselves": {"sign": -1},
        "it starts at another w": {"start": 0.5},
    },
    scope="symbols, d = n = 2; loops over examples, 4 sizes, 5 draws",
)
def linear_step(mean: bool = True, sign: int = 1, start: float = 0.0) -> str:
    """The gradient comes from SymPy's derivative, and from a loop over examples and numbers."""
    e, want, _ = _symbols(mean, sign, 1)
    identity(e[:, 2:], want, "residuals and answer after one layer")
    for seed, (m, d, n) in product(range(5), SIZES):
        x, y, q = _drawn(seed, m, d, n)
        w = _by_loops(x, y, 0.4, 1, mean, sign) + start
        e = layer(tokens(x, y, q), d, 0.4)
        require(near(answer(e, d), q @ w), f"answer {show(answer(e, d))}, not {show(q @ w)}")
        require(near(e[:-1, d:], y - x @ w), f"residuals {show(e[0, d:])} in the first row")
        require(np.array_equal(e[:, :d], np.vstack([x, q])), "the rows have changed")
    return "for symbols, by derivatives; 20 draws against loops, answers and residuals to 1e-12"


@claim(
    "thm-layers-are-steps",
    "symbolic",
    mutants={
        "a layer is worth two steps": {"worth": 2},
        "the answer is the residual": {"sign": -1},
        "the step may differ in the last layer": {"last": 0.5},
    },
    scope="two layers for symbols, d = n = 2; 8 layers, 4 sizes",
)
def layers_are_steps(worth: int = 1, sign: int = 1, last: float = 1.0) -> str:
    """Step sizes that differ from layer to layer are tried, too; the sum over steps is a loop."""
    e, want, _ = _symbols(True, 1, 2)
    identity(e[:2, 2:], want[:2], "residuals after two layers")
    identity(e[2:, 2:], sign * want[2:], "answer after two layers")
    for seed, (m, d, n) in product(range(3), SIZES):
        x, y, q = _drawn(seed, m, d, n)
        for k, got in enumerate(answers(x, y, q, 0.2, 8)):
            want = sign * q @ _by_loops(x, y, 0.2, worth * k)
            require(near(got, want), f"after {k} layers {show(got)}, not {show(want)}")
        e, w = tokens(x, y, q), np.zeros((d, m))
        for i, eta in enumerate((0.3, 0.1, 0.2)):
            e = layer(e, d, eta)
            eta *= last if i == 2 else 1.0
            w = w - eta * sum(np.outer(x[j], x[j] @ w - y[j]) for j in range(n)) / n
            require(near(e[:-1, d:], y - x @ w), f"layer {i + 1}: {show(e[0, d:])}")
        require(near(answer(e, d), q @ w), f"answer {show(answer(e, d))}, not {show(q @ w)}")
    return "two layers for symbols; up to eight layers, equal and unequal steps, to 1e-12"


@claim(
    "exm-question-as-key",
    "numeric",
    mutants={
        "the first layer is wrong, too": {"first": False},
        "the examples' residuals stay right": {"kept": True},
        "a layer divides by one more": {"more": 1},
    },
    scope="the task of the page; 20 draws for the formula",
)
def question_as_key(first: bool = True, kept: bool = False, more: int = 0) -> str:
    """The numbers of the page, and the second layer's difference by a formula, for 20 draws."""
    for seed in range(20):
        x, y, q = _drawn(seed, 1, 3, 6)
        right = wrong = tokens(x, y, q)
        right, wrong = layer(right, 3, 0.5), with_question_as_key(wrong, 3, 0.5)
        same = near(right, wrong)
        require(same == first, f"after one layer they differ by {abs(right - wrong).max():.3g}")
        guess = answer(right, 3)
        rows = x if not kept else 0 * x
        want = np.concatenate([rows, q[None]]) @ q[:, None] * guess * 0.5 / (6 + more)
        right, wrong = layer(right, 3, 0.5), with_question_as_key(wrong, 3, 0.5)
        got = wrong[:, 3:] - right[:, 3:]
        require(near(got, want), f"after two: {show(got)}, not {show(want)}")
    return "equal after one layer; after two they differ by η/n (x·q) times the answer, to 1e-12"


def _moments(d: int, n: int, sigma: sp.Expr, exponent: int) -> sp.Expr:
    """E of the squared error of the answer after one step, by moments of each Gaussian number."""
    x = sp.symbols(f"x1:{n * d + 1}")
    w, q, z = sp.symbols(f"w1:{d + 1}"), sp.symbols(f"q1:{d + 1}"), sp.symbols(f"z1:{n + 1}")
    eta = sp.Symbol("eta")
    rows = [x[i * d : (i + 1) * d] for i in range(n)]

    def dot(a: tuple[sp.Symbol, ...], b: tuple[sp.Symbol, ...]) -> sp.Expr:
        return sum((u * v for u, v in zip(a, b, strict=True)), sp.Integer(0))

    found = sum(dot(q, row) * (dot(row, w) + sigma * z[i]) for i, row in enumerate(rows))
    gap = sp.expand((eta * found / n - dot(q, w)) ** 2)
    gaussian = {k: 0 if k % 2 else sp.factorial2(max(k - 1, 1)) for k in range(9)}
    gaussian[4] = sp.Integer(exponent)
    return expectation(gap, gaussian, (*x, *w, *q, *z))


@claim(
    "prop-best-step",
    "symbolic",
    mutants={
        "x is ±1 and not Gaussian": {"fourth": 1},
        "the denominator is n + d": {"one": 0},
        "the noise counts once and not squared": {"power": 1},
    },
    scope="moments of all Gaussians, d and n up to 2; the library to 9",
)
def best_step_of_one(fourth: int = 3, one: int = 1, power: int = 2) -> str:
    """Every moment is multiplied out; then the least place of the parabola by fractions."""
    sigma, eta = sp.Symbol("sigma", positive=True), sp.Symbol("eta")
    for d, n in ((1, 1), (1, 2), (2, 1), (2, 2)):
        loss = _moments(d, n, sigma, fourth) / d
        size = n + d + one + sigma**power
        identity(loss, 1 - 2 * eta + eta**2 * size / n, f"the error for d = {d}, n = {n}")
        best = sp.solve(sp.diff(loss, eta), eta)[0]
        identity(best, n / size, f"the best step for d = {d}, n = {n}")
        identity(loss.subs(eta, best), (size - n) / size, f"its error for d = {d}, n = {n}")
    for d, n, noise in product(range(1, 10), range(1, 10), (0, 2)):
        best = Fraction(n, n + d + one + noise**power)
        require(near(best_step(n, d, noise), float(best)), f"{n}, {d}: {best_step(n, d, noise)}")
        require(near(best_loss(n, d, noise), float(1 - best)), f"{n}, {d}, σ = {noise}: the error")
        require(near(loss_of_step(n, d, float(best), noise), float(1 - best)), "on the parabola")
    return "all moments multiplied out for d, n up to 2, with noise; the library's numbers to 1e-12"


@claim(
    "prop-ridge-bayes",
    "symbolic",
    mutants={
        "the penalty is σ": {"power": 1},
        "the penalty is divided by n": {"shared": True},
        "w has variance 4": {"variance": 4},
    },
    scope="symbols, d = n = 2; 20 draws, the joint Gaussian inverted",
)
def ridge_is_bayes(power: int = 2, shared: bool = False, variance: int = 1) -> str:
    """The posterior by conditioning a joint Gaussian, which inverts an n by n matrix."""
    x, y = sp.Matrix(table("x", 2, 2).tolist()), sp.Matrix(table("y", 2, 1).tolist())
    sigma = sp.Symbol("sigma", positive=True)
    penalty = sigma**power / (2 if shared else 1)
    ours = (x.T * x + penalty * sp.eye(2)).LUsolve(x.T * y)
    joint = variance * x * x.T + sigma**2 * sp.eye(2)
    want = variance * x.T * joint.LUsolve(y)
    for at in _points(x, y, sigma):
        for i in range(2):
            a, b = ours[i].subs(at), want[i].subs(at)
            require(sp.simplify(a - b) == 0, f"w{i + 1} is {a}, by conditioning {b}, at {at}")
    for a, b in zip(ours, want, strict=True):
        identity(sp.together(a - b), 0, "ridge is the posterior mean")
    for seed in range(20):
        m, d, n = SIZES[seed % 4]
        rows, targets, _ = _drawn(seed, m, d, n)
        got = ridge(rows, targets, 0.7**power)
        want = rows.T @ np.linalg.solve(rows @ rows.T + 0.49 * np.eye(n), targets)
        require(near(got, want, 1e-10), f"ridge {show(got)}, by conditioning {show(want)}")
        gap = rows @ got - targets
        slope = rows.T @ gap + 0.49 * got
        require(near(slope, 0, 1e-9), f"the slope at the minimum is {show(slope)}")
    return "for symbols, against the joint Gaussian of w and targets; 20 draws to 1e-10"


def _points(x: sp.Matrix, y: sp.Matrix, sigma: sp.Symbol) -> list[dict[sp.Symbol, int]]:
    """Two points of whole numbers, which refute what is wrong before symbols are simplified."""
    names = [*x, *y, sigma]
    return [dict(zip(names, range(a, a + len(names)), strict=True)) for a in (1, 3)]
