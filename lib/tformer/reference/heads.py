"""Multi-head attention: several heads in parallel, whose outputs are summed (chapter 6)."""

import numpy as np

from tformer.parameters import HeadParameters, require_keys, tree_map
from tformer.reference.equation import equation
from tformer.reference.groups import (
    grouped_attention,
    grouped_attention_vjp,
    grouped_attention_weights,
)
from tformer.reference.projections import merge, merge_vjp, project, project_vjp

__all__ = [
    "multi_head_attention",
    "multi_head_attention_vjp",
    "multi_head_weights",
    "ov_circuit",
    "qk_circuit",
]


@equation
def multi_head_attention(
    x: np.ndarray,
    parameters: HeadParameters,
    memory: np.ndarray | None = None,
    mask: np.ndarray | None = None,
    bias: np.ndarray | None = None,
    scale: float | None = None,
    causal: bool = False,
) -> np.ndarray:
    """Compute multi-head attention: project, attend in every head, and sum the heads' outputs.

    Parameters
    ----------
    x : (..., T, d_model) array
        Hidden states that queries are computed from; without a memory keys and values too (S = T).
    parameters : HeadParameters
        With G < H, the heads of a group share keys and values (grouped-query attention).
    memory : (..., S, d_model) array, optional
        Hidden states that keys and values are computed from instead: cross-attention.
    mask : (..., T or 1, S or 1) boolean array, optional
        True where query t may attend to key s, in every head; nothing is masked if omitted.
    bias : (..., H or 1, T or 1, S or 1) array, optional
        Added to the scaled scores of each head; a head axis of size 1 is shared by all heads.
    scale : float, finite and above 0, optional
        Multiplies the scores; 1/√d_k if omitted.
    causal : bool
        Whether to mask, in addition, every key at a later position than the query.

    Returns
    -------
    (..., T, d_model) array
        A fully masked row is b_o, or zero without b_o.

    Notes
    -----
    Equation eq-multi-head-attention; [vaswani2017], section 3.2.2, with groups as in [ainslie2023],
    one group as in [shazeer2019].
    """
    require_keys("multi_head_attention", x, memory, mask=mask, bias=bias)
    q, k, v = project(x, parameters, memory)
    y = grouped_attention(q, k, v, mask, bias, scale, causal)
    return merge(y, parameters)


@equation
def multi_head_attention_vjp(
    x: np.ndarray,
    parameters: HeadParameters,
    grad: np.ndarray,
    memory: np.ndarray | None = None,
    mask: np.ndarray | None = None,
    bias: np.ndarray | None = None,
    scale: float | None = None,
    causal: bool = False,
) -> tuple[np.ndarray, HeadParameters, np.ndarray | None, np.ndarray | None]:
    """Compute the vector-Jacobian product of `multi_head_attention`.

    Parameters
    ----------
    x : (..., T, d_model) array
        Hidden states that queries are computed from; without a memory keys and values too (S = T).
    parameters : HeadParameters
        With G < H, the heads of a group share keys and values (grouped-query attention).
    grad : (..., T, d_model) array
        Gradient of a loss with respect to the output of `multi_head_attention`.
    memory : (..., S, d_model) array, optional
        Hidden states that keys and values are computed from instead: cross-attention.
    mask : (..., T or 1, S or 1) boolean array, optional
        True where query t may attend to key s, in every head; nothing is masked if omitted.
    bias : (..., H or 1, T or 1, S or 1) array, optional
        Added to the scaled scores of each head; a head axis of size 1 is shared by all heads.
    scale : float, finite and above 0, optional
        Multiplies the scores; 1/√d_k if omitted.
    causal : bool
        Whether to mask, in addition, every key at a later position than the query.

    Returns
    -------
    dx : (..., T, d_model) array
        Each gradient has the shape of its argument: broadcast axes are summed over.
    dparameters : HeadParameters
        The gradient of each matrix.
    dmemory : (..., S, d_model) array, optional
        None without a memory; the gradient through keys and values is then part of dx.
    dbias : (..., H or 1, T or 1, S or 1) array, optional
        None without a bias.

    Notes
    -----
    Equation eq-multi-head-attention-vjp; the derivatives of [vaswani2017].
    """
    require_keys("multi_head_attention_vjp", x, memory, mask=mask, bias=bias)
    q, k, v = project(x, parameters, memory)
    y = grouped_attention(q, k, v, mask, bias, scale, causal)
    dy, dmerge = merge_vjp(y, parameters, grad)
    dq, dk, dv, dbias = grouped_attention_vjp(q, k, v, dy, mask, bias, scale, causal)
    dx, dproject, dmemory = project_vjp(x, parameters, dq, dk, dv, memory)
    return dx, tree_map(np.add, dmerge, dproject), dmemory, dbias


@equation
def multi_head_weights(
    x: np.ndarray,
    parameters: HeadParameters,
    memory: np.ndarray | None = None,
    mask: np.ndarray | None = None,
    bias: np.ndarray | None = None,
    scale: float | None = None,
    causal: bool = False,
) -> np.ndarray:
    """Compute the attention weights of every head: how much query t attends to key s.

    Parameters
    ----------
    x : (..., T, d_model) array
        Hidden states that queries are computed from; without a memory keys and values too (S = T).
    parameters : HeadParameters
        w_v, w_o and their biases do not affect the result.
    memory : (..., S, d_model) array, optional
        Hidden states that keys and values are computed from instead: cross-attention.
    mask : (..., T or 1, S or 1) boolean array, optional
        True where query t may attend to key s, in every head; nothing is masked if omitted.
    bias : (..., H or 1, T or 1, S or 1) array, optional
        Added to the scaled scores of each head; a head axis of size 1 is shared by all heads.
    scale : float, finite and above 0, optional
        Multiplies the scores; 1/√d_k if omitted.
    causal : bool
        Whether to mask, in addition, every key at a later position than the query.

    Returns
    -------
    (..., H, T, S) array
        Each row sums to one, or is zero if fully masked.

    Notes
    -----
    Equation eq-multi-head-weights; [vaswani2017], section 3.2.2.
    """
    require_keys("multi_head_weights", x, memory, mask=mask, bias=bias)
    q, k, _ = project(x, parameters, memory)
    return grouped_attention_weights(q, k, mask, bias, scale, causal)


@equation
def qk_circuit(parameters: HeadParameters) -> np.ndarray:
    """Compute the QK circuit M of each head: the score of hidden states x and y is x M yᵀ.

    Parameters
    ----------
    parameters : HeadParameters

    Returns
    -------
    (H, d_model, d_model) array
        M of each head, of rank at most d_k.

    Notes
    -----
    Equation eq-qk-circuit; [elhage2021]. The score is that before the scale, without biases.
    """
    return parameters.w_q @ np.repeat(parameters.w_k, parameters.group_size, axis=0).mT


@equation
def ov_circuit(parameters: HeadParameters) -> np.ndarray:
    """Compute the OV circuit M of each head: x M is its output if it only attends to x.

    Parameters
    ----------
    parameters : HeadParameters

    Returns
    -------
    (H, d_model, d_model) array
        M of each head, of rank at most d_v.

    Notes
    -----
    Equation eq-ov-circuit; [elhage2021]. Without biases.
    """
    return np.repeat(parameters.w_v, parameters.group_size, axis=0) @ parameters.w_o
