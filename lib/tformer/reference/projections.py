"""Projections: hidden states to queries, keys and values, and head outputs back (chapter 6).

Attention is computed between the two. Before it, `rope` may rotate queries and keys, and
`extend_cache` may store keys and values.
"""

from dataclasses import replace

import numpy as np

from tformer.parameters import HeadParameters, KVCache, require_keys, tree_map
from tformer.reference.attention import sum_to
from tformer.reference.equation import equation

__all__ = ["extend_cache", "merge", "merge_vjp", "project", "project_vjp"]

Three = tuple[np.ndarray, np.ndarray, np.ndarray]


@equation
def project(x: np.ndarray, parameters: HeadParameters, memory: np.ndarray | None = None) -> Three:
    """Project hidden states to the queries of all heads and the keys and values of all groups.

    Parameters
    ----------
    x : (..., T, d_model) array
        Hidden states that queries are computed from; without a memory keys and values too (S = T).
    parameters : HeadParameters
        w_o and b_o are not used.
    memory : (..., S, d_model) array, optional
        Hidden states that keys and values are computed from instead: cross-attention.

    Returns
    -------
    q : (..., H, T, d_k) array
    k : (..., G, S, d_k) array
    v : (..., G, S, d_v) array

    Notes
    -----
    Equation eq-project; [vaswani2017], section 3.2.2, with groups as in [ainslie2023].
    """
    p, source = parameters, x if memory is None else memory
    return _rows(x, p.w_q, p.b_q), _rows(source, p.w_k, p.b_k), _rows(source, p.w_v, p.b_v)


@equation
def project_vjp(
    x: np.ndarray,
    parameters: HeadParameters,
    dq: np.ndarray,
    dk: np.ndarray,
    dv: np.ndarray,
    memory: np.ndarray | None = None,
) -> tuple[np.ndarray, HeadParameters, np.ndarray | None]:
    """Compute the vector-Jacobian product of `project`: gradients with respect to its arguments.

    Parameters
    ----------
    x : (..., T, d_model) array
        Hidden states that queries are computed from; without a memory keys and values too (S = T).
    parameters : HeadParameters
        w_o and b_o are not used.
    dq : (..., H, T, d_k) array
        Gradient of a loss with respect to the queries.
    dk : (..., G, S, d_k) array
        Gradient with respect to the keys.
    dv : (..., G, S, d_v) array
        Gradient with respect to the values.
    memory : (..., S, d_model) array, optional
        Hidden states that keys and values are computed from instead: cross-attention.

    Returns
    -------
    dx : (..., T, d_model) array
        Each gradient has the shape of its argument: broadcast axes are summed over.
    dparameters : HeadParameters
        The gradient of each array; zeros for w_o and b_o.
    dmemory : (..., S, d_model) array, optional
        None without a memory; the gradient through keys and values is then part of dx.

    Notes
    -----
    Equation eq-project-vjp; the derivatives of [vaswani2017], section 3.2.2.
    """
    require_keys("project_vjp", x, memory, axis=-2, dk=dk, dv=dv)
    p, source = parameters, x if memory is None else memory
    dx, dw_q, db_q = _rows_vjp(x, p.w_q, p.b_q, dq)
    dx_k, dw_k, db_k = _rows_vjp(source, p.w_k, p.b_k, dk)
    dx_v, dw_v, db_v = _rows_vjp(source, p.w_v, p.b_v, dv)
    dw_o, db_o = tree_map(np.zeros_like, (p.w_o, p.b_o))
    dparameters = HeadParameters(dw_q, dw_k, dw_v, dw_o, db_q, db_k, db_v, db_o)
    if memory is None:
        return dx + dx_k + dx_v, dparameters, None
    return dx, dparameters, dx_k + dx_v


@equation
def merge(y: np.ndarray, parameters: HeadParameters) -> np.ndarray:
    """Sum over the heads: the output of each head times its own output matrix, plus b_o.

    Parameters
    ----------
    y : (..., H, T, d_v) array
        The output of each head.
    parameters : HeadParameters
        Only w_o and b_o are used.

    Returns
    -------
    (..., T, d_model) array

    Notes
    -----
    Equation eq-merge; [vaswani2017], section 3.2.2, where it is written as one product: W_O times
    the concatenated outputs of the heads.
    """
    merged = np.sum(y @ parameters.w_o, axis=-3)
    return merged if parameters.b_o is None else merged + parameters.b_o


@equation
def merge_vjp(
    y: np.ndarray, parameters: HeadParameters, grad: np.ndarray
) -> tuple[np.ndarray, HeadParameters]:
    """Compute the vector-Jacobian product of `merge`: gradients with respect to its arguments.

    Parameters
    ----------
    y : (..., H, T, d_v) array
        The output of each head.
    parameters : HeadParameters
        Only w_o and b_o are used.
    grad : (..., T, d_model) array
        Gradient of a loss with respect to what `merge` returned.

    Returns
    -------
    dy : (..., H, T, d_v) array
        Each gradient has the shape of its argument: broadcast axes are summed over.
    dparameters : HeadParameters
        The gradient of each array; zeros for all but w_o and b_o.

    Notes
    -----
    Equation eq-merge-vjp; the derivatives of [vaswani2017], section 3.2.2.
    """
    p, grad_H = parameters, grad[..., np.newaxis, :, :]
    dw_o = sum_to(p.w_o, y.mT @ grad_H)
    db_o = None if p.b_o is None else sum_to(p.b_o, _repeated(grad, (*y.shape[:-3], 1, 1)))
    dparameters = replace(tree_map(np.zeros_like, p), w_o=dw_o, b_o=db_o)
    return sum_to(y, grad_H @ p.w_o.mT), dparameters


@equation
def extend_cache(cache: KVCache | None, k: np.ndarray, v: np.ndarray) -> KVCache:
    """Append the keys and values of T tokens to the KV cache.

    Parameters
    ----------
    cache : KVCache, optional
        None before the first token (S = 0).
    k : (..., G, T, d_k) array
        The new keys, already rotated if the model uses RoPE.
    v : (..., G, T, d_v) array
        The new values.

    Returns
    -------
    extended.k : (..., G, S + T, d_k) array
    extended.v : (..., G, S + T, d_v) array

    Notes
    -----
    Equation eq-extend-cache; [shazeer2019], section 2.4. The given cache is not modified.
    """
    if cache is None:
        return KVCache(k, v)
    return KVCache(_concatenate(cache.k, k), _concatenate(cache.v, v))


def _rows(x: np.ndarray, w: np.ndarray, b: np.ndarray | None) -> np.ndarray:
    """Apply the linear map of each head to each token: (..., heads, T, width)."""
    rows = x[..., np.newaxis, :, :] @ w
    return rows if b is None else rows + b[:, np.newaxis]


def heads_vjp(x: np.ndarray, w: np.ndarray, grad: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the gradients of x (..., H or 1, T, n) and w (H, n, m), for x @ w."""
    return sum_to(x, grad @ w.mT), sum_to(w, x.mT @ grad)


def _rows_vjp(
    x: np.ndarray, w: np.ndarray, b: np.ndarray | None, grad: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """Compute the vector-Jacobian product of `_rows`: gradients of x, w and b."""
    x_H = x[..., np.newaxis, :, :]
    dx = sum_to(x, np.sum(grad @ w.mT, axis=-3))
    dw = sum_to(w, x_H.mT @ grad)
    db = (
        None if b is None else sum_to(b[:, np.newaxis], _repeated(grad, (*x_H.shape[:-1], 1)))[:, 0]
    )
    return dx, dw, db


def _repeated(grad: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Broadcast a gradient to the shape of the result, of which `shape` is known."""
    return np.broadcast_to(grad, np.broadcast_shapes(grad.shape, shape))


def _concatenate(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Concatenate two arrays along the token axis; leading axes broadcast."""
    if first.shape[:-2] == second.shape[:-2]:
        return np.concatenate([first, second], axis=-2)
    leading = np.broadcast_shapes(first.shape[:-2], second.shape[:-2])
    both = [np.broadcast_to(one, (*leading, *one.shape[-2:])) for one in (first, second)]
    return np.concatenate(both, axis=-2)
