"""Blockwise attention by online softmax: the T × S scores are never stored (chapter 16).

For the keys processed so far a row keeps three things: the largest score, the sum of exp(score -
largest), and the sum of the values with these weights. Two such states merge into one
(`merge_states`), so only one block of scores exists at a time, in a buffer that is overwritten.
"""

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from tformer.reference.attention import sum_to
from tformer.reference.equation import equation

__all__ = [
    "SoftmaxState",
    "backward",
    "blockwise_attention",
    "blockwise_attention_vjp",
    "forward",
    "merge_states",
    "softmax_state",
]

Span = tuple[slice, slice]


class SoftmaxState(NamedTuple):
    """Online-softmax state of the rows of attention over the keys processed so far.

    Attributes
    ----------
    top : (..., T) array
        The largest score; -inf before any key.
    total : (..., T) array
        The sum of exp(score - top).
    output : (..., T, d_v) array
        The sum of exp(score - top) times the value.
    """

    top: np.ndarray
    total: np.ndarray
    output: np.ndarray


def softmax_state(scores: np.ndarray, v: np.ndarray) -> SoftmaxState:
    """Return the state after S ≥ 1 keys: (..., T, S) scores and (..., S, d_v) values."""
    scores = scores.astype(np.result_type(scores, np.float32))
    top = scores.max(axis=-1)
    terms = scores - np.where(top == -np.inf, 0, top)[..., np.newaxis]
    np.exp(terms, out=terms)
    return SoftmaxState(top, terms.sum(axis=-1), terms @ v)


def merge_states(a: SoftmaxState, b: SoftmaxState) -> SoftmaxState:
    """Merge the states of two sets of keys, rescaled to the larger top (eq-merge-states)."""
    top = np.maximum(a.top, b.top)
    shift = np.where(top == -np.inf, 0, top)
    scale_a, scale_b = np.exp(a.top - shift), np.exp(b.top - shift)
    total = scale_a * a.total + scale_b * b.total
    output = scale_a[..., None] * a.output + scale_b[..., None] * b.output
    return SoftmaxState(top, total, output)


@equation
def blockwise_attention(
    q: np.ndarray,
    k: np.ndarray,
    v: np.ndarray,
    mask: np.ndarray | None = None,
    bias: np.ndarray | None = None,
    scale: float | None = None,
    causal: bool = False,
    offset: int = 0,
    block: int = 208,
) -> np.ndarray:
    """Compute `attention` in blocks of queries and keys, without storing the T × S scores.

    Parameters
    ----------
    q : (..., T, d_k) array
        Queries.
    k : (..., S, d_k) array
        Keys.
    v : (..., S, d_v) array
        Values, one for each key.
    mask : (..., T or 1, S or 1) boolean array, optional
        True where query t may attend to key s; nothing is masked if omitted.
    bias : (..., T or 1, S or 1) array, optional
        Added to the scaled scores; -inf masks a key, as `mask` does.
    scale : float, finite and above 0, optional
        Multiplies the scores; 1/√d_k if omitted.
    causal : bool
        Whether to mask, in addition, every key at a later position than the query.
    offset : int, at least 0
        Position of the first query, for `causal`.
    block : int, at least 1
        Block size: how many queries, and how many keys, are processed together.

    Returns
    -------
    (..., T, d_v) array
        A fully masked row is zero.

    Notes
    -----
    Equation eq-blockwise-attention; [milakov2018] for the running maximum, [rabe2021] and
    [dao2022] for blocks. Beyond arguments and result it needs the memory of a few blocks. By the
    Cauchy-Schwarz inequality no score exceeds the largest query norm times the largest key norm;
    where exp of that neither overflows nor vanishes, no running maximum is kept. Infinite and NaN
    entries as in `attention`, except that blocks of later keys are not read; and values near the
    end of the dtype's range may overflow, since each row is normalised last.
    """
    return forward(q, k, v, mask, bias, scale, causal, offset, block)[0]


@equation
def blockwise_attention_vjp(
    q: np.ndarray,
    k: np.ndarray,
    v: np.ndarray,
    grad: np.ndarray,
    mask: np.ndarray | None = None,
    bias: np.ndarray | None = None,
    scale: float | None = None,
    causal: bool = False,
    offset: int = 0,
    block: int = 208,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray | None]:
    """Compute the vector-Jacobian product of `blockwise_attention` without storing the weights.

    Parameters
    ----------
    q : (..., T, d_k) array
        Queries.
    k : (..., S, d_k) array
        Keys.
    v : (..., S, d_v) array
        Values, one for each key.
    grad : (..., T, d_v) array
        Gradient of a loss with respect to the output of `blockwise_attention`.
    mask : (..., T or 1, S or 1) boolean array, optional
        True where query t may attend to key s; nothing is masked if omitted.
    bias : (..., T or 1, S or 1) array, optional
        Added to the scaled scores; -inf masks a key, as `mask` does.
    scale : float, finite and above 0, optional
        Multiplies the scores; 1/√d_k if omitted.
    causal : bool
        Whether to mask, in addition, every key at a later position than the query.
    offset : int, at least 0
        Position of the first query, for `causal`.
    block : int, at least 1
        Block size: how many queries, and how many keys, are processed together.

    Returns
    -------
    dq : (..., T, d_k) array
        Each gradient has the shape of its argument: broadcast axes are summed over.
    dk : (..., S, d_k) array
    dv : (..., S, d_v) array
    dbias : (..., T or 1, S or 1) array, optional
        None without a bias.

    Notes
    -----
    Equation eq-blockwise-attention-vjp; [dao2022], appendix B, and [dao2024], section 3.1.1. Two
    numbers a row suffice: the logsumexp of its scores, and the dot product of its output with the
    gradient. The weights are recomputed, block by block. This function runs the forward pass first;
    `blockwise.backward` takes what `blockwise.forward` returned.
    """
    saved = forward(q, k, v, mask, bias, scale, causal, offset, block)
    return backward(q, k, v, grad, saved, mask, bias, scale, causal, offset, block)


@np.errstate(all="ignore")
def forward(
    q: np.ndarray,
    k: np.ndarray,
    v: np.ndarray,
    mask: np.ndarray | None = None,
    bias: np.ndarray | None = None,
    scale: float | None = None,
    causal: bool = False,
    offset: int = 0,
    block: int = 208,
    window: int | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Compute `blockwise_attention`, and the logsumexp of the scores of each row.

    With a `window`, each query attends to the last `window` positions only, its own included.
    """
    q, k, v, mask, bias, scale = _broadcast(q, k, v, mask, bias, scale)
    y = np.empty((*q.shape[:-1], v.shape[-1]), q.dtype)
    log_sums = np.empty(q.shape[:-1], q.dtype)
    for i in np.ndindex(q.shape[:-2]):
        score_bias = _score_bias_at(i, mask, bias, causal, offset, window)
        _forward(q[i], k[i], v[i], score_bias, scale, block, y[i], log_sums[i])
    return y, log_sums


@np.errstate(all="ignore")
def backward(
    q: np.ndarray,
    k: np.ndarray,
    v: np.ndarray,
    grad: np.ndarray,
    saved: tuple[np.ndarray, np.ndarray],
    mask: np.ndarray | None = None,
    bias: np.ndarray | None = None,
    scale: float | None = None,
    causal: bool = False,
    offset: int = 0,
    block: int = 208,
    window: int | None = None,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray | None]:
    """Compute `blockwise_attention_vjp` from what `forward` returned for the same arguments."""
    given, shape = (q, k, v), grad.shape[:-2]
    q, k, v, mask, bias_TS, scale = _broadcast(q, k, v, mask, bias, scale, shape)
    grad, y = (np.broadcast_to(x, (*q.shape[:-1], v.shape[-1])) for x in (grad, saved[0]))
    log_sums = np.broadcast_to(np.where(saved[1] == -np.inf, 0, saved[1]), q.shape[:-1])
    grads = [np.zeros(x.shape, x.dtype) for x in (q, k, v)]
    dbias = None if bias is None else np.zeros_like(bias)
    for i in np.ndindex(q.shape[:-2]):
        score_bias = _score_bias_at(i, mask, bias_TS, causal, offset, window)
        dbias_i = dbias if dbias is None else dbias[_unbroadcast(i, dbias.shape[:-2])]
        row_stats = np.stack([log_sums[i], np.vecdot(grad[i], y[i])])
        one = q[i], k[i], v[i], grad[i], row_stats[..., np.newaxis]
        _backward(*one, score_bias, scale, block, [x[i] for x in grads], dbias_i)
    dq, dk, dv = (sum_to(x, dx) for x, dx in zip(given, grads, strict=True))
    return dq, dk, dv, dbias


def _broadcast(
    q: np.ndarray,
    k: np.ndarray,
    v: np.ndarray,
    mask: np.ndarray | None,
    bias: np.ndarray | None,
    scale: float | None,
    *others: tuple[int, ...],
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray | None, np.ndarray | None, float]:
    """Broadcast leading axes to one shape, and mask and bias to (..., T, S); nothing is copied."""
    shapes = [x.shape[:-2] for x in (q, k, v, mask, bias) if x is not None]
    leading = np.broadcast_shapes(*shapes, *others)
    full = (*leading, q.shape[-2], k.shape[-2])
    q, k, v = (np.broadcast_to(x, leading + x.shape[-2:]) for x in (q, k, v))
    mask, bias = (None if x is None else np.broadcast_to(x, full) for x in (mask, bias))
    return q, k, v, mask, bias, 1 / math.sqrt(max(q.shape[-1], 1)) if scale is None else scale


class _ScoreBias(NamedTuple):
    """What is added to the T × S scores of one head: the bias, and -inf at masked keys."""

    mask: np.ndarray | None
    bias: np.ndarray | None
    causal: bool
    offset: int
    window: int | None

    def spans(self, n_queries: int, n_keys: int, block: int) -> Iterator[tuple[slice, list[slice]]]:
        """Yield each block of queries with the blocks of keys that it may attend to."""
        for start in range(0, n_queries, block):
            rows = slice(start, min(start + block, n_queries))
            end = min(n_keys, rows.stop + self.offset) if self.causal else n_keys
            first = 0 if self.window is None else max(start + self.offset - self.window + 1, 0)
            yield rows, [slice(s, min(s + block, end)) for s in range(first, end, block)]

    def add_to(self, scores: np.ndarray, rows: slice, cols: slice) -> np.ndarray:
        """Add bias and masks to the scores of a block, in place."""
        if self.bias is not None:
            scores += self.bias[rows, cols]
        if self.mask is not None:
            zero, minus_inf = scores.dtype.type(0), scores.dtype.type(-np.inf)
            scores += np.where(self.mask[rows, cols], zero, minus_inf)
        if not self.causal:
            return scores
        t, s = np.ogrid[rows.start + self.offset : rows.stop + self.offset, cols]
        if s[0, -1] > t[0, 0]:
            np.copyto(scores, -np.inf, where=s > t)
        if self.window is not None and s[0, 0] <= t[-1, 0] - self.window:
            np.copyto(scores, -np.inf, where=s <= t - self.window)
        return scores


def _score_bias_at(
    i: tuple[int, ...],
    mask: np.ndarray | None,
    bias: np.ndarray | None,
    causal: bool,
    offset: int,
    window: int | None,
) -> _ScoreBias:
    mask, bias = (None if x is None else x[i] for x in (mask, bias))
    return _ScoreBias(mask, bias, causal or window is not None, offset, window)


def _exp_in_range(q: np.ndarray, k: np.ndarray, v: np.ndarray, scale: float) -> bool:
    """Return whether exp(scale q·k), also times v, keeps full precision for every query and key.

    Squares of small entries underflow. As no norm above 2⁶⁴ has squares in range (2⁵¹² in float64),
    they account for less than √d_k/2000 of a score, unless a scale above 1 enlarges it.
    """
    if scale > 1:
        return False
    norms = [math.sqrt(np.vecdot(x, x).max(initial=0)) for x in (q, k)]
    largest = float(max(v.max(initial=0), -v.min(initial=0)))
    if not largest > 0:
        return False
    info = np.finfo(v.dtype)
    margin = abs(math.log(largest)) + math.log(len(v) / info.eps)
    return scale * math.prod(norms) + margin < math.log(info.max)


def _forward(
    q: np.ndarray,
    k: np.ndarray,
    v: np.ndarray,
    score_bias: _ScoreBias,
    scale: float,
    block: int,
    y: np.ndarray,
    log_sums: np.ndarray,
) -> None:
    """Write attention to `y`, and the logsumexp of each row's scores to `log_sums`."""
    plain = score_bias.bias is None and _exp_in_range(q, k, v, scale)
    buffer = np.empty((min(block, len(q)), min(block, len(k))), q.dtype)
    part, ones = np.empty((len(buffer), v.shape[-1]), q.dtype), np.ones(buffer.shape[1], q.dtype)
    for rows, blocks in score_bias.spans(len(q), len(k), block):
        queries, n = scale * q[rows] if plain else q[rows], rows.stop - rows.start
        y[rows], first = 0, 0 if plain else -np.inf
        state = SoftmaxState(np.full(n, first, q.dtype), np.zeros(n, q.dtype), y[rows])
        for cols in blocks:
            width = cols.stop - cols.start
            scores = np.matmul(queries, k[cols].T, out=buffer[:n, :width])
            if plain:  # the shift is 0 for all rows, so blocks are added in place
                np.exp(score_bias.add_to(scores, rows, cols), out=scores)
                np.add(state.total, scores @ ones[:width], out=state.total)
                np.matmul(scores, v[cols], out=part[:n])
                np.add(state.output, part[:n], out=state.output)
            else:
                scores *= scale
                state = merge_states(
                    state, softmax_state(score_bias.add_to(scores, rows, cols), v[cols])
                )
        total = np.where(state.total == 0, 1, state.total)
        np.divide(state.output, total[:, np.newaxis], out=y[rows])
        log_sums[rows] = state.top + np.log(state.total)


def _backward(
    q: np.ndarray,
    k: np.ndarray,
    v: np.ndarray,
    grad: np.ndarray,
    row_stats: np.ndarray,
    score_bias: _ScoreBias,
    scale: float,
    block: int,
    grads: list[np.ndarray],
    dbias: np.ndarray | None,
) -> None:
    """Add the gradients of queries, keys and values to `grads`, that of the bias to `dbias`."""
    (dq, dk, dv), (log_sums, delta) = grads, row_stats
    for rows, blocks in score_bias.spans(len(q), len(k), block):
        for cols in blocks:
            scores = score_bias.add_to(scale * (q[rows] @ k[cols].T), rows, cols)
            weights = np.exp(scores - log_sums[rows])
            dscores = weights * (grad[rows] @ v[cols].T - delta[rows])
            dq[rows] += scale * (dscores @ k[cols])
            dk[cols] += scale * (dscores.T @ q[rows])
            dv[cols] += weights.T @ grad[rows]
            if dbias is not None:
                part = dbias[_unbroadcast((rows, cols), dbias.shape)]
                part += sum_to(part, dscores)


def _unbroadcast(index: tuple[int | slice, ...], shape: tuple[int, ...]) -> tuple[int | slice, ...]:
    """Map an index of the broadcast array to one of the array before, which has `shape`."""
    own = index[len(index) - len(shape) :]
    first = [0 if isinstance(i, int) else slice(None) for i in own]
    return tuple(f if n == 1 else i for i, f, n in zip(own, first, shape, strict=True))
