"""Token vectors from counts: co-occurrence, PPMI, truncated SVD (chapter 1)."""

import numpy as np

from tformer.reference.equation import equation
from tformer.reference.magnitude import magnitude

__all__ = ["cooccurrence", "ppmi", "svd_embeddings"]


@equation
def cooccurrence(tokens: np.ndarray, n_vocab: int, window: int) -> np.ndarray:
    """Count how often each token occurs within `window` positions of each other token.

    Parameters
    ----------
    tokens : (..., T) integer array
        Token ids in [0, n_vocab), one row per sentence; -1 is padding and is not counted.
    n_vocab : int, from 1 to 65536
        Vocabulary size N; the result has N² entries.
    window : int, at least 1
        Largest distance between the two tokens. Rows are counted separately and added.

    Returns
    -------
    (N, N) array
        Symmetric matrix of counts.

    Raises
    ------
    ValueError
        If a token is below -1 or not below n_vocab.

    Notes
    -----
    Equation eq-cooccurrence; [church1990]. The counts are in float64.
    """
    if tokens.size and not (tokens.min() >= -1 and tokens.max() < n_vocab):
        raise ValueError(
            f"cooccurrence: tokens must be from -1 to {n_vocab - 1}; "
            f"got {tokens.min()} to {tokens.max()}"
        )
    counts = np.zeros((n_vocab, n_vocab))
    for row in tokens.reshape(-1, tokens.shape[-1]) if tokens.size else []:
        for t, token in enumerate(row):
            for neighbour in row[t + 1 : t + 1 + window]:
                if token >= 0 and neighbour >= 0:
                    counts[token, neighbour] += 1
                    counts[neighbour, token] += 1
    return counts


@equation
def ppmi(counts: np.ndarray) -> np.ndarray:
    """Compute the positive pointwise mutual information of each pair of tokens.

    Parameters
    ----------
    counts : (..., N, N) array
        Counts of pairs, at least 0 (not checked).

    Returns
    -------
    (..., N, N) array
        In nats; 0 where a pair is no more frequent than under independence, or never occurs.

    Notes
    -----
    Equation eq-ppmi; [church1990] for PMI, [levy2014] for its positive part.
    """
    counts = counts / magnitude(counts, axis=(-2, -1))
    row = counts.sum(axis=-1, keepdims=True)
    column = counts.sum(axis=-2, keepdims=True)
    total = counts.sum(axis=(-2, -1), keepdims=True)
    unit = magnitude(row)  # divided by it, no product overflows or vanishes
    chance = (row / unit) * column
    ratio = (counts / unit) * total / np.where(counts == 0, 1, chance)
    return np.maximum(np.log(np.where(counts == 0, 1, ratio)), 0)


@equation
def svd_embeddings(matrix: np.ndarray, d_model: int) -> np.ndarray:
    """Compute vectors of width d_model whose dot products best approximate those of the rows.

    Parameters
    ----------
    matrix : (..., N, N) array
        One row per token, such as `ppmi` returns.
    d_model : int, from 1 to N
        Width of the vectors.

    Returns
    -------
    (..., N, d_model) array
        The first d_model left singular vectors, each times its singular value.

    Raises
    ------
    ValueError
        If an entry is not finite.

    Notes
    -----
    Equation eq-svd-embeddings; [levy2014], by the theorem of [eckart1936]. The sign of a singular
    vector is arbitrary; here its entry of largest magnitude is positive. Where two singular values
    are equal their vectors are not unique, but the dot products are if both are kept.
    """
    if not np.isfinite(matrix).all():
        raise ValueError("svd_embeddings: every entry of matrix must be finite")
    u, sigma, _ = np.linalg.svd(matrix, full_matrices=False)
    u, sigma = u[..., :d_model], sigma[..., np.newaxis, :d_model]
    largest = np.take_along_axis(u, np.abs(u).argmax(axis=-2, keepdims=True), axis=-2)
    return np.where(largest < 0, -u, u) * sigma
