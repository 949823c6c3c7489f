"""The mutants of the library that claims of chapter 4 kill."""

from typing import Any

MUTANTS: dict[str, Any] = {}
"""What is wrong -> the library function, and the mutant in its place."""

KILLED_BY = {
    "dot: mean, not sum": [
        "thm-moments-gaussian",
        "prop-fourth-moment",
        "prop-covariance",
        "prop-excess-kurtosis",
        "thm-aligned",
        "thm-conditional-gaussian",
        "prop-heavy-tails",
    ],
    "table: absolute values": ["thm-limit-law"],
    "cosine table: not normalised": ["prop-qk-norm"],
    "softmax: the wrong axis": ["cor-jacobian-scales"],
    "entropy: in bits": ["thm-entropy-gaussian"],
    "Jacobian: the wrong sign": ["thm-jacobian-bounds"],
    "attention vjp: not centred": ["prop-gradient-to-q"],
}
"""What is wrong, here or in another chapter -> the claims of this chapter that must fail."""
