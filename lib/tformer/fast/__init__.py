"""The same functions in PyTorch: same names, arguments and results, on any device."""

from tformer.fast.attention import attention, attention_vjp, attention_weights
from tformer.fast.device import pick_device
from tformer.fast.embeddings import cooccurrence, ppmi, svd_embeddings
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
    "cooccurrence",
    "cosine_similarity",
    "dot",
    "entropy",
    "log_softmax",
    "logsumexp",
    "norm",
    "pairwise_cosine",
    "pairwise_dot",
    "pairwise_squared_distance",
    "pick_device",
    "ppmi",
    "projection",
    "softmax",
    "softmax_jacobian",
    "softmax_vjp",
    "squared_distance",
    "svd_embeddings",
]
