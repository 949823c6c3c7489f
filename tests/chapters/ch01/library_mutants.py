"""Mutants of the library functions of chapter 1, and the claims of the chapter that kill them."""

import numpy as np

from tformer import reference as ref


def root_svd_embeddings(matrix, d_model):
    u, sigma, _ = np.linalg.svd(matrix)
    return u[:, :d_model] * np.sqrt(sigma[:d_model])


def unclipped_ppmi(counts):
    chance = counts.sum(axis=-1, keepdims=True) * counts.sum(axis=-2, keepdims=True)
    ratio = counts * counts.sum() / chance
    return np.log(np.where(counts == 0, 1, ratio))


MUTANTS = {
    "dot: mean, not sum": ("dot", lambda q, k: (q * k).mean(axis=-1)),
    "dot: the wrong axis": ("dot", lambda q, k: (q * k).sum(axis=0)),
    "norm: no root": ("norm", lambda x: (x * x).sum(axis=-1)),
    "cosine: one norm only": ("cosine_similarity", lambda q, k: ref.dot(q, k) / ref.norm(k)),
    "distance: of absolute values": ("squared_distance", lambda q, k: abs(q - k).sum(axis=-1)),
    "projection: onto q": (
        "projection",
        lambda q, k: ((q * k).sum(axis=-1) / (q * q).sum(axis=-1)) * q,
    ),
    "table: transposed": ("pairwise_dot", lambda q, k: k @ q.mT),
    "table: absolute values": ("pairwise_dot", lambda q, k: np.abs(q @ k.mT)),
    "cosine table: not normalised": ("pairwise_cosine", lambda q, k: q @ k.mT),
    "distance table: absolute values": (
        "pairwise_squared_distance",
        lambda q, k: np.abs(q[..., :, None, :] - k[..., None, :, :]).sum(axis=-1),
    ),
    "ppmi: not clipped": ("ppmi", unclipped_ppmi),
    "svd: roots of the singular values": ("svd_embeddings", root_svd_embeddings),
}
"""What is wrong -> the library function, and the mutant in its place."""

KILLED_BY = {
    "dot: mean, not sum": [
        "exm-dot-by-hand",
        "thm-dot-variance",
        "prop-table-of-dots",
        "thm-projection",
    ],
    "dot: the wrong axis": ["prop-table-of-dots"],
    "norm: no root": ["exm-dot-by-hand", "prop-law-of-cosines", "thm-cauchy-schwarz"],
    "cosine: one norm only": ["exm-dot-by-hand"],
    "distance: of absolute values": [
        "prop-law-of-cosines",
        "thm-projection",
        "prop-rankings-agree",
    ],
    "projection: onto q": ["exm-dot-by-hand", "thm-projection"],
    "table: transposed": ["exm-table-by-hand", "prop-table-of-dots"],
    "table: absolute values": ["prop-law-of-cosines", "thm-dot-variance", "prop-rankings-agree"],
    "cosine table: not normalised": [
        "exm-rankings-differ",
        "thm-hoeffding-cosine",
        "thm-cosine-variance",
    ],
    "distance table: absolute values": [
        "prop-law-of-cosines",
        "exm-rankings-differ",
        "prop-rankings-agree",
    ],
    "ppmi: not clipped": ["exm-ppmi-by-hand"],
    "svd: roots of the singular values": ["prop-svd-error"],
}
"""What is wrong, here or in another chapter -> the claims of this chapter that must fail."""
