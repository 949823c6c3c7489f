"""Mutants of the library functions of chapter 2, and the claims of the chapter that kill them."""

import numpy as np

from slipped import slipped
from tformer import reference as ref


def naive_softmax(x, axis=-1, beta=1.0):
    with np.errstate(all="ignore"):
        terms = np.exp(beta * x)
        return terms / terms.sum(axis=axis, keepdims=True)


def log_after_softmax(x, axis=-1, beta=1.0):
    with np.errstate(divide="ignore"):
        return np.log(ref.softmax(x, axis, beta))


MUTANTS = {
    "softmax: no shift": ("softmax", naive_softmax),
    "log-softmax: log of softmax": ("log_softmax", log_after_softmax),
} | slipped(
    softmax="""
        axis=axis → axis=0
            softmax: the wrong axis
        beta * →
            softmax: β forgotten
    """,
    logsumexp="""
        = np.log(np.exp(beta * x).sum(axis=axis))
            lse: not divided by β
    """,
    entropy="""
        np.log → np.log2
            entropy: in bits
    """,
    softmax_jacobian="""
        diagonal - column → diagonal + column
            Jacobian: the wrong sign
        beta * →
            Jacobian: β forgotten
    """,
    softmax_vjp="""
        - mean →
            vjp: the mean forgotten
    """,
)
"""What is wrong -> the library function, and the mutant in its place."""

KILLED_BY = {
    "dot: the wrong axis": ["thm-entropy-temperature"],
    "softmax: no shift": ["prop-naive-overflow", "thm-shift-invariance"],
    "softmax: the wrong axis": [
        "prop-softmax-two",
        "thm-softmax-variational",
        "prop-softmax-limits",
    ],
    "softmax: β forgotten": [
        "thm-softmax-variational",
        "prop-softmax-limits",
        "thm-entropy-temperature",
    ],
    "log-softmax: log of softmax": ["exm-log-of-softmax"],
    "lse: not divided by β": [
        "thm-softmax-variational",
        "thm-lse-bounds",
        "thm-entropy-temperature",
    ],
    "entropy: in bits": ["lem-gibbs", "thm-softmax-variational", "thm-entropy-temperature"],
    "Jacobian: the wrong sign": [
        "thm-softmax-jacobian",
        "prop-jacobian-null",
        "thm-jacobian-norm",
        "thm-lse-convex",
    ],
    "Jacobian: β forgotten": ["thm-softmax-jacobian"],
    "vjp: the mean forgotten": ["thm-softmax-jacobian"],
}
"""What is wrong, here or in another chapter -> the claims of this chapter that must fail."""
