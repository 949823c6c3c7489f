"""Masks: who may look at whom, and attention that never sees the future (chapter 5).

A mask is boolean, and True means "may look". So masks are put together by the logic of NumPy and
PyTorch: ``&`` where both must allow it, ``|`` where one is enough, ``~`` for the opposite, and they
broadcast as arrays do. ``~mask`` is also the way to and from libraries in which True means "hide".

With an `offset`, query t stands at position t + offset and key s at position s, as when the keys of
`offset` earlier positions are kept in a cache.
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
    """No position may look at a later one.

    Parameters
    ----------
    n_queries : int, at least 0
    n_keys : int, at least 0
    offset : int, at least 0
        Position of the first query.

    Returns
    -------
    (T, S) boolean array
        True where key s stands at or before the position of query t.

    Notes
    -----
    Equation eq-causal-mask; [vaswani2017], section 3.2.3.
    """
    t, s = np.arange(n_queries)[:, np.newaxis] + offset, np.arange(n_keys)
    return s <= t


@equation
def sliding_window_mask(n_queries: int, n_keys: int, window: int, offset: int = 0) -> np.ndarray:
    """Each position may look at itself and the few before it.

    Parameters
    ----------
    n_queries : int, at least 0
    n_keys : int, at least 0
    window : int, at least 1
        How many positions may be looked at, the query's own among them.
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
    """All may look at the whole prefix; after it no position may look at a later one.

    Parameters
    ----------
    n_queries : int, at least 0
    n_keys : int, at least 0
    n_prefix : int, at least 0
        How many keys are the prefix.
    offset : int, at least 0
        Position of the first query.

    Returns
    -------
    (T, S) boolean array
        True where key s is in the prefix, or stands at or before the position of query t.

    Notes
    -----
    Equation eq-prefix-mask; [raffel2020], section 3.2.1.
    """
    t, s = np.arange(n_queries)[:, np.newaxis] + offset, np.arange(n_keys)
    return (s <= t) | (s < n_prefix)


@equation
def padding_mask(lengths: np.ndarray, n_keys: int) -> np.ndarray:
    """No query may look at what only fills a row up.

    Parameters
    ----------
    lengths : (...) integer array
        How many keys of each row are real; they come first.
    n_keys : int, at least 0

    Returns
    -------
    (..., 1, S) boolean array
        True where key s is real. It is the same for all queries, so their axis has size 1.

    Notes
    -----
    Equation eq-padding-mask; [krell2021]. A length above n_keys counts as n_keys.
    """
    return np.arange(n_keys) < lengths[..., np.newaxis, np.newaxis]


@equation
def packed_mask(documents_q: np.ndarray, documents_k: np.ndarray) -> np.ndarray:
    """Documents that are packed into one row may not look at each other.

    Parameters
    ----------
    documents_q : (..., T) integer array
        The document that each query belongs to; below 0, none.
    documents_k : (..., S) integer array
        The same for the keys.

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
    """The mask as a bias: what is added to the scores, so that the softmax obeys it.

    Parameters
    ----------
    mask : (..., T, S) boolean array
        True where query t may look at key s.

    Returns
    -------
    (..., T, S) array
        0 where it may, -inf where not.

    Notes
    -----
    Equation eq-to-additive; [vaswani2017], section 3.2.3. In float64; both values are exact in
    every other precision.
    """
    return np.where(mask, 0.0, -np.inf)


@equation
def from_additive(bias: np.ndarray) -> np.ndarray:
    """The mask that was written as a bias.

    Parameters
    ----------
    bias : (..., T, S) array
        0 where query t may look at key s, -inf where not.

    Returns
    -------
    (..., T, S) boolean array

    Raises
    ------
    ValueError
        If an entry is neither 0 nor -inf. A large negative number is refused as well: it does not
        hide a key if the scores reach as far, and not in a row that has nothing else.

    Notes
    -----
    Equation eq-from-additive; [vaswani2017], section 3.2.3.
    """
    if not ((bias == 0) | (bias == -np.inf)).all():
        other = bias[(bias != 0) & (bias != -np.inf)][0]
        raise ValueError(
            f"from_additive: every entry of bias must be 0 or -inf; got {other:.6g}; only -inf "
            "hides a key whatever the scores are"
        )
    return bias == 0


@equation
def count_leaks(influence: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """How many keys have an influence that the mask forbids.

    Parameters
    ----------
    influence : (..., T, S) array
        How far row t of some output depends on key s: weights, or norms of derivatives.
    mask : (..., T or 1, S or 1) boolean array
        True where row t may depend on key s.

    Returns
    -------
    (...) integer array
        Number of pairs that the mask forbids and whose influence is not exactly 0; NaN is not 0.

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
    """Attention in which no position looks at a later one.

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
        Factor of the scores; 1/√d_k if left out.

    Returns
    -------
    (..., T, d_v) array

    Notes
    -----
    Equation eq-causal-attention; [vaswani2017], section 3.2.3. What is passed back is that of
    `attention_vjp` with the same mask.
    """
    return attention(q, k, v, causal_mask(q.shape[-2], k.shape[-2], offset), scale=scale)
