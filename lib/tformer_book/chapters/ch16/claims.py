"""The claims of chapter 16: where looking overtakes, states that merge, blocks, and bytes."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from functools import reduce
from itertools import pairwise, product
from typing import Any

import numpy as np
import sympy as sp

from tformer import reference as ref
from tformer.configuration import Configuration
from tformer.models import costs
from tformer.models.known import GPT, GPT2, LLAMA, SMOL
from tformer.models.sizes import Sizes, count_parameters, initialise
from tformer.parameters import leaves
from tformer.reference.blockwise import (
    SoftmaxState,
    _exp_in_range,
    backward,
    forward,
    merge_states,
    softmax_state,
)
from tformer_book.chapters.ch16 import row
from tformer_book.claims.registry import claim, require
from tformer_book.claims.tools import identity, near, show

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
        got = costs.attention_crossover_length(sizes)
        require(near(got, want, 1e-9), f"{show(got)} by formula, {show(want)} by counting")
    for sizes, stated in ((GPT2, 6702), (SMOL, 3891)):
        got = costs.attention_crossover_length(sizes)
        require(round(got) == stated, f"the crossing is at {got:.1f}")
        for n in (100, 1000, stated):
            share = costs.attention_share(sizes, n)
            require(near(share, n / (n + got), 1e-9), f"{n} words: a share of {share:.4f}")
        n = round(causal * got - 1)
        share = costs.attention_share(sizes, n, causal=True)
        require(near(share, 0.5, 1e-3), f"{n} words, no future: a share of {share:.4f}")
    d, n, depth = GPT2.d_model, GPT2.n_vocab, GPT2.n_layers
    require(
        near(costs.attention_crossover_length(GPT2), 6 * d + n / (2 * depth), 1e-9),
        "GPT-2: not 6 d + N / 2 L",
    )
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
    scope="three keys, symbols; 200 rows in 5 parts of any order",
)
def merging(shrunk: bool = True, averaged: bool = False, nothing: float = 0.0) -> str:
    """Symbols with any tops; then numbers, hidden keys among them, in any order and bracketing."""
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
        parts = [softmax_state(scores[:, a:b], values[a:b]) for a, b in pairwise(cuts)]
        empty = np.full(1, 0.0 if nothing else -np.inf), np.full(1, nothing), 0 * values[:1]
        parts[1] = merge_states(parts[1], SoftmaxState(*empty))
        rises = np.exp(scores[0] - scores.max())
        whole = [scores.max()], [sum(rises)], [sum(map(np.multiply, rises, values))]
        for state in _bracketed([parts[i] for i in rng.permutation(5)], averaged):
            for name, got, want in zip(SoftmaxState._fields, state, whole, strict=True):
                require(near(got, want, 1e-9), f"{name}: {show(got)}, not {show(want)}")
    nothing_twice = merge_states(SoftmaxState(*empty), SoftmaxState(*empty))
    require(all(map(np.array_equal, nothing_twice, empty)), f"twice nothing: {nothing_twice}")
    return (
        "for symbols, whatever the tops; 200 rows, cut, put in another order, and merged in "
        "14 bracketings, give the whole row's state"
    )


def _bracketed(parts: list[SoftmaxState], averaged: bool) -> list[SoftmaxState]:
    """The states of all ways to merge neighbours until one is left."""
    if len(parts) == 1:
        return parts
    found = []
    for i in range(1, len(parts)):
        for a in _bracketed(parts[:i], averaged):
            for b in _bracketed(parts[i:], averaged):
                one = merge_states(a, b)
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
    scores = row.scores(last)
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
    weights = ref.softmax(scores)
    require(near(weights[row.IT], 0.855, 5e-4), f"weight {weights[row.IT]:.4f}")
    for n in range(1, 13):
        state = row.after(scores, n, 12)
        got = state.output[0] / state.total[0]
        require(near(got, weights, 1e-12), f"blocks of {n}: {show(got[row.IT])}")
    return "tops and sums after each block; the same weights by blocks of every size"


@claim(
    "thm-blockwise",
    "numeric",
    mutants={
        "the gradient needs no product with the output": {"met": 0.0},
        "each block has its own sum": {"whole": False},
        "the table takes no more memory": {"looks": ref.attention},
        "nor does the gradient's": {"looks_back": ref.attention_vjp},
    },
    scope="T, S ≤ 23, scores to 1,000, 4 blocks; memory at 3 lengths",
)
def blockwise(
    met: float = 1.0,
    whole: bool = True,
    looks: Callable[..., Any] = forward,
    looks_back: Callable[..., Any] = backward,
) -> str:
    """A plain loop over blocks, and the library's two ways, against the definition's gradients."""
    ways = set()
    for seed in range(16):
        rng = np.random.default_rng(seed)
        n, m, block = int(rng.integers(1, 24)), int(rng.integers(2, 24)), (1, 3, 7, 50)[seed % 4]
        q, grad = rng.standard_normal((n, 5)), rng.standard_normal((n, 3))
        k, v = rng.standard_normal((m, 5)), rng.standard_normal((m, 3))
        q *= (1, 300)[seed // 4 % 2]
        ways.add((block < m, _exp_in_range(q, k, v, 5**-0.5)))
        mask = ref.causal_mask(n, m, seed % 3) if seed % 2 else None
        y = ref.attention(q, k, v, mask)
        want = ref.attention_vjp(q, k, v, grad, mask)[:3]
        settings: Any = {"causal": mask is not None, "offset": seed % 3, "block": block}
        got = ref.blockwise_attention(q, k, v, **settings)
        require(near(got, y, 1e-10), f"draw {seed}: row 1 is {show(got[0])}, not {show(y[0])}")
        back = ref.blockwise_attention_vjp(q, k, v, grad, **settings)[:3]
        plain = _backward(q, k, v, grad, mask, block, met, whole)
        for name, one, other, right in zip("qkv", back, plain, want, strict=True):
            require(near(one, right, 1e-9), f"draw {seed}: d{name} of the library")
            off = float(np.abs(other - right).max() / max(1, np.abs(right).max()))
            require(off < 1e-9, f"draw {seed}: d{name} by blocks is off by {off:.3g}")
    require(len(ways) == 4, f"of one block and several, with a maximum and without: only {ways}")
    for what, call in (("forward", looks), ("backward", looks_back)):
        peaks = [_peak(call, n, call in (backward, ref.attention_vjp)) for n in (512, 1024, 2048)]
        grown = (peaks[2] - peaks[1]) / 1024
        require(grown < 32, f"{what} {grown:.0f} bytes more for each word, from 1,024 to 2,048")
    return (
        "16 draws, by a plain loop and by the library, with a running maximum and without, within "
        "1e-9; less than 32 bytes more a word, forward, and backward from output and sums"
    )


def _backward(
    q: np.ndarray,
    k: np.ndarray,
    v: np.ndarray,
    grad: np.ndarray,
    mask: np.ndarray | None,
    block: int,
    met: float,
    whole: bool,
) -> list[np.ndarray]:
    """The gradients, a block of keys at a time, from two numbers of each row's merged states."""
    scores = q @ k.T / 5**0.5
    scores = scores if mask is None else np.where(mask, scores, -np.inf)
    spans = [slice(start, start + block) for start in range(0, len(k), block)]
    states = [softmax_state(scores[:, cols], v[cols]) for cols in spans]
    state = reduce(merge_states, states)
    meets = met * (grad * state.output / state.total[:, None]).sum(axis=1)
    dq, dk, dv = np.zeros_like(q), np.zeros_like(k), np.zeros_like(v)
    for cols, own in zip(spans, states, strict=True):
        with np.errstate(divide="ignore"):
            of = state.top + np.log(state.total) if whole else own.top + np.log(own.total)
        weights = np.exp(scores[:, cols] - np.where(np.isfinite(of), of, 0)[:, None])
        dscores = weights * (grad @ v[cols].T - meets[:, None]) / 5**0.5
        dq += dscores @ k[cols]
        dk[cols], dv[cols] = dscores.T @ q, weights.T @ grad
    return [dq, dk, dv]


def _peak(call: Callable[..., Any], n: int, back: bool) -> int:
    """Bytes at the peak beyond what is given and returned."""
    q, k, v, grad = np.random.default_rng(0).standard_normal((4, n, 16)).astype(np.float32)
    given: tuple[Any, ...] = (q, k, v)
    if back:
        given = (*given, grad, *((forward(q, k, v),) if call is backward else ()))
    tracemalloc.start()
    found = call(*given)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    several = found if isinstance(found, tuple) else (found,)
    return most - sum(x.nbytes for x in several if x is not None)


@claim(
    "prop-intensity",
    "symbolic",
    mutants={
        "the result is not written": {"written": 0},
        "a larger matrix makes up for few rows": {"rows": 4},
        "longer texts make up for the table": {"width": 128},
        "small blocks are better than the table": {"least": 8},
    },
    scope="symbols; the library's counts for 5 lengths, 5 blocks",
)
def intensity(written: int = 1, rows: int = 2, width: int = 64, least: int = 32) -> str:
    """Operations over bytes: by symbols, then the counts of the library at many sizes."""
    n, a, b, w, t, d, r = sp.symbols("n a b w t d r", positive=True)
    multiplied = 2 * n * a * b / (w * (n * a + a * b + written * n * b))
    identity(multiplied, 2 / w / (1 / n + 1 / a + 1 / b), "a product of matrices")
    table = 4 * t**2 * d / (w * (4 * t**2 + 4 * t * d))
    identity(table, 1 / w / (1 / d + 1 / t), "attention by the table")
    blocks = 4 * t**2 * d / (w * (2 * t * d + 2 * t**2 * d / r))
    identity(blocks, 2 / w / (1 / r + 1 / t), "attention by blocks")
    identity(2 / table - 2 / blocks, w * (2 / d + 1 / t - 1 / r), "blocks better than the table")
    for size in (64, 512, 4096):
        got = 2 * rows * size**2 / (4 * (2 * rows * size + size**2))
        require(got < 1, f"{rows} rows, {size} columns of 4 bytes: {got:.3f} operations a byte")
    for length in (128, 512, 2048, 8192, 32768):
        by_table = costs.attention_cost(length, width, width=2).intensity
        require(by_table < 32, f"{length} words by the table: {by_table:.1f} operations a byte")
        want = 1 / 2 / (1 / width + 1 / length)
        require(near(by_table, want, 1e-12), f"{length} words: {by_table:.3f}, not {want:.3f}")
        for block in (least, 64, 128, 192, length):
            got = costs.attention_cost(length, width, block, 2).intensity
            require(got < block, f"blocks of {block}: {got:.1f} operations a byte")
            better = f"{length} words in blocks of {block}: {got:.1f}, by the table {by_table:.1f}"
            require(got > by_table, better)
            want = 1 / (1 / block + 1 / length)
            require(length % block > 0 or near(got, want, 1e-12), f"{got:.3f}, not {want:.3f}")
    return (
        "three quotients for symbols, which are what the library counts; from half the width of a "
        "head on blocks are better than the table"
    )


@claim(
    "prop-cache-bytes",
    "numeric",
    mutants={
        "every head keeps its own": {"own": True},
        "only keys are kept": {"kept": 1},
        "many texts at once make looking denser": {"alone": False},
        "and parameters no denser": {"together": False},
    },
    scope="caches of 3 models that are made; the real one, 8 texts",
)
def cache(own: bool = False, kept: int = 2, alone: bool = True, together: bool = True) -> str:
    """Caches that the library fills, then the sizes of the real model."""
    for sizes, c in SMALL:
        p = initialise(sizes, c, np.random.default_rng(0))
        _, caches = ref.cached_decoder(np.zeros((2, 5), np.int64), p, c)
        got = sum(x.nbytes for x in leaves(caches))
        each = sizes.n_heads if own else sizes.groups
        want = kept * sizes.n_layers * each * sizes.head_width * 2 * 5 * 8
        require(got == want, f"{got} bytes in the cache, {want} by the formula")
        require(got == costs.kv_cache_bytes(sizes, 5, 2, 8), f"the library says otherwise: {got}")
    a_word = costs.kv_cache_bytes(SMOL, 1)
    require(a_word == 23040, f"{a_word} bytes a word")
    parameters = 2 * count_parameters(SMOL, LLAMA)
    words = parameters / a_word
    require(round(words) == 11677, f"as large as the parameters at {words:.0f} words")
    for n, batch, width in product((100, 10000), (1, 8), (2, 4)):
        where = f"{n} words of {batch} texts, {width} bytes a number"
        one, none = (costs.decode_cost(SMOL, LLAMA, x, batch, width) for x in (n, 0))
        looks, read = one.flops - none.flops, one.bytes - none.bytes
        due = 2 / width * 3 * (1 if alone else batch)
        require(near(looks / read, due, 1e-12), f"{where}: {looks / read:.3f}, not {due:.0f}")
        rest, due = none.flops / none.bytes, 2 / width * (batch if together else 1)
        require(near(rest / due, 1, 2e-3), f"{where}: {rest:.3f} with parameters, not {due:.0f}")
    return (
        "bytes of three caches; the real model's words; operations a byte of its cache and of its "
        "parameters, for 1 and 8 texts that each have a cache of their own"
    )
