"""Attention again, a block of query rows at a time: the same result in less time and memory.

A row of the output needs only its own row of scores. So the table of scores is never formed: a
strip of a few hundred rows is, used, and overwritten by the next, while it is still in the cache.
This is attention without the matrix, the subject of chapter 16, as far as NumPy goes. Until then
no page uses it; `benchmarks/attention.py` measures what it saves.
"""

import math

import numpy as np

from tformer.reference.attention import attention
from tformer.reference.equation import equation

__all__ = ["attention_by_rows"]

ROWS = 256


@equation
def attention_by_rows(
    q: np.ndarray,
    k: np.ndarray,
    v: np.ndarray,
    mask: np.ndarray | None = None,
    bias: np.ndarray | None = None,
    scale: float | None = None,
) -> np.ndarray:
    """What `attention` gives, computed in strips of rows, with memory that grows as S and not T S.

    Parameters
    ----------
    q : (..., T, d_k) array
        Queries.
    k : (..., S, d_k) array
        Keys.
    v : (..., S, d_v) array
        Values, one for each key.
    mask : (..., T or 1, S or 1) boolean array, optional
        True where query t may look at key s; without it, everywhere.
    bias : (..., T or 1, S or 1) array, optional
        Added to the scaled scores; -inf masks a key as the mask does.
    scale : float, finite and above 0, optional
        Factor of the scores; 1/√d_k if left out.

    Returns
    -------
    (..., T, d_v) array
        A fully masked row is zero.

    Notes
    -----
    Equation eq-attention, row by row. Two passes over the scores are saved where that is safe. By
    the Cauchy-Schwarz inequality no score exceeds the longest query times the longest key; if the
    exponential of that can neither overflow nor vanish, the largest score of each row need not be
    found and subtracted [milakov2018]. And dividing the output costs less than dividing the weights
    [dao2022]. Where it is not safe, or with a bias, the strip is computed by `attention`.
    """
    if scale is None:
        scale = 1 / math.sqrt(max(q.shape[-1], 1))
    given = [x for x in (q, k, v, mask, bias) if x is not None]
    leading = np.broadcast_shapes(*(x.shape[:-2] for x in given))
    q, k, v = (_repeated(x, leading + x.shape[-2:]) for x in (q, k, v))
    table = leading + (q.shape[-2], k.shape[-2])
    mask, bias = (None if x is None else _repeated(x, table) for x in (mask, bias))
    y = np.empty(leading + (q.shape[-2], v.shape[-1]), q.dtype)
    for i in np.ndindex(leading):
        one_mask, one_bias = (None if x is None else x[i] for x in (mask, bias))
        scaled = scale * q[i]
        if bias is None and _fits(scaled, k[i], v[i]):
            _fill_unshifted(y[i], scaled, k[i], v[i], one_mask)
        else:
            _fill(y[i], q[i], k[i], v[i], one_mask, one_bias, scale)
    return y


def _repeated(x: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    return x if x.shape == shape else np.broadcast_to(x, shape)


def _fits(q: np.ndarray, k: np.ndarray, v: np.ndarray) -> bool:
    """Whether exp(q·k), times v or not, keeps all its digits whichever rows meet."""
    lengths = [math.sqrt(np.vecdot(x, x).max(initial=0)) for x in (q, k)]
    largest = float(max(v.max(initial=0), -v.min(initial=0)))
    if not largest > 0:
        return False
    info = np.finfo(v.dtype)
    margin = abs(math.log(largest)) + math.log(len(v) / info.eps)
    return math.prod(lengths) + margin < math.log(info.max)


def _fill_unshifted(
    y: np.ndarray, q: np.ndarray, k: np.ndarray, v: np.ndarray, mask: np.ndarray | None
) -> None:
    """Write attention into `y`, for scores q·k that may be exponentiated as they are."""
    strip, ones = np.empty((ROWS, len(k)), q.dtype), np.ones(len(k), q.dtype)
    for start in range(0, len(q), ROWS):
        rows = slice(start, start + ROWS)
        keys = slice(None) if mask is None else _seen(mask[rows])
        terms = np.matmul(q[rows], k[keys].T, out=strip[: len(q[rows]), : len(k[keys])])
        np.exp(terms, out=terms)
        if mask is not None:
            terms *= mask[rows, keys]
        total = terms @ ones[keys]
        np.divide(terms @ v[keys], np.where(total == 0, 1, total)[:, np.newaxis], out=y[rows])


def _seen(mask: np.ndarray) -> slice:
    """From the first to the last key that some row may look at."""
    seen = np.flatnonzero(mask.any(axis=0))
    return slice(seen[0], seen[-1] + 1) if len(seen) else slice(0)


def _fill(
    y: np.ndarray,
    q: np.ndarray,
    k: np.ndarray,
    v: np.ndarray,
    mask: np.ndarray | None,
    bias: np.ndarray | None,
    scale: float,
) -> None:
    """Write attention into `y`, each strip of rows by the definition."""
    for start in range(0, len(q), ROWS):
        rows = slice(start, start + ROWS)
        hidden, added = (None if x is None else x[rows] for x in (mask, bias))
        y[rows] = attention(q[rows], k, v, hidden, added, scale)
