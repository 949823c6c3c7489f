"""Mutants of the library functions of chapter 10, and the claims of the chapter that kill them."""

from slipped import slipped

MUTANTS = slipped(
    unembed="""
        x @ → 2 * x @
            unembedding: twice the logits
    """,
    block="""
        causal, kept) → not causal, kept)
            block: causal where it is not
    """,
    cached_decoder="""
        embedded(tokens, p, c, offset, positions) → embedded(tokens, p, c, 0, positions)
            cached decoder: counted from the start
    """,
    decoder_vjp="""
        *options), p, grad) → *options), p, 0 * grad)
            decoder vjp: nothing goes back
    """,
)
"""What is wrong -> the library function, and the mutant in its place."""

KILLED_BY = {
    "unembedding: twice the logits": ["exm-eggs"],
    "LayerNorm: the mean stays": ["exm-eggs", "prop-always-eggs"],
    "ReLU: the size": ["exm-eggs"],
    "block: causal where it is not": ["exm-cpp-block"],
    "cached decoder: counted from the start": ["thm-stack-causal"],
    "decoder vjp: nothing goes back": ["prop-tied-gradient"],
}
"""What is wrong, here or in another chapter -> the claims of this chapter that must fail."""
