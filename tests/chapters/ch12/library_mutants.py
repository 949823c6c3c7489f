"""Mutants of the library functions of chapter 12, and the claims of the chapter that kill them."""

from slipped import slipped

MUTANTS = slipped(
    cross_entropy_vjp="""
        softmax(logits) - came → softmax(logits)
            cross-entropy vjp: what came stays
    """,
)
"""What is wrong -> the library function, and the mutant in its place."""

KILLED_BY = {
    "cross-entropy vjp: what came stays": ["prop-cross-entropy-vjp", "exm-one-curve"],
}
"""What is wrong, here or in another chapter -> the claims of this chapter that must fail."""
