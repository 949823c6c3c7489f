"""Mutants of the library functions of chapter 13, and the claims of the chapter that kill them."""

from slipped import slipped

MUTANTS = slipped(
    cross_entropy="""
        log_softmax(logits) → softmax(logits)
            cross-entropy: no logarithm
    """,
)
"""What is wrong -> the library function, and the mutant in its place."""

KILLED_BY = {
    "cross-entropy: no logarithm": ["thm-cross-entropy"],
    "cross-entropy vjp: what came stays": ["prop-still-moving"],
}
"""What is wrong, here or in another chapter -> the claims of this chapter that must fail."""
