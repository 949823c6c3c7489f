"""Attention without the matrix: the keys in blocks, and what a row knows of those it has seen.

A row that has seen some of its keys needs three things of them: the largest score, the sum of the
exponentials below it, and the sum of the values, so weighted. Two such states become one
(`merge_states`), so the table of scores is never formed: a block of it is, used, and overwritten.
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
    """What rows of attention know of the keys that they have seen.

    Attributes
    ----------
    top : (..., T) array
        The largest score; -inf before any.
    total : (..., T) array
        The sum of exp(score - top).
    output : (..., T, d_v) array
        The sum of exp(score - top) times the value.
    """

    top: np.ndarray
    total: np.ndarray
    output: np.ndarray


def softmax_state(scores: np.ndarray, v: np.ndarray) -> SoftmaxState:
    """The state after the keys of (..., T, S) scores and (..., S, d_v) values, at least one."""
    scores = scores.astype(np.result_type(scores, np.float32))
    top = scores.max(axis=-1)
    terms = scores - np.where(top == -np.inf, 0, top)[..., np.newaxis]
    np.exp(terms, out=terms)
    return SoftmaxState(top, terms.sum(axis=-1), terms @ v)


def merge_states(a: SoftmaxState, b: SoftmaxState) -> SoftmaxState:
    """The state after the keys of both: what is below another top shrinks (eq-merge-states)."""
    top = np.maximum(a.top, b.top)
    shift = np.where(top == -np.inf, 0, top)
    of_a, of_b = np.exp(a.top - shift), np.exp(b.top - shift)
    total = of_a * a.total + of_b * b.total
    output = of_a[..., None] * a.output + of_b[..., None] * b.output
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
    """What `attention` gives, by blocks of queries and of keys, without the table of scores.

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
    [dao2022] for blocks. Beside what it is given and what it returns, it needs the memory of a few
    blocks. By the Cauchy-Schwarz inequality no score exceeds the longest query times the longest
    key; where the exponential of that can neither overflow nor vanish, no maximum is looked for.
    Infinite and NaN entries as in `attention`, except that blocks of the future are not read; and
    values near the end of the format's range may overflow, since a row is divided last.
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
    """Compute the vector-Jacobian product of `blockwise_attention`, without the table of weights.

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
    numbers a row are enough: the logarithm of the sum of its exponentials, and the product of its
    output with the gradient. The weights are computed again, block by block. This function goes
    forward first; `blockwise.backward` takes what `blockwise.forward` has kept.
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
    """`blockwise_attention`, and of each row the logarithm of the sum of its exponentials.

    With a `window`, keys so many positions before a query and earlier are not looked at either.
    """
    q, k, v, mask, bias, scale = _repeated(q, k, v, mask, bias, scale)
    y = np.empty((*q.shape[:-1], v.shape[-1]), q.dtype)
    log_sums = np.empty(q.shape[:-1], q.dtype)
    for i in np.ndindex(q.shape[:-2]):
        added = _at(i, mask, bias, causal, offset, window)
        _forward(q[i], k[i], v[i], added, scale, block, y[i], log_sums[i])
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
    """`blockwise_attention_vjp`, from what `forward` gave for the same arguments."""
    given, shape = (q, k, v), grad.shape[:-2]
    q, k, v, mask, bias_TS, scale = _repeated(q, k, v, mask, bias, scale, shape)
    grad, y = (np.broadcast_to(x, (*q.shape[:-1], v.shape[-1])) for x in (grad, saved[0]))
    log_sums = np.broadcast_to(np.where(saved[1] == -np.inf, 0, saved[1]), q.shape[:-1])
    found = [np.zeros(x.shape, x.dtype) for x in (q, k, v)]
    dbias = None if bias is None else np.zeros_like(bias)
    for i in np.ndindex(q.shape[:-2]):
        added = _at(i, mask, bias_TS, causal, offset, window)
        to = dbias if dbias is None else dbias[_own(i, dbias.shape[:-2])]
        known = np.stack([log_sums[i], np.vecdot(grad[i], y[i])])
        one = q[i], k[i], v[i], grad[i], known[..., np.newaxis]
        _backward(*one, added, scale, block, [x[i] for x in found], to)
    dq, dk, dv = (sum_to(x, dx) for x, dx in zip(given, found, strict=True))
    return dq, dk, dv, dbias


def _repeated(
    q: np.ndarray,
    k: np.ndarray,
    v: np.ndarray,
    mask: np.ndarray | None,
    bias: np.ndarray | None,
    scale: float | None,
    *others: tuple[int, ...],
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray | None, np.ndarray | None, float]:
    """All with the same leading axes, and mask and bias as tables; nothing is copied."""
    shapes = [x.shape[:-2] for x in (q, k, v, mask, bias) if x is not None]
    leading = np.broadcast_shapes(*shapes, *others)
    table = (*leading, q.shape[-2], k.shape[-2])
    q, k, v = (np.broadcast_to(x, leading + x.shape[-2:]) for x in (q, k, v))
    mask, bias = (None if x is None else np.broadcast_to(x, table) for x in (mask, bias))
    return q, k, v, mask, bias, 1 / math.sqrt(max(q.shape[-1], 1)) if scale is None else scale


class _Added(NamedTuple):
    """What is added to the scores of one table: a bias, and -inf where one may not look."""

    mask: np.ndarray | None
    bias: np.ndarray | None
    causal: bool
    offset: int
    window: int | None

    def spans(self, n_queries: int, n_keys: int, block: int) -> Iterator[tuple[slice, list[slice]]]:
        """Blocks of queries, each with the blocks of keys that it may look at."""
        for start in range(0, n_queries, block):
            rows = slice(start, min(start + block, n_queries))
            end = min(n_keys, rows.stop + self.offset) if self.causal else n_keys
            first = 0 if self.window is None else max(start + self.offset - self.window + 1, 0)
            yield rows, [slice(s, min(s + block, end)) for s in range(first, end, block)]

    def to(self, scores: np.ndarray, rows: slice, cols: slice) -> np.ndarray:
        """The scores of a block, with what is added; they are overwritten."""
        if self.bias is not None:
            scores += self.bias[rows, cols]
        if self.mask is not None:
            zero, hidden = scores.dtype.type(0), scores.dtype.type(-np.inf)
            scores += np.where(self.mask[rows, cols], zero, hidden)
        if not self.causal:
            return scores
        t, s = np.ogrid[rows.start + self.offset : rows.stop + self.offset, cols]
        if s[0, -1] > t[0, 0]:
            np.copyto(scores, -np.inf, where=s > t)
        if self.window is not None and s[0, 0] <= t[-1, 0] - self.window:
            np.copyto(scores, -np.inf, where=s <= t - self.window)
        return scores


def _at(
    i: tuple[int, ...],
    mask: np.ndarray | None,
    bias: np.ndarray | None,
    causal: bool,
    offset: int,
    window: int | None,
) -> _Added:
    mask, bias = (None if x is None else x[i] for x in (mask, bias))
    return _Added(mask, bias, causal or window is not None, offset, window)


def _fits(q: np.ndarray, k: np.ndarray, v: np.ndarray, scale: float) -> bool:
    """Whether exp(scale q·k), times v or not, keeps all its digits whichever rows meet.

    Squares of small entries vanish; that no length above 2⁶⁴ has squares either (2⁵¹² in float64)
    leaves less than √d_k/2000 of a score to them, unless a scale above 1 brings it back.
    """
    if scale > 1:
        return False
    lengths = [math.sqrt(np.vecdot(x, x).max(initial=0)) for x in (q, k)]
    largest = float(max(v.max(initial=0), -v.min(initial=0)))
    if not largest > 0:
        return False
    info = np.finfo(v.dtype)
    margin = abs(math.log(largest)) + math.log(len(v) / info.eps)
    return scale * math.prod(lengths) + margin < math.log(info.max)


def _forward(
    q: np.ndarray,
    k: np.ndarray,
    v: np.ndarray,
    added: _Added,
    scale: float,
    block: int,
    y: np.ndarray,
    log_sums: np.ndarray,
) -> None:
    """Write attention into `y`, and of each row the logarithm of its sum into `log_sums`."""
    plain = added.bias is None and _fits(q, k, v, scale)
    room = np.empty((min(block, len(q)), min(block, len(k))), q.dtype)
    part, ones = np.empty((len(room), v.shape[-1]), q.dtype), np.ones(room.shape[1], q.dtype)
    for rows, blocks in added.spans(len(q), len(k), block):
        asked, n = scale * q[rows] if plain else q[rows], rows.stop - rows.start
        y[rows], first = 0, 0 if plain else -np.inf
        state = SoftmaxState(np.full(n, first, q.dtype), np.zeros(n, q.dtype), y[rows])
        for cols in blocks:
            width = cols.stop - cols.start
            scores = np.matmul(asked, k[cols].T, out=room[:n, :width])
            if plain:  # all tops may be 0, and a block is added where the others are
                np.exp(added.to(scores, rows, cols), out=scores)
                np.add(state.total, scores @ ones[:width], out=state.total)
                np.matmul(scores, v[cols], out=part[:n])
                np.add(state.output, part[:n], out=state.output)
            else:
                scores *= scale
                state = merge_states(state, softmax_state(added.to(scores, rows, cols), v[cols]))
        total = np.where(state.total == 0, 1, state.total)
        np.divide(state.output, total[:, np.newaxis], out=y[rows])
        log_sums[rows] = state.top + np.log(state.total)


def _backward(
    q: np.ndarray,
    k: np.ndarray,
    v: np.ndarray,
    grad: np.ndarray,
    known: np.ndarray,
    added: _Added,
    scale: float,
    block: int,
    found: list[np.ndarray],
    dbias: np.ndarray | None,
) -> None:
    """Add the gradients to `found`, those of queries, keys and values, and to that of the bias."""
    (dq, dk, dv), (log_sums, met) = found, known
    for rows, blocks in added.spans(len(q), len(k), block):
        for cols in blocks:
            scores = added.to(scale * (q[rows] @ k[cols].T), rows, cols)
            weights = np.exp(scores - log_sums[rows])
            dscores = weights * (grad[rows] @ v[cols].T - met[rows])
            dq[rows] += scale * (dscores @ k[cols])
            dk[cols] += scale * (dscores.T @ q[rows])
            dv[cols] += weights.T @ grad[rows]
            if dbias is not None:
                part = dbias[_own((rows, cols), dbias.shape)]
                part += sum_to(part, dscores)


def _own(index: tuple[int | slice, ...], shape: tuple[int, ...]) -> tuple[int | slice, ...]:
    """Where an array of this shape has what it has at `index` once its axes are repeated."""
    own = index[len(index) - len(shape) :]
    first = [0 if isinstance(i, int) else slice(None) for i in own]
    return tuple(f if n == 1 else i for i, f, n in zip(own, first, shape, strict=True))
