"""Hyper-connections: a sublayer reads several residual streams and writes to all (chapter 22)."""

import math
from typing import Any

import numpy as np
from scipy.special import expit

from tformer.layer_checks import require_connection
from tformer.layer_configuration import Streams
from tformer.layers import HyperConnectionParameters
from tformer.parameters import NormParameters, tree_map
from tformer.reference.activations import sigmoid_vjp
from tformer.reference.attention import sum_to
from tformer.reference.equation import equation
from tformer.reference.feed_forward import linear_vjp
from tformer.reference.norms import rms_norm, rms_norm_vjp
from tformer.reference.sinkhorn import sinkhorn, sinkhorn_vjp

__all__ = [
    "read_streams",
    "read_streams_vjp",
    "stream_weights",
    "stream_weights_vjp",
    "write_streams",
    "write_streams_vjp",
]

NO_GAIN = NormParameters()
Table = np.ndarray | None


@equation
def stream_weights(
    x: np.ndarray,
    parameters: HyperConnectionParameters,
    streams: Streams,
    eps: float = 1e-6,
) -> tuple[np.ndarray, Table, Table]:
    """Compute the weights of each token by which residual streams are read, written and mixed.

    Parameters
    ----------
    x : (..., T, n_streams, d_model) array
        The residual streams.
    parameters : HyperConnectionParameters
    streams : Streams
    eps : float, finite and above 0
        Of the RMSNorm over all streams of a token together.

    Returns
    -------
    read : (..., T, n_streams) array
        Between 0 and 1, but for the eps of the streams.
    write : (..., T, n_streams) array, optional
        Between 0 and 2; None, as is mix, without parameters.w_write.
    mix : (..., T, n_streams, n_streams) array, optional
        From stream to stream, as `sinkhorn` makes it: columns sum to 1, and rows nearly do.

    Raises
    ------
    ValueError
        If parameters have some of the arrays of writing and mixing, but not all.

    Notes
    -----
    Equation eq-stream-weights; [zhu2025], with the constraints of [xie2025]; as in [deepseek2026],
    section 2.2.
    """
    require_connection("stream_weights", parameters)
    normed = rms_norm(_flat(x), NO_GAIN, eps).reshape(x.shape)
    read, write, mix = _logits(normed, parameters)
    return (
        expit(read) + streams.eps,
        None if write is None else 2 * expit(write),
        None if mix is None else sinkhorn(mix, streams.n_rounds, streams.eps),
    )


@equation
def stream_weights_vjp(
    x: np.ndarray,
    parameters: HyperConnectionParameters,
    streams: Streams,
    dread: np.ndarray,
    dwrite: np.ndarray | None = None,
    dmix: np.ndarray | None = None,
    eps: float = 1e-6,
) -> tuple[np.ndarray, HyperConnectionParameters]:
    """Compute the vector-Jacobian product of `stream_weights`.

    Parameters
    ----------
    x : (..., T, n_streams, d_model) array
        The residual streams.
    parameters : HyperConnectionParameters
    streams : Streams
    dread : (..., T, n_streams) array
        Gradient of a loss with respect to the weights of reading.
    dwrite : (..., T, n_streams) array, optional
        Gradient with respect to those of writing; not used without parameters.w_write.
    dmix : (..., T, n_streams, n_streams) array, optional
        Gradient with respect to those of mixing.
    eps : float, finite and above 0
        Of the RMSNorm over all streams of a token together.

    Returns
    -------
    dx : (..., T, n_streams, d_model) array
        Each gradient has the shape of its argument: broadcast axes are summed over.
    dparameters : HyperConnectionParameters

    Raises
    ------
    ValueError
        If parameters have some of the arrays of writing and mixing, but not all.

    Notes
    -----
    Equation eq-stream-weights-vjp; the derivatives of [xie2025].
    """
    require_connection("stream_weights_vjp", parameters)
    rows, p = rms_norm(_flat(x), NO_GAIN, eps), parameters
    read, write, mix = _logits(rows.reshape(x.shape), p)
    dlogits = {"read": sigmoid_vjp(read, dread)}
    if write is not None and dwrite is not None:
        dlogits["write"] = sigmoid_vjp(write, 2 * dwrite)
    if mix is not None and dmix is not None:
        dlogits["mix"] = sinkhorn_vjp(mix, dmix, streams.n_rounds, streams.eps)
    grads: dict[str, Any] = tree_map(np.zeros_like, vars(p))
    drows = np.zeros_like(rows)
    for name, grad in dlogits.items():
        keys = f"w_{name}", f"b_{name}", f"{name}_scale"
        w, b, scale = (getattr(p, key) for key in keys)
        more, *found = _logits_vjp(rows, w, b, scale, grad)
        drows, grads = drows + more, grads | dict(zip(keys, found, strict=True))
    drows, _ = rms_norm_vjp(_flat(x), NO_GAIN, drows, eps)
    return drows.reshape(x.shape), HyperConnectionParameters(**grads)


@equation
def read_streams(x: np.ndarray, read: np.ndarray) -> np.ndarray:
    """Compute what a sublayer reads: the weighted sum of the residual streams.

    Parameters
    ----------
    x : (..., T, n_streams, d_model) array
        The residual streams.
    read : (..., T, n_streams) array
        The weight of each, as `stream_weights` returns it.

    Returns
    -------
    (..., T, d_model) array

    Notes
    -----
    Equation eq-read-streams; [zhu2025].
    """
    return np.sum(read[..., np.newaxis] * x, axis=-2)


@equation
def read_streams_vjp(
    x: np.ndarray, read: np.ndarray, grad: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Compute the vector-Jacobian product of `read_streams`.

    Parameters
    ----------
    x : (..., T, n_streams, d_model) array
        The residual streams.
    read : (..., T, n_streams) array
        The weight of each.
    grad : (..., T, d_model) array
        Gradient of a loss with respect to what `read_streams` returned.

    Returns
    -------
    dx : (..., T, n_streams, d_model) array
        Each gradient has the shape of its argument: broadcast axes are summed over.
    dread : (..., T, n_streams) array

    Notes
    -----
    Equation eq-read-streams-vjp; the derivatives of [zhu2025].
    """
    grad = grad[..., np.newaxis, :]
    return sum_to(x, read[..., np.newaxis] * grad), sum_to(read, np.sum(grad * x, axis=-1))


@equation
def write_streams(x: np.ndarray, y: np.ndarray, write: np.ndarray, mix: np.ndarray) -> np.ndarray:
    """Compute the streams after a sublayer: mixed, and with its answer added to each.

    Parameters
    ----------
    x : (..., T, n_streams, d_model) array
        The residual streams.
    y : (..., T, d_model) array
        What the sublayer answers.
    write : (..., T, n_streams) array
        The weight of the answer in each stream, as `stream_weights` returns it.
    mix : (..., T, n_streams, n_streams) array
        The weight of each stream, in rows, in each new one.

    Returns
    -------
    (..., T, n_streams, d_model) array

    Notes
    -----
    Equation eq-write-streams; [zhu2025].
    """
    return write[..., np.newaxis] * y[..., np.newaxis, :] + mix.mT @ x


@equation
def write_streams_vjp(
    x: np.ndarray, y: np.ndarray, write: np.ndarray, mix: np.ndarray, grad: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Compute the vector-Jacobian product of `write_streams`.

    Parameters
    ----------
    x : (..., T, n_streams, d_model) array
        The residual streams.
    y : (..., T, d_model) array
        What the sublayer answers.
    write : (..., T, n_streams) array
        The weight of the answer in each stream.
    mix : (..., T, n_streams, n_streams) array
        The weight of each stream, in rows, in each new one.
    grad : (..., T, n_streams, d_model) array
        Gradient of a loss with respect to what `write_streams` returned.

    Returns
    -------
    dx : (..., T, n_streams, d_model) array
        Each gradient has the shape of its argument: broadcast axes are summed over.
    dy : (..., T, d_model) array
    dwrite : (..., T, n_streams) array
    dmix : (..., T, n_streams, n_streams) array

    Notes
    -----
    Equation eq-write-streams-vjp; the derivatives of [zhu2025].
    """
    rows = (x.shape[:-2], y.shape[:-1], write.shape[:-1], mix.shape[:-2])
    every = (*np.broadcast_shapes(*rows), 1, 1)
    grad = np.broadcast_to(grad, np.broadcast_shapes(grad.shape, every))
    dy = np.sum(write[..., np.newaxis] * grad, axis=-2)
    dwrite = np.sum(grad * y[..., np.newaxis, :], axis=-1)
    found = mix @ grad, dy, dwrite, x @ grad.mT
    return tuple(map(sum_to, (x, y, write, mix), found))  # type: ignore[return-value]


def copied(x: np.ndarray, n_streams: int) -> np.ndarray:
    """Return the streams (..., T, n_streams, d_model) before the first layer, all equal to x."""
    return np.repeat(x[..., np.newaxis, :], n_streams, axis=-2)


def _flat(x: np.ndarray) -> np.ndarray:
    """Return all streams of a token as one row."""
    return x.reshape(*x.shape[:-2], x.shape[-2] * x.shape[-1])


def _logits(x: np.ndarray, p: HyperConnectionParameters) -> tuple[np.ndarray, Table, Table]:
    """Return the logits of reading, writing and mixing for normed streams x."""
    read = p.read_scale * np.tensordot(x, p.w_read, 2) + p.b_read
    if p.w_write is None:
        return read, None, None
    write = p.write_scale * np.tensordot(x, p.w_write, 2) + p.b_write
    return read, write, p.mix_scale * np.tensordot(x, p.w_mix, 2) + p.b_mix


def _logits_vjp(
    x: np.ndarray, w: np.ndarray, b: np.ndarray, scale: np.ndarray, grad: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return the gradients of normed streams x, in a row, and of the arrays of some logits."""
    table, heads = w.reshape(x.shape[-1], math.prod(w.shape[2:])), w.shape[2:]
    leading = np.broadcast_shapes(x.shape[:-1], grad.shape[: 2 - w.ndim])
    grad = np.broadcast_to(grad, (*leading, *heads))
    product = (x @ table).reshape(*x.shape[:-1], *heads)
    dx, dtable, _ = linear_vjp(x, table, None, (scale * grad).reshape(*leading, table.shape[-1]))
    return dx, dtable.reshape(w.shape), sum_to(b, grad), sum_to(scale, grad * product)
