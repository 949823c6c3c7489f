"""Hyper-connections: a sublayer reads several residual streams and writes to all (chapter 22)."""

import torch
from torch import Tensor

from tformer.fast.norms import rms_norm
from tformer.fast.precision import wide
from tformer.fast.sinkhorn import sinkhorn
from tformer.fast.twins import twin
from tformer.fast.vjp import vjp
from tformer.layer_checks import require_connection
from tformer.layer_configuration import Streams
from tformer.layers import HyperConnectionParameters
from tformer.parameters import NormParameters, tree_map

__all__ = [
    "read_streams",
    "read_streams_vjp",
    "stream_weights",
    "stream_weights_vjp",
    "write_streams",
    "write_streams_vjp",
]


@twin
def stream_weights(
    x: Tensor,
    parameters: HyperConnectionParameters,
    streams: Streams,
    eps: float = 1e-6,
) -> tuple[Tensor, Tensor | None, Tensor | None]:
    """Half precision is computed in float32."""
    require_connection("stream_weights", parameters)
    dtype, (x, p) = x.dtype, tree_map(wide, (x, parameters))
    x = rms_norm(x.flatten(-2), NormParameters(), eps).unflatten(-1, x.shape[-2:])
    read = p.read_scale * torch.tensordot(x, p.w_read, 2) + p.b_read
    read = (torch.sigmoid(read) + streams.eps).to(dtype)
    if p.w_write is None:
        return read, None, None
    write = p.write_scale * torch.tensordot(x, p.w_write, 2) + p.b_write
    mix = sinkhorn(
        p.mix_scale * torch.tensordot(x, p.w_mix, 2) + p.b_mix, streams.n_rounds, streams.eps
    )
    return read, (2 * torch.sigmoid(write)).to(dtype), mix.to(dtype)


@twin
def stream_weights_vjp(
    x: Tensor,
    parameters: HyperConnectionParameters,
    streams: Streams,
    dread: Tensor,
    dwrite: Tensor | None = None,
    dmix: Tensor | None = None,
    eps: float = 1e-6,
) -> tuple[Tensor, HyperConnectionParameters]:
    """Computed by PyTorch's autograd from `stream_weights`."""
    require_connection("stream_weights_vjp", parameters)
    grads = (dread, dwrite, dmix)

    def weigh(x: Tensor, p: HyperConnectionParameters) -> tuple[Tensor, ...]:
        found = zip(stream_weights(x, p, streams, eps), grads, strict=True)
        return tuple(y for y, grad in found if y is not None and grad is not None)

    has = (True, *[parameters.w_write is not None] * 2)
    wanted = tuple(x for x, one in zip(grads, has, strict=True) if one and x is not None)
    return vjp(weigh, (x, parameters), wanted)


@twin
def read_streams(x: Tensor, read: Tensor) -> Tensor:
    """Half precision is computed in float32."""
    return (wide(read).unsqueeze(-1) * wide(x)).sum(dim=-2).to(x.dtype)


@twin
def read_streams_vjp(x: Tensor, read: Tensor, grad: Tensor) -> tuple[Tensor, Tensor]:
    """Computed by PyTorch's autograd from `read_streams`."""
    return vjp(read_streams, (x, read), grad)


@twin
def write_streams(x: Tensor, y: Tensor, write: Tensor, mix: Tensor) -> Tensor:
    """Half precision is computed in float32."""
    dtype, (x, y, write, mix) = x.dtype, tree_map(wide, (x, y, write, mix))
    return (write.unsqueeze(-1) * y.unsqueeze(-2) + mix.mT @ x).to(dtype)


@twin
def write_streams_vjp(
    x: Tensor, y: Tensor, write: Tensor, mix: Tensor, grad: Tensor
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Computed by PyTorch's autograd from `write_streams`."""
    return vjp(write_streams, (x, y, write, mix), grad)


def copied(x: Tensor, n_streams: int) -> Tensor:
    """Return the streams (..., T, n_streams, d_model) before the first layer, all equal to x."""
    return x.unsqueeze(-2).expand(*x.shape[:-1], n_streams, x.shape[-1])
