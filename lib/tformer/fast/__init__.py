"""The same functions in PyTorch: same names, arguments and results, on any device."""

from tformer.fast.attention import attention, attention_vjp, attention_weights
from tformer.fast.device import pick_device
from tformer.fast.embeddings import cooccurrence, ppmi, svd_embeddings
from tformer.fast.heads import (
    multi_head_attention,
    multi_head_attention_vjp,
    multi_head_weights,
    ov_circuit,
    qk_circuit,
)
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
from tformer.fast.softmax import (
    entropy,
    log_softmax,
    logsumexp,
    softmax,
    softmax_jacobian,
    softmax_vjp,
)

__all__ = [
    "attention",
    "attention_vjp",
    "attention_weights",
    "causal_attention",
    "causal_mask",
    "cooccurrence",
    "cosine_similarity",
    "count_leaks",
    "dot",
    "entropy",
    "from_additive",
    "log_softmax",
    "logsumexp",
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
    "projection",
    "qk_circuit",
    "sliding_window_mask",
    "softmax",
    "softmax_jacobian",
    "softmax_vjp",
    "squared_distance",
    "svd_embeddings",
    "to_additive",
]
