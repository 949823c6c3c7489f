"""Attention masks, and causal attention (chapter 5).

A mask is boolean; True means "may attend". Masks are combined by the operators of NumPy and
PyTorch: ``&`` if both must allow it, ``|`` if one suffices, ``~`` for the complement; they
broadcast as arrays do. ``~mask`` also converts from and to libraries in which True means "masked".

With an `offset`, query t has position t + offset and key s has position s, as when the keys of
`offset` earlier positions are in the KV cache.
"""

import numpy as np

from tformer.reference.attention import attention
from tformer.reference.equation import equation

__all__ = [
    "causal_attention",
    "causal_mask",
    "count_leaks",
    "from_additive",
    "packed_mask",
    "padding_mask",
    "prefix_mask",
    "sliding_window_mask",
    "to_additive",
]


@equation
def causal_mask(n_queries: int, n_keys: int, offset: int = 0) -> np.ndarray:
    """Return the causal mask: no query attends to a key at a later position.

    Parameters
    ----------
    n_queries : int, at least 0
    n_keys : int, at least 0
    offset : int, at least 0
        Position of the first query.

    Returns
    -------
    (T, S) boolean array
        True where the position of key s is at most that of query t.

    Notes
    -----
    Equation eq-causal-mask; [vaswani2017], section 3.2.3.
    """
    t, s = np.arange(n_queries)[:, np.newaxis] + offset, np.arange(n_keys)
    return s <= t


@equation
def sliding_window_mask(n_queries: int, n_keys: int, window: int, offset: int = 0) -> np.ndarray:
    """Return the sliding-window mask: each query attends to the last `window` positions.

    Parameters
    ----------
    n_queries : int, at least 0
    n_keys : int, at least 0
    window : int, at least 1
        How many positions a query may attend to, its own included.
    offset : int, at least 0
        Position of the first query.

    Returns
    -------
    (T, S) boolean array
        True where key s is one of the last `window` keys up to the position of query t.

    Notes
    -----
    Equation eq-sliding-window-mask; [beltagy2020], causal. Departure: the window of that paper is
    symmetric, half of it on either side.
    """
    t, s = np.arange(n_queries)[:, np.newaxis] + offset, np.arange(n_keys)
    return (s <= t) & (s > t - window)


@equation
def prefix_mask(n_queries: int, n_keys: int, n_prefix: int, offset: int = 0) -> np.ndarray:
    """Return the prefix-LM mask: bidirectional over the prefix, causal after it.

    Parameters
    ----------
    n_queries : int, at least 0
    n_keys : int, at least 0
    n_prefix : int, at least 0
        Length of the prefix: how many of the first keys all queries may attend to.
    offset : int, at least 0
        Position of the first query.

    Returns
    -------
    (T, S) boolean array
        True where key s is in the prefix, or its position is at most that of query t.

    Notes
    -----
    Equation eq-prefix-mask; [raffel2020], section 3.2.1.
    """
    t, s = np.arange(n_queries)[:, np.newaxis] + offset, np.arange(n_keys)
    return (s <= t) | (s < n_prefix)


@equation
def padding_mask(lengths: np.ndarray, n_keys: int) -> np.ndarray:
    """Return the padding mask: no query attends to padding.

    Parameters
    ----------
    lengths : (...) integer array
        How many keys of each row are tokens; they come first, padding follows.
    n_keys : int, at least 0

    Returns
    -------
    (..., 1, S) boolean array
        True where key s is no padding. The axis of the queries has size 1: all share one row.

    Notes
    -----
    Equation eq-padding-mask; [krell2021]. A length above n_keys counts as n_keys.
    """
    return np.arange(n_keys) < lengths[..., np.newaxis, np.newaxis]


@equation
def packed_mask(documents_q: np.ndarray, documents_k: np.ndarray) -> np.ndarray:
    """Return the mask of packed documents: no query attends to a key of another document.

    Parameters
    ----------
    documents_q : (..., T) integer array
        Document of each query, as an integer; below 0, of none.
    documents_k : (..., S) integer array
        Document of each key.

    Returns
    -------
    (..., T, S) boolean array
        True where query and key belong to the same document.

    Notes
    -----
    Equation eq-packed-mask; [krell2021].
    """
    t, s = documents_q[..., :, np.newaxis], documents_k[..., np.newaxis, :]
    return (t == s) & (t >= 0)


@equation
def to_additive(mask: np.ndarray) -> np.ndarray:
    """Convert a boolean mask to an additive one: a bias of 0 or -inf on the scores.

    Parameters
    ----------
    mask : (..., T, S) boolean array
        True where query t may attend to key s.

    Returns
    -------
    (..., T, S) array
        0 where query t may attend to key s, -inf elsewhere.

    Notes
    -----
    Equation eq-to-additive; [vaswani2017], section 3.2.3. In float64; both values are exact in
    every other precision.
    """
    return np.where(mask, 0.0, -np.inf)


@equation
def from_additive(bias: np.ndarray) -> np.ndarray:
    """Convert an additive mask to a boolean one.

    Parameters
    ----------
    bias : (..., T, S) array
        0 where query t may attend to key s, -inf elsewhere.

    Returns
    -------
    (..., T, S) boolean array
        True where query t may attend to key s.

    Raises
    ------
    ValueError
        If an entry is neither 0 nor -inf. A large negative number is refused too: it does
        not mask a key if the scores are as large, nor in a row where every entry is that number.

    Notes
    -----
    Equation eq-from-additive; [vaswani2017], section 3.2.3.
    """
    if not ((bias == 0) | (bias == -np.inf)).all():
        other = bias[(bias != 0) & (bias != -np.inf)][0]
        raise ValueError(
            f"from_additive: every entry of bias must be 0 or -inf; got {other:.6g}; only -inf "
            "masks a key whatever the scores are"
        )
    return bias == 0


@equation
def count_leaks(influence: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """Count the pairs of query and key with an influence that the mask forbids.

    Parameters
    ----------
    influence : (..., T, S) array
        How strongly output row t depends on key s: attention weights, or norms of derivatives.
    mask : (..., T or 1, S or 1) boolean array
        True where row t may depend on key s.

    Returns
    -------
    (...) integer array
        Number of masked pairs whose influence is not exactly 0; NaN is not 0.

    Notes
    -----
    Equation eq-count-leaks; the condition is that of [vaswani2017], section 3.2.3.
    """
    return ((influence != 0) & ~mask).sum(axis=(-2, -1))


@equation
def causal_attention(
    q: np.ndarray,
    k: np.ndarray,
    v: np.ndarray,
    offset: int = 0,
    scale: float | None = None,
) -> np.ndarray:
    """Compute causal attention: no query attends to a key at a later position.

    Parameters
    ----------
    q : (..., T, d_k) array
        Queries.
    k : (..., S, d_k) array
        Keys.
    v : (..., S, d_v) array
        Values, one for each key.
    offset : int, at least 0
        Position of the first query.
    scale : float, finite and above 0, optional
        Multiplies the scores; 1/√d_k if omitted.

    Returns
    -------
    (..., T, d_v) array

    Notes
    -----
    Equation eq-causal-attention; [vaswani2017], section 3.2.3. Its gradients are those of
    `attention_vjp` with the causal mask.
    """
    return attention(q, k, v, causal_mask(q.shape[-2], k.shape[-2], offset), scale=scale)


def without_padding(mask: np.ndarray | None, valid: np.ndarray | None) -> np.ndarray | None:
    """Return the mask (..., T or 1, S) with padding hidden too, None if both are None."""
    if valid is None:
        return mask
    tokens = valid[..., np.newaxis, :]
    return tokens if mask is None else mask & tokens
