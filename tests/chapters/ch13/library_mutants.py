"""Mutants of the library functions of chapter 13, and the claims of the chapter that kill them."""

from slipped import slipped

MUTANTS = slipped(
    cross_entropy="""
        log_softmax(logits) → softmax(logits)
            cross-entropy: no logarithm
    """,
    entropy="""
        np.where(p == 0, 1, p) → np.where(p == 0, np.e, p) ;; p * → np.maximum(p, 0.01) *
            entropy: what cannot come counts a little
    """,
    **{
        "models.objectives.next_tokens": """
            tokens[:, 1:].copy() → np.maximum(tokens[:, :-1], -1)
                next tokens: not moved
        """,
        "models.objectives.masked_tokens": """
            how < 0.9 → how < 0.8
                masked tokens: no token is replaced by any
        """,
        "models.objectives._split_spans": """
            [*target, sentinels[spans]] → target
                spans: no mark at the end
        """,
    },
)
"""What is wrong -> the library function, and the mutant in its place."""

KILLED_BY = {
    "cross-entropy: no logarithm": ["thm-cross-entropy"],
    "cross-entropy vjp: what came stays": ["prop-still-moving"],
    "entropy: what cannot come counts a little": ["thm-cross-entropy"],
    "next tokens: not moved": ["prop-objectives"],
    "masked tokens: no token is replaced by any": ["prop-objectives"],
    "spans: no mark at the end": ["prop-objectives"],
}
"""What is wrong, here or in another chapter -> the claims of this chapter that must fail."""
