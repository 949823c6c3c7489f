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
    draw="""
        sums <= u → sums < u
            draw: a number on the border draws the word before
    """,
)
"""What is wrong -> the library function, and the mutant in its place."""

KILLED_BY = {
    "temperature: multiplied instead of divided": ["thm-temperature", "exm-never-tired"],
    "top-k: the k-th goes": ["thm-cuts"],
    "top-p: the word that reaches p goes": ["thm-cuts"],
    "min-p: the share is not a logarithm": ["prop-exchange"],
    "draw: a number on the border draws the word before": ["prop-draw"],
}
"""What is wrong, here or in another chapter -> the claims of this chapter that must fail."""
