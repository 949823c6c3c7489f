"""Mutants of the library functions of chapter 8, and the claims of the chapter that kill them."""

from slipped import slipped

MUTANTS = slipped(
    layer_norm="""
        _standard(x, eps) → _over_size(x, eps)
            LayerNorm: the mean stays
        _standard(x, eps)[0] → _standard(x.mT, eps)[0].mT
            LayerNorm: over the words
    """,
    rms_norm="""
        _over_size(x, eps) → _standard(x, eps)
            RMSNorm: the mean goes
    """,
    layer_norm_vjp="""
        dy = dy - _mean(dy) → dy = dy
            LayerNorm vjp: the mean stays
    """,
    rms_norm_vjp="""
        dy - y * _mean(dy * y) → dy
            RMSNorm vjp: along the row as well
    """,
)
"""What is wrong -> the library function, and the mutant in its place."""

KILLED_BY = {
    "LayerNorm: the mean stays": ["thm-sphere", "exm-two-numbers", "thm-norm-jacobian"],
    "LayerNorm: over the words": ["thm-sphere", "exm-two-numbers"],
    "RMSNorm: the mean goes": ["exm-runaway", "thm-norm-jacobian"],
    "LayerNorm vjp: the mean stays": ["thm-norm-jacobian"],
    "RMSNorm vjp: along the row as well": ["thm-norm-jacobian"],
}
"""What is wrong, here or in another chapter -> the claims of this chapter that must fail."""
