"""What the claims of chapter 4 notice of mistakes in the library."""

from typing import Any

MISTAKES: dict[str, Any] = {}
"""What is wrong -> the library function, and the mistaken one in its place."""

NOTICED = {
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
