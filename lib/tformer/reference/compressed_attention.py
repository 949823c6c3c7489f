"""Compressed attention: keys that are values, and whole windows as one of them (chapter 22)."""

from typing import Any, NamedTuple

import numpy as np

from tformer.layer_checks import require_windows
from tformer.layer_configuration import LayerConfiguration
from tformer.layers import CompressedAttentionParameters, CompressedCache
from tformer.parameters import NormParameters, tree_map
from tformer.reference.attention import sum_to
from tformer.reference.equation import equation
from tformer.reference.experts import largest
from tformer.reference.feed_forward import linear_vjp
from tformer.reference.masks import causal_mask, without_padding
from tformer.reference.norms import rms_norm, rms_norm_vjp
from tformer.reference.projections import heads_vjp
from tformer.reference.rotary import rotary_sinusoids
from tformer.reference.sinks import sink_attention, sink_attention_vjp
from tformer.reference.windows import (
    Pooled,
    in_order,
    joined,
    normed_rows,
    normed_rows_vjp,
    pool,
    pool_vjp,
    rotate_last,
    rotate_last_vjp,
    tokens_first,
)

__all__ = ["compressed_attention", "compressed_attention_vjp"]

Table = np.ndarray | None
NO_GAIN = NormParameters()


class Steps(NamedTuple):
    """What is computed on the way to the output of the heads."""

    turns: Table
    latent: np.ndarray
    queries: np.ndarray
    keys: np.ndarray
    seen: np.ndarray
    order: Table
    pooled: Pooled | None
    pooled_turns: Table
    cache: CompressedCache


@equation
def compressed_attention(
    x: np.ndarray,
    parameters: CompressedAttentionParameters,
    configuration: LayerConfiguration,
    mask: np.ndarray | None = None,
    valid: np.ndarray | None = None,
    positions: np.ndarray | None = None,
) -> np.ndarray:
    """Compute causal attention to single tokens, and to windows of tokens pooled into a row each.

    Parameters
    ----------
    x : (..., T, d_model) array
        Hidden states.
    parameters : CompressedAttentionParameters
    configuration : LayerConfiguration
        Its rotary, scale, eps and index_top_k; the scale is 1/√d_k if omitted.
    mask : (..., T or 1, T or 1) boolean array, optional
        True where token t may attend to token s, if s is not later; it hides no pooled window.
    valid : (..., T) boolean array, optional
        False at left padding, which is in no pooled window, and which no token attends to.
    positions : (..., T) integer array, optional
        Position of each token; 0, 1, 2, … if omitted. That of a window is its first token's.

    Returns
    -------
    (..., T, d_model) array
        A token reads a window from the window's last token on; with an indexer, those it chooses.

    Raises
    ------
    ValueError
        If some arrays of windows or of an indexer are missing, or an indexer has no index_top_k.
    ShapeError
        If windows have no tokens, or queries of an indexer fewer coordinates than are rotated.

    Notes
    -----
    Equation eq-compressed-attention; [deepseek2026], sections 2.3.1 and 2.3.2, where it is called
    compressed sparse attention with an indexer, and heavily compressed attention without.
    """
    require_windows("compressed_attention", parameters, configuration)
    options = without_padding(mask, valid), valid, positions
    return cached_compressed_attention(x, parameters, configuration, None, *options)[0]


@equation
def compressed_attention_vjp(
    x: np.ndarray,
    parameters: CompressedAttentionParameters,
    configuration: LayerConfiguration,
    grad: np.ndarray,
    mask: np.ndarray | None = None,
    valid: np.ndarray | None = None,
    positions: np.ndarray | None = None,
) -> tuple[np.ndarray, CompressedAttentionParameters]:
    """Compute the vector-Jacobian product of `compressed_attention`.

    Parameters
    ----------
    x : (..., T, d_model) array
        Hidden states.
    parameters : CompressedAttentionParameters
    configuration : LayerConfiguration
        Its rotary, scale, eps and index_top_k; the scale is 1/√d_k if omitted.
    grad : (..., T, d_model) array
        Gradient of a loss with respect to what `compressed_attention` returned.
    mask : (..., T or 1, T or 1) boolean array, optional
        True where token t may attend to token s, if s is not later; it hides no pooled window.
    valid : (..., T) boolean array, optional
        False at left padding, which is in no pooled window, and which no token attends to.
    positions : (..., T) integer array, optional
        Position of each token; 0, 1, 2, … if omitted. That of a window is its first token's.

    Returns
    -------
    dx : (..., T, d_model) array
        Each gradient has the shape of its argument: broadcast axes are summed over.
    dparameters : CompressedAttentionParameters
        Zeros for an indexer: which windows are chosen counts as fixed.

    Raises
    ------
    ValueError
        If some arrays of windows or of an indexer are missing, or an indexer has no index_top_k.
    ShapeError
        If windows have no tokens, or queries of an indexer fewer coordinates than are rotated.

    Notes
    -----
    Equation eq-compressed-attention-vjp; the derivatives of [deepseek2026], section 2.3.
    """
    require_windows("compressed_attention_vjp", parameters, configuration)
    p, c = parameters, configuration
    made = _steps(x, p, c, None, without_padding(mask, valid), valid, positions)
    options = (p.sinks, made.seen, c.scale)
    y = sink_attention(made.queries, made.keys, made.keys, *options)
    dy, dw_o_down, dw_o = _merged_vjp(_turned_back(y, made.turns, c), p, grad)
    dy = rotate_last(dy, _of_heads(made.turns), _pairing(c))
    dq, dk, dv, dsinks = sink_attention_vjp(made.queries, made.keys, made.keys, dy, *options)
    drows = (dk + dv)[..., 0, :, :]
    n_tokens = x.shape[-2]
    dx, grads = _queries_vjp(x, p, c, made, dq)
    rows = x @ p.w_kv
    dkv, grads["kv_gain"] = normed_rows_vjp(
        rows, p.kv_gain, c.eps, made.turns, _pairing(c), drows[..., :n_tokens, :]
    )
    more, grads["w_kv"], _ = linear_vjp(x, p.w_kv, None, dkv)
    dx = dx + more
    if made.pooled is not None:
        dx = dx + _windows_vjp(x, p, c, made, drows[..., n_tokens:, :], grads)
    zeros: dict[str, Any] = tree_map(np.zeros_like, vars(p))
    grads |= {"w_o_down": dw_o_down, "w_o": dw_o, "sinks": dsinks}
    return sum_to(x, dx), CompressedAttentionParameters(**zeros | grads)


def cached_compressed_attention(
    x: np.ndarray,
    p: CompressedAttentionParameters,
    c: LayerConfiguration,
    cache: CompressedCache | None,
    mask: Table,
    valid: Table,
    positions: Table,
) -> tuple[np.ndarray, CompressedCache]:
    """Attend causally to tokens and, where there are any, to pooled windows; extend the cache.

    mask, valid and positions are for all tokens, cached ones first. A window is read from its last
    token on; its position is that of its first token, and left padding is in no window. The mask
    says nothing of windows.
    """
    made = _steps(x, p, c, cache, mask, valid, positions)
    y = sink_attention(made.queries, made.keys, made.keys, p.sinks, made.seen, c.scale)
    return _merged(_turned_back(y, made.turns, c), p), made.cache


def _steps(
    x: np.ndarray,
    p: CompressedAttentionParameters,
    c: LayerConfiguration,
    cache: CompressedCache | None,
    mask: Table,
    valid: Table,
    positions: Table,
) -> Steps:
    offset = 0 if cache is None else cache.length
    turns = rotary_sinusoids(x, p.w_kv.shape[-1], c, positions, offset)
    latent = rms_norm(x @ p.w_q_down, NormParameters(p.q_gain), c.eps)
    q = rms_norm(latent[..., np.newaxis, :, :] @ p.w_q, NO_GAIN, c.eps)
    q = rotate_last(q, _of_heads(turns), _pairing(c))
    cache = _extended(cache, x, normed_rows(x @ p.w_kv, p.kv_gain, c.eps, turns, _pairing(c)), p)
    past = causal_mask(x.shape[-2], cache.length, offset)
    seen = past if mask is None else mask & past
    if p.b_pool is None:
        keys = cache.kv[..., np.newaxis, :, :]
        return Steps(turns, latent, q, keys, seen, None, None, None, cache)
    order, n_window = tokens_first(valid), p.b_pool.shape[-2]
    pooled = pool(cache.pool_kv, cache.pool, p.b_pool, order)
    at = _first_positions(cache.length, positions, order, n_window)
    pooled_turns = rotary_sinusoids(x, p.w_kv.shape[-1], c, at, 0)
    rows = normed_rows(pooled.rows, p.pool_gain, c.eps, pooled_turns, _pairing(c))
    is_open = _open(offset, cache.length, valid, n_window)
    if p.w_index_q is not None:
        is_open = is_open & _chosen(x, latent, p, c, cache, order, turns, pooled_turns, is_open)
    keys = joined(cache.kv, rows, -2)[..., np.newaxis, :, :]
    seen = joined(seen, is_open, -1)
    return Steps(turns, latent, q, keys, seen, order, pooled, pooled_turns, cache)


def _extended(
    cache: CompressedCache | None,
    x: np.ndarray,
    kv: np.ndarray,
    p: CompressedAttentionParameters,
) -> CompressedCache:
    """Return the cache with what is computed from the new tokens x."""
    x_series = x[..., np.newaxis, :, :]
    series = (p.w_pool_kv, p.w_pool, p.w_index_kv, p.w_index_pool)
    new = CompressedCache(kv, *(None if w is None else x_series @ w for w in series))
    if cache is None:
        return new
    return tree_map(lambda old, new: joined(old, new, -2), cache, new)


def _first_positions(n_tokens: int, positions: Table, order: Table, n_window: int) -> np.ndarray:
    """Return the position of the first token of each window."""
    at = np.arange(n_tokens) if positions is None else positions
    if order is not None:
        at = in_order(at[..., np.newaxis, :, np.newaxis], order)[..., 0, :, 0]
    return at[..., : n_tokens // n_window * n_window : n_window]


def _open(offset: int, n_tokens: int, valid: Table, n_window: int) -> np.ndarray:
    """Return True where a new token has all tokens of a window before it, or is its last one."""
    at = np.arange(offset, n_tokens)
    at = at if valid is None else at - np.sum(~valid, axis=-1, keepdims=True)
    return np.arange(n_tokens // n_window) < (at[..., np.newaxis] + 1) // n_window


def _chosen(
    x: np.ndarray,
    latent: np.ndarray,
    p: CompressedAttentionParameters,
    c: LayerConfiguration,
    cache: CompressedCache,
    order: Table,
    turns: Table,
    pooled_turns: Table,
    is_open: np.ndarray,
) -> np.ndarray:
    """Return True for the windows (..., T, W) that the indexer chooses, of those that are open."""
    n_heads, d_i = max(p.w_index_q.shape[0], 1), p.w_index_q.shape[-1]
    q = rotate_last(latent[..., np.newaxis, :, :] @ p.w_index_q, _of_heads(turns), _pairing(c))
    pooled = pool(cache.index_kv, cache.index_pool, p.b_index_pool, order)
    k = normed_rows(pooled.rows, p.index_gain, c.eps, pooled_turns, _pairing(c))
    scores = np.maximum(q @ k[..., np.newaxis, :, :].mT, 0) * d_i**-0.5
    weights = (x @ p.w_index * n_heads**-0.5).mT[..., np.newaxis]
    scores = np.where(is_open, np.sum(weights * scores, axis=-3), -np.inf)
    return largest(scores, c.index_top_k or 0)


def _merged(y: np.ndarray, p: CompressedAttentionParameters) -> np.ndarray:
    """Add the outputs of the heads in each group, and then those of the groups."""
    return np.sum(_of_groups(y, p) @ p.w_o, axis=-3)


def _of_groups(y: np.ndarray, p: CompressedAttentionParameters) -> np.ndarray:
    """Return the sum of each group of heads: (..., n_groups, T, d_c)."""
    z, n = y @ p.w_o_down, p.w_o.shape[0]
    return z.reshape(*z.shape[:-3], n, z.shape[-3] // n, *z.shape[-2:]).sum(axis=-3)


def _merged_vjp(
    y: np.ndarray, p: CompressedAttentionParameters, grad: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the gradients of y, w_o_down and w_o, for `_merged`."""
    dgroups, dw_o = heads_vjp(_of_groups(y, p), p.w_o, grad[..., np.newaxis, :, :])
    size = y.shape[-3] // p.w_o.shape[0]
    dy, dw_o_down = heads_vjp(y, p.w_o_down, np.repeat(dgroups, size, axis=-3))
    return dy, dw_o_down, dw_o


def _queries_vjp(
    x: np.ndarray,
    p: CompressedAttentionParameters,
    c: LayerConfiguration,
    made: Steps,
    grad: np.ndarray,
) -> tuple[np.ndarray, dict[str, Any]]:
    """Return the gradients of x and of the arrays that queries are computed with."""
    latent_H = made.latent[..., np.newaxis, :, :]
    dnormed = rotate_last_vjp(grad, _of_heads(made.turns), _pairing(c))
    dq, _ = rms_norm_vjp(latent_H @ p.w_q, NO_GAIN, dnormed, c.eps)
    dlatent_H, dw_q = heads_vjp(latent_H, p.w_q, dq)
    norm = NormParameters(p.q_gain)
    ddown, dnorm = rms_norm_vjp(x @ p.w_q_down, norm, dlatent_H[..., 0, :, :], c.eps)
    dx, dw_q_down, _ = linear_vjp(x, p.w_q_down, None, ddown)
    return dx, {"w_q": dw_q, "w_q_down": dw_q_down, "q_gain": dnorm.gain}


def _windows_vjp(
    x: np.ndarray,
    p: CompressedAttentionParameters,
    c: LayerConfiguration,
    made: Steps,
    grad: np.ndarray,
    grads: dict[str, Any],
) -> np.ndarray:
    """Return the gradient of x through the pooled windows; keep those of their arrays."""
    pooled: Any = made.pooled
    turns, pairing = made.pooled_turns, _pairing(c)
    drows, grads["pool_gain"] = normed_rows_vjp(
        pooled.rows, p.pool_gain, c.eps, turns, pairing, grad
    )
    dkv, dlogits, grads["b_pool"] = pool_vjp(
        made.cache.pool_kv, p.b_pool, made.order, pooled, drows
    )
    x_series = x[..., np.newaxis, :, :]
    dx_kv, grads["w_pool_kv"] = heads_vjp(x_series, p.w_pool_kv, dkv)
    dx_pool, grads["w_pool"] = heads_vjp(x_series, p.w_pool, dlogits)
    return (dx_kv + dx_pool)[..., 0, :, :]


def _turned_back(y: np.ndarray, turns: Table, c: LayerConfiguration) -> np.ndarray:
    """Undo the rotation of values by the position of the query that reads them."""
    return rotate_last_vjp(y, _of_heads(turns), _pairing(c))


def _of_heads(turns: Table) -> Table:
    return None if turns is None else turns[..., np.newaxis, :, :]


def _pairing(c: LayerConfiguration) -> str:
    return "half" if c.rotary is None else c.rotary.pairing
