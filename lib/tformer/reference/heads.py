"""Many heads: several attentions side by side, whose results are added up (chapter 6).

Here a head is a round of a loop, which is the definition; `tformer.fast` computes all at once.
"""

from collections.abc import Iterator

import numpy as np

from tformer.reference.attention import attention, attention_vjp, attention_weights, sum_to
from tformer.reference.equation import equation
from tformer.weights import HeadWeights, looked_at

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
    weights: HeadWeights,
    memory: np.ndarray | None = None,
    mask: np.ndarray | None = None,
    bias: np.ndarray | None = None,
    scale: float | None = None,
) -> np.ndarray:
    """Sum over the heads: each asks, looks and answers with matrices of its own.

    Parameters
    ----------
    x : (..., T, d_model) array
        What asks; without a memory also what is looked at, and then S is T.
    weights : HeadWeights
        With fewer groups than heads, heads share keys and values.
    memory : (..., S, d_model) array, optional
        What is looked at instead: cross-attention.
    mask : (..., T or 1, S or 1) boolean array, optional
        True where query t may look at key s, in every head; without it, everywhere.
    bias : (..., H or 1, T or 1, S or 1) array, optional
        Added to the scaled scores of each head, or of all.
    scale : float, finite and above 0, optional
        Factor of the scores; 1/√d_k if left out.

    Returns
    -------
    (..., T, d_model) array
        A fully masked row is zero.

    Notes
    -----
    Equation eq-multi-head-attention; [vaswani2017], section 3.2.2, with groups as in [ainslie2023],
    one group as in [shazeer2019].
    """
    source = looked_at("multi_head_attention", x, memory, mask, bias)
    heads = [
        attention(q, k, v, mask, b, scale) @ weights.w_o[h]
        for h, (q, k, v, b) in enumerate(_heads(x, weights, source, bias))
    ]
    return np.sum(heads, axis=0)


@equation
def multi_head_attention_vjp(
    x: np.ndarray,
    weights: HeadWeights,
    grad: np.ndarray,
    memory: np.ndarray | None = None,
    mask: np.ndarray | None = None,
    bias: np.ndarray | None = None,
    scale: float | None = None,
) -> tuple[np.ndarray, HeadWeights, np.ndarray | None, np.ndarray | None]:
    """Vector-Jacobian product of many heads: the gradients passed back to its arguments.

    Parameters
    ----------
    x : (..., T, d_model) array
        What asks; without a memory also what is looked at, and then S is T.
    weights : HeadWeights
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

    Returns
    -------
    dx : (..., T, d_model) array
        Each gradient has the shape of its argument: axes along which that was repeated are summed.
    dweights : HeadWeights
        A gradient in the place of each matrix.
    dmemory : (..., S, d_model) array, optional
        None without a memory; what is looked at then passes its part to dx.
    dbias : (..., H or 1, T or 1, S or 1) array, optional
        None without a bias.

    Notes
    -----
    Equation eq-multi-head-attention-vjp; the derivatives of [vaswani2017].
    """
    source = looked_at("multi_head_attention_vjp", x, memory, mask, bias)
    dx, dsource = np.zeros_like(x), np.zeros_like(source)
    dweights = HeadWeights(*map(np.zeros_like, vars(weights).values()))
    dbias = None if bias is None else np.zeros_like(bias)
    for h, (q, k, v, table) in enumerate(_heads(x, weights, source, bias)):
        g, w_o = h // weights.group_size, weights.w_o[h]
        y = attention(q, k, v, mask, table, scale)
        dq, dk, dv, dtable = attention_vjp(q, k, v, grad @ w_o.T, mask, table, scale)
        dx += dq @ weights.w_q[h].T
        dsource += dk @ weights.w_k[g].T + dv @ weights.w_v[g].T
        dweights.w_q[h] += sum_to(weights.w_q[h], x.mT @ dq)
        dweights.w_k[g] += sum_to(weights.w_k[g], source.mT @ dk)
        dweights.w_v[g] += sum_to(weights.w_v[g], source.mT @ dv)
        dweights.w_o[h] += sum_to(w_o, y.mT @ grad)
        if dbias is not None:
            dbias[..., h % dbias.shape[-3], :, :] += dtable
    if memory is None:
        return dx + dsource, dweights, None, dbias
    return dx, dweights, dsource, dbias


@equation
def multi_head_weights(
    x: np.ndarray,
    weights: HeadWeights,
    memory: np.ndarray | None = None,
    mask: np.ndarray | None = None,
    bias: np.ndarray | None = None,
    scale: float | None = None,
) -> np.ndarray:
    """The table of weights of every head: how much query t takes of value s there.

    Parameters
    ----------
    x : (..., T, d_model) array
        What asks; without a memory also what is looked at, and then S is T.
    weights : HeadWeights
        Values and outputs play no part.
    memory : (..., S, d_model) array, optional
        What is looked at instead: cross-attention.
    mask : (..., T or 1, S or 1) boolean array, optional
        True where query t may look at key s, in every head; without it, everywhere.
    bias : (..., H or 1, T or 1, S or 1) array, optional
        Added to the scaled scores of each head, or of all.
    scale : float, finite and above 0, optional
        Factor of the scores; 1/√d_k if left out.

    Returns
    -------
    (..., H, T, S) array
        Each row sums to one, or is zero if fully masked.

    Notes
    -----
    Equation eq-multi-head-weights; [vaswani2017], section 3.2.2.
    """
    source = looked_at("multi_head_weights", x, memory, mask, bias)
    tables = [
        attention_weights(q, k, mask, table, scale)
        for q, k, _, table in _heads(x, weights, source, bias)
    ]
    return np.stack(tables, axis=-3)


@equation
def qk_circuit(weights: HeadWeights) -> np.ndarray:
    """What a head looks for: the score of two words is x M yᵀ, before it is scaled.

    Parameters
    ----------
    weights : HeadWeights

    Returns
    -------
    (H, d_model, d_model) array
        M of each head, of rank at most d_k.

    Notes
    -----
    Equation eq-qk-circuit; [elhage2021].
    """
    return weights.w_q @ np.repeat(weights.w_k, weights.group_size, axis=0).mT


@equation
def ov_circuit(weights: HeadWeights) -> np.ndarray:
    """What a head writes: a word x that is looked at with all weight adds x M.

    Parameters
    ----------
    weights : HeadWeights

    Returns
    -------
    (H, d_model, d_model) array
        M of each head, of rank at most d_v.

    Notes
    -----
    Equation eq-ov-circuit; [elhage2021].
    """
    return np.repeat(weights.w_v, weights.group_size, axis=0) @ weights.w_o


def _heads(
    x: np.ndarray, weights: HeadWeights, source: np.ndarray, bias: np.ndarray | None
) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray | None]]:
    """Queries, keys, values and bias of each head in turn."""
    for h, w_q in enumerate(weights.w_q):
        g = h // weights.group_size
        table = None if bias is None else bias[..., h % bias.shape[-3], :, :]
        yield x @ w_q, source @ weights.w_k[g], source @ weights.w_v[g], table
