"""Attention to some of the keys: a window, or blocks that a layout names (chapter 16).

Scores that a mask would hide are not computed: each block of queries takes the keys that one of its
rows may look at, and a small mask does the rest. For finite numbers the result is that of
`attention` with the large mask.
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
    """Attention of each position to itself and the few before it, at a cost of T times `window`.

    Parameters
    ----------
    q : (..., T, d_k) array
        Queries.
    k : (..., S, d_k) array
        Keys.
    v : (..., S, d_v) array
        Values, one for each key.
    window : int, at least 1
        How many positions may be looked at, the query's own among them.
    offset : int, at least 0
        Position of the first query.
    scale : float, finite and above 0, optional
        Multiplies the scores; 1/√d_k if omitted.
    block : int, at least 1
        Block size: how many queries, and how many keys, are processed together.

    Returns
    -------
    (..., T, d_v) array
        A query with no key in its window is zero.

    Notes
    -----
    Equation eq-window-attention; [beltagy2020], causal, as `attention` with `sliding_window_mask`
    and by the states of `blockwise_attention`, whose blocks of keys begin where a window does. Its
    gradient is `blockwise.backward` with the window. Keys and values outside all windows of a block
    are not read, so what is infinite or NaN there does not show.
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
    """Attention in which a layout says which blocks of queries look at which blocks of keys.

    Parameters
    ----------
    q : (..., T, d_k) array
        Queries.
    k : (..., S, d_k) array
        Keys.
    v : (..., S, d_v) array
        Values, one for each key.
    layout : (t_blocks, s_blocks) boolean array
        True where the queries of a block may look at the keys of a block.
    block : int, at least 1
        Positions of a block; the last one may have fewer.
    causal : bool
        Whether to mask, in addition, every key at a later position than the query.
    offset : int, at least 0
        Position of the first query, for `causal`.
    scale : float, finite and above 0, optional
        Multiplies the scores; 1/√d_k if omitted.

    Returns
    -------
    (..., T, d_v) array
        A row with no key is zero.

    Raises
    ------
    ValueError
        If the layout has not one row for each block of queries and one column for each of keys.

    Notes
    -----
    Equation eq-block-sparse-attention; [child2019], section 5.5, with the layout given. What is
    infinite or NaN in blocks that are left out does not show.
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
