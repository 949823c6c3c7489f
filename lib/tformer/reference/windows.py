"""Pooled windows: whole windows of tokens become one row each (chapter 22)."""

from typing import NamedTuple

import numpy as np

from tformer.parameters import NormParameters
from tformer.reference.attention import sum_to
from tformer.reference.norms import rms_norm, rms_norm_vjp
from tformer.reference.positions import rope, rope_vjp
from tformer.reference.softmax import softmax, softmax_vjp

Table = np.ndarray | None


class Pooled(NamedTuple):
    """Rows of windows, before their norm, and what their gradient needs."""

    rows: np.ndarray
    """(..., W, d)"""
    values: np.ndarray
    """(..., W, n_series * n_window, d)"""
    weights: np.ndarray


def pool(kv: np.ndarray, logits: np.ndarray, bias: np.ndarray, order: Table) -> Pooled:
    """Pool windows of tokens: for each coordinate a softmax over the tokens of a window.

    kv and logits (..., n_series, S, d) are those of tokens, bias (n_series, n_window, d) is added
    by the place in the window. The last series is pooled into a token's own window, the one before
    it into the next window, and so on. Tokens after the last whole window are left out.
    """
    n_window = bias.shape[-2]
    values = _beside([*_of_windows(in_order(kv, order), n_window)], 0.0)
    bias = bias[:, np.newaxis]
    scores = _beside([*_of_windows(in_order(logits, order), n_window, bias)], -np.inf)
    weights = softmax(scores, axis=-2)
    return Pooled(np.sum(weights * values, axis=-2), values, weights)


def pool_vjp(
    kv: np.ndarray,
    bias: np.ndarray,
    order: Table,
    pooled: Pooled,
    grad: np.ndarray,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the gradients of kv, of the logits and of the bias, for `pool`."""
    grad = grad[..., np.newaxis, :]
    dscores = softmax_vjp(pooled.weights, grad * pooled.values, axis=-2)
    dvalues, dlogits = (
        np.stack(_beside_vjp(x, len(bias)), axis=-4) for x in (grad * pooled.weights, dscores)
    )
    dbias = sum_to(bias[:, np.newaxis], dlogits)[:, 0]
    n_tokens = kv.shape[-2]
    dkv, dlogits = (_of_tokens(x, n_tokens) for x in (dvalues, dlogits))
    back = None if order is None else np.argsort(order, axis=-1)
    return in_order(dkv, back), in_order(dlogits, back), dbias


def normed_rows(
    rows: np.ndarray, gain: np.ndarray, eps: float, turns: Table, pairing: str
) -> np.ndarray:
    """Norm rows and rotate their last coordinates."""
    return rotate_last(rms_norm(rows, NormParameters(gain), eps), turns, pairing)


def normed_rows_vjp(
    rows: np.ndarray,
    gain: np.ndarray,
    eps: float,
    turns: Table,
    pairing: str,
    grad: np.ndarray,
) -> tuple[np.ndarray, np.ndarray | None]:
    """Return the gradients of the rows and of the gain, for `normed_rows`."""
    grad = rotate_last_vjp(grad, turns, pairing)
    drows, dnorm = rms_norm_vjp(rows, NormParameters(gain), grad, eps)
    return drows, dnorm.gain


def rotate_last(x: np.ndarray, turns: Table, pairing: str) -> np.ndarray:
    """Rotate the last coordinates of x, as many as there are sinusoids; the rest stays."""
    if turns is None:
        return x
    n = x.shape[-1] - turns.shape[-1]
    return joined(x[..., :n], rope(x[..., n:], turns, pairing), -1)


def rotate_last_vjp(grad: np.ndarray, turns: Table, pairing: str) -> np.ndarray:
    """Compute the vector-Jacobian product of `rotate_last`: it also undoes the rotation."""
    if turns is None:
        return grad
    n = grad.shape[-1] - turns.shape[-1]
    return joined(grad[..., :n], rope_vjp(turns, grad[..., n:], pairing), -1)


def tokens_first(valid: Table) -> Table:
    """Return the order (..., S) of tokens in which left padding comes last; None without any."""
    if valid is None:
        return None
    n_tokens = valid.shape[-1]
    return (np.arange(n_tokens) + np.sum(~valid, axis=-1, keepdims=True)) % max(n_tokens, 1)


def in_order(x: np.ndarray, order: Table) -> np.ndarray:
    """Return the tokens of x (..., n_series, S, d) in an order (..., S)."""
    if order is None:
        return x
    leading = np.broadcast_shapes(x.shape[:-3], order.shape[:-1])
    order = np.broadcast_to(order, (*leading, order.shape[-1]))[..., np.newaxis, :, np.newaxis]
    return np.take_along_axis(np.broadcast_to(x, (*leading, *x.shape[-3:])), order, axis=-2)


def joined(first: np.ndarray, second: np.ndarray, axis: int) -> np.ndarray:
    """Concatenate along the last axis or that before it; the other axes broadcast."""
    shapes = [list(x.shape) for x in (first, second)]
    sizes = [shape.pop(axis) for shape in shapes]
    common = list(np.broadcast_shapes(*map(tuple, shapes)))
    at = len(common) + 1 + axis
    wide = [(*common[:at], size, *common[at:]) for size in sizes]
    return np.concatenate(
        [np.broadcast_to(x, shape) for x, shape in zip((first, second), wide, strict=True)], axis
    )


def _of_windows(x: np.ndarray, n_window: int, bias: np.ndarray | float = 0.0) -> list[np.ndarray]:
    """Return the rows (..., W, n_window, d) of each series, by windows."""
    n = x.shape[-2] // n_window
    rows = x[..., : n * n_window, :].reshape(*x.shape[:-2], n, n_window, x.shape[-1]) + bias
    return [rows[..., i, :, :, :] for i in range(x.shape[-3])]


def _of_tokens(x: np.ndarray, n_tokens: int) -> np.ndarray:
    """Return rows of windows (..., W, n_window, d) as rows of tokens, with zeros for the rest."""
    rows = x.reshape(*x.shape[:-3], x.shape[-3] * x.shape[-2], x.shape[-1])
    rest = np.zeros((*rows.shape[:-2], n_tokens - rows.shape[-2], rows.shape[-1]), x.dtype)
    return np.concatenate([rows, rest], axis=-2)


def _beside(series: list[np.ndarray], none: float) -> np.ndarray:
    """Lay the rows that each window is pooled from beside each other: (..., W, n, d)."""
    late = reversed(range(len(series)))
    return np.concatenate([_later(x, k, none) for k, x in zip(late, series, strict=True)], -2)


def _beside_vjp(grad: np.ndarray, n_series: int) -> list[np.ndarray]:
    late, parts = reversed(range(n_series)), np.split(grad, n_series, axis=-2)
    return [_earlier(x, k) for k, x in zip(late, parts, strict=True)]


def _later(x: np.ndarray, k: int, none: float) -> np.ndarray:
    """Move windows (..., W, n_window, d) by k places, after windows of `none`."""
    n = max(x.shape[-3] - k, 0)
    return np.concatenate([np.full_like(x[..., n:, :, :], none), x[..., :n, :, :]], axis=-3)


def _earlier(grad: np.ndarray, k: int) -> np.ndarray:
    """Compute the vector-Jacobian product of `_later`."""
    n = max(grad.shape[-3] - k, 0)
    first = grad.shape[-3] - n
    none = np.zeros_like(grad[..., :first, :, :])
    return np.concatenate([grad[..., first:, :, :], none], axis=-3)
