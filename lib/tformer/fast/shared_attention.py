"""Attention with shared keys and values: keys as values, or an earlier layer's (chapter 22)."""

from torch import Tensor

from tformer.fast.extended_attention import cached_attention, ready_keys, ready_queries
from tformer.fast.projections import project
from tformer.fast.sinks import sink_attention
from tformer.layer_configuration import LayerConfiguration
from tformer.layers import AttentionParameters, SharedAttentionParameters
from tformer.parameters import HeadParameters, KVCache


def cached_shared_attention(
    x: Tensor,
    p: SharedAttentionParameters,
    c: LayerConfiguration,
    cache: KVCache | None,
    mask: Tensor | None,
    positions: Tensor | None,
    kv: KVCache | None,
) -> tuple[Tensor, KVCache | None]:
    """Attend causally to own keys, which are the values too, or to those that are borrowed."""
    if p.w_k is not None:
        return cached_attention(x, as_attention(p), c, cache, mask, positions, True)
    if kv is None:
        raise ValueError("layer: kv must be given where keys and values are borrowed; got None")
    offset = kv.length - x.shape[-2]
    q = ready_queries(x, x.unsqueeze(-3) @ p.w_q, p.q_gain, c, positions, offset)
    y = sink_attention(q, kv.k, kv.v, None, mask, c.scale, c.cap, True, offset)
    return (y @ p.w_o).sum(dim=-3), None


def lent(
    x: Tensor,
    p: AttentionParameters | SharedAttentionParameters,
    c: LayerConfiguration,
    positions: Tensor | None,
) -> KVCache:
    """Return the keys and values of the tokens x, as the layers that borrow them take them."""
    p = as_attention(p)
    _, k, v = project(x, p.heads)
    return KVCache(*ready_keys(x, k, v, p.k_gain, c, positions, 0))


def as_attention(p: AttentionParameters | SharedAttentionParameters) -> AttentionParameters:
    """Return shared attention as attention: its keys, before norm and RoPE, are its values."""
    if isinstance(p, AttentionParameters):
        return p
    return AttentionParameters(HeadParameters(p.w_q, p.w_k, p.w_k, p.w_o), p.q_gain, p.k_gain)
