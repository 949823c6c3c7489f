"""Multi-head latent attention (MLA): all keys and values from one latent (chapter 22)."""

import torch
from torch import Tensor

from tformer.fast._kernels import widened
from tformer.fast.attention import scale_of
from tformer.fast.groups import grouped_attention
from tformer.fast.norms import rms_norm
from tformer.fast.positions import rope
from tformer.fast.rotary import rotary_sinusoids
from tformer.fast.twins import twin
from tformer.fast.vjp import vjp
from tformer.layer_configuration import LayerConfiguration
from tformer.layers import LatentAttentionParameters, LatentCache
from tformer.parameters import NormParameters

__all__ = ["absorbed_latent_attention", "latent_attention", "latent_attention_vjp"]


@twin
def latent_attention(
    x: Tensor,
    parameters: LatentAttentionParameters,
    configuration: LayerConfiguration,
    mask: Tensor | None = None,
    positions: Tensor | None = None,
    causal: bool = False,
) -> Tensor:
    """On a CPU half precision is widened to float32."""
    c, dtype = configuration, x.dtype
    x, p = widened(x, parameters)
    q, latent, k_r = _queries_and_latents(x, p, c, positions, 0)
    latent_H = latent.unsqueeze(-3)
    k, v = latent_H @ p.w_k, latent_H @ p.w_v
    k = torch.cat([k, k_r.unsqueeze(-3).expand(*k.shape[:-1], k_r.shape[-1])], dim=-1)
    y = grouped_attention(q, k, v, mask, None, c.scale, causal)
    return (y @ p.w_o).sum(dim=-3).to(dtype)


@twin
def absorbed_latent_attention(
    x: Tensor,
    parameters: LatentAttentionParameters,
    configuration: LayerConfiguration,
    mask: Tensor | None = None,
    positions: Tensor | None = None,
    causal: bool = False,
) -> Tensor:
    """On a CPU half precision is widened to float32."""
    c, dtype = configuration, x.dtype
    x, p = widened(x, parameters)
    q, latent, k_r = _queries_and_latents(x, p, c, positions, 0)
    return _absorbed(q, latent, k_r, p, c, mask, causal, 0).to(dtype)


@twin
def latent_attention_vjp(
    x: Tensor,
    parameters: LatentAttentionParameters,
    configuration: LayerConfiguration,
    grad: Tensor,
    mask: Tensor | None = None,
    positions: Tensor | None = None,
    causal: bool = False,
) -> tuple[Tensor, LatentAttentionParameters]:
    """Computed by PyTorch's autograd from `latent_attention`."""

    def attend(x: Tensor, p: LatentAttentionParameters) -> Tensor:
        return latent_attention(x, p, configuration, mask, positions, causal)

    return vjp(attend, (x, parameters), grad)


def cached_latent_attention(
    x: Tensor,
    parameters: LatentAttentionParameters,
    configuration: LayerConfiguration,
    cache: LatentCache | None,
    mask: Tensor | None,
    positions: Tensor | None,
    causal: bool,
) -> tuple[Tensor, LatentCache]:
    """Attend, absorbed, to the cached tokens and the new ones; also return the extended cache."""
    p, c, offset = parameters, configuration, 0 if cache is None else cache.length
    q, latent, k_r = _queries_and_latents(x, p, c, positions, offset)
    if cache is not None:
        latent, k_r = torch.cat([cache.latent, latent], -2), torch.cat([cache.k, k_r], -2)
    return _absorbed(q, latent, k_r, p, c, mask, causal, offset), LatentCache(latent, k_r)


def _queries_and_latents(
    x: Tensor,
    p: LatentAttentionParameters,
    c: LayerConfiguration,
    positions: Tensor | None,
    offset: int,
) -> tuple[Tensor, Tensor, Tensor]:
    """Return queries (..., H, T, d_k + d_r), latents (..., T, d_c), shared keys (..., T, d_r)."""
    source = x if p.w_q_down is None else x @ p.w_q_down
    if p.q_gain is not None:
        source = rms_norm(source, NormParameters(p.q_gain), c.latent_eps)
    source_H = source.unsqueeze(-3)
    q, q_r, k_r = source_H @ p.w_q, source_H @ p.w_q_shared, x @ p.w_k_shared
    latent = rms_norm(x @ p.w_kv_down, NormParameters(p.kv_gain), c.latent_eps)
    sinusoids = rotary_sinusoids(x, k_r.shape[-1], c, positions, offset, whole=True)
    if c.rotary is not None and sinusoids is not None:
        q_r = rope(q_r, sinusoids.unsqueeze(-3), c.rotary.pairing)
        k_r = rope(k_r, sinusoids, c.rotary.pairing)
        q = q.expand(*q_r.shape[:-1], q.shape[-1])
        latent = latent.expand(*k_r.shape[:-1], latent.shape[-1])
    return torch.cat([q, q_r], dim=-1), latent, k_r


def _absorbed(
    q: Tensor,
    latent: Tensor,
    k_r: Tensor,
    p: LatentAttentionParameters,
    c: LayerConfiguration,
    mask: Tensor | None,
    causal: bool,
    offset: int,
) -> Tensor:
    """Attend from absorbed queries to the latents, and apply w_v and w_o to what comes out."""
    d_k = p.w_k.shape[-1]
    q_c = torch.cat([q[..., :d_k] @ p.w_k.mT, q[..., d_k:]], dim=-1)
    k = torch.cat([latent, k_r], dim=-1).unsqueeze(-3)
    scale = scale_of(q, c.scale)
    y = grouped_attention(q_c, k, latent.unsqueeze(-3), mask, None, scale, causal, offset)
    return (y @ p.w_v @ p.w_o).sum(dim=-3)
