"""Capacity: an expert computes at most so many tokens, and the others lose it (chapter 22)."""

import numpy as np

from tformer.reference.attention import sum_to
from tformer.reference.equation import equation
from tformer.reference.experts import largest

__all__ = ["drop_overflow", "drop_overflow_vjp"]


@equation
def drop_overflow(weights: np.ndarray, capacity: int) -> np.ndarray:
    """Set the weight of a token to 0 where its expert is full: each takes `capacity` tokens.

    Parameters
    ----------
    weights : (..., T, n_experts) array
        The weight of each expert for each token, as from `top_k_routing`; 0 where it is not chosen.
    capacity : int, at least 0
        The most tokens that an expert takes of T tokens; each index of the leading axes is a group
        of tokens of its own.

    Returns
    -------
    (..., T, n_experts) array
        An expert takes the tokens that weigh it most first, then those that weigh it second, and so
        on; of equal rank the first tokens. Weights that are left are not renormalised.

    Notes
    -----
    Equation eq-drop-overflow; [lepikhin2021], algorithm 1, without its chance of dropping second
    choices; [fedus2022], section 2.2, for one expert a token. Of equal weights of a token the first
    expert ranks first.
    """
    return np.where(_taken(weights, capacity), weights, 0)


@equation
def drop_overflow_vjp(weights: np.ndarray, capacity: int, grad: np.ndarray) -> np.ndarray:
    """Compute the vector-Jacobian product of `drop_overflow` with respect to the weights.

    Parameters
    ----------
    weights : (..., T, n_experts) array
        The weight of each expert for each token; 0 where it is not chosen.
    capacity : int, at least 0
        The most tokens that an expert takes of T tokens.
    grad : (..., T, n_experts) array
        Gradient of a loss with respect to what `drop_overflow` returned.

    Returns
    -------
    (..., T, n_experts) array
        The gradient where an expert takes the token, 0 elsewhere; who is taken counts as fixed.

    Notes
    -----
    Equation eq-drop-overflow-vjp; the derivative of [lepikhin2021], algorithm 1.
    """
    return sum_to(weights, np.where(_taken(weights, capacity), grad, 0))


def _taken(weights: np.ndarray, capacity: int) -> np.ndarray:
    """Return True where an expert takes a token that chose it."""
    n_tokens, n_experts = weights.shape[-2:]
    order = np.argsort(-weights, axis=-1, kind="stable")
    rank = np.argsort(order, axis=-1, kind="stable")
    turn = rank * n_tokens + np.arange(n_tokens)[:, np.newaxis]
    turn = np.where(weights == 0, n_experts * n_tokens, turn)
    first = largest(-turn.swapaxes(-1, -2), capacity).swapaxes(-1, -2)
    return first & (weights != 0)
