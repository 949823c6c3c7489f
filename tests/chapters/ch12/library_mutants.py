"""Mutants of the library functions of chapter 12, and the claims of the chapter that kill them."""

from slipped import slipped

MUTANTS = slipped(
    cross_entropy_vjp="""
        softmax(logits) - one_hot → softmax(logits)
            cross-entropy vjp: what came stays
    """,
    cross_entropy="""
        0, -_take( → 0, _take(
            cross-entropy: the sign
    """,
    unembed_vjp="""
        embedding=dtable.T → embedding=0 * dtable.T
            unembedding vjp: nothing for the table
    """,
)
"""What is wrong -> the library function, and the mutant in its place."""

KILLED_BY = {
    "cross-entropy vjp: what came stays": ["prop-cross-entropy-vjp", "exm-one-curve"],
    "cross-entropy: the sign": ["prop-tied-vjp"],
    "unembedding vjp: nothing for the table": ["prop-tied-vjp"],
}
"""What is wrong, here or in another chapter -> the claims of this chapter that must fail."""
