"""Linear attention: attention weights are dot products of positive features (chapter 16).

Without the exponential of a score the sum over keys can be taken first. So the past is summarised
in a state of d_k × d_v numbers, whatever the sequence length.
"""

import numpy as np

from tformer.reference.equation import equation, recurrence
from tformer.reference.masks import causal_mask

__all__ = ["elu_feature_map", "linear_attention", "recurrent_linear_attention"]


@equation
def elu_feature_map(x: np.ndarray) -> np.ndarray:
    """Compute elu(x) + 1 elementwise: x + 1 for x ≥ 0 and exp(x) for x < 0.

    Parameters
    ----------
    x : (...) array

    Returns
    -------
    (...) array

    Notes
    -----
    Equation eq-elu-feature-map; [katharopoulos2020], equation 7.
    """
    return np.where(x > 0, x + 1, np.exp(np.minimum(x, 0)))


@equation
def linear_attention(
    q: np.ndarray, k: np.ndarray, v: np.ndarray, causal: bool = False
) -> np.ndarray:
    """Compute linear attention: weights φ(q)·φ(k), normalised per row, instead of the softmax.

    Parameters
    ----------
    q : (..., T, d_k) array
        Queries.
    k : (..., S, d_k) array
        Keys.
    v : (..., S, d_v) array
        Values, one for each key.
    causal : bool
        Whether to mask keys at later positions than the query; the first query is at 0.

    Returns
    -------
    (..., T, d_v) array
        A row whose weights are all 0 is zero.

    Notes
    -----
    Equation eq-linear-attention; [katharopoulos2020], sections 3.2 and 3.3, from the T × S
    weights. φ is `elu_feature_map`, and there is no scale.
    """
    weights_TS = elu_feature_map(q) @ elu_feature_map(k).mT
    if causal:
        weights_TS = weights_TS * causal_mask(q.shape[-2], k.shape[-2])
    total = weights_TS.sum(axis=-1, keepdims=True)
    return (weights_TS @ v) / np.where(total == 0, 1, total)


@recurrence
def recurrent_linear_attention(
    q: np.ndarray,
    k: np.ndarray,
    v: np.ndarray,
    state: np.ndarray | None = None,
    total: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Compute causal `linear_attention` token by token; also return the recurrent state.

    Parameters
    ----------
    q : (..., T, d_k) array
        Queries.
    k : (..., T, d_k) array
        Keys.
    v : (..., T, d_v) array
        Values, one for each key.
    state : (..., d_k, d_v) real array, optional
        The state after earlier tokens; 0 if omitted.
    total : (..., d_k) real array, optional
        The sum of the features of earlier keys; 0 if omitted.

    Returns
    -------
    y : (..., T, d_v) array
        A row whose weights are all 0 is zero.
    state_after : (..., d_k, d_v) real array
        The sum of φ(k) vᵀ over all tokens so far: the next call's state.
    total_after : (..., d_k) real array
        The sum of φ(k) over all tokens so far: the next call's total.

    Notes
    -----
    Equation eq-recurrent-linear-attention; [katharopoulos2020], section 3.4. State and total are in
    float32 at least, since long sums in half precision stop growing.
    """
    given = [x.shape[:-2] for x in (q, k, v, state) if x is not None]
    leading = np.broadcast_shapes(*given, () if total is None else total.shape[:-1])
    q, k = elu_feature_map(q), elu_feature_map(k)
    table = (*leading, q.shape[-1], v.shape[-1])
    state = np.broadcast_to(np.zeros((), q.dtype) if state is None else state, table)
    total = np.broadcast_to(np.zeros((), q.dtype) if total is None else total, table[:-1])
    y = np.empty((*leading, q.shape[-2], v.shape[-1]), q.dtype)
    for t in range(q.shape[-2]):
        state = state + k[..., t, :, np.newaxis] * v[..., t, np.newaxis, :]
        total = total + k[..., t, :]
        norm = (q[..., t, :] * total).sum(axis=-1, keepdims=True)
        row = (q[..., t, np.newaxis, :] @ state)[..., 0, :]
        y[..., t, :] = row / np.where(norm == 0, 1, norm)
    return y, state, total
