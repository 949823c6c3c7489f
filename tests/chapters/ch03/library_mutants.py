"""Mutants of the library functions of chapter 3, and the claims of the chapter that kill them."""

import numpy as np

from tformer import reference as ref


def softmax_over_queries(q, k, mask=None, bias=None, scale=None):
    return ref.softmax((q @ k.mT) * (scale or q.shape[-1] ** -0.5), axis=-2)


def attention_unscaled(q, k, v, mask=None, bias=None, scale=None):
    return ref.attention_weights(q, k, mask, bias, scale or 1.0) @ v


def attention_masked_late(q, k, v, mask=None, bias=None, scale=None):
    weights = ref.attention_weights(q, k, None, bias, scale)
    return (weights if mask is None else weights * mask) @ v


def attention_without_bias(q, k, v, mask=None, bias=None, scale=None):
    return ref.attention_weights(q, k, mask, None, scale) @ v


def attention_vjp_uncentred(q, k, v, grad, mask=None, bias=None, scale=None):
    scale = scale or q.shape[-1] ** -0.5
    weights = ref.attention_weights(q, k, mask, bias, scale)
    slopes = weights * (grad @ v.mT)
    return scale * slopes @ k, scale * slopes.mT @ q, weights.mT @ grad, slopes


MUTANTS = {
    "weights: softmax over the queries": ("attention_weights", softmax_over_queries),
    "attention: no scale": ("attention", attention_unscaled),
    "attention: masked after softmax": ("attention", attention_masked_late),
    "attention: bias ignored": ("attention", attention_without_bias),
    "attention: values off by one": (
        "attention",
        lambda q, k, v, mask=None, bias=None, scale=None: (
            np.roll(ref.attention_weights(q, k, mask, bias, scale), 1, axis=-1) @ v
        ),
    ),
    "attention vjp: not centred": ("attention_vjp", attention_vjp_uncentred),
}
"""What is wrong -> the library function, and the mutant in its place."""

KILLED_BY = {
    "weights: softmax over the queries": [
        "thm-bilinear-rank",
        "thm-retrieval",
        "exm-buy-milk",
        "prop-only-pairs",
    ],
    "attention: no scale": [
        "thm-nadaraya-watson",
        "cor-gaussian-kernel",
        "exm-three-tokens",
        "exm-cpp-attention",
    ],
    "attention: masked after softmax": [
        "prop-mask-is-restriction",
        "thm-convex-hull",
        "exm-uniform",
    ],
    "attention: bias ignored": ["thm-attention-vjp"],
    "attention: values off by one": ["thm-hard-lookup", "thm-equivariance", "prop-not-invariant"],
    "attention vjp: not centred": ["thm-attention-vjp"],
}
"""What is wrong, here or in another chapter -> the claims of this chapter that must fail."""
