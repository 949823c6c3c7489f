"""The gated delta net and the gated short convolution as mixers of a layer (chapter 22)."""

import math
from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn.functional import silu, softplus

from tformer.fast._kernels import widened
from tformer.fast.delta_rule import chunked_gated_delta_rule, gated_delta_rule, short_convolution
from tformer.fast.norms import rms_norm
from tformer.fast.twins import twin
from tformer.fast.vjp import vjp
from tformer.layer_configuration import LayerConfiguration
from tformer.layers import (
    ConvolutionCache,
    ConvolutionParameters,
    DeltaNetCache,
    DeltaNetParameters,
)
from tformer.parameters import NormParameters

__all__ = ["delta_net", "delta_net_vjp", "gated_convolution", "gated_convolution_vjp"]

UNIT_EPS = 1e-6
"""As in the definition."""
GATES: dict[str, Callable[[Tensor], Tensor]] = {"sigmoid": torch.sigmoid, "silu": silu}


@twin
def delta_net(
    x: Tensor,
    parameters: DeltaNetParameters,
    configuration: LayerConfiguration,
    valid: Tensor | None = None,
) -> Tensor:
    """Computed in chunks. On a CPU half precision is widened to float32."""
    dtype = x.dtype
    x, p = widened(x, parameters)
    return cached_delta_net(x, p, configuration, None, valid)[0].to(dtype)


@twin
def delta_net_vjp(
    x: Tensor,
    parameters: DeltaNetParameters,
    configuration: LayerConfiguration,
    grad: Tensor,
    valid: Tensor | None = None,
) -> tuple[Tensor, DeltaNetParameters]:
    """Computed by PyTorch's autograd from `delta_net`."""
    return vjp(lambda x, p: delta_net(x, p, configuration, valid), (x, parameters), grad)


def cached_delta_net(
    x: Tensor,
    parameters: DeltaNetParameters,
    configuration: LayerConfiguration,
    cache: DeltaNetCache | None,
    valid: Tensor | None,
) -> tuple[Tensor, DeltaNetCache]:
    """Apply a gated delta net to the tokens after those in the cache; also return the new cache."""
    p, c, x = parameters, configuration, _tokens_only(x, valid)
    x_H, size, found, tails = x.unsqueeze(-3), p.w_v.shape[0] // p.w_q.shape[0], {}, list[Tensor]()
    for name in "qkv":
        earlier = None if cache is None else getattr(cache, name)
        rows, kernel = x_H @ getattr(p, f"w_{name}"), getattr(p, f"kernel_{name}")
        convolved, tail = short_convolution(rows, kernel, earlier)
        found[name], tails = silu(convolved), [*tails, tail]
    q, k = (_unit(found[name]).repeat_interleave(size, dim=-3) for name in "qk")
    decay_source = x if p.w_decay_down is None else x @ p.w_decay_down
    raw = decay_source.unsqueeze(-3) @ p.w_decay + p.b_decay.unsqueeze(-2)
    log_decay = -p.log_rate.exp()[:, None, None] * softplus(raw)
    beta = torch.sigmoid(x @ p.w_beta).mT
    rule = gated_delta_rule if x.shape[-2] == 1 else chunked_gated_delta_rule
    state = None if cache is None else cache.state
    y, state = rule(q / math.sqrt(max(q.shape[-1], 1)), k, found["v"], log_decay, beta, state)
    gate_source = x if p.w_gate_down is None else x @ p.w_gate_down
    gate = GATES[c.gate](gate_source.unsqueeze(-3) @ p.w_gate)
    y = rms_norm(y, NormParameters(p.gain), c.eps) * gate
    return (y @ p.w_o).sum(dim=-3), DeltaNetCache(state, *tails)


@twin
def gated_convolution(
    x: Tensor, parameters: ConvolutionParameters, valid: Tensor | None = None
) -> Tensor:
    """On a CPU half precision is widened to float32."""
    dtype = x.dtype
    x, p = widened(x, parameters)
    return cached_gated_convolution(x, p, None, valid)[0].to(dtype)


@twin
def gated_convolution_vjp(
    x: Tensor, parameters: ConvolutionParameters, grad: Tensor, valid: Tensor | None = None
) -> tuple[Tensor, ConvolutionParameters]:
    """Computed by PyTorch's autograd from `gated_convolution`."""
    return vjp(lambda x, p: gated_convolution(x, p, valid), (x, parameters), grad)


def cached_gated_convolution(
    x: Tensor,
    parameters: ConvolutionParameters,
    cache: ConvolutionCache | None,
    valid: Tensor | None,
) -> tuple[Tensor, ConvolutionCache]:
    """Apply a gated convolution to the tokens after those in the cache; also return the cache."""
    p, x = parameters, _tokens_only(x, valid)
    product = (x @ p.w_before) * (x @ p.w_in)
    mixed, tail = short_convolution(product, p.kernel, None if cache is None else cache.x)
    return (x @ p.w_after) * mixed @ p.w_out, ConvolutionCache(tail)


def _tokens_only(x: Tensor, valid: Tensor | None) -> Tensor:
    """Return x with zeros at padding."""
    return x if valid is None else torch.where(valid.unsqueeze(-1), x, 0.0)


def _unit(x: Tensor) -> Tensor:
    return x / ((x * x).sum(dim=-1, keepdim=True) + UNIT_EPS).sqrt()
