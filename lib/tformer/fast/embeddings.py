"""Word vectors from counts: co-occurrence, PPMI, truncated SVD (chapter 1)."""

import torch
from torch import Tensor

from tformer.fast.checks import checked
from tformer.fast.precision import magnitude, wide
from tformer.shapes import require_count

__all__ = ["cooccurrence", "ppmi", "svd_embeddings"]


@checked
def cooccurrence(tokens: Tensor, n_vocab: int, window: int) -> Tensor:
    """Count how often each word stands within `window` places of each other word.

    Parameters
    ----------
    tokens : (..., T) integer array
        Word numbers, one row a sentence; -1 fills a row up and is not counted.
    n_vocab : int
        Number of words, at least 1; every entry of tokens is below it.
    window : int
        How far apart two words may stand, at least 1. Rows are counted separately and added.

    Returns
    -------
    (N, N) array
        Symmetric table of counts in torch's default dtype (float32 is exact up to 16,777,216).

    Raises
    ------
    ValueError
        If n_vocab or window is below 1, or a token is below -1 or not below n_vocab.
    TypeError
        If tokens does not hold integers.

    Notes
    -----
    Equation eq-cooccurrence; [church1990].
    """
    require_count("cooccurrence", "n_vocab", n_vocab)
    require_count("cooccurrence", "window", window)
    if tokens.numel() and not (tokens.min() >= -1 and tokens.max() < n_vocab):
        raise ValueError(
            f"cooccurrence: tokens must be from -1 to {n_vocab - 1}; "
            f"got {int(tokens.min())} to {int(tokens.max())}"
        )
    counts = torch.zeros(n_vocab * n_vocab, device=tokens.device)
    for offset in range(1, min(window, tokens.shape[-1] - 1) + 1):
        left, right = tokens[..., :-offset], tokens[..., offset:]
        present = (left >= 0) & (right >= 0)
        pairs = left[present].long() * n_vocab + right[present].long()
        counts.scatter_add_(0, pairs, torch.ones_like(pairs, dtype=counts.dtype))
    table_NN = counts.view(n_vocab, n_vocab)
    return table_NN + table_NN.mT


@checked
def ppmi(counts: Tensor) -> Tensor:
    """Positive pointwise mutual information: how far a pair exceeds what chance would give.

    Parameters
    ----------
    counts : (..., N, N) array
        Counts of pairs, at least 0 (not checked).

    Returns
    -------
    (..., N, N) array
        In nats; 0 where a pair is no more frequent than chance, or never seen.

    Raises
    ------
    ShapeError
        If the last two axes differ.
    TypeError
        If counts does not hold floating-point numbers.

    Notes
    -----
    Equation eq-ppmi; [church1990] for the information, [levy2014] for keeping its positive part.
    """
    dtype, counts = counts.dtype, wide(counts)
    counts = counts / magnitude(counts, dim=(-2, -1))
    row = counts.sum(dim=-1, keepdim=True)
    column = counts.sum(dim=-2, keepdim=True)
    total = counts.sum(dim=(-2, -1), keepdim=True)
    unseen = counts == 0
    unit = magnitude(row)  # in which no product leaves the range
    chance = (row / unit) * column
    ratio = (counts / unit) * total / chance.masked_fill(unseen, 1.0)
    return ratio.masked_fill(unseen, 1.0).log().clamp_min(0).to(dtype)


@checked
def svd_embeddings(matrix: Tensor, d_model: int) -> Tensor:
    """Vectors of width d_model whose dot products come closest to those of the rows of `matrix`.

    Parameters
    ----------
    matrix : (..., N, N) array
        A table such as `ppmi` returns.
    d_model : int
        Width of the vectors, from 1 to N.

    Returns
    -------
    (..., N, D) array
        The first d_model left singular vectors, each times its singular value.

    Raises
    ------
    ValueError
        If d_model is not from 1 to N, or an entry is not finite.
    TypeError
        If matrix does not hold floating-point numbers.

    Notes
    -----
    Equation eq-svd-embeddings; [levy2014], by the theorem of [eckart1936]. The sign of a singular
    vector is free; here its entry of largest magnitude is positive. Where two singular values are
    equal their vectors are not unique, but the dot products are once both are kept.
    """
    require_count("svd_embeddings", "d_model", d_model, most=matrix.shape[-1])
    if not matrix.isfinite().all():
        raise ValueError("svd_embeddings: every entry of matrix must be finite")
    u, sigma, _ = torch.linalg.svd(wide(matrix), full_matrices=False)
    u, sigma = u[..., :d_model], sigma[..., None, :d_model]
    largest = u.gather(-2, u.abs().argmax(dim=-2, keepdim=True))
    return (torch.where(largest < 0, -u, u) * sigma).to(matrix.dtype)
