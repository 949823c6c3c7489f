"""The gated delta net and the gated short convolution as mixers of a layer (chapter 22)."""

import math
from typing import Any

import numpy as np
from scipy.special import expit

from tformer.layer_configuration import LayerConfiguration
from tformer.layers import (
    ConvolutionCache,
    ConvolutionParameters,
    DeltaNetCache,
    DeltaNetParameters,
)
from tformer.parameters import NormParameters
from tformer.reference.activations import sigmoid_vjp, silu, silu_vjp
from tformer.reference.attention import sum_to
from tformer.reference.delta_rule import (
    gated_delta_rule,
    gated_delta_rule_vjp,
    short_convolution,
    short_convolution_vjp,
)
from tformer.reference.equation import equation
from tformer.reference.feed_forward import linear_vjp
from tformer.reference.groups import sum_over_groups
from tformer.reference.norms import rms_norm, rms_norm_vjp
from tformer.reference.projections import heads_vjp

__all__ = ["delta_net", "delta_net_vjp", "gated_convolution", "gated_convolution_vjp"]

UNIT_EPS = 1e-6
"""Added to the sum of squares of queries and keys before they are divided by its root."""


@equation
def delta_net(
    x: np.ndarray,
    parameters: DeltaNetParameters,
    configuration: LayerConfiguration,
    valid: np.ndarray | None = None,
) -> np.ndarray:
    """Compute a gated delta net: short convolutions, the gated delta rule, a norm and a gate.

    Parameters
    ----------
    x : (..., T, d_model) array
        Hidden states.
    parameters : DeltaNetParameters
    configuration : LayerConfiguration
        Its eps and gate.
    valid : (..., T) boolean array, optional
        False at left padding, which leaves the state 0; all are tokens if omitted.

    Returns
    -------
    (..., T, d_model) array

    Notes
    -----
    Equation eq-delta-net; [yang2025], section 3.4; with a decay for each coordinate of the keys,
    [kimi2025].
    """
    return cached_delta_net(x, parameters, configuration, None, valid)[0]


@equation
def delta_net_vjp(
    x: np.ndarray,
    parameters: DeltaNetParameters,
    configuration: LayerConfiguration,
    grad: np.ndarray,
    valid: np.ndarray | None = None,
) -> tuple[np.ndarray, DeltaNetParameters]:
    """Compute the vector-Jacobian product of `delta_net`.

    Parameters
    ----------
    x : (..., T, d_model) array
        Hidden states.
    parameters : DeltaNetParameters
    configuration : LayerConfiguration
        Its eps and gate.
    grad : (..., T, d_model) array
        Gradient of a loss with respect to what `delta_net` returned.
    valid : (..., T) boolean array, optional
        False at left padding, which leaves the state 0; all are tokens if omitted.

    Returns
    -------
    dx : (..., T, d_model) array
        Each gradient has the shape of its argument: broadcast axes are summed over.
    dparameters : DeltaNetParameters

    Notes
    -----
    Equation eq-delta-net-vjp; the derivatives of [yang2025], section 3.4.
    """
    p, c, grads = parameters, configuration, dict[str, Any]()
    inputs = _tokens_only(x, valid)
    x_H, size = inputs[..., np.newaxis, :, :], p.w_v.shape[0] // p.w_q.shape[0]
    q, k, v, raw = _qkv(x_H, p, None)
    scale = 1 / math.sqrt(max(q.shape[-1], 1))
    q_H, k_H = scale * np.repeat(q, size, axis=-3), np.repeat(k, size, axis=-3)
    log_decay, beta = _log_decay(inputs, p)[2], _beta(inputs, p)
    y = gated_delta_rule(q_H, k_H, v, log_decay, beta)[0]
    dy, dx = _output_vjp(inputs, y, p, c, grad, grads)
    dq, dk, dv, dlog, dbeta, _ = gated_delta_rule_vjp(q_H, k_H, v, log_decay, beta, dy)
    dx = dx + _decay_vjp(inputs, p, dlog, grads)
    dlogit = np.swapaxes(dbeta * beta * (1 - beta), -1, -2)
    dx_beta, grads["w_beta"], _ = linear_vjp(inputs, p.w_beta, None, dlogit)
    dx = dx + dx_beta
    dq, dk = (sum_over_groups(one, q.shape[-3]) for one in (scale * dq, dk))
    for name, unit, drow in (("q", q, dq), ("k", k, dk), ("v", None, dv)):
        dx = dx + _convolved_vjp(name, x_H, p, raw[name], unit, drow, grads)
    return sum_to(x, _tokens_only(dx, valid)), DeltaNetParameters(**grads)


def _output_vjp(
    x: np.ndarray,
    y: np.ndarray,
    p: DeltaNetParameters,
    c: LayerConfiguration,
    grad: np.ndarray,
    grads: dict[str, Any],
) -> tuple[np.ndarray, np.ndarray]:
    """Return the gradients of what the rule gave and of x, for norm, gate and w_o."""
    (source, gate), (active, active_vjp) = _gate(x, p), GATES[c.gate]
    normed = rms_norm(y, NormParameters(p.gain), c.eps)
    dout, grads["w_o"] = heads_vjp(normed * active(gate), p.w_o, grad[..., np.newaxis, :, :])
    dy, dnorm = rms_norm_vjp(y, NormParameters(p.gain), dout * active(gate), c.eps)
    grads["gain"] = dnorm.gain
    dgate = active_vjp(gate, dout * normed)
    dsource, grads["w_gate"] = heads_vjp(source[..., np.newaxis, :, :], p.w_gate, dgate)
    return dy, _source_vjp(x, p.w_gate_down, dsource[..., 0, :, :], grads, "w_gate_down")


def _decay_vjp(
    x: np.ndarray, p: DeltaNetParameters, dlog: np.ndarray, grads: dict[str, Any]
) -> np.ndarray:
    """Return the gradient of x through the decays."""
    source, raw, log_decay = _log_decay(x, p)
    grads["log_rate"] = sum_to(p.log_rate, (dlog * log_decay).sum(axis=(-1, -2)))
    draw = -np.exp(p.log_rate)[:, np.newaxis, np.newaxis] * dlog * expit(raw)
    grads["b_decay"] = sum_to(p.b_decay, draw.sum(axis=-2))
    dsource, grads["w_decay"] = heads_vjp(source[..., np.newaxis, :, :], p.w_decay, draw)
    return _source_vjp(x, p.w_decay_down, dsource[..., 0, :, :], grads, "w_decay_down")


def _convolved_vjp(
    name: str,
    x_H: np.ndarray,
    p: DeltaNetParameters,
    raw: tuple[np.ndarray, ...],
    unit: np.ndarray | None,
    grad: np.ndarray,
    grads: dict[str, Any],
) -> np.ndarray:
    """Return the gradient of x through queries, keys or values; `unit` are those of norm 1."""
    w, kernel, (rows, convolved) = getattr(p, f"w_{name}"), getattr(p, f"kernel_{name}"), raw
    if unit is not None:
        grad = _unit_vjp(silu(convolved), unit, grad)
    dconvolved = silu_vjp(convolved, grad)
    drows, grads[f"kernel_{name}"], _ = short_convolution_vjp(rows, kernel, dconvolved)
    dx_H, grads[f"w_{name}"] = heads_vjp(x_H, w, drows)
    return dx_H[..., 0, :, :]


def cached_delta_net(
    x: np.ndarray,
    parameters: DeltaNetParameters,
    configuration: LayerConfiguration,
    cache: DeltaNetCache | None,
    valid: np.ndarray | None,
) -> tuple[np.ndarray, DeltaNetCache]:
    """Apply a gated delta net to the tokens after those in the cache; also return the new cache."""
    p, c = parameters, configuration
    x = _tokens_only(x, valid)
    size = p.w_v.shape[0] // p.w_q.shape[0]
    q, k, v, raw = _qkv(x[..., np.newaxis, :, :], p, cache)
    q, k = (np.repeat(part, size, axis=-3) for part in (q, k))
    beta = _beta(x, p)
    q = q / math.sqrt(max(q.shape[-1], 1))
    state = None if cache is None else cache.state
    y, state = gated_delta_rule(q, k, v, _log_decay(x, p)[2], beta, state)
    y = rms_norm(y, NormParameters(p.gain), c.eps) * GATES[c.gate][0](_gate(x, p)[1])
    return np.sum(y @ p.w_o, axis=-3), DeltaNetCache(state, *raw["tails"])


@equation
def gated_convolution(
    x: np.ndarray, parameters: ConvolutionParameters, valid: np.ndarray | None = None
) -> np.ndarray:
    """Compute a short convolution between two gates, the mixer of most layers of LFM2.

    Parameters
    ----------
    x : (..., T, d_model) array
        Hidden states.
    parameters : ConvolutionParameters
    valid : (..., T) boolean array, optional
        False at padding, which counts as zeros; all are tokens if omitted.

    Returns
    -------
    (..., T, d_model) array

    Notes
    -----
    Equation eq-gated-convolution; [liquid2025], section 2.
    """
    return cached_gated_convolution(x, parameters, None, valid)[0]


@equation
def gated_convolution_vjp(
    x: np.ndarray,
    parameters: ConvolutionParameters,
    grad: np.ndarray,
    valid: np.ndarray | None = None,
) -> tuple[np.ndarray, ConvolutionParameters]:
    """Compute the vector-Jacobian product of `gated_convolution`.

    Parameters
    ----------
    x : (..., T, d_model) array
        Hidden states.
    parameters : ConvolutionParameters
    grad : (..., T, d_model) array
        Gradient of a loss with respect to what `gated_convolution` returned.
    valid : (..., T) boolean array, optional
        False at padding, which counts as zeros; all are tokens if omitted.

    Returns
    -------
    dx : (..., T, d_model) array
        Each gradient has the shape of its argument: broadcast axes are summed over.
    dparameters : ConvolutionParameters

    Notes
    -----
    Equation eq-gated-convolution-vjp; the derivatives of [liquid2025], section 2.
    """
    p, given, x = parameters, x, _tokens_only(x, valid)
    before, after, inner = x @ p.w_before, x @ p.w_after, x @ p.w_in
    mixed = short_convolution(before * inner, p.kernel)[0]
    dhidden, dw_out, _ = linear_vjp(after * mixed, p.w_out, None, grad)
    dproduct, dkernel, _ = short_convolution_vjp(before * inner, p.kernel, dhidden * after)
    dx_before, dw_before, _ = linear_vjp(x, p.w_before, None, dproduct * inner)
    dx_after, dw_after, _ = linear_vjp(x, p.w_after, None, dhidden * mixed)
    dx_in, dw_in, _ = linear_vjp(x, p.w_in, None, dproduct * before)
    dx = sum_to(given, _tokens_only(dx_before + dx_after + dx_in, valid))
    return dx, ConvolutionParameters(dw_before, dw_after, dw_in, dkernel, dw_out)


def cached_gated_convolution(
    x: np.ndarray,
    parameters: ConvolutionParameters,
    cache: ConvolutionCache | None,
    valid: np.ndarray | None,
) -> tuple[np.ndarray, ConvolutionCache]:
    """Apply a gated convolution to the tokens after those in the cache; also return the cache."""
    p, x = parameters, _tokens_only(x, valid)
    product = (x @ p.w_before) * (x @ p.w_in)
    mixed, tail = short_convolution(product, p.kernel, None if cache is None else cache.x)
    return (x @ p.w_after) * mixed @ p.w_out, ConvolutionCache(tail)


GATES = {"sigmoid": (expit, sigmoid_vjp), "silu": (silu, silu_vjp)}


def _tokens_only(x: np.ndarray, valid: np.ndarray | None) -> np.ndarray:
    """Return x with zeros at padding."""
    return x if valid is None else np.where(valid[..., np.newaxis], x, 0)


def _qkv(
    x_H: np.ndarray, p: DeltaNetParameters, cache: DeltaNetCache | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray, dict[str, tuple[np.ndarray, ...]]]:
    """Return unit queries and keys, values, and what came before the convolution and after it."""
    raw, found, tails = dict[str, tuple[np.ndarray, ...]](), [], []
    for name in "qkv":
        rows = x_H @ getattr(p, f"w_{name}")
        earlier = None if cache is None else getattr(cache, name)
        convolved, tail = short_convolution(rows, getattr(p, f"kernel_{name}"), earlier)
        raw[name] = rows, convolved
        tails.append(tail)
        active = silu(convolved)
        found.append(active if name == "v" else active / _size(active))
    return found[0], found[1], found[2], raw | {"tails": tuple(tails)}


def _size(x: np.ndarray) -> np.ndarray:
    return np.sqrt((x * x).sum(axis=-1, keepdims=True) + UNIT_EPS)


def _unit_vjp(x: np.ndarray, unit: np.ndarray, grad: np.ndarray) -> np.ndarray:
    """Compute the vector-Jacobian product of x / _size(x), which is `unit`."""
    return (grad - unit * (grad * unit).sum(axis=-1, keepdims=True)) / _size(x)


def _beta(x: np.ndarray, p: DeltaNetParameters) -> np.ndarray:
    """Return the step sizes (..., H, T)."""
    return expit(np.swapaxes(x @ p.w_beta, -1, -2))


def _log_decay(x: np.ndarray, p: DeltaNetParameters) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return what decays are computed from, the logits of the decays, and their logarithms."""
    source = x if p.w_decay_down is None else x @ p.w_decay_down
    raw = source[..., np.newaxis, :, :] @ p.w_decay + p.b_decay[:, np.newaxis, :]
    rate = np.exp(p.log_rate)[:, np.newaxis, np.newaxis]
    return source, raw, -rate * np.logaddexp(0, raw)


def _gate(x: np.ndarray, p: DeltaNetParameters) -> tuple[np.ndarray, np.ndarray]:
    """Return what the gate is computed from, and its logits (..., H, T, d_v)."""
    source = x if p.w_gate_down is None else x @ p.w_gate_down
    return source, source[..., np.newaxis, :, :] @ p.w_gate


def _source_vjp(
    x: np.ndarray,
    w: np.ndarray | None,
    grad: np.ndarray,
    grads: dict[str, Any],
    name: str,
) -> np.ndarray:
    """Return the gradient of x through a projection that may be left out; keep that of w."""
    if w is None:
        grads[name] = None
        return grad
    dx, grads[name], _ = linear_vjp(x, w, None, grad)
    return dx
