"""Claims of the deeper page of chapter 9: what the layer and its activations pass back."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import product

import numpy as np
import sympy as sp

from tformer import reference as ref
from tformer.configuration import Configuration
from tformer.parameters import leaves
from tformer_book.chapters.ch09.claims import ACTIVATIONS, random_layer
from tformer_book.claims.registry import claim, require
from tformer_book.claims.tools import Array, identity, near, row, show, table

Curve = Callable[[Array], Array]
X = sp.Symbol("x", real=True)
INSIDE = sp.sqrt(2 / sp.pi) * (X + sp.Rational(44715, 10**6) * X**3)
SHARE = {
    "gelu": (1 + sp.erf(X / sp.sqrt(2))) / 2,
    "gelu_tanh": (1 + sp.tanh(INSIDE)) / 2,
    "silu": 1 / (1 + sp.exp(-X)),
}
"""What each smooth activation multiplies its number by."""


@claim(
    "prop-slopes",
    "symbolic",
    mutants={
        "the share alone": {"second": 0},
        "SiLU: without what is left of one": {"left": False},
        "tanh form: the cube is not differentiated": {"cube": 1},
    },
    scope="symbols; the library at 181 points",
)
def slopes(second: int = 1, left: bool = True, cube: int = 3) -> str:
    """The written slopes against SymPy's derivatives, and the library's products against both."""
    density = sp.exp(-(X**2) / 2) / sp.sqrt(2 * sp.pi)
    s, t = SHARE["silu"], sp.tanh(INSIDE)
    inner = sp.sqrt(2 / sp.pi) * (1 + cube * sp.Rational(44715, 10**6) * X**2)
    written = {
        "gelu": SHARE["gelu"] + second * X * density,
        "gelu_tanh": (1 + t) / 2 + second * X / 2 * (1 - t**2) * inner,
        "silu": s * (1 + second * X * ((1 - s) if left else 1)),
    }
    points = np.linspace(-9, 9, 181)
    for name, slope in written.items():
        identity(sp.diff(X * SHARE[name], X), slope, f"the slope of {name}")
        got = getattr(ref, f"{name}_vjp")(points, np.full(181, 2.0))
        want = 2 * sp.lambdify(X, slope, "scipy")(points)
        off = float(np.abs(got - want).max())
        require(off < 1e-12, f"{name}_vjp is off by {off:.3g}")
    got = ref.relu_vjp(points, np.full(181, 2.0))
    require(near(got, 2 * (points > 0)), f"relu_vjp: {show(got[88:93])}")
    return (
        "three slopes as derivatives, for symbols; the library's products at 181 points (1e-12); "
        "ReLU passes on above 0 alone, and nothing at 0"
    )


@claim(
    "prop-feed-forward-gradient",
    "symbolic",
    mutants={
        "the slope is forgotten": {"sloped": False},
        "the keys get the activations": {"by_hidden": True},
        "a gate gets the gradient of its unit": {"crossed": False},
        "the biases see the first row only": {"rows": slice(1)},
    },
    scope="symbols, 2 rows, d_model, d_ff ≤ 2; 32 random layers",
)
def gradient(
    sloped: bool = True, by_hidden: bool = False, crossed: bool = True, rows: slice = slice(None)
) -> str:
    """Every entry of every gradient by SymPy, for a parabola with any coefficients; the library."""
    c = row("c", 3)

    def active(u: Array) -> Array:
        return c[0] + c[1] * u + c[2] * u**2

    def slope(u: Array) -> Array:
        return c[1] + 2 * c[2] * u if sloped else 1 + 0 * u

    def written(given: list[Array], act: Curve, slant: Curve, dy: Array) -> list[Array]:
        x, w_in, w_out, b_in, _, *gates = given
        u, dh = x @ w_in + b_in, dy @ w_out.T
        if not gates:
            du, hidden = slant(u) * dh, act(u)
            found = [du @ w_in.T, (hidden if by_hidden else x).T @ du, hidden.T @ dy]
            return [*found, du[rows].sum(axis=0), dy[rows].sum(axis=0)]
        g = x @ gates[0]
        open_, du = act(g), dh * act(g)
        dg = slant(g) * dh * (u if crossed else open_)
        found = [du @ w_in.T + dg @ gates[0].T, x.T @ du, (open_ * u).T @ dy]
        return [*found, du[rows].sum(axis=0), dy[rows].sum(axis=0), x.T @ dg]

    tried = 0
    for d, f, gated in product((1, 2), (1, 2), (False, True)):
        if (by_hidden and d != f) or (gated and d * f > 2):
            continue
        x, dy = table("x", 2, d), table("e", 2, d)
        given = [x, table("k", d, f), table("v", f, d), row("b", f), row("r", d)]
        given += [table("g", d, f)] * gated
        u = x @ given[1] + given[3]
        hidden = active(x @ given[5]) * u if gated else active(u)
        loss = (dy * (hidden @ given[2] + given[4])).sum()
        for symbols, want in zip(given, written(given, active, slope, dy), strict=True):
            exact = np.vectorize(lambda s, loss=loss: sp.diff(loss, s), otypes=[object])(symbols)
            identity(exact, want, f"d_model = {d}, d_ff = {f}: the gradient of {symbols.flat[0]}")
            tried += want.size
    for seed, name, gated in product(range(4), ACTIVATIONS, (False, True)):
        layer, rng = random_layer(seed, 4, 7, gated=gated), np.random.default_rng(seed)
        x, dy = rng.standard_normal((2, 3, 4))
        dx, back = ref.feed_forward_vjp(x, layer, Configuration(activation=name), dy)
        shape = partial(getattr(ref, f"{name}_vjp"), grad=np.ones(()))
        wanted = written([x, *leaves(layer)], getattr(ref, name), shape, dy)
        for got, one in zip([dx, *leaves(back)], wanted, strict=True):
            require(near(got, one, 1e-11), f"{name}: {show(got[:1])}, not {show(one[:1])}")
    return (
        f"{tried} gradients of single numbers for symbols, any parabola as activation, with and "
        "without gates; the library's products on 32 random layers (1e-11)"
    )
