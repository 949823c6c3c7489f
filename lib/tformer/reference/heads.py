"""Many heads: several attentions side by side, whose results are added up (chapter 6)."""

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
    """Sum over the heads: each asks, looks and answers with matrices of its own.

    Parameters
    ----------
    x : (..., T, d_model) array
        What asks; without a memory also what is looked at, and then S is T.
    parameters : HeadParameters
        With fewer groups than heads, heads share keys and values.
    memory : (..., S, d_model) array, optional
        What is looked at instead: cross-attention.
    mask : (..., T or 1, S or 1) boolean array, optional
        True where query t may look at key s, in every head; without it, everywhere.
    bias : (..., H or 1, T or 1, S or 1) array, optional
        Added to the scaled scores of each head, or of all.
    scale : float, finite and above 0, optional
        Factor of the scores; 1/√d_k if left out.
    causal : bool
        Whether keys after the position of a query are masked as well.

    Returns
    -------
    (..., T, d_model) array
        A fully masked row is zero, and then b_o if there is one.

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
    """Vector-Jacobian product of many heads: the gradients passed back to its arguments.

    Parameters
    ----------
    x : (..., T, d_model) array
        What asks; without a memory also what is looked at, and then S is T.
    parameters : HeadParameters
        With fewer groups than heads, heads share keys and values.
    grad : (..., T, d_model) array
        Gradient of a loss with respect to the output of `multi_head_attention`.
    memory : (..., S, d_model) array, optional
        What is looked at instead: cross-attention.
    mask : (..., T or 1, S or 1) boolean array, optional
        True where query t may look at key s, in every head; without it, everywhere.
    bias : (..., H or 1, T or 1, S or 1) array, optional
        Added to the scaled scores of each head, or of all.
    scale : float, finite and above 0, optional
        Factor of the scores; 1/√d_k if left out.
    causal : bool
        Whether keys after the position of a query are masked as well.

    Returns
    -------
    dx : (..., T, d_model) array
        Each gradient has the shape of its argument: axes along which that was repeated are summed.
    dparameters : HeadParameters
        A gradient in the place of each matrix.
    dmemory : (..., S, d_model) array, optional
        None without a memory; what is looked at then passes its part to dx.
    dbias : (..., H or 1, T or 1, S or 1) array, optional
        None without a bias.

    Notes
    -----
    Equation eq-multi-head-attention-vjp; the derivatives of [vaswani2017].
    """
    require_keys("multi_head_attention_vjp", x, memory, mask=mask, bias=bias)
    q, k, v = project(x, parameters, memory)
    y = grouped_attention(q, k, v, mask, bias, scale, causal)
    dy, of_outputs = merge_vjp(y, parameters, grad)
    dq, dk, dv, dbias = grouped_attention_vjp(q, k, v, dy, mask, bias, scale, causal)
    dx, of_inputs, dmemory = project_vjp(x, parameters, dq, dk, dv, memory)
    return dx, tree_map(np.add, of_outputs, of_inputs), dmemory, dbias


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
    """The table of weights of every head: how much query t takes of value s there.

    Parameters
    ----------
    x : (..., T, d_model) array
        What asks; without a memory also what is looked at, and then S is T.
    parameters : HeadParameters
        Values and outputs play no part.
    memory : (..., S, d_model) array, optional
        What is looked at instead: cross-attention.
    mask : (..., T or 1, S or 1) boolean array, optional
        True where query t may look at key s, in every head; without it, everywhere.
    bias : (..., H or 1, T or 1, S or 1) array, optional
        Added to the scaled scores of each head, or of all.
    scale : float, finite and above 0, optional
        Factor of the scores; 1/√d_k if left out.
    causal : bool
        Whether keys after the position of a query are masked as well.

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
    """What a head looks for: without biases, the score of two words is x M yᵀ, before the scale.

    Parameters
    ----------
    parameters : HeadParameters

    Returns
    -------
    (H, d_model, d_model) array
        M of each head, of rank at most d_k.

    Notes
    -----
    Equation eq-qk-circuit; [elhage2021].
    """
    return parameters.w_q @ np.repeat(parameters.w_k, parameters.group_size, axis=0).mT


@equation
def ov_circuit(parameters: HeadParameters) -> np.ndarray:
    """What a head writes: without biases, a word x that is looked at with all weight adds x M.

    Parameters
    ----------
    parameters : HeadParameters

    Returns
    -------
    (H, d_model, d_model) array
        M of each head, of rank at most d_v.

    Notes
    -----
    Equation eq-ov-circuit; [elhage2021].
    """
    return np.repeat(parameters.w_v, parameters.group_size, axis=0) @ parameters.w_o
