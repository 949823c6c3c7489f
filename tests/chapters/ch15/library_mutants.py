"""Mutants of the library functions of chapter 15, and the claims of the chapter that kill them."""

from slipped import slipped

MUTANTS = slipped(
    temperature="""
        / tau → * tau
            temperature: multiplied instead of divided
    """,
    top_k="""
        logits < least → logits <= least
            top-k: the k-th goes
    """,
    top_p="""
        likelier >= p → sums >= p
            top-p: the word that reaches p goes
    """,
    min_p="""
        math.log(p) → p - 1
            min-p: the share is not a logarithm
    """,
    sample="""
        sums <= u → sums < u
            draw: a number on the border draws the word before
    """,
    **{
        "models.speculative._accept": """
            (p[i] - q[i]).clip(0) → (p[0] - q[0]).clip(0)
                speculative: in place of a rejected word, by the rows of the first
            p[len(proposed)] → p[0]
                speculative: the last word by the row of the first
        """,
        "models.speculative.speculative_decoding": """
            large.truncate(len(sequence) - 1) → large.n_read = min(large.n_read, len(sequence) - 1)
                speculative: the target's cache keeps rejected words
        """,
    },
)
"""What is wrong -> the library function, and the mutant in its place."""

KILLED_BY = {
    "temperature: multiplied instead of divided": ["thm-temperature", "exm-never-tired"],
    "top-k: the k-th goes": ["thm-cuts"],
    "top-p: the word that reaches p goes": ["thm-cuts"],
    "min-p: the share is not a logarithm": ["prop-exchange"],
    "draw: a number on the border draws the word before": ["prop-draw"],
    "speculative: in place of a rejected word, by the rows of the first": ["thm-speculative"],
    "speculative: the last word by the row of the first": ["thm-speculative"],
    "speculative: the target's cache keeps rejected words": ["thm-speculative"],
    "positions: shifted by one": ["thm-cache"],
    "output bias: added once for each head": ["thm-cache"],
}
"""What is wrong, here or in another chapter -> the claims of this chapter that must fail."""
