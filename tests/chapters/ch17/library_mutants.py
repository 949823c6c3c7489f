"""Mutants of the library functions of chapter 17, and the claims of the chapter that kill them."""

from slipped import slipped

MUTANTS = slipped(
    head_outputs="""
        y @ parameters.w_o → y @ parameters.w_o / 2
            head outputs: halved
    """,
    logit_lens="""
        apply_norm(x, parameters.norm, configuration) → x
            logit lens: without the last norm
    """,
    previous_token_scores="""
        weights, -1, → weights, 0,
            previous scores: the word itself
    """,
    induction_scores="""
        1 - period → -period
            induction scores: the same word, not the one after it
    """,
)
"""What is wrong -> the library function, and the mutant in its place."""

KILLED_BY = {
    "head outputs: halved": ["prop-votes", "prop-head-sum", "exm-own-part"],
    "logit lens: without the last norm": ["exm-lens"],
    "previous scores: the word itself": ["exm-scores"],
    "induction scores: the same word, not the one after it": ["exm-scores"],
}
"""What is wrong, here or in another chapter -> the claims of this chapter that must fail."""
