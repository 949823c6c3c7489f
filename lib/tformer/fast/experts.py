"""Experts: a router chooses a few feed-forward layers for each token (chapter 22)."""

import math

import torch
from torch import Tensor
from torch.nn.functional import linear

from tformer.fast import activations
from tformer.fast._kernels import widened
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
    leading = torch.broadcast_shapes(x.shape[:-1], weights.shape[:-1])
    n_rows, n_experts = math.prod(leading), weights.shape[-1]
    rows = x.expand(*leading, x.shape[-1]).reshape(n_rows, x.shape[-1])
    weights = weights.expand(*leading, n_experts).reshape(n_rows, n_experts)
    y = torch.zeros_like(rows)
    for e in range(n_experts):
        chosen = weights[:, e].nonzero()[:, 0]
        weight = weights[chosen, e, None]
        inputs = rows[chosen]
        if weigh_input:
            outputs = expert_output(weight * inputs, p, e, activation)
        else:
            outputs = weight * expert_output(inputs, p, e, activation)
        y = y.index_add(0, chosen, outputs)
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


def expert_output(x: Tensor, p: ExpertParameters, e: int, activation: str) -> Tensor:
    """Return the output of expert e for rows (n, d_model)."""
    gate = linear(x, p.w_gate[e].mT, None if p.b_gate is None else p.b_gate[e])
    inner = linear(x, p.w_in[e].mT, None if p.b_in is None else p.b_in[e])
    if activation == "clipped_swiglu":
        gate = gate.clamp(max=LIMIT)
        hidden = gate * torch.sigmoid(STEEPNESS * gate) * (inner.clamp(-LIMIT, LIMIT) + 1)
    elif activation == "clipped_silu":
        gate, inner = gate.clamp(max=SILU_LIMIT), inner.clamp(-SILU_LIMIT, SILU_LIMIT)
        hidden = activations.silu(gate) * inner
    else:
        hidden = getattr(activations, activation)(gate) * inner
    return linear(hidden, p.w_out[e].mT, None if p.b_out is None else p.b_out[e])
