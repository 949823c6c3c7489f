"""The claims of chapter 6, many heads: what a layer of heads computes, and what it costs."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import sympy as sp

from tformer import reference as ref
from tformer.parameters import HeadParameters, leaves
from tformer_book.chapters.ch06 import layers
from tformer_book.claims.registry import claim, require
from tformer_book.claims.tools import BETA, Array, identity, near, show, sizes, table, weights


def random_layer(
    seed: int, n_heads: int = 2, d_model: int = 3, d_k: int = 2, d_v: int = 2, groups: int = 0
) -> HeadParameters:
    """Return a layer with independent normal entries."""
    rng, groups = np.random.default_rng(seed), groups or n_heads
    shapes = ((n_heads, d_model, d_k), (groups, d_model, d_k), (groups, d_model, d_v))
    return HeadParameters(*map(rng.standard_normal, (*shapes, (n_heads, d_v, d_model))))


@claim(
    "thm-sum-of-heads",
    "symbolic",
    mutants={
        "the blocks of W_O in another order": {"turned": True},
        "the heads' outputs side by side, number by number": {"interleaved": True},
    },
    scope="up to 3 heads of up to 2 columns; the library, 60 layers",
)
def sum_of_heads(turned: bool = False, interleaved: bool = False) -> str:
    """Symbols for the outputs; the library against concatenation, masked and with batch axes."""
    for n_heads, d_v, d_model in product(sizes(3), sizes(2), sizes(2)):
        y = [table(name, 2, d_v) for name in "abc"[:n_heads]]
        w_o = table("w", n_heads * d_v, d_model)
        blocks = w_o.reshape(n_heads, d_v, d_model)[:: -1 if turned else 1]
        one = sum((part @ block for part, block in zip(y, blocks, strict=True)), np.array(0))
        identity(_beside(y, interleaved) @ w_o, one, "[Y¹ … Yᴴ] W_O = Σ Yʰ W_Oʰ")
    tried = 0
    for n_heads, d_v, batch in product((1, 2, 3, 5), (1, 2, 4), ((), (2,), (2, 1), (0,), (3,))):
        w = random_layer(tried, n_heads, d_v=d_v)
        x = np.random.default_rng(tried).standard_normal((*batch, 4, 3))
        mask = np.random.default_rng(tried).random((4, 4)) < 0.6
        a = ref.multi_head_weights(x, w, mask=mask)
        apart = [a[..., h, :, :] @ x @ w.w_v[h] for h in range(n_heads)]
        flat = w.w_o[:: -1 if turned else 1].reshape(-1, 3)
        whole = ref.multi_head_attention(x, w, mask=mask)
        require(near(_beside(apart, interleaved) @ flat, whole), f"{n_heads} heads of width {d_v}")
        tried += 1
    return (
        f"the products for symbols, H ≤ 3, d_v, d_model ≤ 2; the library's sum over heads against "
        f"concatenation and one product in {tried} masked layers, also of no sentence (1e-12)"
    )


def _beside(parts: list[Array], interleaved: bool) -> Array:
    if interleaved:
        return np.stack(parts, axis=-1).reshape(*parts[0].shape[:-1], -1)
    return np.concatenate(parts, axis=-1)


class Tally(np.ndarray):
    """An array that counts the multiplications of matrix products with it, in `done`."""

    done: list[int]

    def __array_finalize__(self, parent: Any) -> None:
        self.done = getattr(parent, "done", [])

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        plain = [np.asarray(x) for x in inputs]
        out = getattr(ufunc, method)(*plain, **kwargs)
        if ufunc is np.matmul:
            self.done.append(out.size * plain[0].shape[-1])
        counted = np.asarray(out).view(Tally)
        counted.done = next(x.done for x in inputs if isinstance(x, Tally))
        return counted


@claim(
    "prop-head-cost",
    "numeric",
    mutants={
        "heads as wide as the model": {"narrow": False},
        "keys and values shared by all heads": {"groups": 1},
        "heads that do not divide the width": {"divides": False},
    },
    scope="24 sizes: every divisor of four widths, two lengths",
)
def head_cost(narrow: bool = True, groups: int = 0, divides: bool = True) -> str:
    """Entries and tables counted; multiplications counted while the library's formula runs."""
    tried = 0
    for d_model, length in product((1, 4, 6, 8), (1, 5)):
        for n_heads in (h for h in sizes(d_model) if not divides or d_model % h == 0):
            width = d_model // n_heads if narrow else d_model
            w = random_layer(0, n_heads, d_model, width, width, groups)
            entries = sum(part.size for part in leaves(w))
            said = f"{n_heads} heads, d_model = {d_model}: {entries} entries, not {4 * d_model**2}"
            require(entries == 4 * d_model**2, said)
            x = np.ones((length, d_model)).view(Tally)
            x.done = []
            for h in range(n_heads):
                _one_head(x, w, h)
            want = 4 * length * d_model**2 + 2 * length**2 * d_model
            require(sum(x.done) == want, f"{sum(x.done)} multiplications, not {want}")
            stored = ref.multi_head_weights(np.asarray(x), w).size
            require(stored == n_heads * length**2, f"{stored} weights")
            tried += 1
    return (
        f"parameters, multiplications of every matrix product and weights, counted, {tried} sizes"
    )


def _one_head(x: Tally, w: HeadParameters, h: int) -> None:
    """Do the matrix products of one head, as they stand in the definition."""
    q, k, v = (x @ part[h] for part in (w.w_q, w.w_k, w.w_v))
    a = ref.softmax(np.asarray(q @ k.mT)).view(Tally)
    a.done = x.done
    (a @ v) @ w.w_o[h]


@claim(
    "thm-two-matrices",
    "symbolic",
    mutants={
        "W_Q alone": {"keys_too": False},
        "another U": {"other_u": 1.0},
        "U = 0 tells M": {"silent": True},
    },
    scope="d_model = 2, d_k, d_v ≤ 2; the library, 40 pairs of heads",
)
def two_matrices(keys_too: bool = True, other_u: float = 0.0, silent: bool = False) -> str:
    """Both directions for symbols; M and U read off from the answers of random heads."""
    for d_k, d_v in product((1, 2), (1, 2)):
        x, (w_q, w_k) = table("x", 2, 2), (table(name, 2, d_k) for name in "qk")
        w_v, w_o = table("v", 2, d_v), table("o", d_v, 2)
        scores = (x @ w_q) @ (x @ w_k).T
        identity(scores, x @ (w_q @ w_k.T) @ x.T, "scores = X M Xᵀ")
        a = np.array([weights(row, BETA) for row in scores])
        identity((a @ (x @ w_v)) @ w_o, a @ x @ (w_v @ w_o), "the head adds A X U")
    a, x, y = sp.Symbol("a"), table("x", 1, 2), table("y", 1, 2)
    identity(a * x + (1 - a) * y, y + a * (x - y), "a x + (1 − a) y = y + a (x − y)")
    for seed in range(40):
        _same_function(seed, keys_too, other_u)
        _read_off(seed, silent)
    return (
        "scores and output through M and U for symbols; 40 heads and others with the same M and U "
        "agree within 1e-9; M and U of each from its answers to one and two words within 1e-6"
    )


def _same_function(seed: int, keys_too: bool, other_u: float) -> None:
    width, rng = 1 + seed % 3, np.random.default_rng(seed)
    w = random_layer(seed, 1, d_k=width, d_v=width)
    r, s = rng.standard_normal((2, width, width)) + 2 * np.eye(width)
    w_k = w.w_k @ np.linalg.inv(r).T if keys_too else w.w_k
    other = HeadParameters(w.w_q @ r, w_k, w.w_v @ s, np.linalg.inv(s) @ w.w_o * (1 + other_u))
    x = rng.standard_normal((5, 3))
    one, two = (ref.multi_head_attention(x, each) for each in (w, other))
    require(near(one, two, 1e-9), f"row 1 is {show(one[0])} and {show(two[0])}")


def _read_off(seed: int, silent: bool) -> None:
    """Compute M and U of a head from what it answers to one word and to two."""
    w = random_layer(seed, 1, d_k=1 + seed % 2)
    w = HeadParameters(0.3 * w.w_q, w.w_k, 0 * w.w_v if silent else w.w_v, w.w_o)
    u = np.array([ref.multi_head_attention(x[None], w)[0] for x in np.eye(3)])
    rng, equations, logs = np.random.default_rng(seed), [], []
    for x, y in rng.standard_normal((30, 2, 3)):
        got = ref.multi_head_attention(np.stack([x, y]), w)[0]
        step = (x - y) @ u
        a = (got - y @ u) @ step / max(step @ step, 1e-300)
        if 1e-4 < a < 1 - 1e-4:  # otherwise hardly a digit of the scores is left in it
            equations.append(np.outer(x, x - y).ravel())
            logs.append(np.log(a / (1 - a)))
    require(len(logs) >= 9, "no weight can be read off where U = 0")
    found = np.linalg.lstsq(equations, logs)[0].reshape(3, 3)
    want = ref.qk_circuit(w)[0] / np.sqrt(w.w_q.shape[-1])
    require(near(u, ref.ov_circuit(w)[0]), f"U read off is {show(u)}")
    require(near(found, want, 1e-6), f"M read off is {show(found)}, not {show(want)}")


@claim(
    "prop-sharing",
    "numeric",
    mutants={
        "a table for each head": {"count": 0},
        "rank at most d_k": {"of_one": True},
        "heads take turns at the tables": {"in_turn": True},
    },
    scope="36 sizes of random layers; the veto's six heads",
)
def sharing(count: int = 1, of_one: bool = False, in_turn: bool = False) -> str:
    """The bound on the rank is reached by random layers; the query is a word of the memory.

    Beyond the statement, the library's weights are those of heads that follow each other.
    """
    tried = 0
    for n_heads, d_k in product((2, 4, 6), (1, 2, 3, 4)):
        for groups in (g for g in sizes(n_heads) if n_heads % g == 0):
            w = random_layer(tried, n_heads, 12, d_k, d_k, groups)
            x = np.random.default_rng(tried).standard_normal((20, 12))
            kept = sum((x @ part).size for part in (w.w_k, w.w_v))
            stated = 2 * (groups if count else n_heads) * d_k * len(x)
            require(kept == stated, f"{kept} numbers are kept, not {stated}")
            shared = [h % groups if in_turn else h * groups // n_heads for h in range(n_heads)]
            scores = np.array([x[0] @ w.w_q[h] @ (x @ w.w_k[g]).T for h, g in enumerate(shared)])
            got = ref.multi_head_weights(x[:1], w, memory=x, scale=0.05)[:, 0]
            worst = np.abs(got - ref.softmax(0.05 * scores)).max(axis=1)
            head = int(worst.argmax())
            where = f"H = {n_heads}, G = {groups}: head {head + 1} with table {shared[head] + 1}"
            require(near(worst, 0), f"{where} gives weights {worst[head]:.2g} away")
            rank, most = int(np.linalg.matrix_rank(scores)), (1 if of_one else groups) * d_k
            require(rank <= most, f"G = {groups}, d_k = {d_k}: rank {rank} > {most}")
            require(of_one or rank == min(n_heads, most), f"rank {rank}, expected to be reached")
            tried += 1
    rank = int(np.linalg.matrix_rank(np.concatenate(list(layers.layer(layers.SIX).w_k), axis=1)))
    require(rank == 6, f"the six heads' keys have rank {rank}")
    return (
        f"numbers kept and ranks of {tried} random layers, H ≤ 6, every G, d_k ≤ 4; the rank is "
        "min(H, G d_k) in each, and H/G heads that follow each other share a table; the rank of "
        "the veto's keys is 6"
    )
