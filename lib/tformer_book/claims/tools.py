"""What the verifications share: symbols, finite grids, identities, the library's formulas."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from itertools import product
from math import prod
from typing import Any

import numpy as np
import sympy as sp
from numpy.typing import NDArray

from tformer.parameters import tree_map
from tformer_book.claims.registry import ClaimFailed

Array = NDArray[Any]
ONE, HALF = sp.Integer(1), sp.Rational(1, 2)
BETA = sp.Symbol("beta", positive=True)
BETAS = (0.5, 1.0, 4.0)
TRIAL_VALUES = (2, 3, 5, 7, 11, 13, 17, 19, 23, 29)


def formula(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the body of a library function without its argument checks, so it takes symbols."""
    return inspect.unwrap(function)


def row(name: str, size: int, positive: bool | None = None) -> Array:
    """Return a row vector of real (or positive) symbols name1, name2, …"""
    symbols = sp.symbols(f"{name}1:{size + 1}", real=True, positive=positive)
    return np.array(symbols, dtype=object)


def table(name: str, rows: int, columns: int) -> Array:
    """Return a matrix of real symbols name11, name12, …"""
    return np.array(row(name, rows * columns), dtype=object).reshape(rows, columns)


def weights(scores: Array, beta: Any = 1) -> Array:
    """Return softmax_β of a row of symbols."""
    terms = np.array([sp.exp(beta * score) for score in scores], dtype=object)
    return terms / terms.sum()


def distribution(size: int) -> Array:
    """Return symbols p1, p2, … of which the last is one minus the others."""
    p = row("p", size)
    p[-1] = 1 - p[:-1].sum()
    return p


def identity(left: Any, right: Any, says: str) -> None:
    """Require left = right for all values of their symbols; if not, name values where they differ.

    Both sides are SymPy expressions, or arrays of them.
    """
    if np.shape(left) != np.shape(right):
        raise ClaimFailed(f"{says} fails: shape {np.shape(left)} ≠ {np.shape(right)}")
    for a, b in zip(map(sp.sympify, np.ravel(left)), map(sp.sympify, np.ravel(right)), strict=True):
        if any(simplified(a - b) == 0 for simplified in (sp.expand, sp.cancel, sp.simplify)):
            continue
        symbols = sorted((a - b).free_symbols, key=str)
        point = dict(zip(symbols, map(sp.Integer, TRIAL_VALUES), strict=False))
        at = " at " + ", ".join(f"{s} = {value}" for s, value in point.items()) if point else ""
        raise ClaimFailed(f"{says} fails{at}: {_digits(a.subs(point))} ≠ {_digits(b.subs(point))}")


def _digits(value: sp.Expr) -> str:
    return str(value) if value.is_Rational else str(sp.N(value, 5))


def expectation(
    polynomial: sp.Expr, moments: Mapping[int, Any], variables: Sequence[sp.Symbol] = ()
) -> sp.Expr:
    """Return E[polynomial] in independent variables that share the moments E[xⁿ] = moments[n].

    All symbols are variables unless `variables` names them; the others are then constants.
    """
    generators = variables or sorted(polynomial.free_symbols, key=str)
    terms = sp.Poly(polynomial, *generators).terms()
    return sp.expand(sum(c * prod(moments[n] for n in powers) for powers, c in terms))


def cosine_moments(d: int, last: Any = sp.pi) -> tuple[sp.Expr, sp.Expr]:
    """Return E[cos θ] and E[cos² θ] for the angle θ from a uniform direction of R^d to a fixed one.

    For d ≥ 2 its density is proportional to sin^(d − 2) θ, from 0 to `last`.
    """
    angle = sp.Symbol("theta")
    density = sp.sin(angle) ** (d - 2)
    total, first, second = (
        sp.integrate(sp.cos(angle) ** n * density, (angle, 0, last)) for n in range(3)
    )
    return sp.simplify(first / total), sp.simplify(second / total)


def sizes(most: int) -> range:
    """Return all sizes from 1 to `most`: what holds for every size begins at the smallest."""
    return range(1, most + 1)


def grid(size: int, values: Sequence[float] = (-2, -1, 0, 1, 2)) -> Array:
    """Return every row vector of the given size with entries among `values`, one a row."""
    return np.array(list(product(values, repeat=size)), dtype=float)


def circles(squares: Sequence[int], reach: int = 7) -> Array:
    """Return the integer vectors of the plane whose squared norms are among `squares`."""
    vectors = grid(2, range(-reach, reach + 1))
    return vectors[np.isin((vectors * vectors).sum(axis=-1), squares)]


def one_winner(size: int) -> tuple[Array, Array]:
    """Return all rows of scores in {0, …, 3} with one largest, and its lead over the second."""
    ordered = np.sort(scores := grid(size, range(4)))
    leads = ordered[:, -1] - ordered[:, -2]
    return scores[leads > 0], leads[leads > 0]


def simplex_grid(size: int, parts: int) -> Array:
    """Return every probability vector whose entries are multiples of 1/parts, one a row."""
    counts = [c for c in product(range(parts + 1), repeat=size) if sum(c) == parts]
    return np.array(counts, dtype=float) / parts


def stirred(parameters: Any, seed: int = 0) -> Any:
    """Parameters with a random number added to each: biases that are not 0, gains that are not 1.

    What a model starts from has biases of 0, under which no mistake in their use is seen.
    """
    rng = np.random.default_rng(seed)
    return tree_map(lambda x: x + rng.normal(0, 0.25, x.shape), parameters)


def near(got: Any, want: Any, tolerance: float = 1e-12) -> bool:
    """Whether two arrays agree within an absolute tolerance; shapes broadcast, NaN never agrees."""
    return bool(np.all(np.abs(np.asarray(got) - np.asarray(want)) <= tolerance))


def show(vector: Any) -> str:
    """Return a vector as (3, 4) or (0.5, -1), four significant digits an entry."""
    return "(" + ", ".join(f"{float(x):.4g}" for x in np.ravel(vector)) + ")"


class Counted:
    """A number that records each operation done with it."""

    def __init__(self, done: list[str]):
        self.done = done

    def _record(self, operation: str) -> Counted:
        self.done.append(operation)
        return self

    def __mul__(self, other: Any) -> Counted:
        return self._record("×")

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Counted:
        return self._record("÷")

    def __add__(self, other: Any) -> Counted:
        return self._record("+")

    def exp(self) -> Counted:
        return self._record("exp")


def profiled(run: Callable[[], object]) -> int:
    """The operations of the products in a run, as PyTorch counts them.

    Attention is taken apart into its two products, with all scores under a mask.
    """
    import torch  # a claim that counts nothing need not wait for it
    from torch.utils.flop_counter import FlopCounterMode

    with (
        torch.no_grad(),
        torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH),
        FlopCounterMode(display=False) as counter,
    ):
        run()
    return int(counter.get_total_flops())
