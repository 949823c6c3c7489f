"""Sparse attention: a sliding window, or blocks given by a layout (chapter 16).

Most masked scores are not computed: each block of queries takes the keys that at least one of its
queries may attend to, and a small mask hides the rest. For finite numbers the result is that of
`attention` with the full mask.
"""

import numpy as np

from tformer.arguments import require_layout
from tformer.reference.attention import attention
from tformer.reference.blockwise import forward
from tformer.reference.equation import equation

__all__ = ["block_sparse_attention", "window_attention"]


@equation
def window_attention(
    q: np.ndarray,
    k: np.ndarray,
    v: np.ndarray,
    window: int,
    offset: int = 0,
    scale: float | None = None,
    block: int = 208,
) -> np.ndarray:
    """Compute causal sliding-window attention, at a cost proportional to T times `window`.

    Parameters
    ----------
    q : (..., T, d_k) array
        Queries.
    k : (..., S, d_k) array
        Keys.
    v : (..., S, d_v) array
        Values, one for each key.
    window : int, at least 1
        How many positions a query may attend to, its own included.
    offset : int, at least 0
        Position of the first query.
    scale : float, finite and above 0, optional
        Multiplies the scores; 1/√d_k if omitted.
    block : int, at least 1
        Block size: how many queries, and how many keys, are processed together.

    Returns
    -------
    (..., T, d_v) array
        The row of a query with no key in its window is zero.

    Notes
    -----
    Equation eq-window-attention; [beltagy2020], causal. Equal to `attention` with
    `sliding_window_mask`, computed as `blockwise_attention` is, from the first key of the window
    on. Its gradient is `blockwise.backward` with the window. Keys and values outside all windows of
    a block are not read, so infinite or NaN entries there have no effect.
    """
    return forward(q, k, v, None, None, scale, True, offset, block, window)[0]


@equation
def block_sparse_attention(
    q: np.ndarray,
    k: np.ndarray,
    v: np.ndarray,
    layout: np.ndarray,
    block: int,
    causal: bool = False,
    offset: int = 0,
    scale: float | None = None,
) -> np.ndarray:
    """Compute block-sparse attention: a layout says which blocks of keys each block attends to.

    Parameters
    ----------
    q : (..., T, d_k) array
        Queries.
    k : (..., S, d_k) array
        Keys.
    v : (..., S, d_v) array
        Values, one for each key.
    layout : (t_blocks, s_blocks) boolean array
        Entry (i, j) is True where queries of block i may attend to keys of block j.
    block : int, at least 1
        Block size in positions; the last block may be smaller.
    causal : bool
        Whether to mask, in addition, every key at a later position than the query.
    offset : int, at least 0
        Position of the first query, for `causal`.
    scale : float, finite and above 0, optional
        Multiplies the scores; 1/√d_k if omitted.

    Returns
    -------
    (..., T, d_v) array
        The row of a query with no key is zero.

    Raises
    ------
    ValueError
        If layout does not have one row per block of queries and one column per block of keys.

    Notes
    -----
    Equation eq-block-sparse-attention; [child2019], section 5.5, with the layout given. Infinite
    or NaN entries in blocks that are left out have no effect.
    """
    require_layout("block_sparse_attention", layout.shape, q.shape[-2], k.shape[-2], block)
    y = np.empty((*_leading(q, k, v), q.shape[-2], v.shape[-1]), q.dtype)
    for row, start in zip(layout, range(0, q.shape[-2], block), strict=True):
        rows = q[..., start : start + block, :]
        keys = np.flatnonzero(np.repeat(row, block)[: k.shape[-2]])
        last = start + offset + np.arange(rows.shape[-2])[:, np.newaxis]
        mask = keys <= last if causal else None
        y[..., start : start + block, :] = attention(
            rows, k[..., keys, :], v[..., keys, :], mask, scale=scale
        )
    return y


def _leading(*arrays: np.ndarray) -> tuple[int, ...]:
    return np.broadcast_shapes(*(x.shape[:-2] for x in arrays))
