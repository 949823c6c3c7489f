"""Mutants of the library functions of chapter 2, and the claims of the chapter that kill them."""

import numpy as np

from tformer import reference as ref


def naive_softmax(x, axis=-1, beta=1.0):
    with np.errstate(all="ignore"):
        terms = np.exp(beta * x)
        return terms / terms.sum(axis=axis, keepdims=True)


def log_after_softmax(x, axis=-1, beta=1.0):
    with np.errstate(divide="ignore"):
        return np.log(ref.softmax(x, axis, beta))


def plus_jacobian(p, beta=1.0):
    return beta * (np.eye(p.shape[-1]) * p[..., None, :] + p[..., :, None] * p[..., None, :])


MUTANTS = {
    "softmax: no shift": ("softmax", naive_softmax),
    "softmax: the wrong axis": ("softmax", lambda x, axis=-1, beta=1.0: naive_softmax(x, 0, beta)),
    "softmax: β forgotten": ("softmax", lambda x, axis=-1, beta=1.0: naive_softmax(x, axis)),
    "log-softmax: log of softmax": ("log_softmax", log_after_softmax),
    "lse: not divided by β": (
        "logsumexp",
        lambda x, axis=-1, beta=1.0: np.log(np.exp(beta * x).sum(axis=axis)),
    ),
    "entropy: in bits": (
        "entropy",
        lambda p, axis=-1: -(p * np.log2(np.where(p == 0, 1, p))).sum(axis=axis),
    ),
    "Jacobian: the wrong sign": ("softmax_jacobian", plus_jacobian),
    "Jacobian: β forgotten": ("softmax_jacobian", lambda p, beta=1.0: np.diag(p) - np.outer(p, p)),
    "vjp: the mean forgotten": ("softmax_vjp", lambda p, grad, axis=-1, beta=1.0: beta * p * grad),
}
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
