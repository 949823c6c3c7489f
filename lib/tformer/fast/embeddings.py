"""Token vectors from counts: co-occurrence, PPMI, truncated SVD (chapter 1)."""

import torch
from torch import Tensor

from tformer.fast.checks import require_values
from tformer.fast.precision import magnitude, wide
from tformer.fast.twins import twin

__all__ = ["cooccurrence", "ppmi", "svd_embeddings"]


@twin
def cooccurrence(tokens: Tensor, n_vocab: int, window: int) -> Tensor:
    """The counts are in torch's default dtype (float32 is exact up to 16,777,216)."""
    require_values("cooccurrence", "tokens", tokens)
    tokens = tokens.long()
    if tokens.numel() and not (tokens.min() >= -1 and tokens.max() < n_vocab):
        raise ValueError(
            f"cooccurrence: tokens must be from -1 to {n_vocab - 1}; "
            f"got {int(tokens.min())} to {int(tokens.max())}"
        )
    counts = torch.zeros(n_vocab * n_vocab, device=tokens.device)
    for offset in range(1, min(window, tokens.shape[-1] - 1) + 1):
        left, right = tokens[..., :-offset], tokens[..., offset:]
        present = (left >= 0) & (right >= 0)
        pairs = left[present] * n_vocab + right[present]
        counts.scatter_add_(0, pairs, torch.ones_like(pairs, dtype=counts.dtype))
    table_NN = counts.view(n_vocab, n_vocab)
    return table_NN + table_NN.mT


@twin
def ppmi(counts: Tensor) -> Tensor:
    """The gradient is finite, also for a pair that never occurs."""
    dtype, counts = counts.dtype, wide(counts)
    counts = counts / magnitude(counts, dim=(-2, -1))
    row = counts.sum(dim=-1, keepdim=True)
    column = counts.sum(dim=-2, keepdim=True)
    total = counts.sum(dim=(-2, -1), keepdim=True)
    unseen = counts == 0
    unit = magnitude(row)  # divided by it, no product overflows or vanishes
    chance = (row / unit) * column
    ratio = (counts / unit) * total / chance.masked_fill(unseen, 1.0)
    return ratio.masked_fill(unseen, 1.0).log().clamp_min(0).to(dtype)


@twin
def svd_embeddings(matrix: Tensor, d_model: int) -> Tensor:
    """Half precision is computed in float32."""
    require_values("svd_embeddings", "matrix", matrix)
    if not matrix.isfinite().all():
        raise ValueError("svd_embeddings: every entry of matrix must be finite")
    u, sigma, _ = torch.linalg.svd(wide(matrix), full_matrices=False)
    u, sigma = u[..., :d_model], sigma[..., None, :d_model]
    largest = u.gather(-2, u.abs().argmax(dim=-2, keepdim=True))
    return (torch.where(largest < 0, -u, u) * sigma).to(matrix.dtype)
