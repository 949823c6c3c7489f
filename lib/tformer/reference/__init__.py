"""The definitions, in NumPy. One function is one equation of the book."""

from tformer.reference.attention import attention, attention_vjp, attention_weights
from tformer.reference.embeddings import cooccurrence, ppmi, svd_embeddings
from tformer.reference.similarity import (
    cosine_similarity,
    dot,
    norm,
    pairwise_cosine,
    pairwise_dot,
    pairwise_squared_distance,
    projection,
    squared_distance,
)
from tformer.reference.softmax import (
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
    "ppmi",
    "projection",
    "softmax",
    "softmax_jacobian",
    "softmax_vjp",
    "squared_distance",
    "svd_embeddings",
]
