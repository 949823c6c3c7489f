"""Compressed attention: keys that are values, and whole windows as one of them (chapter 22)."""

import torch
from torch import Tensor
from torch.nn.functional import pad

from tformer.fast._kernels import widened
from tformer.fast.experts import largest
from tformer.fast.masks import causal_mask_on, without_padding
from tformer.fast.norms import rms_norm
from tformer.fast.positions import rope
from tformer.fast.rotary import rotary_sinusoids
from tformer.fast.sinks import sink_attention
from tformer.fast.softmax import softmax
from tformer.fast.twins import twin
from tformer.fast.vjp import vjp
from tformer.layer_checks import require_windows
from tformer.layer_configuration import LayerConfiguration
from tformer.layers import CompressedAttentionParameters, CompressedCache
from tformer.parameters import NormParameters, tree_map

__all__ = ["compressed_attention", "compressed_attention_vjp"]


@twin
def compressed_attention(
    x: Tensor,
    parameters: CompressedAttentionParameters,
    configuration: LayerConfiguration,
    mask: Tensor | None = None,
    valid: Tensor | None = None,
    positions: Tensor | None = None,
) -> Tensor:
    """On a CPU half precision is widened to float32."""
    require_windows("compressed_attention", parameters, configuration)
    dtype = x.dtype
    x, p = widened(x, parameters)
    options = without_padding(mask, valid), valid, positions
    return cached_compressed_attention(x, p, configuration, None, *options)[0].to(dtype)


@twin
def compressed_attention_vjp(
    x: Tensor,
    parameters: CompressedAttentionParameters,
    configuration: LayerConfiguration,
    grad: Tensor,
    mask: Tensor | None = None,
    valid: Tensor | None = None,
    positions: Tensor | None = None,
) -> tuple[Tensor, CompressedAttentionParameters]:
    """Computed by PyTorch's autograd from `compressed_attention`."""
    require_windows("compressed_attention_vjp", parameters, configuration)

    def attend(x: Tensor, p: CompressedAttentionParameters) -> Tensor:
        return compressed_attention(x, p, configuration, mask, valid, positions)

    return vjp(attend, (x, parameters), grad)


def cached_compressed_attention(
    x: Tensor,
    p: CompressedAttentionParameters,
    c: LayerConfiguration,
    cache: CompressedCache | None,
    mask: Tensor | None,
    valid: Tensor | None,
    positions: Tensor | None,
) -> tuple[Tensor, CompressedCache]:
    """Attend causally to tokens and, where there are any, to pooled windows; extend the cache.

    mask, valid and positions are for all tokens, cached ones first. A window is read from its last
    token on; its position is that of its first token, and left padding is in no window. The mask
    says nothing of windows.
    """
    offset = 0 if cache is None else cache.length
    turns = rotary_sinusoids(x, p.w_kv.shape[-1], c, positions, offset)
    latent = rms_norm(x @ p.w_q_down, NormParameters(p.q_gain), c.eps)
    q = rms_norm(latent.unsqueeze(-3) @ p.w_q, NormParameters(), c.eps)
    q = _rotated(q, _of_heads(turns), c)
    cache = _extended(cache, x, _normed(x @ p.w_kv, p.kv_gain, turns, c), p)
    seen, keys = causal_mask_on(x.shape[-2], cache.length, offset, x.device), cache.kv
    seen = seen if mask is None else mask & seen
    if p.b_pool is not None:
        order, n_window = _tokens_first(valid), p.b_pool.shape[-2]
        at = _first_positions(cache.length, positions, order, n_window, x.device)
        pooled_turns = rotary_sinusoids(x, p.w_kv.shape[-1], c, at, 0)
        rows = _pooled(cache.pool_kv, cache.pool, p.b_pool, order)
        rows = _normed(rows, p.pool_gain, pooled_turns, c)
        is_open = _open(offset, cache.length, valid, n_window, x.device)
        if p.w_index_q is not None:
            k = _pooled(cache.index_kv, cache.index_pool, p.b_index_pool, order)
            k = _normed(k, p.index_gain, pooled_turns, c)
            is_open = is_open & _chosen(x, latent, k, p, c, turns, is_open)
        keys, seen = _joined(keys, rows, -2), _joined(seen, is_open, -1)
    keys = keys.unsqueeze(-3)
    y = _turned_back(sink_attention(q, keys, keys, p.sinks, seen, c.scale), turns, c)
    groups = (y @ p.w_o_down).unflatten(-3, (p.w_o.shape[0], -1)).sum(dim=-3)
    return (groups @ p.w_o).sum(dim=-3), cache


def _extended(
    cache: CompressedCache | None, x: Tensor, kv: Tensor, p: CompressedAttentionParameters
) -> CompressedCache:
    """Return the cache with what is computed from the new tokens x."""
    series = (p.w_pool_kv, p.w_pool, p.w_index_kv, p.w_index_pool)
    new = CompressedCache(kv, *(None if w is None else x.unsqueeze(-3) @ w for w in series))
    return new if cache is None else tree_map(lambda a, b: _joined(a, b, -2), cache, new)


def _pooled(kv: Tensor, logits: Tensor, bias: Tensor, order: Tensor | None) -> Tensor:
    """Pool windows of tokens, for each coordinate by itself, as in the definition."""
    n_series, n_window, _ = bias.shape
    values, scores = [], []
    for i in range(n_series):
        late = n_series - 1 - i
        one, other = (
            _of_windows(_in_order(x[..., i, :, :], order), n_window) for x in (kv, logits)
        )
        values.append(_later(one, late, 0.0))
        scores.append(_later(other + bias[i], late, -torch.inf))
    weights = softmax(torch.cat(scores, dim=-2), axis=-2)
    return (weights * torch.cat(values, dim=-2)).sum(dim=-2)


def _of_windows(x: Tensor, n_window: int) -> Tensor:
    n = x.shape[-2] // n_window
    return x[..., : n * n_window, :].unflatten(-2, (n, n_window))


def _later(x: Tensor, k: int, none: float) -> Tensor:
    """Move windows (..., W, n_window, d) by k places, after windows of `none`."""
    k = min(k, x.shape[-3])
    return pad(x[..., : x.shape[-3] - k, :, :], (0, 0, 0, 0, k, 0), value=none)


def _chosen(
    x: Tensor,
    latent: Tensor,
    k: Tensor,
    p: CompressedAttentionParameters,
    c: LayerConfiguration,
    turns: Tensor | None,
    is_open: Tensor,
) -> Tensor:
    """Return True for the windows (..., T, W) that the indexer chooses, of those that are open."""
    n_heads, d_i = max(p.w_index_q.shape[0], 1), p.w_index_q.shape[-1]
    q = _rotated(latent.unsqueeze(-3) @ p.w_index_q, _of_heads(turns), c)
    scores = torch.relu(q @ k.unsqueeze(-3).mT) * d_i**-0.5
    weights = (x @ p.w_index * n_heads**-0.5).mT.unsqueeze(-1)
    scores = (weights * scores).sum(dim=-3).detach()
    return largest(torch.where(is_open, scores, -torch.inf), c.index_top_k or 0)


def _first_positions(
    n_tokens: int,
    positions: Tensor | None,
    order: Tensor | None,
    n_window: int,
    device: torch.device,
) -> Tensor:
    """Return the position of the first token of each window."""
    at = torch.arange(n_tokens, device=device) if positions is None else positions
    at = _in_order(at.unsqueeze(-1), order).squeeze(-1)
    return at[..., : n_tokens // n_window * n_window : n_window]


def _open(
    offset: int, n_tokens: int, valid: Tensor | None, n_window: int, device: torch.device
) -> Tensor:
    """Return True where a new token has all tokens of a window before it, or is its last one."""
    at = torch.arange(offset, n_tokens, device=device)
    at = at if valid is None else at - (~valid).sum(dim=-1, keepdim=True)
    windows = torch.arange(n_tokens // n_window, device=device)
    return windows < ((at + 1) // n_window).unsqueeze(-1)


def _tokens_first(valid: Tensor | None) -> Tensor | None:
    """Return the order (..., S) of tokens in which left padding comes last; None without any."""
    if valid is None:
        return None
    n_tokens = valid.shape[-1]
    at = torch.arange(n_tokens, device=valid.device)
    return (at + (~valid).sum(dim=-1, keepdim=True)) % max(n_tokens, 1)


def _in_order(x: Tensor, order: Tensor | None) -> Tensor:
    """Return the tokens of x (..., S, d) in an order (..., S)."""
    if order is None:
        return x
    leading = torch.broadcast_shapes(x.shape[:-2], order.shape[:-1])
    order = order.expand(*leading, order.shape[-1]).unsqueeze(-1)
    return torch.take_along_dim(x.expand(*leading, *x.shape[-2:]), order, dim=-2)


def _joined(first: Tensor, second: Tensor, axis: int) -> Tensor:
    """Concatenate along the last axis or that before it; the other axes broadcast."""
    first, second = (x.movedim(axis, -1) for x in (first, second))
    common = torch.broadcast_shapes(first.shape[:-1], second.shape[:-1])
    both = [x.expand(*common, x.shape[-1]) for x in (first, second)]
    return torch.cat(both, dim=-1).movedim(-1, axis)


def _normed(rows: Tensor, gain: Tensor, turns: Tensor | None, c: LayerConfiguration) -> Tensor:
    """Norm rows and rotate their last coordinates."""
    return _rotated(rms_norm(rows, NormParameters(gain), c.eps), turns, c)


def _rotated(x: Tensor, turns: Tensor | None, c: LayerConfiguration) -> Tensor:
    """Rotate the last coordinates of x, as many as there are sinusoids; the rest stays."""
    if turns is None or c.rotary is None:
        return x
    n = x.shape[-1] - turns.shape[-1]
    return _joined(x[..., :n], rope(x[..., n:], turns, c.rotary.pairing), -1)


def _turned_back(y: Tensor, turns: Tensor | None, c: LayerConfiguration) -> Tensor:
    """Undo the rotation of values by the position of the query that reads them."""
    if turns is None:
        return y
    back = torch.stack([-turns[..., 0::2], turns[..., 1::2]], dim=-1).flatten(-2)
    return _rotated(y, _of_heads(back), c)


def _of_heads(turns: Tensor | None) -> Tensor | None:
    return None if turns is None else turns.unsqueeze(-3)
