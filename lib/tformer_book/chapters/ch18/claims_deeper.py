"""The claims of the deeper page of chapter 18."""

from __future__ import annotations

from itertools import product

import numpy as np
import sympy as sp

from tformer_book.chapters.ch18 import emergent, linear
from tformer_book.chapters.ch18.regression import layer, tokens
from tformer_book.chapters.ch18.softened import centred_step, mirrored, pair_layer
from tformer_book.claims.registry import claim, require
from tformer_book.claims.tools import expectation, identity, near, show


@claim(
    "prop-step-by-axis",
    "symbolic",
    mutants={
        "each axis has the step of variance 1": {"own": False},
        "the sum of variances is left out": {"total": 0},
    },
    scope="moments for d, n up to 2; three stored trainings, d = 5",
)
def step_by_axis(own: bool = True, total: int = 1) -> str:
    """E S² comes from moments of each Gaussian number; trainings are held to the formula."""
    for d, n in ((1, 2), (2, 1), (2, 2)):
        z = sp.symbols(f"z1:{n * d + 1}")
        v = sp.symbols(f"v1:{d + 1}", positive=True)
        x = sp.Matrix(n, d, lambda i, j, z=z, v=v, d=d: z[i * d + j] * sp.sqrt(v[j]))
        s = x.T * x / n
        gaussian = {0: 1, 1: 0, 2: 1, 3: 0, 4: 3}
        for j in range(d):
            square = expectation(sp.expand((s * s)[j, j]), gaussian, z)
            best = n / ((n + 1) * (v[j] if own else 1) + total * sum(v))
            identity(sp.cancel(v[j] / square), best, f"the step along axis {j + 1}")
    want = linear.predicted()
    near_it = [row for row in linear.stored()["spectrum"] if near(row, want, 0.03)]
    require(len(near_it) == 2, f"{len(near_it)} of three trainings have {show(want)}")
    return "for symbols; two of three trainings within .03 of the formula on each of five axes"


@claim(
    "exm-gd-plus-plus",
    "empirical",
    mutants={
        "two plain steps do as well": {"bent": False},
        "entries off the diagonal are below .01": {"off": 0.01},
    },
    scope="three trainings of two layers; 20,000 tasks",
)
def two_layers(bent: bool = True, off: float = 0.05) -> str:
    """Errors of trainings beside those of the best two steps, plain and with a changed x."""
    found = linear.stored()
    best = found["best"]["bent" if bent else "plain"]["error"]
    for one in found["two"]:
        gap = abs(one["error"] - best)
        require(gap < 0.003, f"error {one['error']:.4f}, best {best:.4f}")
        require(abs(one["read"] - one["error"]) < 0.003, f"read off: {one['read']:.4f}")
        require(one["off"] < off, f"off the diagonal {one['off']:.3f}")
    plain = found["best"]["plain"]["error"]
    require(plain - best > 0.1 or not bent, f"plain {plain:.3f}, with a bend {best:.3f}")
    _as_layers()
    return "three errors within .003 of the best GD++ and of what is read off; plain steps above it"


def _as_layers() -> None:
    """GD++ with given numbers is what layers with such matrices compute."""
    e, _ = linear.drawn(np.random.default_rng(0), 50)
    etas, bends = np.array([0.4, 0.9]), np.array([0.3, 0.1])
    d = linear.WIDTH
    a = np.zeros((2, d + 1, d + 1))
    a[:, range(d), range(d)] = 1
    b = np.zeros_like(a)
    b[:, range(d), range(d)] = -bends[:, None]
    b[:, d, d] = -etas
    got = linear.outputs(e, linear.Layers(a, b))
    require(near(got, linear.gd_plus_plus(e, etas, bends), 1e-10), f"layers say {show(got[:3])}")


@claim(
    "prop-softmax-pair",
    "symbolic",
    mutants={
        "one head is enough": {"heads": 1},
        "keys are not centred": {"centred": False},
        "the error falls as ε": {"order": 1},
    },
    scope="derivatives for 3 keys; the library's heads, 10 draws",
)
def softmax_pair(heads: int = 2, centred: bool = True, order: int = 2) -> str:
    """The slope at ε = 0 by SymPy; then multi_head_attention at two small ε."""
    eps = sp.Symbol("epsilon")
    s, r = sp.symbols("s1:4"), sp.symbols("r1:4")
    terms = [sp.exp(eps * x) for x in s]
    out = sum(t * v for t, v in zip(terms, r, strict=True)) / sum(terms)
    back = out.subs(eps, -eps) if heads == 2 else 0
    identity(sp.simplify((out - back).subs(eps, 0)), 0, "what is left at ε = 0")
    slope = sp.diff((out - back) / 2, eps).subs(eps, 0)
    mean = sum(s) / 3 if centred else 0
    want = sum((x - mean) * v for x, v in zip(s, r, strict=True)) / 3
    identity(sp.simplify(slope), want, "the limit of two heads")
    for seed in range(10):
        rng = np.random.default_rng(seed)
        e = tokens(rng.normal(size=(6, 3)), rng.normal(size=(6, 1)), rng.normal(size=3))
        off = [
            float(abs(pair_layer(e, 3, 0.5, eps) - centred_step(e, 3, 0.5)).max())
            for eps in (0.02, 0.01)
        ]
        ratio = off[0] / off[1]
        require(abs(ratio - 2**order) < 0.2, f"half the ε divides the error by {ratio:.3f}")
        plain = pair_layer(mirrored(e), 3, 0.5, 1e-4)[-1] - layer(e, 3, 0.5)[-1]
        require(near(plain, 0, 1e-6), f"mirrored: off by {show(plain)}")
    return "the limit for symbols; half the ε, a quarter of the error; mirrored: the plain step"


@claim(
    "exm-emergent",
    "empirical",
    mutants={
        "the excess itself jumps": {"most": 1.5},
        "with one token the score jumps, too": {"k": 1},
    },
    scope="six stored runs of chapter 20, four lengths of answers",
)
def emergent_scores(most: float = 2.5, k: int = 100) -> str:
    """Scores are powers of the score of one token; the excess falls by small factors."""
    n, excess = emergent.runs()
    require(bool((np.diff(n) > 0).all() and (np.diff(excess) < 0).all()), "not in order")
    for i, j in product(range(6), emergent.MANY):
        want = float(np.prod(np.full(j, np.exp(-excess[i]))))
        require(near(emergent.score(excess, j)[i], want, 1e-9), f"{j} tokens: not {want:.4f}")
    falls = excess[:-1] / excess[1:]
    require(falls.max() < most, f"the excess falls by up to {falls.max():.2f} at once")
    scores = emergent.score(excess, k)
    require(scores[2] < 0.02 < 0.1 < scores[-1], f"scores {show(scores)}")
    return "scores as products of k factors; the excess falls by less than 2.5 at each size"
