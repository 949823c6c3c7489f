"""The claims of chapter 1, dot products: random directions."""

from __future__ import annotations

from collections import Counter
from itertools import combinations
from math import exp, factorial

import numpy as np
import sympy as sp

from tformer import reference as ref
from tformer_book.claims.registry import claim, require
from tformer_book.claims.tools import (
    HALF,
    ONE,
    Array,
    cosine_moments,
    expectation,
    formula,
    grid,
    identity,
    near,
    row,
    sizes,
)


@claim(
    "thm-dot-variance",
    "symbolic",
    mutants={
        "mean one": {"mean": 1},
        "variance 2d": {"factor": 2},
        "k is q": {"independent": False},
    },
    scope="widths 1 to 5, every such distribution",
)
def dot_variance(mean: int = 0, factor: int = 1, independent: bool = True) -> str:
    """Every distribution with these moments, d ≤ 5; beyond the statement, all sign vectors."""
    fourth = sp.Symbol("m4")
    moments = {0: 1, 1: mean, 2: 1 + mean**2, 4: fourth}
    for d in sizes(5):
        q, k = row("q", d), row("k", d)
        product = formula(ref.dot)(q, k if independent else q)
        average = expectation(product, moments)
        require(average == 0, f"d = {d}: E[q·k] = {average}, not 0")
        identity(expectation(product**2, moments), factor * d, f"d = {d}: Var[q·k] = {factor * d}")
        signs = grid(d, (-1, 1))
        dots = ref.pairwise_dot(signs, signs)
        require(dots.mean() == 0 and dots.var() == d, f"signs, d = {d}: variance {dots.var():g}")
    return (
        f"expectations taken symbol by symbol, for every such distribution, d ≤ {d}; "
        f"mean 0 and variance d exactly over all pairs of sign vectors, d ≤ {d}"
    )


@claim(
    "cor-scaled-variance",
    "symbolic",
    mutants={"divide by d": {"power": 1}},
    scope="widths 1 to 5, every such distribution",
)
def scaled_variance(power: sp.Expr = HALF) -> str:
    """As the theorem, d ≤ 5; beyond the statement, all sign vectors, d ≤ 6."""
    for d in sizes(5):
        scaled = formula(ref.dot)(row("q", d), row("k", d)) / sp.Integer(d) ** power
        variance = expectation(scaled**2, {0: 1, 1: 0, 2: 1})
        require(variance == 1, f"d = {d}: Var[q·k/d^{power}] = {variance}, not 1")
    for d in sizes(6):
        signs = grid(d, (-1, 1))
        variance = (ref.pairwise_dot(signs, signs) / d ** float(power)).var()
        require(near(variance, 1), f"sign vectors, d = {d}: variance {variance:.4f}, not 1")
    return f"symbol by symbol for d ≤ 5, and over all pairs of sign vectors, d ≤ {d}, within 1e-12"


@claim(
    "thm-cosine-variance",
    "symbolic",
    mutants={"variance 1/√d": {"power": HALF}, "half a sphere": {"half": True}},
    scope="dimensions 1 to 12",
)
def cosine_variance(power: sp.Expr = ONE, half: bool = False) -> str:
    """Exact in R^1 to R^12, by the density of the angle, which is taken as known."""
    for d in range(2, 13):
        mean, variance = cosine_moments(d, sp.pi / 2 if half else sp.pi)
        require(mean == 0, f"d = {d}: E[u·x] = {sp.N(mean, 4)}, not 0")
        want = sp.Integer(d) ** -power
        require(variance == want, f"d = {d}: Var[u·x] = {variance}, not {want}")
        v, axes = np.random.default_rng(d).standard_normal(d), np.eye(d)
        cosines = ref.pairwise_cosine(np.concatenate([axes, -axes]), v[None])
        require(near(cosines.mean(), 0) and near(cosines.var(), 1 / d), f"axes of R^{d}")
    signs = ref.pairwise_cosine(np.array([[-1.0], [1.0]]), np.ones((1, 1)))
    require(signs.mean() == 0 and signs.var() == 1, f"d = 1: Var[u·x] = {signs.var():g}, not 1")
    return (
        "the angle θ between u and x has density ∝ sin^(d−2) θ; both moments of cos θ integrated "
        f"for 2 ≤ d ≤ {d}; for d = 1, u = ±1; the 2d directions ±e_i have the same two moments"
    )


@claim(
    "lem-cosh",
    "symbolic",
    mutants={"λ²/3 in the exponent": {"divisor": 3}},
    scope="every term of the series",
)
def cosh(divisor: int = 2) -> str:
    """Compares the Taylor coefficients of the two sides, 1/(2n)! and 1/(2ⁿ n!), for every n."""
    for n in range(21):
        left, right = sp.Rational(1, factorial(2 * n)), sp.Rational(1, divisor**n * factorial(n))
        require(left <= right, f"coefficient of λ^{2 * n}: {left} > {right}")
    n = sp.Symbol("n", integer=True, nonnegative=True)
    ratio = sp.factorial(2 * n) / (divisor**n * sp.factorial(n))
    step = sp.combsimp(ratio.subs(n, n + 1) / ratio)
    identity(step, 2 * n + 1, "the ratio of the coefficients grows by 2n + 1")
    return "(2n)!/(2ⁿ n!) is 1 at n = 0 and grows by the factor 2n + 1 ≥ 1, for symbolic n"


def tails(d: int) -> dict[int, float]:
    """Return s -> P(|u·x| ≥ s) for independent uniform sign vectors, rounded once from integers."""
    tail, above, ways = {}, 0, 1
    for agree in range(d, (d - 1) // 2, -1):
        s = 2 * agree - d
        above += ways * (2 if s else 1)
        tail[s] = above / 2**d
        ways = ways * agree // (d - agree + 1)
    return tail


@claim(
    "thm-hoeffding-cosine",
    "exhaustive",
    mutants={"exponent dε²": {"rate": 1.0}, "exponent 0.55 dε²": {"rate": 0.55}},
    scope="every cosine, widths 1 to 200, and 10⁴",
)
def hoeffding_cosine(rate: float = 0.5) -> str:
    """Every ε for each d that is tried: the two sides need comparing only where |cos| can lie.
    A width of 10⁴ is there since a larger rate than 1/2 fails only far out in the tail.
    """
    for d in sizes(6):
        signs = grid(d, (-1, 1))
        counts = Counter(np.rint(d * ref.pairwise_cosine(signs, signs)).astype(int).ravel())
        for s, tail in tails(d).items():
            share = sum(times for dot, times in counts.items() if abs(dot) >= s) / 4**d
            require(near(share, tail), f"d = {d}: P(|u·x| ≥ {s}) is {share:.4f}, not {tail:.4f}")
    share = {}
    for d in (*sizes(200), 10_000):
        for s, tail in tails(d).items():
            bound = 2 * exp(-rate * s * s / d)
            if bound > 1e-300:
                where = f"d = {d}, ε = {s}/{d}: P = {tail:.4g}"
                require(tail <= bound, f"{where} > {bound:.4g}")
                share[s, d] = tail / bound
    nearest = max(share, key=lambda place: share[place])
    return (
        "exact binomial tails at each value that |cos| can take, d ≤ 200 and d = 10⁴, down to "
        f"bounds of 1e-300: at most {share[nearest]:.3f} of the bound, at d = {nearest[1]}; "
        "counted from all pairs of sign vectors, d ≤ 6"
    )


@claim(
    "thm-exponentially-many",
    "numeric",
    mutants={"exp(dε²) vectors": {"rate": 1.0}},
    scope="the union bound, widths 1 to 200",
)
def exponentially_many(rate: float = 0.25) -> str:
    """The count of the proof at every ε, d ≤ 200; families of that size are found for d ≤ 4, and
    one in R^256.
    """
    for d in sizes(4):
        for overlap in sizes(d):
            n = int(exp(rate * overlap**2 / d))
            found = _family_exists(d, n, overlap)
            require(found, f"d = {d}, ε = {overlap}/{d}: no {n} vectors with all |cos| < ε")
    for d in sizes(200):
        for s, tail in tails(d).items():
            n = int(exp(rate * s * s / d))
            expected = n * (n - 1) / 2 * tail
            require(expected < 1, f"d = {d}, ε = {s}/{d}, n = {n}: {expected:.3f} pairs too close")
    n = int(exp(rate * 256 * 0.3**2))
    worst = _largest_cosine(vectors=n, d=256)
    require(worst < 0.3, f"{n} vectors in R^256: a pair with |cos| = {worst:.4f} ≥ 0.3")
    return (
        "n(n − 1)/2 · P(|cos| ≥ ε) < 1 with exact tails at each value of |cos|, d ≤ 200; the "
        f"families exist for d ≤ 4; {n} = ⌊exp(256·0.3²/4)⌋ vectors in R^256 with |cos| < 0.3"
    )


def _family_exists(d: int, n: int, overlap: int) -> bool:
    """Whether n sign vectors exist with all |u·x| < overlap (x and −x count as one)."""
    signs = grid(d, (-1, 1))[: 2 ** (d - 1)]
    close = np.abs(ref.pairwise_dot(signs, signs)) >= overlap
    families = combinations(range(len(signs)), n)
    return any(not any(close[u, v] for u, v in combinations(family, 2)) for family in families)


def _largest_cosine(vectors: int, d: int) -> float:
    """Return the largest |cos| between any two of some random sign vectors, seed 0."""
    signs: Array = np.random.default_rng(0).choice([-1.0, 1.0], size=(vectors, d))
    cosines = np.abs(ref.pairwise_cosine(signs, signs))
    return float(cosines[np.triu_indices(vectors, 1)].max())
