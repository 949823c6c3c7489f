"""Experts: a router chooses a few feed-forward layers for each token (chapter 22)."""

from typing import Any

import numpy as np
from scipy.special import expit

from tformer.layer_checks import require_activation, require_experts
from tformer.layer_configuration import Routing
from tformer.layers import ExpertParameters
from tformer.parameters import tree_map
from tformer.reference.attention import sum_to
from tformer.reference.equation import equation
from tformer.reference.expert import expert_output, expert_vjp
from tformer.reference.softmax import softmax, softmax_vjp

__all__ = [
    "balancing_loss",
    "balancing_loss_vjp",
    "mixture_of_experts",
    "mixture_of_experts_vjp",
    "top_k_routing",
    "top_k_routing_vjp",
]


@equation
def top_k_routing(
    logits: np.ndarray, routing: Routing, choice_bias: np.ndarray | None = None
) -> np.ndarray:
    """Compute the weight of each expert for each token: above 0 for the top_k that are chosen.

    Parameters
    ----------
    logits : (..., T, n_experts) array
        The router's logits.
    routing : Routing
    choice_bias : (n_experts,) array, optional
        Added to the scores for the choice only.

    Returns
    -------
    (..., T, n_experts) array
        Zeros for experts that are not chosen. Of equal scores the first expert is chosen.

    Raises
    ------
    ValueError
        If there are fewer than top_k experts to choose from, or n_groups does not divide their
        number.

    Notes
    -----
    Equation eq-top-k-routing; [shazeer2017], section 2.1, without its noise; the bias of
    [wang2024]; groups as in [deepseek2024b], section 2.1.2.
    """
    require_experts("top_k_routing", logits.shape[-1], routing)
    chosen = _chosen(_scores(logits, routing), routing, choice_bias)
    return weights_of(logits, routing, chosen)


@equation
def top_k_routing_vjp(
    logits: np.ndarray,
    routing: Routing,
    grad: np.ndarray,
    choice_bias: np.ndarray | None = None,
) -> np.ndarray:
    """Compute the vector-Jacobian product of `top_k_routing` with respect to the logits.

    Parameters
    ----------
    logits : (..., T, n_experts) array
        The router's logits.
    routing : Routing
    grad : (..., T, n_experts) array
        Gradient of a loss with respect to what `top_k_routing` returned.
    choice_bias : (n_experts,) array, optional
        Added to the scores for the choice only; it has no gradient.

    Returns
    -------
    (..., T, n_experts) array
        The choice counts as fixed.

    Raises
    ------
    ValueError
        As `top_k_routing`.

    Notes
    -----
    Equation eq-top-k-routing-vjp; the derivative of [shazeer2017], section 2.1.
    """
    require_experts("top_k_routing_vjp", logits.shape[-1], routing)
    chosen = _chosen(_scores(logits, routing), routing, choice_bias)
    return weights_of_vjp(logits, routing, chosen, grad)


@equation
def mixture_of_experts(
    x: np.ndarray,
    parameters: ExpertParameters,
    weights: np.ndarray,
    activation: str = "silu",
    weigh_input: bool = False,
) -> np.ndarray:
    """Compute the sum over experts of their outputs, each times its weight.

    Parameters
    ----------
    x : (..., T, d_model) array
        Hidden states.
    parameters : ExpertParameters
        The router is not used.
    weights : (..., T, n_experts) array
        The weight of each expert for each token, as from `top_k_routing`; an expert of weight 0
        adds nothing.
    activation : str
        "relu", "gelu", "gelu_tanh" or "silu" of the gates, which multiply the hidden units;
        "clipped_swiglu": gates at most 7 and hidden units within ±7, gate · σ(1.702 gate) times
        the hidden unit plus 1; or "clipped_silu": gates at most 10 and hidden units within ±10.
    weigh_input : bool
        Whether the weight of an expert multiplies its input in place of its output.

    Returns
    -------
    (..., T, d_model) array

    Raises
    ------
    ValueError
        If the activation is none of these.

    Notes
    -----
    Equation eq-mixture-of-experts; [shazeer2017], section 2; experts with gates as in [jiang2024].
    By definition: every expert is computed for every token.
    """
    require_activation("mixture_of_experts", activation)
    y = np.zeros((*np.broadcast_shapes(x.shape[:-1], weights.shape[:-1]), x.shape[-1]), x.dtype)
    for e in range(weights.shape[-1]):
        weight = weights[..., e : e + 1]
        inputs = weight * x if weigh_input else x
        outputs = expert_output(inputs, parameters, e, activation)[0]
        y = y + np.where(weight == 0, 0, outputs if weigh_input else weight * outputs)
    return y


@equation
def mixture_of_experts_vjp(
    x: np.ndarray,
    parameters: ExpertParameters,
    weights: np.ndarray,
    grad: np.ndarray,
    activation: str = "silu",
    weigh_input: bool = False,
) -> tuple[np.ndarray, ExpertParameters, np.ndarray]:
    """Compute the vector-Jacobian product of `mixture_of_experts`.

    Parameters
    ----------
    x : (..., T, d_model) array
        Hidden states.
    parameters : ExpertParameters
        The router is not used.
    weights : (..., T, n_experts) array
        The weight of each expert for each token; an expert of weight 0 has no gradient.
    grad : (..., T, d_model) array
        Gradient of a loss with respect to what `mixture_of_experts` returned.
    activation : str
        As in `mixture_of_experts`.
    weigh_input : bool
        Whether the weight of an expert multiplies its input in place of its output.

    Returns
    -------
    dx : (..., T, d_model) array
        Each gradient has the shape of its argument: broadcast axes are summed over.
    dparameters : ExpertParameters
        Zeros for the router.
    dweights : (..., T, n_experts) array
        0 where a weight is 0: the expert was not chosen.

    Raises
    ------
    ValueError
        If the activation is none of these.

    Notes
    -----
    Equation eq-mixture-of-experts-vjp; the derivatives of [shazeer2017], section 2.
    """
    require_activation("mixture_of_experts_vjp", activation)
    p, given = parameters, x
    x = np.broadcast_to(x, np.broadcast_shapes(x.shape, (*weights.shape[:-1], x.shape[-1])))
    dx = np.zeros_like(x)
    dweights = np.zeros(weights.shape, x.dtype)
    grads: dict[str, Any] = tree_map(np.zeros_like, vars(p))
    for e in range(weights.shape[-1]):
        weight = weights[..., e : e + 1]
        chosen = weight != 0
        inputs = weight * x if weigh_input else x
        outputs, kept = expert_output(inputs, p, e, activation)
        douter = np.where(chosen, grad, 0) if weigh_input else np.where(chosen, weight * grad, 0)
        dinputs, dexpert = expert_vjp(inputs, p, e, activation, kept, douter)
        dweight = (dinputs * x if weigh_input else grad * outputs).sum(axis=-1, keepdims=True)
        dweights[..., e : e + 1] = sum_to(weight, np.where(chosen, dweight, 0))
        dx = dx + (weight * dinputs if weigh_input else dinputs)
        for name, dw in dexpert.items():
            grads[name][e] = dw
    return sum_to(given, dx), ExpertParameters(**grads), dweights


@equation
def balancing_loss(logits: np.ndarray, routing: Routing) -> np.ndarray:
    """Compute the load-balancing loss: how unevenly experts are used, times their number.

    Parameters
    ----------
    logits : (..., T, n_experts) array
        The router's logits for T tokens.
    routing : Routing
        Its top_k; scores, groups and biases are not used.

    Returns
    -------
    (...) array
        n_experts Σ f P: f is the share of tokens for which an expert is among the top_k, and P the
        mean of its softmax probability. It is top_k if all experts are used alike.

    Raises
    ------
    ValueError
        If there are fewer than top_k experts.

    Notes
    -----
    Equation eq-balancing-loss; [fedus2022], section 2.2, for top_k = 1; its sum over the chosen
    experts otherwise. 0 without tokens.
    """
    share, probabilities = _usage("balancing_loss", logits, routing)
    return logits.shape[-1] * (share * _mean(probabilities)).sum(axis=-1)


@equation
def balancing_loss_vjp(logits: np.ndarray, routing: Routing, grad: np.ndarray) -> np.ndarray:
    """Compute the vector-Jacobian product of `balancing_loss`.

    Parameters
    ----------
    logits : (..., T, n_experts) array
        The router's logits for T tokens.
    routing : Routing
        Its top_k; scores, groups and biases are not used.
    grad : (...) array
        Gradient of a loss with respect to what `balancing_loss` returned.

    Returns
    -------
    (..., T, n_experts) array
        The share of tokens counts as fixed.

    Raises
    ------
    ValueError
        If there are fewer than top_k experts.

    Notes
    -----
    Equation eq-balancing-loss-vjp; the derivative of [fedus2022], section 2.2.
    """
    share, probabilities = _usage("balancing_loss_vjp", logits, routing)
    n_tokens, n_experts = max(logits.shape[-2], 1), logits.shape[-1]
    dprobabilities = grad[..., np.newaxis, np.newaxis] * n_experts / n_tokens
    dprobabilities = dprobabilities * share[..., np.newaxis, :]
    return sum_to(logits, softmax_vjp(probabilities, dprobabilities))


def weights_of(logits: np.ndarray, routing: Routing, chosen: np.ndarray) -> np.ndarray:
    """Return the weights of the experts that are chosen, zeros for the others."""
    weights = np.where(chosen, _scores(logits, routing), 0)
    if routing.renormalise:
        weights = weights / weights.sum(axis=-1, keepdims=True)
    return routing.factor * weights


def weights_of_vjp(
    logits: np.ndarray, routing: Routing, chosen: np.ndarray, grad: np.ndarray
) -> np.ndarray:
    """Return the gradient of the logits, for `weights_of`."""
    scores = _scores(logits, routing)
    dscores = routing.factor * grad
    if routing.renormalise:
        weights = np.where(chosen, scores, 0)
        total = weights.sum(axis=-1, keepdims=True)
        mean = (dscores * weights).sum(axis=-1, keepdims=True) / total
        dscores = (dscores - mean) / total
    dscores = np.where(chosen, dscores, 0)
    if routing.scores == "softmax":
        return sum_to(logits, softmax_vjp(scores, dscores))
    if routing.scores == "sqrt_softplus":
        return sum_to(logits, dscores * expit(logits) / (2 * scores))
    return sum_to(logits, dscores * scores * (1 - scores))


def _scores(logits: np.ndarray, routing: Routing) -> np.ndarray:
    if routing.scores == "sqrt_softplus":
        return np.sqrt(np.logaddexp(0, logits))
    return softmax(logits) if routing.scores == "softmax" else expit(logits)


def _chosen(scores: np.ndarray, routing: Routing, choice_bias: np.ndarray | None) -> np.ndarray:
    """Return True for the experts that are chosen."""
    choice = scores if choice_bias is None else scores + choice_bias
    if routing.n_groups > 1:
        size = choice.shape[-1] // routing.n_groups
        groups = choice.reshape(*choice.shape[:-1], routing.n_groups, size)
        two_best = np.sort(groups, axis=-1)[..., -2:].sum(axis=-1)
        is_open = np.repeat(largest(two_best, routing.top_groups), size, axis=-1)
        choice = np.where(is_open, choice, -np.inf)
    return largest(choice, routing.top_k)


def largest(x: np.ndarray, n: int) -> np.ndarray:
    """Return True at the n largest entries of each row, the first of equal ones."""
    order = np.argsort(-x, axis=-1, kind="stable")
    return np.argsort(order, axis=-1, kind="stable") < n


def _usage(where: str, logits: np.ndarray, routing: Routing) -> tuple[np.ndarray, np.ndarray]:
    """Return the share of tokens of each expert (..., n_experts), and softmax probabilities."""
    require_experts(where, logits.shape[-1], Routing(routing.top_k))
    probabilities = softmax(logits)
    return _mean(largest(logits, routing.top_k).astype(logits.dtype)), probabilities


def _mean(x: np.ndarray) -> np.ndarray:
    """Return the mean over tokens, 0 without any."""
    return x.sum(axis=-2) / max(x.shape[-2], 1)
