"""Models of any size, to be counted: what a config.json says, and arrays that take no memory.

So a model of 671 billion parameters can be counted like a small one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tformer.layer_configuration import LayerConfiguration
from tformer.layers import (
    AttentionParameters,
    DeltaNetParameters,
    ExpertParameters,
    LatentAttentionParameters,
    LayeredParameters,
    LayerParameters,
)
from tformer.parameters import FeedForwardParameters, HeadParameters, NormParameters

__all__ = ["DEFAULTS", "Plan", "configuration", "parameters"]

Array = np.ndarray


@dataclass(frozen=True)
class Plan:
    """Sizes of a model.

    Parameters
    ----------
    layers : tuple of str
        Each "full", "window", "chunk", "delta" or "latent".
    d, vocab, heads, groups, width : int
        d_model, tokens of the vocabulary, query heads, key heads, and the width of a head.
    ff : int
        Hidden units of a dense feed-forward layer.
    window : int
        Tokens of a window, or of a chunk.
    norms : int
        How many norms a layer has.
    qk_norm, biases, sinks, gate, tied : bool
        Whether there is a QK-norm of each head, biases of attention and experts, sinks, an output
        gate, an unembedding that is the embedding.
    experts, top_k, expert_ff : int
        Experts of a layer, how many are chosen, their hidden units; 0 without experts.
    n_dense : int
        How many of the first layers have no experts.
    shared_ff : int
        Hidden units of the shared expert.
    shared_gate, choice_bias : bool
        Whether the shared expert has a gate, and the router a bias for the choice.
    latent : tuple of int
        Widths of the latent, of that of queries, of keys, rotated keys and values.
    linear : tuple of int
        Of a gated delta net: groups, heads, widths of keys and of values, taps.
    """

    layers: tuple[str, ...]
    d: int
    vocab: int
    heads: int
    groups: int = 0
    width: int = 0
    ff: int = 0
    window: int = 0
    norms: int = 2
    qk_norm: bool = False
    biases: bool = False
    sinks: bool = False
    gate: bool = False
    tied: bool = False
    experts: int = 0
    top_k: int = 0
    expert_ff: int = 0
    n_dense: int = 0
    shared_ff: int = 0
    shared_gate: bool = False
    choice_bias: bool = False
    latent: tuple[int, int, int, int, int] = (0, 0, 0, 0, 0)
    linear: tuple[int, int, int, int, int] = (0, 0, 0, 0, 0)


DEFAULTS = {
    "llama": Plan(("full",) * 32, 4096, 32000, 32, 32, 128, 11008),
    "mixtral": Plan(("full",) * 32, 4096, 32000, 32, 8, 128, experts=8, top_k=2, expert_ff=14336),
    "gemma3": Plan(
        tuple("window" if (i + 1) % 6 else "full" for i in range(26)),
        *(2304, 262208, 8, 4, 256, 9216, 4096),
        norms=4,
        qk_norm=True,
        tied=True,
    ),
    "gpt_oss": Plan(
        ("window", "full") * 18,
        *(2880, 201088, 64, 8, 64, 0, 128),
        biases=True,
        sinks=True,
        experts=128,
        top_k=4,
        expert_ff=2880,
    ),
    "llama4": Plan(
        ("chunk", "chunk", "chunk", "full") * 12,
        *(5120, 202048, 40, 8, 128, 0, 8192),
        experts=16,
        top_k=1,
        expert_ff=8192,
        shared_ff=8192,
    ),
    "deepseek_v3": Plan(
        ("latent",) * 61,
        *(7168, 129280, 128, 0, 0, 18432),
        latent=(512, 1536, 128, 64, 128),
        choice_bias=True,
        experts=256,
        top_k=8,
        expert_ff=2048,
        n_dense=3,
        shared_ff=2048,
    ),
    "qwen3_next": Plan(
        ("delta", "delta", "delta", "full") * 12,
        *(2048, 151936, 16, 2, 256),
        qk_norm=True,
        gate=True,
        shared_gate=True,
        linear=(16, 32, 128, 128, 4),
        experts=512,
        top_k=10,
        expert_ff=512,
        shared_ff=512,
    ),
}
"""Sizes by default of the published configuration classes of transformers 5.24.0."""


def configuration(plan: Plan) -> tuple[LayerConfiguration, ...]:
    """The windows and chunks of the layers of a plan."""
    return tuple(
        LayerConfiguration(
            window=plan.window if kind == "window" else None,
            chunk=plan.window if kind == "chunk" else None,
        )
        for kind in plan.layers
    )


def parameters(plan: Plan) -> LayeredParameters:
    """The arrays of a plan, without memory."""
    p, d = plan, plan.d
    layers = tuple(_layer(p, kind, i >= p.n_dense) for i, kind in enumerate(p.layers))
    unembedding = None if p.tied else empty(d, p.vocab)
    return LayeredParameters(empty(p.vocab, d), layers, NormParameters(empty(d)), unembedding)


def empty(*shape: int) -> Array:
    """An array of this shape that takes no memory."""
    return np.broadcast_to(np.zeros((), np.float32), shape)


def _layer(p: Plan, kind: str, sparse: bool) -> LayerParameters:
    norms = [NormParameters(empty(p.d)) for _ in range(p.norms)]
    sparse = sparse and p.experts > 0
    ff = p.shared_ff if sparse else p.ff
    dense = FeedForwardParameters(empty(p.d, ff), empty(ff, p.d), w_gate=empty(p.d, ff))
    return LayerParameters(
        attention=None if kind in ("latent", "delta") else _attention(p),
        latent=_latent(p) if kind == "latent" else None,
        delta=_delta(p) if kind == "delta" else None,
        feed_forward=dense if ff else None,
        experts=_experts(p) if sparse else None,
        mixer_norm=norms[0],
        feed_forward_norm=norms[1],
        mixer_norm_after=norms[2] if len(norms) > 2 else None,
        feed_forward_norm_after=norms[3] if len(norms) > 2 else None,
    )


def _attention(p: Plan) -> AttentionParameters:
    h, g, d, w = p.heads, p.groups, p.d, p.width
    biases = [empty(h, w), empty(g, w), empty(g, w), empty(d)] if p.biases else []
    matrices = (empty(h, d, w), empty(g, d, w), empty(g, d, w), empty(h, w, d))
    return AttentionParameters(
        HeadParameters(*matrices, *biases),
        q_gain=empty(1, w) if p.qk_norm else None,
        k_gain=empty(1, w) if p.qk_norm else None,
        sinks=empty(h) if p.sinks else None,
        w_gate=empty(h, d, w) if p.gate else None,
    )


def _latent(p: Plan) -> LatentAttentionParameters:
    h, d, (c, q, k, r, v) = p.heads, p.d, p.latent
    return LatentAttentionParameters(
        *(empty(d, c), empty(c), empty(h, q, k), empty(h, c, k), empty(h, c, v), empty(h, v, d)),
        *(empty(d, r), empty(h, q, r), empty(d, q), empty(q)),
    )


def _delta(p: Plan) -> DeltaNetParameters:
    d, (g, h, k, v, taps) = p.d, p.linear
    return DeltaNetParameters(
        *(empty(g, d, k), empty(g, d, k), empty(h, d, v)),
        *(empty(g, taps, k), empty(g, taps, k), empty(h, taps, v)),
        *(empty(d, h), empty(h), empty(h, d, 1), empty(h, 1)),
        *(empty(h, d, v), empty(v), empty(h, v, d)),
    )


def _experts(p: Plan) -> ExpertParameters:
    e, d, f = p.experts, p.d, p.expert_ff
    return ExpertParameters(
        *(empty(d, e), empty(e, d, f), empty(e, d, f), empty(e, f, d)),
        b_router=empty(e) if p.biases else None,
        choice_bias=empty(e) if p.choice_bias else None,
        b_in=empty(e, f) if p.biases else None,
        b_gate=empty(e, f) if p.biases else None,
        b_out=empty(e, d) if p.biases else None,
        w_shared_gate=empty(d) if p.shared_gate else None,
    )
