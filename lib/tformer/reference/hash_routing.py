"""Hash routing: a table names the experts of each token, whatever its scores (chapter 22)."""

import numpy as np

from tformer.layer_configuration import Routing
from tformer.reference.attention import sum_to
from tformer.reference.equation import equation
from tformer.reference.experts import weights_of, weights_of_vjp
from tformer.reference.positions import require_rows

__all__ = ["hash_routing", "hash_routing_vjp"]


@equation
def hash_routing(logits: np.ndarray, experts: np.ndarray, routing: Routing) -> np.ndarray:
    """Compute the weight of each expert for each token, where the experts are given by name.

    Parameters
    ----------
    logits : (..., T, n_experts) array
        The router's logits; they weigh the experts and do not choose them.
    experts : (..., T, n_chosen) integer array
        The experts of each token, in [0, n_experts); one that is named twice counts once.
    routing : Routing
        Its scores, renormalise and factor; top_k and groups are not used.

    Returns
    -------
    (..., T, n_experts) array
        Zeros for experts that are not named.

    Raises
    ------
    ValueError
        If there is no such expert.

    Notes
    -----
    Equation eq-hash-routing; [roller2021], with scores that weigh the experts as in [deepseek2026],
    section 2.1.
    """
    n_experts = logits.shape[-1]
    require_rows("hash_routing", experts, n_experts, "experts")
    return weights_of(logits, routing, named(experts, n_experts))


@equation
def hash_routing_vjp(
    logits: np.ndarray, experts: np.ndarray, routing: Routing, grad: np.ndarray
) -> np.ndarray:
    """Compute the vector-Jacobian product of `hash_routing` with respect to the logits.

    Parameters
    ----------
    logits : (..., T, n_experts) array
        The router's logits.
    experts : (..., T, n_chosen) integer array
        The experts of each token, in [0, n_experts).
    routing : Routing
        Its scores, renormalise and factor; top_k and groups are not used.
    grad : (..., T, n_experts) array
        Gradient of a loss with respect to what `hash_routing` returned.

    Returns
    -------
    (..., T, n_experts) array
        Same shape as the logits.

    Raises
    ------
    ValueError
        If there is no such expert.

    Notes
    -----
    Equation eq-hash-routing-vjp; the derivative of [deepseek2026], section 2.1.
    """
    n_experts = logits.shape[-1]
    require_rows("hash_routing_vjp", experts, n_experts, "experts")
    return sum_to(logits, weights_of_vjp(logits, routing, named(experts, n_experts), grad))


def named(experts: np.ndarray, n_experts: int) -> np.ndarray:
    """Return True for the experts (..., T, n_experts) that are named."""
    return np.any(experts[..., np.newaxis] == np.arange(n_experts), axis=-2)
