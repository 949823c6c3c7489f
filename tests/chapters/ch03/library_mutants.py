"""Mutants of the library functions of chapter 3, and the claims of the chapter that kill them."""

from slipped import slipped

MUTANTS = slipped(
    attention_weights="""
        softmax(scores_TS) → softmax(scores_TS, axis=-2)
            weights: softmax over the queries
    """,
    attention="""
        scale) @ v → scale or 1.0) @ v
            attention: no scale
        mask, bias, scale) → None, bias, scale) * (1 if mask is None else mask)
            attention: masked after softmax
        bias → None
            attention: bias ignored
        attention_weights(q, k, mask, bias, scale) → np.roll($, 1, axis=-1)
            attention: values off by one
    """,
    attention_vjp="""
        softmax_vjp(weights_TS, grad @ v.mT) → weights_TS * (grad @ v.mT)
            attention vjp: not centred
    """,
)
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
