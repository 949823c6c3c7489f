"""Hyper-connections: a sublayer reads several residual streams and writes to all (chapter 22)."""

from typing import NamedTuple

import torch
from torch import Tensor

from tformer.fast.norms import rms_norm
from tformer.fast.softmax import softmax
from tformer.layer_configuration import Streams
from tformer.layers import HyperConnectionParameters
from tformer.parameters import NormParameters


class Weights(NamedTuple):
    """The weights of each token by which streams are read, written and mixed."""

    read: Tensor
    """(..., T, n_streams)"""
    write: Tensor | None = None
    """(..., T, n_streams)"""
    mix: Tensor | None = None
    """(..., T, n_streams, n_streams), from stream to stream; rows and columns sum to about 1"""


def copied(x: Tensor, n_streams: int) -> Tensor:
    """Return the streams (..., T, n_streams, d_model) before the first layer, all equal to x."""
    return x.unsqueeze(-2).expand(*x.shape[:-1], n_streams, x.shape[-1])


def stream_weights(
    x: Tensor, p: HyperConnectionParameters, streams: Streams, eps: float
) -> Weights:
    """Return the weights for streams x (..., T, n_streams, d_model); eps is that of their norm."""
    flat = rms_norm(x.flatten(-2), NormParameters(), eps).unflatten(-1, x.shape[-2:])
    read = p.read_scale * torch.tensordot(flat, p.w_read, 2) + p.b_read
    read = torch.sigmoid(read) + streams.eps
    if p.w_write is None:
        return Weights(read)
    write = p.write_scale * torch.tensordot(flat, p.w_write, 2) + p.b_write
    mix = p.mix_scale * torch.tensordot(flat, p.w_mix, 2) + p.b_mix
    return Weights(read, 2 * torch.sigmoid(write), sinkhorn(mix, streams))


def read_streams(x: Tensor, read: Tensor) -> Tensor:
    """Return the weighted sum (..., T, d_model) of streams x, which a sublayer reads."""
    return (read.unsqueeze(-1) * x).sum(dim=-2)


def write_streams(x: Tensor, y: Tensor, weights: Weights) -> Tensor:
    """Mix streams x (..., T, n_streams, d_model), and add what a sublayer answers, y, to each."""
    if weights.write is None or weights.mix is None:
        raise ValueError("hyper-connections: these streams are only read; w_write is missing")
    return weights.write.unsqueeze(-1) * y.unsqueeze(-2) + weights.mix.mT @ x


def sinkhorn(logits: Tensor, streams: Streams) -> Tensor:
    """Make matrices nearly doubly stochastic by Sinkhorn's iteration, as in the definition."""
    found = softmax(logits) + streams.eps
    for axis in ([-2, -1] * streams.n_rounds)[:-1]:
        found = found / (found.sum(dim=axis, keepdim=True) + streams.eps)
    return found
