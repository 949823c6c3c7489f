"""One of the experts: a feed-forward layer with a gate (chapter 22)."""

import numpy as np
from scipy.special import expit

from tformer.layers import ExpertParameters
from tformer.reference import activations
from tformer.reference.feed_forward import linear_vjp

LIMIT, STEEPNESS = 7.0, 1.702
"""Of "clipped_swiglu": gates are at most LIMIT, hidden units within ±LIMIT; x σ(STEEPNESS x)."""
SILU_LIMIT = 10.0
"""The same of "clipped_silu"."""


def expert_output(
    x: np.ndarray, p: ExpertParameters, e: int, activation: str
) -> tuple[np.ndarray, tuple[np.ndarray, ...]]:
    """Return the output of expert e, and what its gradient needs."""
    gate, inner = x @ p.w_gate[e], x @ p.w_in[e]
    gate = gate if p.b_gate is None else gate + p.b_gate[e]
    inner = inner if p.b_in is None else inner + p.b_in[e]
    if activation == "clipped_swiglu":
        clipped = np.minimum(gate, LIMIT)
        hidden = clipped * expit(STEEPNESS * clipped) * (np.clip(inner, -LIMIT, LIMIT) + 1)
    elif activation == "clipped_silu":
        hidden = activations.silu(np.minimum(gate, SILU_LIMIT)) * _within(inner)
    else:
        hidden = getattr(activations, activation)(gate) * inner
    y = hidden @ p.w_out[e]
    return y if p.b_out is None else y + p.b_out[e], (gate, inner, hidden)


def _within(inner: np.ndarray) -> np.ndarray:
    return np.clip(inner, -SILU_LIMIT, SILU_LIMIT)


def expert_vjp(
    x: np.ndarray,
    p: ExpertParameters,
    e: int,
    activation: str,
    kept: tuple[np.ndarray, ...],
    grad: np.ndarray,
) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Return the gradients of x and of the arrays of expert e."""
    gate, inner, hidden = kept
    found = {}

    def of(name: str, x: np.ndarray, grad: np.ndarray) -> np.ndarray:
        w, b = getattr(p, f"w_{name}")[e], getattr(p, f"b_{name}")
        dx, found[f"w_{name}"], db = linear_vjp(x, w, None if b is None else b[e], grad)
        if db is not None:
            found[f"b_{name}"] = db
        return dx

    dhidden = of("out", hidden, grad)
    if activation == "clipped_swiglu":
        clipped, s = np.minimum(gate, LIMIT), expit(STEEPNESS * np.minimum(gate, LIMIT))
        slope = s * (1 + STEEPNESS * clipped * (1 - s))
        dgate = dhidden * (np.clip(inner, -LIMIT, LIMIT) + 1) * slope * (gate <= LIMIT)
        dinner = dhidden * clipped * s * (np.abs(inner) <= LIMIT)
    elif activation == "clipped_silu":
        clipped = np.minimum(gate, SILU_LIMIT)
        dgate = activations.silu_vjp(clipped, dhidden * _within(inner)) * (gate <= SILU_LIMIT)
        dinner = dhidden * activations.silu(clipped) * (np.abs(inner) <= SILU_LIMIT)
    else:
        active, active_vjp = (getattr(activations, activation + x) for x in ("", "_vjp"))
        dgate, dinner = active_vjp(gate, dhidden * inner), dhidden * active(gate)
    return of("gate", x, dgate) + of("in", x, dinner), found
