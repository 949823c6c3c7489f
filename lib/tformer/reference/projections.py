"""From words to the queries, keys and values of every head, and from heads to words (chapter 6).

Between the two stands attention, and before it whatever turns or keeps: `rope` on queries and keys,
`extend_cache` on keys and values.
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
    """Queries of all heads; keys and values of all groups of heads.

    Parameters
    ----------
    x : (..., T, d_model) array
        What asks; without a memory also what is looked at, and then S is T.
    parameters : HeadParameters
        The matrix and bias of the outputs play no part.
    memory : (..., S, d_model) array, optional
        What is looked at instead: cross-attention.

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
    """Vector-Jacobian product of `project`: the gradients passed back to its arguments.

    Parameters
    ----------
    x : (..., T, d_model) array
        What asks; without a memory also what is looked at, and then S is T.
    parameters : HeadParameters
        The matrix and bias of the outputs play no part.
    dq : (..., H, T, d_k) array
        Gradient of a loss with respect to the queries.
    dk : (..., G, S, d_k) array
        The same for the keys.
    dv : (..., G, S, d_v) array
        The same for the values.
    memory : (..., S, d_model) array, optional
        What is looked at instead: cross-attention.

    Returns
    -------
    dx : (..., T, d_model) array
        Each gradient has the shape of its argument: axes along which that was repeated are summed.
    dparameters : HeadParameters
        A gradient in the place of each array; zeros for matrix and bias of the outputs.
    dmemory : (..., S, d_model) array, optional
        None without a memory; what is looked at then passes its part to dx.

    Notes
    -----
    Equation eq-project-vjp; the derivatives of [vaswani2017], section 3.2.2.
    """
    require_keys("project_vjp", x, memory, axis=-2, dk=dk, dv=dv)
    p, source = parameters, x if memory is None else memory
    dx, dw_q, db_q = _rows_vjp(x, p.w_q, p.b_q, dq)
    from_k, dw_k, db_k = _rows_vjp(source, p.w_k, p.b_k, dk)
    from_v, dw_v, db_v = _rows_vjp(source, p.w_v, p.b_v, dv)
    dw_o, db_o = tree_map(np.zeros_like, (p.w_o, p.b_o))
    dparameters = HeadParameters(dw_q, dw_k, dw_v, dw_o, db_q, db_k, db_v, db_o)
    if memory is None:
        return dx + from_k + from_v, dparameters, None
    return dx, dparameters, from_k + from_v


@equation
def merge(y: np.ndarray, parameters: HeadParameters) -> np.ndarray:
    """Sum over the heads: what each has read, through its own matrix back to the words' width.

    Parameters
    ----------
    y : (..., H, T, d_v) array
        The output of each head.
    parameters : HeadParameters
        Only the matrix and bias of the outputs play a part.

    Returns
    -------
    (..., T, d_model) array

    Notes
    -----
    Equation eq-merge; [vaswani2017], section 3.2.2, where it is written as one product of outputs
    that stand side by side.
    """
    merged = np.sum(y @ parameters.w_o, axis=-3)
    return merged if parameters.b_o is None else merged + parameters.b_o


@equation
def merge_vjp(
    y: np.ndarray, parameters: HeadParameters, grad: np.ndarray
) -> tuple[np.ndarray, HeadParameters]:
    """Vector-Jacobian product of `merge`: the gradients passed back to its arguments.

    Parameters
    ----------
    y : (..., H, T, d_v) array
        The output of each head.
    parameters : HeadParameters
        Only the matrix and bias of the outputs play a part.
    grad : (..., T, d_model) array
        Gradient of a loss with respect to what `merge` returned.

    Returns
    -------
    dy : (..., H, T, d_v) array
        Each gradient has the shape of its argument: axes along which that was repeated are summed.
    dparameters : HeadParameters
        A gradient in the place of each array; zeros for all but matrix and bias of the outputs.

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
    """The cache with the keys and values of T more words.

    Parameters
    ----------
    cache : KVCache, optional
        None before the first words, and then S is 0.
    k : (..., G, T, d_k) array
        The new keys, which have been turned by their positions if anything turns them.
    v : (..., G, T, d_v) array
        The new values.

    Returns
    -------
    extended.k : (..., G, S + T, d_k) array
    extended.v : (..., G, S + T, d_v) array

    Notes
    -----
    Equation eq-extend-cache; [shazeer2019], section 2.4. The cache that is given stays what it is.
    """
    if cache is None:
        return KVCache(k, v)
    return KVCache(_after(cache.k, k), _after(cache.v, v))


def _rows(x: np.ndarray, w: np.ndarray, b: np.ndarray | None) -> np.ndarray:
    """All words through the matrix of each head, (..., heads, T, width)."""
    rows = x[..., np.newaxis, :, :] @ w
    return rows if b is None else rows + b[:, np.newaxis]


def _rows_vjp(
    x: np.ndarray, w: np.ndarray, b: np.ndarray | None, grad: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """Gradients of words, matrices and biases from that of `_rows`."""
    x_H = x[..., np.newaxis, :, :]
    dx = sum_to(x, np.sum(grad @ w.mT, axis=-3))
    dw = sum_to(w, x_H.mT @ grad)
    db = (
        None if b is None else sum_to(b[:, np.newaxis], _repeated(grad, (*x_H.shape[:-1], 1)))[:, 0]
    )
    return dx, dw, db


def _repeated(grad: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """The gradient of a result that had `shape` as well, over which it is repeated."""
    return np.broadcast_to(grad, np.broadcast_shapes(grad.shape, shape))


def _after(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Keys or values of later words after those of earlier ones; leading axes broadcast."""
    if first.shape[:-2] == second.shape[:-2]:
        return np.concatenate([first, second], axis=-2)
    leading = np.broadcast_shapes(first.shape[:-2], second.shape[:-2])
    both = [np.broadcast_to(one, (*leading, *one.shape[-2:])) for one in (first, second)]
    return np.concatenate(both, axis=-2)
