"""Mutants of the library functions of chapter 10, and the claims of the chapter that kill them."""

from slipped import slipped

MUTANTS = slipped(
    unembed="""
        x @ → 2 * x @
            unembedding: twice the logits
    """,
)
"""What is wrong -> the library function, and the mutant in its place."""

KILLED_BY = {
    "unembedding: twice the logits": ["exm-eggs"],
    "LayerNorm: the mean stays": ["exm-eggs", "prop-always-eggs"],
    "ReLU: the size": ["exm-eggs"],
}
"""What is wrong, here or in another chapter -> the claims of this chapter that must fail."""
