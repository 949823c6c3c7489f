"""The claims of chapter 22: QK-norm and RoPE, permutations, latents, delta rule, experts, sinks."""

from __future__ import annotations

from itertools import product

import numpy as np
import sympy as sp

from tformer import reference as ref
from tformer.layer_configuration import LayerConfiguration, Rotary, Routing
from tformer.layers import LatentAttentionParameters
from tformer.parameters import NormParameters
from tformer_book.claims.registry import claim, require
from tformer_book.claims.tools import identity, near, row, weights

Array = np.ndarray


@claim(
    "prop-qk-norm-rope",
    "symbolic",
    mutants={
        "LayerNorm commutes as well": {"norm": "layer"},
        "any gain commutes": {"gain": "any"},
        "a gain whose halves are equal commutes with adjacent pairs": {"gain": "halves"},
    },
    scope="a pair with symbols; 8 coordinates, 20 tokens, 2 pairings",
)
def qk_norm_rope(norm: str = "rms", gain: str = "pairs") -> str:
    """A rotation of one pair with symbols, then the library's norms and RoPE on random rows."""
    a, b, angle = sp.symbols("a b theta", real=True)
    turn = sp.Matrix([[sp.cos(angle), sp.sin(angle)], [-sp.sin(angle), sp.cos(angle)]])
    off = sp.diag(a, b) * turn - turn * sp.diag(a, b)
    want = (a - b) * sp.sin(angle) * sp.Matrix([[0, 1], [1, 0]])
    identity(np.array(off), np.array(want), "what a gain and a turn fail to commute by")
    rng = np.random.default_rng(0)
    x, turns = rng.normal(size=(20, 8)), ref.sinusoidal(np.arange(20), 8)
    function = ref.rms_norm if norm == "rms" else ref.layer_norm
    four = rng.normal(size=4)
    for pairing in ("adjacent", "half"):
        alike = np.repeat(four, 2) if pairing == "adjacent" else np.tile(four, 2)
        gains = {"pairs": alike, "any": rng.normal(size=8), "halves": np.tile(four, 2)}[gain]
        behind = _turned(x, pairing)
        if norm == "layer":
            behind = behind - behind.mean(axis=-1, keepdims=True)
        behind = behind / np.sqrt((behind * behind).mean(axis=-1, keepdims=True) + 1e-5)
        for parameters, by in ((NormParameters(), np.ones(8)), (NormParameters(gains), gains)):
            off = abs(ref.rope(function(x, parameters), turns, pairing) - behind * by).max()
            require(off < 1e-12, f"{pairing} pairs: norm and RoPE differ by {off:.3f}")
        other = rng.normal(size=8)
        before = ref.rope(ref.rms_norm(x, NormParameters(other)), turns, pairing)
        require(abs(before - behind * other).max() > 0.01, f"{pairing} pairs: any gain commutes")
    return "a 2 × 2 identity in symbols; the library's norm, then RoPE, against loops, to 1e-12"


def _turned(x: Array, pairing: str) -> Array:
    """Rows turned by their positions, a pair at a time."""
    y, n = np.zeros_like(x), x.shape[-1] // 2
    for t, i in product(range(len(x)), range(n)):
        a, b = (2 * i, 2 * i + 1) if pairing == "adjacent" else (i, i + n)
        z = complex(x[t, a], x[t, b]) * np.exp(1j * t * 10000.0 ** (-i / n))
        y[t, a], y[t, b] = z.real, z.imag
    return y


@claim(
    "prop-qk-permutation",
    "numeric",
    mutants={
        "the queries alone may be permuted": {"keys": False},
        "it may stand before RoPE": {"first": True},
        "any two permutations will do": {"same": False},
    },
    scope="40 permutations and 40 orthogonal matrices, 12 tokens",
)
def qk_permutation(keys: bool = True, first: bool = False, same: bool = True) -> str:
    """Scores by turning pairs in loops, and by the library's RoPE before a permutation."""
    rng = np.random.default_rng(0)
    turns = ref.sinusoidal(np.arange(12), 8)
    moved = 0.0
    for _ in range(40):
        q, k = rng.normal(size=(2, 12, 8))
        order = rng.permutation(8)
        others = order if same else rng.permutation(8)
        want = _turned(q, "adjacent") @ _turned(k, "adjacent").T
        early = ref.rope(q[:, order], turns) @ ref.rope(k[:, order], turns).T
        moved = max(moved, abs(early - want).max())
        a, b = ref.rope(q, turns)[:, order], ref.rope(k, turns)[:, others if keys else ...]
        got = early if first else a @ b.T
        require(near(got, want, 1e-12), f"a score moves by {abs(got - want).max():.3f}")
        turn = np.linalg.qr(rng.normal(size=(8, 8)))[0]
        got = (ref.rope(q, turns) @ turn) @ (ref.rope(k, turns) @ turn).T
        require(near(got, want, 1e-12), "an orthogonal matrix moves a score")
    require(moved > 0.1, "before RoPE no permutation moved a score")
    return "all scores, to 1e-12; before RoPE permutations do move them"


@claim(
    "thm-absorbed",
    "numeric",
    mutants={
        "the scale is that of the latents' width": {"scale": "latent"},
        "all heads read the values of the first": {"values": False},
        "the rotated part of a key may be left out": {"rotated": False},
    },
    scope="10 random layers, 1 to 8 heads, with and without RoPE",
)
def absorbed(scale: str = "head", values: bool = True, rotated: bool = True) -> str:
    """Latent attention by loops over heads and pairs; the library's two forms against it."""
    rng = np.random.default_rng(0)
    for trial, heads in product(range(5), (1, 8)):
        p = _latents(rng, heads)
        c = LayerConfiguration(rotary=Rotary(pairing="adjacent") if trial else None)
        x = rng.normal(size=(7, 12))
        want = _by_heads(x, p, c)
        require(near(ref.latent_attention(x, p, c, causal=True), want), "by heads, it differs")
        got = ref.absorbed_latent_attention(x, p, c, causal=True)
        require(near(got, want, 1e-11), f"absorbed, it differs by {abs(got - want).max():.3g}")
        mine = _absorbed(x, p, c, scale, values, rotated)
        require(near(mine, want, 1e-11), f"as one key, it differs by {abs(mine - want).max():.3g}")
    return "loops over heads and pairs of tokens against both forms of the library, to 1e-11"


def _latents(rng: np.random.Generator, heads: int) -> LatentAttentionParameters:
    d, c, q, k, r, v = 12, 5, 6, 4, 2, 3
    first = ((d, c), (c,), (heads, q, k), (heads, c, k), (heads, c, v), (heads, v, d))
    shapes = (*first, (d, r), (heads, q, r), (d, q), (q,))
    return LatentAttentionParameters(*(rng.normal(size=shape) for shape in shapes))


def _rows(
    x: Array, p: LatentAttentionParameters, c: LayerConfiguration
) -> tuple[Array, Array, Array, Array]:
    """Latents, the shared rotated key, and both parts of the queries."""

    def unit(y: Array, gain: Array) -> Array:
        return np.asarray(y / np.sqrt((y * y).mean(-1, keepdims=True) + c.latent_eps) * gain)

    a = unit(x @ p.w_q_down, p.q_gain)
    latent, k_r = unit(x @ p.w_kv_down, p.kv_gain), x @ p.w_k_shared
    q_c, q_r = a @ p.w_q, a @ p.w_q_shared
    if c.rotary is not None:
        turns = ref.sinusoidal(np.arange(len(x)), k_r.shape[-1])
        k_r, q_r = ref.rope(k_r, turns), ref.rope(q_r, turns)
    return latent, k_r, q_c, q_r


def _by_heads(x: Array, p: LatentAttentionParameters, c: LayerConfiguration) -> Array:
    """Keys and values of every head, a weight at a time."""
    latent, k_r, q_c, q_r = _rows(x, p, c)
    scale = (q_c.shape[-1] + q_r.shape[-1]) ** -0.5
    y = np.zeros_like(x)
    for h, t in product(range(len(p.w_k)), range(len(x))):
        keys, values = latent[: t + 1] @ p.w_k[h], latent[: t + 1] @ p.w_v[h]
        scores = [
            scale * (q_c[h, t] @ key + q_r[h, t] @ turned)
            for key, turned in zip(keys, k_r[: t + 1], strict=True)
        ]
        terms = np.exp(np.array(scores) - max(scores))
        y[t] += terms / terms.sum() @ values @ p.w_o[h]
    return y


def _absorbed(
    x: Array, p: LatentAttentionParameters, c: LayerConfiguration, scale: str, v: bool, r: bool
) -> Array:
    """One key and one value a token, for all heads, as the theorem says."""
    latent, k_r, q_c, q_r = _rows(x, p, c)
    q = np.concatenate([q_c @ p.w_k.mT, q_r if r else 0 * q_r], axis=-1)
    k = np.concatenate([latent, k_r], axis=-1)
    width = k.shape[-1] if scale == "latent" else q_c.shape[-1] + q_r.shape[-1]
    y = ref.grouped_attention(q, k[None], latent[None], scale=width**-0.5, causal=True)
    up = p.w_v if v else np.repeat(p.w_v[:1], len(p.w_v), axis=0)
    return np.asarray((y @ up @ p.w_o).sum(axis=0))


@claim(
    "prop-delta-recall",
    "numeric",
    mutants={
        "β = 1/2 stores it all the same": {"beta": 0.5},
        "with decay": {"decay": 0.9},
        "for any keys of norm 1": {"orthogonal": False},
        "the first value stays": {"last": False},
    },
    scope="30 texts of 12 tokens, 6 keys of width 8, each written often",
)
def delta_recall(
    beta: float = 1.0, decay: float = 1.0, orthogonal: bool = True, last: bool = True
) -> str:
    """The library's rule on orthonormal keys that come again; a dictionary knows the answer."""
    rng = np.random.default_rng(0)
    for _ in range(30):
        keys = np.linalg.qr(rng.normal(size=(8, 8)))[0][:6]
        if not orthogonal:
            keys = rng.normal(size=(6, 8))
            keys /= np.linalg.norm(keys, axis=-1, keepdims=True)
        which = rng.integers(0, 6, size=12)
        k, v = keys[which], rng.normal(size=(12, 3))
        log_decay, step = np.full((12, 1), np.log(decay)), np.full(12, beta)
        stored: dict[int, Array] = {}
        for t, name in enumerate(which):
            if last or name not in stored:
                stored[name] = v[t]
            past = [x[: t + 1] for x in (k, k, v, log_decay, step)]
            _, state = ref.gated_delta_rule(*past)
            for other, value in stored.items():
                off = abs(keys[other] @ state - value).max()
                require(off < 1e-10, f"after {t + 1} tokens a stored value is off by {off:.3f}")
    return "what a dictionary holds against the library's rule, after every token, to 1e-10"


@claim(
    "prop-top-k-softmax",
    "symbolic",
    mutants={
        "without the division by their sum": {"divided": False},
        "the k largest of other scores": {"largest": False},
    },
    scope="5 experts in symbols, 1 to 5 chosen; 200 random rows",
)
def top_k_softmax(divided: bool = True, largest: bool = True) -> str:
    """Symbols for every number of chosen experts; then the library's routing on random rows."""
    z = row("z", 5, positive=True)
    for k in range(1, 6):
        part = weights(z)[:k]
        part = part / part.sum() if divided else part
        identity(part, weights(z[:k]), f"softmax of 5, then {k} of them")
    rng = np.random.default_rng(0)
    for logits in rng.normal(0, 2, size=(200, 8)):
        k = int(rng.integers(1, 9))
        got = ref.top_k_routing(logits[None], Routing(k, renormalise=True))[0]
        order = sorted(range(8), key=lambda e: logits[e], reverse=largest)[:k]
        terms = {e: np.exp(logits[e]) for e in order}
        want = [terms.get(e, 0.0) / sum(terms.values()) for e in range(8)]
        require(near(got, want), f"top {k}: weights differ by {abs(got - want).max():.3f}")
    return "identities in symbols; the library's routing against sorted rows, to 1e-12"


@claim(
    "prop-routing-bias",
    "numeric",
    mutants={
        "the bias counts in the weights": {"counted": True},
        "it cannot change the choice": {"moves": False},
    },
    scope="300 tokens, 8 experts, four kinds of routing",
)
def routing_bias(counted: bool = False, moves: bool = True) -> str:
    """Chosen by sorting with the bias, weighed without it; against the library."""
    rng = np.random.default_rng(0)
    logits, bias = rng.normal(size=(300, 8)), rng.normal(0, 0.05, size=8)
    changed = 0
    for scores, renormalise in product(("softmax", "sigmoid"), (False, True)):
        terms = np.exp(logits) / np.exp(logits).sum(-1, keepdims=True)
        s = terms if scores == "softmax" else 1 / (1 + np.exp(-logits))
        routing = Routing(3, scores, renormalise)
        got = ref.top_k_routing(logits, routing, bias)
        free = ref.top_k_routing(logits, routing)
        for t in range(300):
            choice = list(s[t] + bias)
            order = sorted(range(8), key=choice.__getitem__, reverse=True)[:3]
            of = s[t] + bias if counted else s[t]
            total = sum(of[e] for e in order) if renormalise else 1.0
            want = [of[e] / total if e in order else 0.0 for e in range(8)]
            require(near(got[t], want), f"token {t}: {abs(got[t] - want).max():.3f} apart")
            alike = {*np.flatnonzero(free[t])} == {*order}
            changed += not alike
            if alike:
                require(near(got[t], free[t]), "the same choice has other weights")
    require((changed > 0) == moves, f"the choice changed {changed} times of 1200")
    return "every token against a sort, to 1e-12; some choices change, and some stay"


@claim(
    "prop-sink",
    "symbolic",
    mutants={
        "the sink is scaled like a score": {"scaled": True},
        "its value is the mean of the values": {"value": 1.0},
        "the output is not made smaller": {"gated": False},
    },
    scope="1 to 4 keys in symbols; 4 heads, 9 tokens, causal",
)
def sink(scaled: bool = False, value: float = 0.0, gated: bool = True) -> str:
    """Symbols; then the library's sinks against one more key with a bias and a value of zero."""
    z = sp.Symbol("z", real=True)
    for n in range(1, 5):
        s, v = row("s", n), row("v", n)
        more = weights(np.array([*s, z], dtype=object))
        total = sum(sp.exp(x) for x in s)
        share = total / (total + sp.exp(z)) if gated else sp.Integer(1)
        with_key = (more[:-1] * v).sum() + more[-1] * value * v.sum() / n
        identity(with_key, share * (weights(s) * v).sum(), f"{n} keys and a sink")
    rng = np.random.default_rng(0)
    q, k, v = (rng.normal(size=(n, 9, 6)) for n in (4, 2, 2))
    sinks = rng.normal(size=4)
    got = ref.sink_attention(q, k, v, sinks, causal=True)
    k_more, v_more = (np.concatenate([x, 0 * x[:, :1]], axis=1) for x in (k, v))
    bias = np.zeros((4, 1, 10))
    bias[..., -1] = (sinks / np.sqrt(6) if scaled else sinks)[:, None]
    mask = np.concatenate([ref.causal_mask(9, 9), np.ones((9, 1), bool)], axis=1)
    want = ref.grouped_attention(q, k_more, v_more, mask, bias)
    require(near(got, want), f"one more key: {abs(got - want).max():.3f} apart")
    ones = ref.sink_attention(q, k, np.ones_like(v), sinks, causal=True)
    require(ones.max() < 1, "the weights of some row sum to 1 or more")
    return "symbols; four heads of the library against one more key, to 1e-12; all sums below 1"
