"""Experts: a router chooses a few feed-forward layers for each token (chapter 22)."""

import math
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import linear

from tformer.fast import activations
from tformer.fast._kernels import widened, zeros_for
from tformer.fast.checks import require_values
from tformer.fast.precision import wide
from tformer.fast.softmax import softmax
from tformer.fast.twins import twin
from tformer.fast.vjp import vjp
from tformer.layer_checks import require_activation, require_experts
from tformer.layer_configuration import Routing
from tformer.layers import ExpertParameters

__all__ = [
    "balancing_loss",
    "balancing_loss_vjp",
    "mixture_of_experts",
    "mixture_of_experts_vjp",
    "top_k_routing",
    "top_k_routing_vjp",
]

LIMIT, STEEPNESS, SILU_LIMIT = 7.0, 1.702, 10.0
"""Of "clipped_swiglu" and of "clipped_silu", as in the definition."""


@twin
def top_k_routing(logits: Tensor, routing: Routing, choice_bias: Tensor | None = None) -> Tensor:
    """Half precision is computed in float32."""
    require_experts("top_k_routing", logits.shape[-1], routing)
    chosen = _chosen(_scores(wide(logits.detach()), routing), routing, choice_bias)
    return weights_of(logits, routing, chosen)


@twin
def top_k_routing_vjp(
    logits: Tensor, routing: Routing, grad: Tensor, choice_bias: Tensor | None = None
) -> Tensor:
    """Computed by PyTorch's autograd from `top_k_routing`."""
    return vjp(lambda x: top_k_routing(x, routing, choice_bias), (logits,), grad)[0]


@twin
def mixture_of_experts(
    x: Tensor,
    parameters: ExpertParameters,
    weights: Tensor,
    activation: str = "silu",
    weigh_input: bool = False,
) -> Tensor:
    """An expert is computed for the tokens that chose it, and for no other.

    On a CPU half precision is widened to float32.
    """
    require_values("mixture_of_experts", "weights", weights)
    require_activation("mixture_of_experts", activation)
    dtype = x.dtype
    x, p, weights = widened(x, parameters, weights)
    leading = x.shape[:-1]
    if weights.shape[:-1] != leading:  # torch.broadcast_shapes takes as long as a small product
        leading = torch.broadcast_shapes(leading, weights.shape[:-1])
    n_rows, n_experts = math.prod(leading), weights.shape[-1]
    rows = x.expand(*leading, x.shape[-1]).reshape(n_rows, x.shape[-1])
    weights = weights.expand(*leading, n_experts).reshape(n_rows, n_experts)
    of_expert, of_row = weights.mT.nonzero(as_tuple=True)
    hit, counts = (a.tolist() for a in of_expert.unique_consecutive(return_counts=True))
    weight = weights[of_row, of_expert, None]
    inputs = weight * rows[of_row] if weigh_input else rows[of_row]
    y, experts = zeros_for(rows), _each(p)
    parts = (part.split(counts) for part in (of_row, inputs, weight))
    for e, chosen, given, factor in zip(hit, *parts, strict=True):
        outputs = expert_output(given, experts[e], activation)
        y.index_add_(0, chosen, outputs if weigh_input else factor * outputs)
    return y.reshape(*leading, x.shape[-1]).to(dtype)


@twin
def mixture_of_experts_vjp(
    x: Tensor,
    parameters: ExpertParameters,
    weights: Tensor,
    grad: Tensor,
    activation: str = "silu",
    weigh_input: bool = False,
) -> tuple[Tensor, ExpertParameters, Tensor]:
    """Computed by PyTorch's autograd from `mixture_of_experts`."""
    require_values("mixture_of_experts_vjp", "weights", weights)
    require_activation("mixture_of_experts_vjp", activation)

    def mix(x: Tensor, p: ExpertParameters, weights: Tensor) -> Tensor:
        return mixture_of_experts(x, p, weights, activation, weigh_input)

    return vjp(mix, (x, parameters, weights), grad)


@twin
def balancing_loss(logits: Tensor, routing: Routing) -> Tensor:
    """Half precision is computed in float32."""
    require_experts("balancing_loss", logits.shape[-1], Routing(routing.top_k))
    x = wide(logits)
    share = _mean(largest(x.detach(), routing.top_k).to(x.dtype))
    return (logits.shape[-1] * (share * _mean(softmax(x))).sum(dim=-1)).to(logits.dtype)


@twin
def balancing_loss_vjp(logits: Tensor, routing: Routing, grad: Tensor) -> Tensor:
    """Computed by PyTorch's autograd from `balancing_loss`."""
    return vjp(lambda x: balancing_loss(x, routing), (logits,), grad)[0]


def weights_of(logits: Tensor, routing: Routing, chosen: Tensor) -> Tensor:
    """Return the weights of the experts that are chosen, zeros for the others."""
    weights = torch.where(chosen, _scores(wide(logits), routing), 0.0)
    if routing.renormalise:
        weights = weights / weights.sum(dim=-1, keepdim=True)
    return (routing.factor * weights).to(logits.dtype)


def _scores(logits: Tensor, routing: Routing) -> Tensor:
    if routing.scores == "sqrt_softplus":
        return torch.logaddexp(logits, torch.zeros_like(logits)).sqrt()
    return softmax(logits) if routing.scores == "softmax" else torch.sigmoid(logits)


def _chosen(scores: Tensor, routing: Routing, choice_bias: Tensor | None) -> Tensor:
    """Return True for the experts that are chosen."""
    choice = scores if choice_bias is None else scores + choice_bias
    if routing.n_groups > 1:
        groups = choice.unflatten(-1, (routing.n_groups, choice.shape[-1] // routing.n_groups))
        two_best = groups.sort(dim=-1).values[..., -2:].sum(dim=-1)
        is_open = largest(two_best, routing.top_groups)
        choice = choice.masked_fill(~is_open.repeat_interleave(groups.shape[-1], -1), -torch.inf)
    return largest(choice, routing.top_k)


def largest(x: Tensor, n: int) -> Tensor:
    """Return True at the n largest entries of each row, the first of equal ones."""
    order = x.argsort(dim=-1, descending=True, stable=True)[..., :n]
    return torch.zeros_like(x, dtype=torch.bool).scatter(-1, order, value=True)


def _mean(x: Tensor) -> Tensor:
    """Return the mean over tokens, 0 without any."""
    return x.sum(dim=-2) / max(x.shape[-2], 1)


def _each(p: ExpertParameters) -> list[tuple[Any, ...]]:
    """Return the arrays of each expert."""
    arrays = (p.w_gate, p.w_in, p.w_out, p.b_gate, p.b_in, p.b_out)
    n_experts = len(p.w_gate)
    each = ([None] * n_experts if x is None else x.unbind() for x in arrays)
    return list(zip(*each, strict=True))


def expert_output(x: Tensor, arrays: tuple[Any, ...], activation: str) -> Tensor:
    """Return the output for rows (n, d_model) of an expert, whose arrays are those of `_each`."""
    w_gate, w_in, w_out, b_gate, b_in, b_out = arrays
    gate, inner = linear(x, w_gate.mT, b_gate), linear(x, w_in.mT, b_in)
    if activation == "clipped_swiglu":
        gate = gate.clamp(max=LIMIT)
        hidden = gate * torch.sigmoid(STEEPNESS * gate) * (inner.clamp(-LIMIT, LIMIT) + 1)
    elif activation == "clipped_silu":
        gate, inner = gate.clamp(max=SILU_LIMIT), inner.clamp(-SILU_LIMIT, SILU_LIMIT)
        hidden = activations.silu(gate) * inner
    else:
        hidden = getattr(activations, activation)(gate) * inner
    return linear(hidden, w_out.mT, b_out)
