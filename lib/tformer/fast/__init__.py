"""The functions of `tformer.reference` in PyTorch: the same signatures, on any device."""

from tformer.fast.activations import (
    gelu,
    gelu_tanh,
    gelu_tanh_vjp,
    gelu_vjp,
    relu,
    relu_vjp,
    silu,
    silu_vjp,
)
from tformer.fast.attention import attention, attention_vjp, attention_weights
from tformer.fast.blocks import block, block_vjp
from tformer.fast.blockwise import blockwise_attention, blockwise_attention_vjp
from tformer.fast.capacity import drop_overflow, drop_overflow_vjp
from tformer.fast.compressed_attention import (
    compressed_attention,
    compressed_attention_vjp,
)
from tformer.fast.delta_net import (
    delta_net,
    delta_net_vjp,
    gated_convolution,
    gated_convolution_vjp,
)
from tformer.fast.delta_rule import (
    chunked_gated_delta_rule,
    gated_delta_rule,
    gated_delta_rule_vjp,
    short_convolution,
    short_convolution_vjp,
)
from tformer.fast.device import pick_device
from tformer.fast.embeddings import cooccurrence, ppmi, svd_embeddings
from tformer.fast.experts import (
    balancing_loss,
    balancing_loss_vjp,
    mixture_of_experts,
    mixture_of_experts_vjp,
    top_k_routing,
    top_k_routing_vjp,
)
from tformer.fast.extended_attention import extended_attention, extended_attention_vjp
from tformer.fast.feed_forward import (
    dropout,
    dropout_vjp,
    feed_forward,
    feed_forward_vjp,
)
from tformer.fast.groups import (
    grouped_attention,
    grouped_attention_vjp,
    grouped_attention_weights,
)
from tformer.fast.hash_routing import hash_routing, hash_routing_vjp
from tformer.fast.heads import (
    multi_head_attention,
    multi_head_attention_vjp,
    multi_head_weights,
    ov_circuit,
    qk_circuit,
)
from tformer.fast.hyper_connections import (
    read_streams,
    read_streams_vjp,
    stream_weights,
    stream_weights_vjp,
    write_streams,
    write_streams_vjp,
)
from tformer.fast.interpretability import (
    head_outputs,
    induction_scores,
    logit_lens,
    previous_token_scores,
)
from tformer.fast.latents import absorbed_latent_attention, latent_attention, latent_attention_vjp
from tformer.fast.layers import layer, layer_vjp
from tformer.fast.linear import (
    elu_feature_map,
    linear_attention,
    recurrent_linear_attention,
)
from tformer.fast.losses import cross_entropy, cross_entropy_vjp
from tformer.fast.masks import (
    causal_attention,
    causal_mask,
    count_leaks,
    from_additive,
    packed_mask,
    padding_mask,
    prefix_mask,
    sliding_window_mask,
    to_additive,
)
from tformer.fast.models import (
    cached_decoder,
    decoder,
    decoder_vjp,
    encoder,
    encoder_vjp,
)
from tformer.fast.norms import layer_norm, layer_norm_vjp, rms_norm, rms_norm_vjp
from tformer.fast.pairs import encoder_decoder, encoder_decoder_vjp
from tformer.fast.positions import (
    alibi_bias,
    alibi_slopes,
    embedding,
    embedding_vjp,
    relative_bias,
    relative_bias_vjp,
    rope,
    rope_permutation,
    rope_vjp,
    sinusoidal,
)
from tformer.fast.projections import (
    extend_cache,
    merge,
    merge_vjp,
    project,
    project_vjp,
)
from tformer.fast.quantised import QuantisedMatrix
from tformer.fast.sampling import min_p, sample, temperature, top_k, top_p
from tformer.fast.similarity import (
    cosine_similarity,
    dot,
    norm,
    pairwise_cosine,
    pairwise_dot,
    pairwise_squared_distance,
    projection,
    squared_distance,
)
from tformer.fast.sinkhorn import sinkhorn, sinkhorn_vjp
from tformer.fast.sinks import sink_attention, sink_attention_vjp, soft_cap, soft_cap_vjp
from tformer.fast.softmax import (
    entropy,
    log_softmax,
    logsumexp,
    softmax,
    softmax_jacobian,
    softmax_vjp,
)
from tformer.fast.sparse import block_sparse_attention, window_attention
from tformer.fast.stacks import unembed, unembed_vjp
from tformer.fast.tree import Module

__all__ = [
    "Module",
    "QuantisedMatrix",
    "absorbed_latent_attention",
    "alibi_bias",
    "alibi_slopes",
    "attention",
    "attention_vjp",
    "attention_weights",
    "balancing_loss",
    "balancing_loss_vjp",
    "block",
    "block_sparse_attention",
    "block_vjp",
    "blockwise_attention",
    "blockwise_attention_vjp",
    "cached_decoder",
    "causal_attention",
    "causal_mask",
    "chunked_gated_delta_rule",
    "compressed_attention",
    "compressed_attention_vjp",
    "cooccurrence",
    "cosine_similarity",
    "count_leaks",
    "cross_entropy",
    "cross_entropy_vjp",
    "decoder",
    "decoder_vjp",
    "delta_net",
    "delta_net_vjp",
    "dot",
    "drop_overflow",
    "drop_overflow_vjp",
    "dropout",
    "dropout_vjp",
    "elu_feature_map",
    "embedding",
    "embedding_vjp",
    "encoder",
    "encoder_decoder",
    "encoder_decoder_vjp",
    "encoder_vjp",
    "entropy",
    "extend_cache",
    "extended_attention",
    "extended_attention_vjp",
    "feed_forward",
    "feed_forward_vjp",
    "from_additive",
    "gated_convolution",
    "gated_convolution_vjp",
    "gated_delta_rule",
    "gated_delta_rule_vjp",
    "gelu",
    "gelu_tanh",
    "gelu_tanh_vjp",
    "gelu_vjp",
    "grouped_attention",
    "grouped_attention_vjp",
    "grouped_attention_weights",
    "hash_routing",
    "hash_routing_vjp",
    "head_outputs",
    "induction_scores",
    "latent_attention",
    "latent_attention_vjp",
    "layer",
    "layer_norm",
    "layer_norm_vjp",
    "layer_vjp",
    "linear_attention",
    "log_softmax",
    "logit_lens",
    "logsumexp",
    "merge",
    "merge_vjp",
    "min_p",
    "mixture_of_experts",
    "mixture_of_experts_vjp",
    "multi_head_attention",
    "multi_head_attention_vjp",
    "multi_head_weights",
    "norm",
    "ov_circuit",
    "packed_mask",
    "padding_mask",
    "pairwise_cosine",
    "pairwise_dot",
    "pairwise_squared_distance",
    "pick_device",
    "ppmi",
    "prefix_mask",
    "previous_token_scores",
    "project",
    "project_vjp",
    "projection",
    "qk_circuit",
    "read_streams",
    "read_streams_vjp",
    "recurrent_linear_attention",
    "relative_bias",
    "relative_bias_vjp",
    "relu",
    "relu_vjp",
    "rms_norm",
    "rms_norm_vjp",
    "rope",
    "rope_permutation",
    "rope_vjp",
    "sample",
    "short_convolution",
    "short_convolution_vjp",
    "silu",
    "silu_vjp",
    "sink_attention",
    "sink_attention_vjp",
    "sinkhorn",
    "sinkhorn_vjp",
    "sinusoidal",
    "sliding_window_mask",
    "soft_cap",
    "soft_cap_vjp",
    "softmax",
    "softmax_jacobian",
    "softmax_vjp",
    "squared_distance",
    "stream_weights",
    "stream_weights_vjp",
    "svd_embeddings",
    "temperature",
    "to_additive",
    "top_k",
    "top_k_routing",
    "top_k_routing_vjp",
    "top_p",
    "unembed",
    "unembed_vjp",
    "window_attention",
    "write_streams",
    "write_streams_vjp",
]
