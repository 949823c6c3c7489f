"""Layers of released models: their parameters, and the few choices that these do not determine.

A model is a tuple of layers. A layer is a mixer (attention, attention with shared keys and values,
latent attention, a gated delta net, a short convolution or compressed attention) and a feed-forward
part (dense, experts, or both), each with norms before or behind it. What varies from model to model
is data: an array that is there or not, a number of `LayerConfiguration`. The block of chapter 10 is
the case without any of it.
"""

from typing import Any

from tformer.layer_caches import (
    CompressedCache,
    ConvolutionCache,
    DeltaNetCache,
    LatentCache,
    LayerCache,
)
from tformer.layer_parts import CompressedAttentionParameters, HyperConnectionParameters
from tformer.parameters import FeedForwardParameters, HeadParameters, NormParameters, tree

__all__ = [
    "AttentionParameters",
    "CompressedAttentionParameters",
    "CompressedCache",
    "ConvolutionCache",
    "ConvolutionParameters",
    "DeltaNetCache",
    "DeltaNetParameters",
    "ExpertParameters",
    "HyperConnectionParameters",
    "LatentAttentionParameters",
    "LatentCache",
    "LayerCache",
    "LayerParameters",
    "LayeredParameters",
    "PerLayerEmbeddings",
    "PerLayerParameters",
    "SharedAttentionParameters",
]


@tree
class AttentionParameters:
    """Attention with what released models add to it: norms of q and k, sinks, an output gate.

    Parameters
    ----------
    heads : HeadParameters
    q_gain : (H or 1, d_k) array, optional
        Gain of the RMSNorm of queries (QK-norm): one for all heads, or one for each.
    k_gain : (G or 1, d_k) array, optional
        Gain of the RMSNorm of keys.
    sinks : (H,) array, optional
        Attention sinks: the score of a further key of each head, whose value is zero.
    w_gate : (H, d_model, d_v or 1) array, optional
        From hidden states to the gate of each head's output, before the sigmoid.
    """

    heads: HeadParameters
    q_gain: Any = None
    k_gain: Any = None
    sinks: Any = None
    w_gate: Any = None


@tree
class SharedAttentionParameters:
    """Attention whose keys are its values before norm and RoPE, or that borrows both from a layer.

    Parameters
    ----------
    w_q : (H, d_model, d_k) array
        From hidden states to queries.
    w_o : (H, d_v, d_model) array
        From the output of each head to what it adds to the residual stream.
    w_k : (G, d_model, d_k) array, optional
        From hidden states to keys and values; omitted in a layer whose configuration names the
        layer it borrows them from.
    q_gain : (H or 1, d_k) array, optional
        Gain of the RMSNorm of queries (QK-norm).
    k_gain : (G or 1, d_k) array, optional
        Gain of the RMSNorm of keys.
    """

    w_q: Any
    w_o: Any
    w_k: Any = None
    q_gain: Any = None
    k_gain: Any = None


@tree
class LatentAttentionParameters:
    """Multi-head latent attention (MLA): keys and values of all heads come from one latent.

    Parameters
    ----------
    w_kv_down : (d_model, d_c) array
        From hidden states to the latent.
    kv_gain : (d_c,) array
        Gain of the RMSNorm of the latent.
    w_q : (H, d_q, d_k) array
        From hidden states, or from the latent of the queries, to queries. Without w_q_down, d_q is
        d_model.
    w_k : (H, d_c, d_k) array
        From the latent to keys.
    w_v : (H, d_c, d_v) array
        From the latent to values.
    w_o : (H, d_v, d_model) array
        From the output of each head to what it adds to the residual stream.
    w_k_shared : (d_model, d_r) array
        From hidden states to further coordinates of the keys, which all heads share; these are
        rotated.
    w_q_shared : (H, d_q, d_r) array
        From what queries are computed from to the same coordinates of the queries.
    w_q_down : (d_model, d_q) array, optional
        From hidden states to the latent of the queries.
    q_gain : (d_q,) array, optional
        Gain of the RMSNorm of that latent.
    """

    w_kv_down: Any
    kv_gain: Any
    w_q: Any
    w_k: Any
    w_v: Any
    w_o: Any
    w_k_shared: Any
    w_q_shared: Any
    w_q_down: Any = None
    q_gain: Any = None


@tree
class DeltaNetParameters:
    """A gated delta net: linear attention whose state is corrected, and forgets, at each token.

    The H heads share the queries and keys of G groups.

    Parameters
    ----------
    w_q : (G, d_model, d_k) array
    w_k : (G, d_model, d_k) array
    w_v : (H, d_model, d_v) array
    kernel_q : (G, n_taps, d_k) array
        Short convolution over the queries: n_taps taps, the last is that of the token itself.
    kernel_k : (G, n_taps, d_k) array
    kernel_v : (H, n_taps, d_v) array
    w_beta : (d_model, H) array
        From hidden states to the step size β, before the sigmoid.
    log_rate : (H,) array
        Logarithm of how fast each head forgets.
    w_decay : (H, d_c, d_k or 1) array
        From hidden states, or from their projection by w_decay_down, to the decay before the
        softplus: one for each coordinate of a key, or one for each head.
    b_decay : (H, d_k or 1) array
    w_gate : (H, d_q, d_v) array
        From hidden states, or from their projection by w_gate_down, to the gate of the output.
    gain : (d_v,) array
        Gain of the RMSNorm of each head's output.
    w_o : (H, d_v, d_model) array
    w_decay_down : (d_model, d_c) array, optional
        Without it d_c is d_model.
    w_gate_down : (d_model, d_q) array, optional
        Without it d_q is d_model.
    """

    w_q: Any
    w_k: Any
    w_v: Any
    kernel_q: Any
    kernel_k: Any
    kernel_v: Any
    w_beta: Any
    log_rate: Any
    w_decay: Any
    b_decay: Any
    w_gate: Any
    gain: Any
    w_o: Any
    w_decay_down: Any = None
    w_gate_down: Any = None


@tree
class ConvolutionParameters:
    """A gated short convolution: each coordinate mixes its last n_taps values, between two gates.

    Parameters
    ----------
    w_before : (d_model, d_model) array
        From hidden states to the gate before the convolution.
    w_after : (d_model, d_model) array
        To the gate behind it.
    w_in : (d_model, d_model) array
        To what is convolved.
    kernel : (n_taps, d_model) array
        n_taps taps; the last is that of the token itself.
    w_out : (d_model, d_model) array
    """

    w_before: Any
    w_after: Any
    w_in: Any
    kernel: Any
    w_out: Any


@tree
class ExpertParameters:
    """Experts: feed-forward layers with a gate (GLU), of which a router chooses a few a token.

    Parameters
    ----------
    w_router : (d_model, n_experts) array
        From hidden states to the router's logits.
    w_in : (n_experts, d_model, d_e) array
    w_gate : (n_experts, d_model, d_e) array
    w_out : (n_experts, d_e, d_model) array
    b_router : (n_experts,) array, optional
        Added to the router's logits.
    choice_bias : (n_experts,) array, optional
        Added to the scores for the choice of experts only, not to their weights.
    b_in : (n_experts, d_e) array, optional
    b_gate : (n_experts, d_e) array, optional
    b_out : (n_experts, d_model) array, optional
    w_shared_gate : (d_model,) array, optional
        From hidden states to the gate of the shared expert, before the sigmoid; the shared expert
        is the layer's dense feed-forward part.
    scale : (n_experts,) array, optional
        Multiplies the weights of the experts that a router has chosen.
    """

    w_router: Any
    w_in: Any
    w_gate: Any
    w_out: Any
    b_router: Any = None
    choice_bias: Any = None
    b_in: Any = None
    b_gate: Any = None
    b_out: Any = None
    w_shared_gate: Any = None
    scale: Any = None


@tree
class PerLayerParameters:
    """How a layer reads its own embedding of each token (per-layer embeddings).

    Parameters
    ----------
    w_gate : (d_model, d_c) array
        From hidden states to the gate of that embedding, before the activation.
    w_out : (d_c, d_model) array
        From the gated embedding to what is added to the residual stream.
    """

    w_gate: Any
    w_out: Any


@tree
class LayerParameters:
    """Parameters of a layer: one mixer, then a dense feed-forward part, experts, or their sum.

    Parameters
    ----------
    attention : AttentionParameters, optional
    shared : SharedAttentionParameters, optional
    latent : LatentAttentionParameters, optional
    delta : DeltaNetParameters, optional
    convolution : ConvolutionParameters, optional
    compressed : CompressedAttentionParameters, optional
        Exactly one of the six mixers is given.
    feed_forward : FeedForwardParameters, optional
        The dense part; beside experts it is the shared expert.
    experts : ExpertParameters, optional
    mixer_norm : NormParameters, optional
        Norm before the mixer.
    mixer_norm_after : NormParameters, optional
        Norm of what the mixer adds to the residual stream.
    feed_forward_norm : NormParameters, optional
        Norm before the feed-forward part. A parallel layer has one norm, mixer_norm, for both.
    feed_forward_norm_after : NormParameters, optional
        Norm of what the feed-forward part adds.
    dense_norm_after : NormParameters, optional
        Norm of what the dense part gives, before experts are added.
    router_norm : NormParameters, optional
        Norm of the hidden states after the mixer, for the router; it reads what the dense part
        reads if omitted.
    experts_norm : NormParameters, optional
        The same for the experts.
    experts_norm_after : NormParameters, optional
        Norm of what the experts give, before the dense part is added.
    per_layer : PerLayerParameters, optional
        What is added last: the layer's own embedding of each token, gated.
    per_layer_norm_after : NormParameters, optional
        Norm of what it adds.
    scale : (d_model or 1,) array, optional
        Multiplies the hidden states after all this.
    mixer_streams : HyperConnectionParameters, optional
        How the mixer reads and writes the streams, in a decoder that has several.
    feed_forward_streams : HyperConnectionParameters, optional
        The same for the feed-forward part.
    token_experts : (N, n_chosen) integer array, optional
        The experts of each token id, in place of a choice by scores; in such a decoder only.
    """

    attention: AttentionParameters | None = None
    shared: SharedAttentionParameters | None = None
    latent: LatentAttentionParameters | None = None
    delta: DeltaNetParameters | None = None
    convolution: ConvolutionParameters | None = None
    compressed: CompressedAttentionParameters | None = None
    feed_forward: FeedForwardParameters | None = None
    experts: ExpertParameters | None = None
    mixer_norm: NormParameters | None = None
    mixer_norm_after: NormParameters | None = None
    feed_forward_norm: NormParameters | None = None
    feed_forward_norm_after: NormParameters | None = None
    dense_norm_after: NormParameters | None = None
    router_norm: NormParameters | None = None
    experts_norm: NormParameters | None = None
    experts_norm_after: NormParameters | None = None
    per_layer: PerLayerParameters | None = None
    per_layer_norm_after: NormParameters | None = None
    scale: Any = None
    mixer_streams: HyperConnectionParameters | None = None
    feed_forward_streams: HyperConnectionParameters | None = None
    token_experts: Any = None


@tree
class PerLayerEmbeddings:
    """Per-layer embeddings: a small embedding of each token for every layer.

    Parameters
    ----------
    embedding : (L, N, d_c) array
    w_context : (L, d_model, d_c) array
        From the embedding of the model to what is added to those of the layers, after a norm.
    gain : (d_c,) array
        Gain of that RMSNorm, the same in all layers.
    """

    embedding: Any
    w_context: Any
    gain: Any


@tree
class LayeredParameters:
    """Parameters of a decoder whose layers may differ: embedding, layers, norm, unembedding.

    Parameters
    ----------
    embedding : (N, d_model) array
        The embedding of each token.
    layers : tuple, a LayerParameters for each layer
        Their widths may differ, but for d_model.
    norm : NormParameters, optional
        Norm after the last layer, or in a loop after each stack; none if omitted.
    unembedding : (d_model, N) array, optional
        From hidden states to logits; if omitted, the transpose of the embedding (tied weights).
    start : (d_model,) array, optional
        The state of every token that the low stack of a loop begins with.
    per_layer : PerLayerEmbeddings, optional
    streams : HyperConnectionParameters, optional
        How several residual streams are read after the last layer; without it there is one.
    """

    embedding: Any
    layers: tuple[LayerParameters, ...]
    norm: NormParameters | None = None
    unembedding: Any = None
    start: Any = None
    per_layer: PerLayerEmbeddings | None = None
    streams: HyperConnectionParameters | None = None
