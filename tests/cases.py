"""The case table: inputs for every public function of `tformer.reference` and `tformer.fast`.

Arrays are generated from the shapes in the docstrings, in float64. A test rounds them to the
precision it is about, so that the rounding of the inputs is never counted as an error.
"""

import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import torch

from tformer import fast, reference
from tformer.configuration import CHOICES, Configuration
from tformer.docstrings import Documented, documented
from tformer.layer_configuration import LayerConfiguration, RopeScaling, Rotary, Routing, Streams
from tformer.layers import (
    AttentionParameters,
    CompressedAttentionParameters,
    ConvolutionParameters,
    DeltaNetParameters,
    ExpertParameters,
    HyperConnectionParameters,
    LatentAttentionParameters,
    LayerParameters,
    PerLayerParameters,
    SharedAttentionParameters,
)
from tformer.parameters import (
    BlockParameters,
    DropoutMasks,
    EncoderDecoderParameters,
    FeedForwardParameters,
    HeadParameters,
    KVCache,
    ModelParameters,
    NormParameters,
    leaves,
)
from tformer.shapes import axes_of

FUNCTIONS = tuple(reference.__all__)


@cache
def said(name: str) -> Documented:
    """What the docstring of a function states."""
    return documented(getattr(reference, name))


SIZES = {
    "T": 2,
    "S": 3,
    "d_k": 5,
    "d_v": 4,
    "N": 4,
    "d_model": 2,
    "t_blocks": 1,
    "s_blocks": 2,
    "G": 2,
    "H": 2,
    "d_ff": 3,
    "n_ctx": 5,
    **{"n_experts": 4, "d_e": 3, "d_c": 3, "d_q": 2, "d_r": 2, "n_taps": 3, "d_x": 4},
    **{"n_streams": 2, "n_groups": 2, "n_series": 2, "n_window": 1, "n_index": 2, "d_i": 3},
    "n_chosen": 2,
}
"""Where there are groups, H is the number of heads in each."""
LONG = {"T": 17, "S": 19, "d_k": 3, "d_v": 6}
"""Rows that are longer than a vector register holds, and values that are wider than the keys."""
SIZE_OF_ARGUMENT = {
    **{"n_vocab": "N", "d_model": "d_model", "d_k": "d_k"},
    **{"n_queries": "T", "n_keys": "S", "n_heads": "H"},
}
HEADS = ("multi_head_attention", "multi_head_attention_vjp", "multi_head_weights")
GROUPED = ("grouped_attention", "grouped_attention_vjp", "grouped_attention_weights")
SEAMS = ("project", "project_vjp", "merge", "merge_vjp")
BLOCKS = ("block", "block_vjp")
DECODERS = ("decoder", "decoder_vjp")
ENCODERS = ("encoder", "encoder_vjp")
BOTH = ("encoder_decoder", "encoder_decoder_vjp")
MODELS = (*DECODERS, *ENCODERS, *BOTH, "cached_decoder")
UNEMBED = ("unembed", "unembed_vjp")
SINKS = ("sink_attention", "sink_attention_vjp")
CONVOLUTION = ("short_convolution", "short_convolution_vjp")
MIXTURE = ("mixture_of_experts", "mixture_of_experts_vjp")
RULES = ("gated_delta_rule", "chunked_gated_delta_rule")
EXTENDED = ("extended_attention", "extended_attention_vjp")
LATENT = ("latent_attention", "latent_attention_vjp", "absorbed_latent_attention")
DELTA_NET = ("delta_net", "delta_net_vjp")
LAYERS = ("layer", "layer_vjp")
OVERFLOW = ("drop_overflow", "drop_overflow_vjp")
POOLED = ("compressed_attention", "compressed_attention_vjp")
STREAMS = ("sinkhorn", "stream_weights", "read_streams", "write_streams")
STREAMS += tuple(f"{name}_vjp" for name in STREAMS)
HASHED = ("hash_routing", "hash_routing_vjp")
ROUTED_BY = ("top_k_routing", "top_k_routing_vjp")
Sizes = dict[str, int]


def _whole(x: Sizes) -> Sizes:
    """Sizes of a model: heads by groups, pairs to turn, words and positions enough."""
    even = {"d_k": x["d_k"] + x["d_k"] % 2, "d_model": 2 * x["d_model"]}
    heads = {"G": max(x["G"], 1), "H": max(x["G"], 1) * max(x["H"], 1)}
    return even | heads | {"N": max(x["N"], 2), "n_ctx": 2 * (x["T"] + x["S"]) + 1}


def _grouped(x: Sizes) -> Sizes:
    """Heads by groups."""
    return {"G": max(x["G"], 1), "H": max(x["G"], 1) * max(x["H"], 1)}


def _layered(x: Sizes) -> Sizes:
    """Sizes of a layer: as of a model, and widths that a missing projection must keep."""
    whole = _whole(x)
    same = dict.fromkeys(("d_c", "d_q"), whole["d_model"])
    same["d_k"] = max(whole["d_k"], 2)
    pooled = {"n_groups": max(whole["G"], 1), "n_window": max(x["n_window"], 1)}
    pooled |= {"n_series": max(x["n_series"], 1), "d_i": max(x["d_i"], 2)}
    experts = {"n_experts": max(4, x["n_experts"] // 2 * 2)}
    return whole | same | pooled | {"d_r": x["d_r"] // 2 * 2} | experts


SIZES_TAKEN: dict[str, Callable[[Sizes], Sizes]] = {
    "extend_cache": lambda x: {"G": max(x["G"], 1)},
    **dict.fromkeys(("rope", "rope_vjp"), lambda x: {"d_k": x["d_k"] + x["d_k"] % 2}),
    **dict.fromkeys(("relative_bias", "relative_bias_vjp"), lambda x: {"N": x["N"] // 2 * 2 + 1}),
    **dict.fromkeys(("embedding", "embedding_vjp"), lambda x: {"N": max(x["N"], 2)}),
    **dict.fromkeys(("cross_entropy", "cross_entropy_vjp"), lambda x: {"N": max(x["N"], 4)}),
    **dict.fromkeys((*BLOCKS, *MODELS, *UNEMBED, "logit_lens", "head_outputs"), _whole),
    **dict.fromkeys(
        ("top_k_routing", "top_k_routing_vjp"),
        lambda x: {"n_experts": max(4, x["n_experts"] // 2 * 2)},
    ),
    **dict.fromkeys(
        ("balancing_loss", "balancing_loss_vjp"), lambda x: {"n_experts": max(2, x["n_experts"])}
    ),
    **dict.fromkeys(SINKS, _grouped),
    **dict.fromkeys(CONVOLUTION, lambda x: {"n_taps": max(1, x["n_taps"])}),
    **dict.fromkeys(MIXTURE, lambda x: {"n_experts": max(1, x["n_experts"])}),
    **dict.fromkeys((*EXTENDED, *LATENT, *DELTA_NET, *POOLED), _layered),
    **dict.fromkeys(
        HASHED, lambda x: {"n_experts": max(2, x["n_experts"]), "n_chosen": max(1, x["n_chosen"])}
    ),
    **dict.fromkeys(LAYERS, lambda x: _layered(x) | {"S": x["T"], "d_v": _layered(x)["d_k"]}),
    "block_sparse_attention": lambda x: {"t_blocks": -(-x["T"] // 2), "s_blocks": -(-x["S"] // 2)},
    **dict.fromkeys(
        (*HEADS, *GROUPED, *SEAMS, "qk_circuit", "ov_circuit"),
        _grouped,
    ),
}
"""For a function that does not take every size, the sizes it is given instead."""
SIMILARITIES = tuple(
    name for name in FUNCTIONS if getattr(reference, name).__module__.endswith("similarity")
)
ATTENTION = ("attention", "attention_vjp", "attention_weights")
BLOCKWISE = ("blockwise_attention", "blockwise_attention_vjp")
SCORES = ("softmax", "log_softmax", "logsumexp")
NO_BIASES = {f"parameters.b_{name}": None for name in "qkvo"}
NORMS = ("layer_norm", "layer_norm_vjp", "rms_norm", "rms_norm_vjp")
FEEDS = ("feed_forward", "feed_forward_vjp")
DROPS = ("dropout", "dropout_vjp")
NO_CROSS = {"parameters.cross": None, "parameters.cross_norm": None}
NO_MEMORY = {"memory": None, "memory_mask": None}
GPT = Configuration(activation="gelu_tanh", eps=0.1, dropout=0.25)
FIRST = Configuration(
    order="post", eps=0.1, activation="relu", positions="sinusoidal", scale_embedding=True
)
LLAMA = Configuration(norm="rms", activation="silu", positions="rope", eps=0.1)
NEIGHBOURS = Configuration(
    norm="rms", eps=0.1, order="post", positions="rope", pairing="adjacent", base=9.0
)
NO_EXPERT_BIASES = {f"parameters.{name}": None for name in ("b_in", "b_gate", "b_out")}
NO_DOWN = {"parameters.w_decay_down": None, "parameters.w_gate_down": None}
ROTATED = LayerConfiguration(
    eps=0.1, latent_eps=0.1, qk_norm="head", rotary=Rotary(9.0, "adjacent", width=2)
)
WARM = LayerConfiguration(
    eps=0.1,
    qk_norm="head",
    qk_norm_last=True,
    value_scale=0.7,
    temperature=(3, 0.2),
    rotary=Rotary(9.0, scaling=RopeScaling("yarn", 4.0, 16, attention_factor=1.2)),
)
ALL_HEADS = LayerConfiguration(
    eps=0.1, qk_norm="projection", rotary=Rotary(9.0, scaling=RopeScaling("llama3", 4.0, 16, 1, 4))
)
ROUTED = LayerConfiguration(
    eps=0.1, window=2, routing=Routing(2, renormalise=True), rotary=Rotary(9.0)
)
BEFORE = LayerConfiguration(
    eps=0.1, latent_eps=0.1, routing=Routing(1, "sigmoid", weigh_input=True), chunk=2
)
PARALLEL = LayerConfiguration(norm="layer", eps=0.1, activation="gelu_tanh", parallel=True)
MIXERS = ("attention", "shared", "latent", "delta", "convolution", "compressed")
OF_DECODERS = dict.fromkeys(
    f"parameters.{x}" for x in ("mixer_streams", "feed_forward_streams", "token_experts")
)
"""What only a decoder with several residual streams has."""
ALONE = {"kv": None, "per_layer": None, "parameters.per_layer": None}
ALONE |= {"parameters.per_layer_norm_after": None}
"""The settings of a layer that takes nothing from outside of it."""
PLAIN = dict.fromkeys(
    f"parameters.{x}"
    for x in ("dense_norm_after", "router_norm", "experts_norm", "experts_norm_after")
)
PLAIN |= {"parameters.experts.scale": None}
"""The settings of a layer whose experts read what the dense part reads."""
READ_ONLY = {f"parameters.{kind}_{x}": None for x in ("write", "mix") for kind in ("w", "b")}
READ_ONLY |= {f"parameters.{x}_scale": None for x in ("write", "mix")}
ALL_WINDOWS = {f"parameters.w_index{x}": None for x in ("", "_q", "_kv", "_pool")}
ALL_WINDOWS |= {"parameters.b_index_pool": None, "parameters.index_gain": None}
NO_WINDOWS = {f"parameters.{x}": None for x in ("w_pool_kv", "w_pool", "b_pool", "pool_gain")}
GATELESS = {"parameters.experts.w_shared_gate": None}
COMPRESSED = LayerConfiguration(
    eps=0.1,
    window=2,
    rotary=Rotary(9.0, "adjacent", width=2),
    activation="clipped_silu",
    routing=Routing(2, "sqrt_softplus", renormalise=True),
    index_top_k=99,
)
"""All windows are chosen: another precision would choose others where scores are near."""
BORROWS = replace(ROUTED, kv_layer=0, qk_norm="head", rotary=Rotary(turning=1))


def only(mixer: str) -> dict[str, None]:
    """The settings that leave out every other mixer of a layer."""
    return {f"parameters.{name}": None for name in MIXERS if name != mixer} | OF_DECODERS


LENGTHS = [{"n_queries": t, "n_keys": s} for t, s in ((3, 4), (4, 3), (1, 1), (0, 2), (2, 0))]
LENGTHS += [{"n_queries": 3, "n_keys": 6, "offset": offset} for offset in (2, 3, 9)]

SETTINGS: dict[str, list[dict[str, Any]]] = {
    **{
        name: [{}, {"axis": 0}, {"beta": 0.25}, {"beta": 2.0}, {"axis": 0, "beta": 3.0}]
        for name in SCORES
    },
    "entropy": [{}, {"axis": 0}],
    "softmax_vjp": [{}, {"beta": 0.25}, {"axis": 0, "beta": 2.0}],
    "softmax_jacobian": [{}, {"beta": 3.0}],
    "temperature": [{}, {"tau": 0.1}, {"tau": 2.0}],
    "top_k": [{"k": n} for n in (1, 2, 9)],
    "top_p": [{"p": p} for p in (0.01, 0.45, 0.9, 1.0)],
    "min_p": [{"p": p} for p in (0.01, 0.45, 1.0)],
    "cooccurrence": [{"n_vocab": 4, "window": 1}, {"n_vocab": 6, "window": 9}],
    "svd_embeddings": [{"d_model": 2}],
    "causal_mask": LENGTHS,
    "sliding_window_mask": [x | {"window": n} for x in LENGTHS for n in (1, 2, 9)],
    "prefix_mask": [x | {"n_prefix": n} for x in LENGTHS for n in (0, 2, 9)],
    "padding_mask": [{"n_keys": 3}, {"n_keys": 0}],
    **{
        name: [
            {},
            {"mask": None, "scale": 0.3, **NO_BIASES},
            {"memory": None, "mask": None, "bias": None, "causal": True},
        ]
        for name in HEADS
    },
    **{
        name: [
            {},
            {"mask": None, "bias": None, "scale": 0.3},
            {"mask": None, "bias": None, "causal": True},
            {"causal": True, "offset": 1},
        ]
        for name in GROUPED
    },
    **{
        name: [{}, {"eps": 0.5}, {"parameters.bias": None}, {"parameters": NormParameters()}]
        for name in NORMS
    },
    **{
        name: [
            {"configuration": LLAMA},
            {"configuration": GPT, "parameters.w_gate": None},
            {"configuration": FIRST, "parameters.b_in": None, "parameters.w_gate": None},
            {"configuration": Configuration(), "parameters.b_out": None},
        ]
        for name in FEEDS
    },
    **{name: [{"configuration": x} for x in (GPT, Configuration())] for name in DROPS},
    **{
        name: [
            {"configuration": GPT},
            {"configuration": NEIGHBOURS, "bias": None, "causal": True},
            {"configuration": FIRST, "sinusoids": None, "dropout_masks": None, "memory_mask": None},
            {"configuration": LLAMA, **NO_CROSS, **NO_MEMORY, "parameters.heads_norm": None},
            {"configuration": LLAMA, **NO_MEMORY, "mask": None, "parameters.feed_forward": None},
        ]
        for name in BLOCKS
    },
    **{name: [{}, {"parameters.unembedding": None}] for name in UNEMBED},
    "logit_lens": [
        {"configuration": LLAMA},
        {"configuration": GPT, "parameters.unembedding": None},
        {"configuration": GPT, "parameters.norm": None},
    ],
    "head_outputs": [{}, NO_BIASES],
    "induction_scores": [{"period": n} for n in (1, 2, 9)],
    **{
        name: [
            {"configuration": GPT, "parameters.unembedding": None},
            *(
                {"configuration": x, "mask": None, "dropout_masks": None}
                for x in (FIRST, LLAMA, NEIGHBOURS)
            ),
            *(
                {
                    "configuration": Configuration(positions=x, eps=0.1),
                    **none,
                    "dropout_masks": None,
                }
                for x in CHOICES["positions"]
            ),
            *({"configuration": x, **none, "positions": None} for x in (GPT, LLAMA)),
            {"configuration": Configuration(positions="relative"), **none, "positions": None},
        ]
        for names, none in (
            (
                DECODERS,
                {f"parameters.blocks.*.{x}": None for x in ("cross", "cross_norm")} | NO_MEMORY,
            ),
            (ENCODERS, {"mask": None, "parameters.blocks.*.feed_forward": None}),
        )
        for name in names
    },
    **{
        name: [
            {"configuration": GPT, "source_mask": None, "target_mask": None},
            {"configuration": FIRST, "parameters.decoder.unembedding": None},
            {"configuration": LLAMA, "source_positions": None, "target_positions": None},
        ]
        for name in BOTH
    },
    "cached_decoder": [
        *({"configuration": Configuration(positions=x)} for x in CHOICES["positions"]),
        *({"configuration": x, "positions": None} for x in (GPT, FIRST, LLAMA, NEIGHBOURS)),
        {"configuration": Configuration(positions="alibi"), "caches": None, "positions": None},
        {"configuration": Configuration(positions="relative"), "mask": None, "positions": None},
        {"configuration": GPT, "caches": None},
    ],
    "project": [{}, {"memory": None, **NO_BIASES}],
    **{name: [{}, NO_BIASES] for name in SEAMS[1:]},
    "extend_cache": [{}, {"cache": None}],
    "sinusoidal": [
        {"d_model": 6},
        {"d_model": 2, "base": 3.0, "interpolation": 4.0},
        {"d_model": 0},
    ],
    **{name: [{}, {"pairing": "half"}] for name in ("rope", "rope_vjp")},
    "rope_permutation": [{"d_k": n} for n in (0, 2, 6)],
    "relative_bias": LENGTHS,
    "relative_bias_vjp": [{}, {"offset": 4}],
    "alibi_slopes": [{"n_heads": n} for n in (1, 2, 3, 6, 8, 12)],
    "alibi_bias": [x | {"n_heads": n} for x in LENGTHS for n in (1, 3)],
    "causal_attention": [{}, {"offset": 1}, {"offset": 2, "scale": 0.3}],
    **{
        name: [
            {},
            {"mask": None, "bias": None, "block": 1},
            {"mask": None, "bias": None, "causal": True, "scale": 2.0, "block": 2},
            {"bias": None, "causal": True, "offset": 1, "block": 7},
            {"mask": None, "block": 5},
        ]
        for name in BLOCKWISE
    },
    "window_attention": [
        {"window": 1},
        {"window": 2, "offset": 2, "block": 1},
        {"window": 9, "offset": 1, "scale": 0.3},
        {"window": 3, "offset": 40, "block": 4},
    ],
    "block_sparse_attention": [
        {"block": 2},
        {"block": 2, "causal": True},
        {"block": 2, "causal": True, "offset": 2, "scale": 0.3},
    ],
    **{name: [{"cap": 1.0}, {"cap": 30.0}] for name in ("soft_cap", "soft_cap_vjp")},
    **{
        name: [
            {},
            {"mask": None, "scale": 0.3},
            {"sinks": None, "cap": 2.0},
            {"cap": 1.5, "causal": True},
            {"mask": None, "causal": True, "offset": 1},
            {"sinks": None, "causal": True},
        ]
        for name in SINKS
    },
    **{
        name: [
            {"routing": Routing(2)},
            {"routing": Routing(1, "sigmoid", renormalise=True), "choice_bias": None},
            {"routing": Routing(2, "sigmoid", True, n_groups=2, factor=2.5)},
            {"routing": Routing(2, renormalise=True), "choice_bias": None},
            {"routing": Routing(2, "sqrt_softplus", renormalise=True, factor=1.5)},
        ]
        for name in ("top_k_routing", "top_k_routing_vjp")
    },
    **{
        name: [{"routing": Routing(1)}, {"routing": Routing(2)}]
        for name in ("balancing_loss", "balancing_loss_vjp")
    },
    **{name: [{"capacity": n} for n in (1, 0, 2, 9)] for name in OVERFLOW},
    **{
        name: [
            {"routing": Routing(2, "sqrt_softplus", renormalise=True, factor=1.5)},
            {"routing": Routing(1, "sigmoid")},
            {"routing": Routing(1)},
        ]
        for name in HASHED
    },
    **{
        name: [{}, {"n_rounds": 1}, {"n_rounds": 3, "eps": 0.1}]
        for name in ("sinkhorn", "sinkhorn_vjp")
    },
    **{
        name: [{"streams": Streams(5, 0.1), "eps": 0.1}, {"streams": Streams(), **no_grads}]
        for name, no_grads in (
            ("stream_weights", READ_ONLY),
            ("stream_weights_vjp", READ_ONLY | {"dwrite": None, "dmix": None}),
        )
    },
    **{
        name: [
            {"configuration": COMPRESSED},
            {"configuration": replace(COMPRESSED, scale=0.3), "mask": None, **ALL_WINDOWS},
            {
                "configuration": COMPRESSED,
                **{"valid": None, "positions": None, "parameters.sinks": None},
                **ALL_WINDOWS,
                **NO_WINDOWS,
            },
        ]
        for name in POOLED
    },
    **{
        name: [
            {},
            {"activation": "clipped_swiglu", "parameters.w_shared_gate": None},
            {"weigh_input": True, **NO_EXPERT_BIASES},
            {"activation": "gelu_tanh", "weigh_input": True},
            {"activation": "clipped_silu"},
        ]
        for name in ("mixture_of_experts", "mixture_of_experts_vjp")
    },
    **{name: [{}, {"state": None}] for name in ("gated_delta_rule", "gated_delta_rule_vjp")},
    "chunked_gated_delta_rule": [{}, {"state": None, "chunk": 2}, {"chunk": 1}],
    **{name: [{}, {"earlier": None}] for name in ("short_convolution", "short_convolution_vjp")},
    **{
        name: [
            {"configuration": ROTATED},
            {"configuration": LayerConfiguration(latent_eps=0.1, scale=0.3), "mask": None},
            {"configuration": ROTATED, "parameters.q_gain": None, "causal": True},
            {"configuration": ROTATED, "parameters.w_q_down": None, "positions": None},
        ]
        for name in LATENT
    },
    **{
        name: [
            {"configuration": LayerConfiguration(eps=0.1, gate="silu")},
            {"configuration": LayerConfiguration(eps=0.1), "valid": None, **NO_DOWN},
        ]
        for name in DELTA_NET
    },
    **{name: [{}, {"valid": None}] for name in ("gated_convolution", "gated_convolution_vjp")},
    **{
        name: [
            {"configuration": ROTATED},
            {"configuration": WARM, "parameters.w_gate": None, "positions": None, "causal": True},
            {"configuration": ALL_HEADS, "parameters.sinks": None, "mask": None},
            {"configuration": LayerConfiguration(cap=3.0), "parameters.q_gain": None},
        ]
        for name in EXTENDED
    },
    **{
        name: [
            {"configuration": ROUTED, **only("attention")},
            {"configuration": BEFORE, **only("latent"), "parameters.feed_forward": None, **PLAIN},
            {"configuration": PARALLEL, **only("delta"), "parameters.experts": None},
            {
                "configuration": ROUTED,
                **only("convolution"),
                "parameters.mixer_norm": None,
                **PLAIN,
            },
            {"configuration": ROUTED, **only("attention"), "positions": None, **ALONE, **GATELESS},
            {
                "configuration": replace(ROUTED, v_norm=True),
                **only("shared"),
                **{"kv": None, "parameters.experts_norm": None},
            },
            {
                "configuration": replace(BORROWS, parallel=True),
                **only("shared"),
                **{"parameters.shared.w_k": None, "parameters.router_norm": None},
            },
            {
                "configuration": COMPRESSED,
                **only("compressed"),
                **ALONE,
                **PLAIN,
            },
        ]
        for name in LAYERS
    },
    "linear_attention": [{}, {"causal": True}],
    "recurrent_linear_attention": [{}, {"state": None, "total": None}],
    **{
        name: [
            {"mask": None, "bias": None},
            {"mask": None, "scale": 0.3},
            {"bias": None},
            {"scale": 2.0},
        ]
        for name in ATTENTION
    },
}
"""Arguments that are not arrays, and arrays that are left out. Without an entry there are none."""

INTEGERS_ONLY = tuple(name for name in FUNCTIONS if set(said(name).names) <= set(said(name).kinds))
"""What takes no floating-point array: what it returns is in float64, or torch's default dtype."""
VALUES_NEEDED: tuple[str, ...] = (
    "cooccurrence",
    "svd_embeddings",
    "from_additive",
    "block_sparse_attention",
)
VALUES_NEEDED += (*MIXTURE, *LAYERS)
SEVERAL = (
    *("attention_vjp", "grouped_attention_vjp", "multi_head_attention_vjp"),
    "blockwise_attention_vjp",
    *("project_vjp", "merge_vjp", "sink_attention_vjp", "mixture_of_experts_vjp"),
    *("gated_delta_rule_vjp", "short_convolution_vjp", "latent_attention_vjp", "delta_net_vjp"),
    *("gated_convolution_vjp", "extended_attention_vjp", "layer_vjp", "top_k_routing_vjp"),
    *("balancing_loss_vjp", "drop_overflow_vjp", "soft_cap_vjp"),
    *(name for name in STREAMS if name.endswith("_vjp")),
    *("compressed_attention_vjp", "hash_routing_vjp"),
    *(name for name in (*NORMS, *FEEDS, *BLOCKS, *MODELS, *UNEMBED) if name.endswith("_vjp")),
)
WITH_VJP: tuple[str, ...] = (
    "block",
    "decoder",
    "encoder",
    "encoder_decoder",
    "cached_decoder",
    "layer_norm",
)
WITH_VJP += ("layer", "delta_net", "extended_attention", "mixture_of_experts", "drop_overflow")
WITH_VJP += ("compressed_attention",)
"""Of many parameters, or too sharp: their gradients are compared with those derived by hand."""
BY_AUTOGRAD = (
    *(f"{name}_vjp" for name in ("relu", "gelu", "gelu_tanh", "silu", "dropout", "cross_entropy")),
)
"""Gradients whose own are not recorded."""
NOT_DIFFERENTIABLE = (*INTEGERS_ONLY, *SEVERAL, *WITH_VJP, *BY_AUTOGRAD)
CUTS = ("top_k", "top_p", "min_p")
NOT_DIFFERENTIABLE += ("from_additive", "count_leaks", "sample", *CUTS)
NOT_HALF = ("svd_embeddings",)
"""The singular vectors of a matrix are too sensitive for a bound that holds in half precision."""
KEPT_WIDE = ("recurrent_linear_attention", *RULES)
"""In half precision results differ in dtype: tests/test_cheaper_attention.py."""


class Case(NamedTuple):
    """One call: arrays by name, and the other arguments."""

    function: str
    arrays: dict[str, np.ndarray]
    settings: dict[str, Any]


class Tolerance(NamedTuple):
    """Largest error allowed, in units of the largest number met on the way; and why."""

    bound: float
    reason: str


ROUNDINGS = (
    "at most 8 roundings of half a unit each, of numbers no larger than the largest: 4 units"
)
TOLERANCE = {
    "float64": Tolerance(1e-10, "the rule of the project for logic; rounding is near 1e-15"),
    "float32": Tolerance(4 * 2.0**-23, ROUNDINGS),
    "float16": Tolerance(4 * 2.0**-10, ROUNDINGS),
    "bfloat16": Tolerance(4 * 2.0**-7, ROUNDINGS),
}


DEEP = 8
"""A block is a dozen functions one after the other; each rounds, some of them sums over words."""
MADE_AGAIN = ("blockwise_attention_vjp",)
"""Twice the roundings: weights are made again from scores and from a logarithm, itself rounded."""
SENSITIVE = Tolerance(
    64 * 2.0**-23,
    "singular vectors turn by the rounding over the gap between singular values, some 10 times "
    "the rounding here, and the iterative solvers of GPUs stop a few units short",
)


def tolerance(name: str, dtype: str) -> float:
    """The bound for a function, in units of the largest number met on the way."""
    if name in NOT_HALF and dtype == "float32":
        return SENSITIVE.bound
    if (
        name in (*BLOCKS, *MODELS, *LAYERS, *EXTENDED, *LATENT, *DELTA_NET, *POOLED)
        and dtype != "float64"
    ):
        return DEEP * TOLERANCE[dtype].bound
    if name in MADE_AGAIN and dtype != "float64":
        return 2 * TOLERANCE[dtype].bound
    return TOLERANCE[dtype].bound


def cases(name: str) -> Iterator[tuple[str, Case]]:
    """Every case of a function, each with an identifier; of whole models, odd ones only once."""
    names, spec, *_ = said(name)
    letters = sorted(
        {x for axes in axes_of(spec) for letter, _ in axes.letters for x in letter.split("+")}
    )
    for i, settings in enumerate(SETTINGS.get(name, [{}])):
        for kind, leading in _leading(len(names), "..." in spec).items():
            if not (i and name in MODELS and kind not in ("plain", "broadcast")):
                yield f"{kind}-{i}", make(name, SIZES, leading, settings)
        if i and name in (*MODELS, *BLOCKS):
            continue
        ones = [()] * len(names)
        if "d_model" not in settings:
            yield f"size 1-{i}", make(name, SIZES | dict.fromkeys(letters, 1), ones, settings)
            for letter in letters:
                without = taken(name, SIZES | {letter: 0})
                if without[letter] == 0:
                    yield f"empty {letter}-{i}", make(name, without, ones, settings)
        if LONG.keys() & set(letters):
            yield f"long-{i}", make(name, SIZES | LONG, ones, settings)
        plain = make(name, SIZES, [(3,)] * len(names), settings)
        for layout, change in LAYOUTS.items():
            yield f"{layout}-{i}", changed(plain, change)
        for kind, (functions, change) in ENTRIES.items():
            if name in functions:
                yield f"{kind}-{i}", changed(plain, change)


def changed(case: Case, change: Callable[[np.ndarray], np.ndarray]) -> Case:
    """The case with other arrays, or the same arrays laid out otherwise; what has no axis stays."""
    return case._replace(arrays={key: change(x) if x.ndim else x for key, x in case.arrays.items()})


def _leading(n_arrays: int, dots: bool) -> dict[str, list[tuple[int, ...]]]:
    """Leading axes to try, for each array in turn."""
    kinds: dict[str, list[tuple[int, ...]]] = {"plain": [()] * n_arrays}
    if dots:
        kinds |= {"batch": [(2, 3)] * n_arrays, "empty batch": [(2, 0)] * n_arrays}
    if dots and n_arrays > 1:
        alternating: list[tuple[int, ...]] = [((2, 1), (3,))[i % 2] for i in range(n_arrays)]
        kinds |= {"broadcast": alternating, "one has no batch": [(), *[(2, 3)] * (n_arrays - 1)]}
    return kinds


def taken(name: str, sizes: Sizes) -> Sizes:
    """The sizes, changed to some that a function takes."""
    return sizes | SIZES_TAKEN.get(name, dict)(sizes)


def make(
    name: str,
    sizes: Sizes,
    leading: Sequence[tuple[int, ...]],
    settings: dict[str, Any],
    spec: str = "",
) -> Case:
    """A case whose arrays have the documented shapes under `sizes`; the same on every run.

    `spec` replaces the documented shapes.
    """
    names, right, *_ = said(name)
    spec = spec or right
    sizes = taken(name, sizes)
    rng = np.random.default_rng(zlib.crc32(f"{name}{sorted(sizes.items())}{leading}".encode()))
    arrays = {}
    for argument, axes, before in zip(names, axes_of(spec), leading, strict=True):
        if any(f"{argument}.".startswith(f"{key}.") for key in settings):
            continue
        without = {"S": 0} if settings.get("caches", ()) is None else {}
        sums = {letter for letter, _ in axes.letters if "+" in letter}
        sizes |= {x: sum((sizes | without)[part] for part in x.split("+")) for x in sums}
        shape = (before if axes.dots else ()) + tuple(sizes[letter] for letter, _ in axes.letters)
        values = values_of(name, argument)
        for one in (argument.replace("*", str(i)) for i in range(1 + ("*" in argument))):
            arrays[one] = values(rng, shape)
    return Case(name, arrays, {key: value for key, value in settings.items() if "." not in key})


def values_of(name: str, argument: str) -> Callable[..., np.ndarray]:
    """What fills an array: by its own name, or by that of a field in whatever holds it."""
    field = f"parameters.{argument.split('.')[-1]}"
    known = (f"{argument} of {name}", argument, field if "." in argument else "")
    return next((VALUES[key] for key in known if key in VALUES), _normal)


def _normal(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    return rng.standard_normal(shape)


def _small(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Parameters as of a new layer, so that what is multiplied by them keeps its size."""
    return rng.standard_normal(shape) / 2


def _weights(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Weights that sum to one along the last axis, now and then exactly 0 or 1."""
    terms = np.exp(rng.standard_normal(shape)) * (rng.random(shape) < 0.8)
    total = terms.sum(axis=-1, keepdims=True)
    return terms / np.where(total == 0, 1, total)


def _counts(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Counts to 300, with some pairs never seen and the first word never seen at all.

    In float16 the product of two sums of a few hundred is out of range.
    """
    counts = rng.integers(0, 4, shape) * 10.0 ** rng.integers(0, 3, shape)
    counts[..., :1, :] = 0
    return counts


def _tokens(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    return rng.integers(-1, 4, shape)


def _rows(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Rows of a table, of which some are used twice and some not at all."""
    return rng.integers(0, 2, shape)


def _mask(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """True where one may look; the first row is fully masked."""
    mask = rng.random(shape) < 0.6
    if len(shape) > 1:
        mask[..., :1, :] = False
    return mask


def _valid(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """True at tokens, after left padding of some rows."""
    n_padding = rng.integers(0, max(shape[-1], 1), (*shape[:-1], 1))
    return np.arange(shape[-1]) >= n_padding


VALUES: dict[str, Callable[..., np.ndarray]] = {
    "p": _weights,
    "counts": _counts,
    "tokens": _tokens,
    **dict.fromkeys(("mask", "layout"), _mask),
    "total": lambda rng, shape: 0.5 + rng.random(shape),
    **{f"parameters.w_{name}": _small for name in ("q", "k", "v", "o", "in", "out", "gate")},
    **dict.fromkeys(("tokens of embedding", "tokens of embedding_vjp"), _rows),
    **{f"tokens of {name}": _rows for name in MODELS},
    **dict.fromkeys(("source", "target"), _rows),
    **dict.fromkeys(("memory_mask", "source_mask", "target_mask", "keep_mask"), _mask),
    **{
        f"{name}.{field}": _mask
        for name in ("dropout_masks", "dropout_masks.*")
        for field in vars(DropoutMasks())
    },
    "valid": _valid,
    "log_decay": lambda rng, shape: -np.abs(rng.standard_normal(shape)),
    **dict.fromkeys(("beta", "parameters.log_rate"), lambda rng, shape: rng.random(shape)),
    "weights": _weights,
    **dict.fromkeys((f"experts of {name}" for name in HASHED), _rows),
    "targets": _tokens,
    "positions": lambda rng, shape: rng.integers(0, 99, shape),
    **{
        f"{kind}positions of {name}": lambda rng, shape: rng.integers(0, max(shape[-1], 1), shape)
        for name in MODELS
        for kind in ("", "source_", "target_")
    },
    "lengths": _tokens,
    "documents_q": _tokens,
    "documents_k": _tokens,
    "u": lambda rng, shape: rng.random(shape),
    "influence": lambda rng, shape: rng.integers(-1, 2, shape).astype(float),
    "bias of from_additive": lambda rng, shape: np.where(rng.random(shape) < 0.5, 0, -np.inf),
}

LAYOUTS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "strided": lambda a: np.repeat(a, 2, axis=-1)[..., ::2],
    "transposed": lambda a: np.ascontiguousarray(a.T).T,
    "reversed": lambda a: np.ascontiguousarray(a[..., ::-1])[..., ::-1],
    "repeated": lambda a: np.broadcast_to(a[:1], a.shape).view(),
}

NO_DOT = tuple(name for name in SIMILARITIES if name not in ("dot", "pairwise_dot"))
ENTRIES: dict[str, tuple[Sequence[str], Callable[[np.ndarray], np.ndarray]]] = {
    "ties": (
        (
            *SIMILARITIES,
            *SCORES,
            *CUTS,
            "sample",
            "temperature",
            "entropy",
            "softmax_vjp",
            "softmax_jacobian",
        ),
        np.round,
    ),
    "zeros": (tuple(name for name in FUNCTIONS if name not in INTEGERS_ONLY), np.zeros_like),
    "far from zero": (NO_DOT, lambda a: 240 + np.round(4 * a)),
}
"""Other entries of the same shapes, and the functions that are given them. What is far from zero is
exact in every format; the squares do not fit into float16, the distances and cosines do."""


TREES = (
    *(
        PerLayerParameters,
        SharedAttentionParameters,
        HeadParameters,
        NormParameters,
        FeedForwardParameters,
        BlockParameters,
        ModelParameters,
    ),
    *(EncoderDecoderParameters, KVCache, DropoutMasks),
    *(AttentionParameters, LatentAttentionParameters, DeltaNetParameters),
    *(ConvolutionParameters, ExpertParameters, LayerParameters),
    CompressedAttentionParameters,
    HyperConnectionParameters,
)
"""What holds several arrays."""


def to_torch(array: np.ndarray, dtype: str, device: str = "cpu") -> torch.Tensor:
    """The array as a tensor of `dtype`; strides are kept where torch has such strides."""
    if min(array.strides, default=0) < 0 or not array.flags.writeable:
        array = array.copy()
    tensor = torch.from_numpy(array)
    return tensor.to(device, getattr(torch, dtype) if array.dtype.kind == "f" else None)


def arguments(arrays: dict[str, Any]) -> dict[str, Any]:
    """The arrays by parameters: parameters.w_q and its like are put together."""
    found: dict[str, Any] = {}
    for key, array in arrays.items():
        *rooms, field = key.split(".")
        inner = found
        for room in rooms:
            inner = inner.setdefault(room, {})
        inner[field] = array
    return {name: _tree(inner, name == "dropout_masks") for name, inner in found.items()}


def _tree(found: Any, masks: bool) -> Any:
    """What a dictionary of fields is: the class that has them all, or a tuple of such."""
    if not isinstance(found, dict):
        return found
    inner = {name: _tree(one, masks) for name, one in found.items()}
    if all(name.isdigit() for name in inner):
        return (*inner.values(),)
    kinds = (DropoutMasks,) if masks else TREES
    return next(kind for kind in kinds if inner.keys() <= kind.__dataclass_fields__.keys())(**inner)


def parts(result: Any) -> list[Any]:
    """The arrays of a result in turn, those of a dataclass among them, without any None."""
    return leaves(result)


def as_one(result: Any) -> Any:
    """The result; or, if there are several, which have one dtype, all their entries in one row."""
    if not isinstance(result, (tuple, *TREES)):
        return result
    rows = [part.reshape(-1) for part in parts(result)]
    assert len({row.dtype for row in rows}) == 1
    return np.concatenate(rows) if isinstance(rows[0], np.ndarray) else torch.cat(rows)


@contextmanager
def default_dtype(dtype: str) -> Iterator[None]:
    """Torch's default dtype is `dtype` meanwhile."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(getattr(torch, dtype))
    try:
        yield
    finally:
        torch.set_default_dtype(before)


def by_fast(case: Case, dtype: str, device: str = "cpu") -> torch.Tensor:
    """What the fast function gives in `dtype` on `device`, both of which the result must have."""
    tensors = {key: to_torch(value, dtype, device) for key, value in case.arrays.items()}
    of_numbers = default_dtype(dtype) if case.function in INTEGERS_ONLY else nullcontext()
    with of_numbers, nullcontext() if tensors else torch.device(device):
        result = as_one(getattr(fast, case.function)(**arguments(tensors), **case.settings))
    assert not any(tensor._version for tensor in tensors.values()), "fast changed an argument"
    assert not result.is_floating_point() or result.dtype == getattr(torch, dtype)
    assert result.device.type == device
    return result


def to_numpy(tensor: torch.Tensor) -> np.ndarray:
    """The tensor as float64."""
    return tensor.detach().to("cpu").double().numpy()


def rounded(case: Case, dtype: str) -> Case:
    """The case with its arrays rounded to `dtype`, kept in float64."""
    if dtype == "float64":
        return case
    arrays = {
        key: value if value.dtype.kind != "f" else to_numpy(to_torch(value, dtype))
        for key, value in case.arrays.items()
    }
    return case._replace(arrays=arrays)


def precisions(name: str, module: str) -> tuple[str, ...]:
    """The dtypes in which a function is compared with its definition."""
    if name in INTEGERS_ONLY and module == "reference":
        return ("float64",)
    if name in (*NOT_HALF, *KEPT_WIDE) or (name in (*MODELS, "block_vjp") and name != "decoder"):
        return ("float64", "float32")
    return tuple(TOLERANCE) if module == "fast" else ("float64", "float32", "float16")


def magnitude(case: Case, result: np.ndarray) -> float:
    """The largest number met on the way to `result`, at least 1; PPMI is of the ratio of counts."""
    arrays = case.arrays.values()
    if case.function == "ppmi":
        met = [0.0]
    elif case.function in SIMILARITIES:
        met = [float(np.square(a).sum(axis=-1).max(initial=0)) for a in arrays]
    elif case.function in NORMS:
        met = [_largest(a) for a in arrays] + [_sharpness(case)]
    else:
        met = [_largest(a) for a in arrays]
    return max(1.0, _largest(result), sum(met))


def _sharpness(case: Case) -> float:
    """How much larger what is rounded is than what a norm divides by, times what it multiplies."""
    x, centre = case.arrays["x"], case.function.startswith("layer")
    rows = x - x.mean(axis=-1, keepdims=True) if centre and x.size else x
    size = np.sqrt(np.square(rows).sum(axis=-1, keepdims=True) / max(x.shape[-1], 1) + 1e-5)
    others = [_largest(a) for key, a in case.arrays.items() if key != "x"]
    power = 2 if case.function.endswith("vjp") else 1
    return float((1 + np.abs(x).max(initial=0)) / size.min(initial=1)) ** power * max(1, *others, 1)


def _largest(array: np.ndarray) -> float:
    """The largest finite entry, by magnitude."""
    return float(np.abs(array).max(initial=0, where=np.isfinite(array)))
