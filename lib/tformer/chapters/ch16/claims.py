"""The claims of chapter 16: where looking overtakes, states that merge, blocks, and bytes."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import sympy as sp

from tformer import reference as ref
from tformer.chapters.ch16 import row
from tformer.claims.registry import claim, require
from tformer.claims.tools import identity, near, show
from tformer.configuration import Configuration
from tformer.models import costs
from tformer.models.known import GPT, GPT2, LLAMA, SMOL
from tformer.models.sizes import Sizes, count_flops, count_parameters, initialise
from tformer.parameters import leaves
from tformer.reference.blockwise import State, merged, seen

SMALL: tuple[tuple[Sizes, Configuration], ...] = (
    (Sizes(11, 8, 2, 2, 32, n_positions=9), GPT),
    (Sizes(13, 12, 3, 4, 20, n_groups=2, d_k=6, biased=False, gated=True), LLAMA),
    (Sizes(40, 6, 1, 3, 9, n_groups=1, biased=False, gated=True), LLAMA),
)
"""Models small enough to be made."""


@claim(
    "prop-crossing",
    "numeric",
    mutants={
        "a query looks once for each group": {"groups": True},
        "the table of words is free": {"words": 0},
        "without the future the crossing stays": {"causal": 1.0},
    },
    scope="3 models that are made, their matrices counted; 2 known",
)
def crossing(groups: bool = False, words: int = 1, causal: float = 2.0) -> str:
    """Matrices are counted in the parameters; at the crossing the halves are compared."""
    for sizes, c in SMALL:
        p = initialise(sizes, c, np.random.default_rng(0))
        entries = sum(x.size for b in p.blocks for x in leaves(b) if x.ndim > 1 and x.shape[-1] > 1)
        entries -= sum(x.size for b in p.blocks for x in _biases(b))
        entries += words * p.embedding.size
        each = sizes.groups if groups else sizes.n_heads
        want = entries / (2 * sizes.n_layers * each * sizes.head_width)
        got = costs.crossing(sizes)
        require(near(got, want, 1e-9), f"{show(got)} by formula, {show(want)} by counting")
    for sizes, stated in ((GPT2, 6702), (SMOL, 3891)):
        got = costs.crossing(sizes)
        require(round(got) == stated, f"the crossing is at {got:.1f}")
        for n in (100, 1000, stated):
            share = costs.looking_share(sizes, n)
            require(near(share, n / (n + got), 1e-9), f"{n} words: a share of {share:.4f}")
        n = round(causal * got - 1)
        share = costs.looking_share(sizes, n, causal=True)
        require(near(share, 0.5, 1e-3), f"{n} words, no future: a share of {share:.4f}")
    d, n, depth = GPT2.d_model, GPT2.n_vocab, GPT2.n_layers
    require(near(costs.crossing(GPT2), 6 * d + n / (2 * depth), 1e-9), "GPT-2: not 6 d + N / 2 L")
    return "matrices counted in three models; shares at three lengths of two known ones"


def _biases(block: Any) -> list[np.ndarray]:
    heads = block.heads
    return [x for x in (heads.b_q, heads.b_k, heads.b_v) if x is not None]


@claim(
    "thm-merge",
    "symbolic",
    mutants={
        "the older sum stays as it is": {"shrunk": False},
        "the sums are added, the outputs averaged": {"averaged": True},
        "a part without a key counts": {"nothing": 1.0},
    },
    scope="three keys, symbols; 200 rows in 5 parts, 14 bracketings",
)
def merging(shrunk: bool = True, averaged: bool = False, nothing: float = 0.0) -> str:
    """Symbols with any tops; then numbers, hidden keys among them, in every bracketing."""
    s, v, m = (sp.symbols(f"{x}1:4", real=True) for x in "svm")
    top = sp.Symbol("m", real=True)

    def part(i: int, at: Any) -> tuple[Any, Any]:
        return sp.exp(s[i] - at), sp.exp(s[i] - at) * v[i]

    totals = outputs = sp.Integer(0)
    for i in range(3):
        total, output = part(i, m[i])
        factor = sp.exp(m[i] - top) if shrunk or i else sp.Integer(1)
        totals += factor * total
        outputs += factor * output
    identity(totals, sum(part(i, top)[0] for i in range(3)), "the sum of three parts")
    identity(outputs, sum(part(i, top)[1] for i in range(3)), "the output of three parts")
    rng = np.random.default_rng(0)
    for _ in range(200):
        scores, values = 20 * rng.standard_normal((1, 9)), rng.standard_normal((9, 2))
        scores[:, rng.random(9) < 0.2] = -np.inf
        cuts = [0, *sorted(rng.choice(np.arange(1, 9), 4, replace=False)), 9]
        parts = [seen(scores[:, a:b], values[a:b]) for a, b in pairwise(cuts)]
        empty = np.full(1, 0.0 if nothing else -np.inf), np.full(1, nothing), 0 * values[:1]
        parts[1] = merged(parts[1], State(*empty))
        whole = seen(scores, values)
        for state in _bracketed(parts, averaged):
            for name, got, want in zip(State._fields, state, whole, strict=True):
                require(near(got, want, 1e-9), f"{name}: {show(got)}, not {show(want)}")
    return "for symbols, whatever the tops; 14 bracketings of 200 rows give the whole row's state"


def _bracketed(parts: list[State], averaged: bool) -> list[State]:
    """The states of all ways to merge neighbours until one is left."""
    if len(parts) == 1:
        return parts
    found = []
    for i in range(1, len(parts)):
        for a in _bracketed(parts[:i], averaged):
            for b in _bracketed(parts[i:], averaged):
                one = merged(a, b)
                found.append(one._replace(output=(a.output + b.output) / 2) if averaged else one)
    return found


@claim(
    "exm-row-blocks",
    "numeric",
    mutants={
        "sums are not corrected": {"corrected": False},
        "a block of six has the same sums": {"size": 6},
        "the last word is wide": {"last": "wide"},
    },
    scope="the row of it; blocks of 1 to 12 words",
)
def row_blocks(corrected: bool = True, size: int = 4, last: str = "tired") -> str:
    """The row of the page block by block, and its weights by any block size."""
    scores = row.scores() if last == "tired" else _other(last)
    states = [row.after(scores, size, n) for n in (1, 2, 3)]
    tops = [float(state.top[0]) for state in states]
    totals = [float(state.total[0]) for state in states]
    if not corrected:
        totals = [float(x) for x in np.cumsum([b.total[0] for b in row.blocks(scores, size)])]
    for got, want, name in (
        (tops, (4.48, 7.93, 10.31), "top"),
        (totals, (2.08, 1.11, 1.17), "sum"),
    ):
        for n, (one, stated) in enumerate(zip(got, want, strict=True), 1):
            require(near(one, stated, 6e-3), f"{name} after {n} blocks: {one:.3f}")
    weights = row.weights(scores)
    require(near(weights[row.IT], 0.855, 5e-4), f"weight {weights[row.IT]:.4f}")
    for n in range(1, 13):
        state = row.after(scores, n, 12)
        got = state.output[0] / state.total[0]
        require(near(got, weights, 1e-12), f"blocks of {n}: {show(got[row.IT])}")
    return "tops and sums after each block; the same weights by blocks of every size"


def _other(last: str) -> np.ndarray:
    from tformer.world import corpus

    x = corpus.vectors((*row.WORDS[:-1], last), 16)
    found: np.ndarray = x @ x[row.IT] / 4
    return found


@claim(
    "thm-blockwise",
    "numeric",
    mutants={
        "the gradient needs no product with the output": {"met": 0.0},
        "each block has its own sum": {"whole": False},
        "the table takes no more memory": {"table": True},
    },
    scope="T, S ≤ 23, blocks of 1 to 50; memory at 3 lengths",
)
def blockwise(met: float = 1.0, whole: bool = True, table: bool = False) -> str:
    """A plain loop over blocks, and the library's, against the definition and its gradients."""
    for seed in range(12):
        rng = np.random.default_rng(seed)
        n, m, block = int(rng.integers(1, 24)), int(rng.integers(1, 24)), (1, 3, 7, 50)[seed % 4]
        q, grad = rng.standard_normal((n, 5)), rng.standard_normal((n, 3))
        k, v = rng.standard_normal((m, 5)), rng.standard_normal((m, 3))
        mask = ref.causal_mask(n, m, seed % 3) if seed % 2 else None
        y = ref.attention(q, k, v, mask)
        want = ref.attention_vjp(q, k, v, grad, mask)[:3]
        settings: Any = {"causal": mask is not None, "offset": seed % 3, "block": block}
        got = ref.blockwise_attention(q, k, v, **settings)
        require(near(got, y, 1e-10), f"draw {seed}: row 1 is {show(got[0])}, not {show(y[0])}")
        back = ref.blockwise_attention_vjp(q, k, v, grad, **settings)[:3]
        plain = _backward(q, k, v, grad, y, mask, block, met, whole)
        for name, one, other, right in zip("qkv", back, plain, want, strict=True):
            require(near(one, right, 1e-10), f"draw {seed}: d{name} of the library")
            off = float(np.abs(other - right).max())
            require(off < 1e-10, f"draw {seed}: d{name} by blocks is off by {off:.3g}")
    looks = ref.attention if table else ref.blockwise_attention
    peaks = [_peak(looks, n) for n in (512, 1024, 2048)]
    grown = (peaks[2] - peaks[1]) / 1024
    require(grown < 32, f"{grown:.0f} bytes more for each word, from 1,024 to 2,048 words")
    return (
        "output and gradients of 12 draws, by a plain loop and by the library, within 1e-10; "
        "beyond the output fewer than 32 bytes more a word"
    )


def _backward(
    q: np.ndarray,
    k: np.ndarray,
    v: np.ndarray,
    grad: np.ndarray,
    y: np.ndarray,
    mask: np.ndarray | None,
    block: int,
    met: float,
    whole: bool,
) -> list[np.ndarray]:
    """The gradients, a block of keys at a time, from two numbers of each row."""
    scores = q @ k.T / 5**0.5
    scores = scores if mask is None else np.where(mask, scores, -np.inf)
    log_sum, product = ref.logsumexp(scores), met * (grad * y).sum(axis=1)
    dq, dk, dv = np.zeros_like(q), np.zeros_like(k), np.zeros_like(v)
    for start in range(0, len(k), block):
        cols = slice(start, start + block)
        of = log_sum if whole else ref.logsumexp(scores[:, cols])
        weights = np.exp(scores[:, cols] - np.where(np.isfinite(of), of, 0)[:, None])
        dscores = weights * (grad @ v[cols].T - product[:, None]) / 5**0.5
        dq += dscores @ k[cols]
        dk[cols], dv[cols] = dscores.T @ q, weights.T @ grad
    return [dq, dk, dv]


def _peak(looks: Callable[..., np.ndarray], n: int) -> int:
    q, k, v = np.random.default_rng(0).standard_normal((3, n, 16)).astype(np.float32)
    tracemalloc.start()
    y = looks(q, k, v)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return most - y.nbytes


@claim(
    "prop-intensity",
    "symbolic",
    mutants={
        "the result is not written": {"written": 0},
        "a larger matrix makes up for few rows": {"rows": 4},
        "longer texts make up for the table": {"width": 128},
    },
    scope="symbols; the library's counts for 5 lengths, 4 blocks",
)
def intensity(written: int = 1, rows: int = 2, width: int = 64) -> str:
    """Operations over bytes: by symbols, then the counts of the library at many sizes."""
    n, a, b, w, t, d, r = sp.symbols("n a b w t d r", positive=True)
    product = 2 * n * a * b / (w * (n * a + a * b + written * n * b))
    identity(product, 2 / w / (1 / n + 1 / a + 1 / b), "a product of matrices")
    table = 4 * t**2 * d / (w * (4 * t**2 + 4 * t * d))
    identity(table, 1 / w / (1 / d + 1 / t), "attention by the table")
    blocks = 4 * t**2 * d / (w * (2 * t * d + 2 * t**2 * d / r))
    identity(blocks, 2 / w / (1 / r + 1 / t), "attention by blocks")
    for size in (64, 512, 4096):
        got = 2 * rows * size**2 / (4 * (2 * rows * size + size**2))
        require(got < 1, f"{rows} rows, {size} columns of 4 bytes: {got:.3f} operations a byte")
    for length in (128, 512, 2048, 8192, 32768):
        got = costs.attention_work(length, width, width=2).intensity
        require(got < 32, f"{length} words by the table: {got:.1f} operations a byte")
        for block in (32, 64, 128, 192):
            got = costs.attention_work(length, width, block, 2).intensity
            require(got < block, f"blocks of {block}: {got:.1f} operations a byte")
    return "three quotients for symbols; what the library counts stays below their limits"


@claim(
    "prop-cache-bytes",
    "numeric",
    mutants={
        "every head keeps its own": {"own": True},
        "only keys are kept": {"kept": 1},
        "many texts at once make looking denser": {"batch": 8},
    },
    scope="caches of 3 models that are made; the real model's sizes",
)
def cache(own: bool = False, kept: int = 2, batch: int = 1) -> str:
    """Caches that the library fills, then the sizes of the real model."""
    for sizes, c in SMALL:
        p = initialise(sizes, c, np.random.default_rng(0))
        _, caches = ref.cached_decoder(np.zeros((2, 5), np.int64), p, c)
        got = sum(x.nbytes for x in leaves(caches))
        each = sizes.n_heads if own else sizes.groups
        want = kept * sizes.n_layers * each * sizes.head_width * 2 * 5 * 8
        require(got == want, f"{got} bytes in the cache, {want} by the formula")
        require(got == costs.cache_bytes(sizes, 5, 2, 8), f"the library says otherwise: {got}")
    a_word = costs.cache_bytes(SMOL, 1)
    require(a_word == 23040, f"{a_word} bytes a word")
    parameters = 2 * count_parameters(SMOL, LLAMA)
    words = parameters / a_word
    require(round(words) == 11677, f"as large as the parameters at {words:.0f} words")
    for n in (100, 10000):
        one, none = (costs.decode_work(SMOL, LLAMA, x, batch) for x in (n, 0))
        looks, read = one.flops - none.flops, one.bytes - none.bytes
        require(near(looks / read, 3.0, 1e-12), f"{n} words: {looks / read:.3f}")
        rest = none.flops / none.bytes
        require(near(rest, 1, 2e-3), f"without a cache {rest:.3f} operations a byte")
    require(count_flops(SMOL, 1) > 0, "no operations: 0")
    return "bytes of three caches; the real model's words, and 3 operations a byte of its cache"
