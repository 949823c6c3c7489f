"""Position encodings: added to embeddings, rotary, or a bias of the scores (chapter 7).

Positions are integers, counted from 0: `np.arange(T) + offset` with `offset` tokens in the KV
cache. A model can be given others: restarting at 0 in each document of a packed row, or counted
from the first token after left padding.
"""

import numpy as np

from tformer.reference.distances import relative_bias_at, relative_bias_at_vjp
from tformer.reference.equation import equation
from tformer.shapes import ShapeError

__all__ = [
    "alibi_bias",
    "alibi_slopes",
    "embedding",
    "embedding_vjp",
    "relative_bias",
    "relative_bias_vjp",
    "rope",
    "rope_permutation",
    "rope_vjp",
    "sinusoidal",
]


@equation
def sinusoidal(
    positions: np.ndarray,
    d_model: int,
    base: float = 10000.0,
    interpolation: float = 1.0,
) -> np.ndarray:
    """Compute sinusoidal position encodings: sine and cosine of position times each frequency.

    Parameters
    ----------
    positions : (..., T) integer array
        Position of each token.
    d_model : int, at least 0
        Width; must be even.
    base : float, finite and above 0
        The longest wavelength is nearly `base` times the shortest.
    interpolation : float, finite and above 0
        Positions are divided by it, so that sequences that many times longer stay within the range
        of positions seen in training.

    Returns
    -------
    (..., T, d_model) array
        Columns 2i and 2i + 1 are sine and cosine of position · base^(-2i / d_model).

    Raises
    ------
    ValueError
        If d_model is odd.

    Notes
    -----
    Equation eq-sinusoidal; [vaswani2017], section 3.5, with the interpolation of [chen2023]. In
    float64.
    """
    if d_model % 2:
        raise ValueError(f"sinusoidal: d_model must be even; got {d_model}")
    frequencies = base ** (-np.arange(0, d_model, 2) / d_model)
    angles = positions[..., np.newaxis] / interpolation * frequencies
    waves = np.empty((*positions.shape, d_model))
    waves[..., 0::2], waves[..., 1::2] = np.sin(angles), np.cos(angles)
    return waves


@equation
def rope(
    x: np.ndarray,
    sinusoids: np.ndarray,
    pairing: str = "adjacent",
) -> np.ndarray:
    """Apply rotary position embedding: rotate each pair of coordinates by position · frequency.

    Parameters
    ----------
    x : (..., T, d_k) array
        Queries or keys.
    sinusoids : (..., T, d_k) real array
        What `sinusoidal` returns for their positions.
    pairing : str
        "adjacent" pairs coordinates 2i and 2i + 1, as RoFormer [su2024] does. "half" pairs i and
        i + d_k / 2, as `rotate_half` of Hugging Face transformers does for Llama. The default here
        is "adjacent"; that of `Configuration.pairing`, which models use, is "half".

    Returns
    -------
    (..., T, d_k) array
        Rotated queries or keys.

    Raises
    ------
    ValueError
        If d_k is odd, or if pairing is neither of the two.

    Notes
    -----
    Equation eq-rope; [su2024]. Computed in the precision of x.
    """
    first, second = _split_pairs("rope", x, pairing)
    sinusoids = sinusoids.astype(x.dtype, copy=False)
    sine, cosine = sinusoids[..., 0::2], sinusoids[..., 1::2]
    first, second = (
        first * cosine - second * sine,
        first * sine + second * cosine,
    )
    return _join_pairs(first, second, pairing)


@equation
def rope_vjp(sinusoids: np.ndarray, grad: np.ndarray, pairing: str = "adjacent") -> np.ndarray:
    """Compute the vector-Jacobian product of `rope`: rotate the gradient back.

    Parameters
    ----------
    sinusoids : (..., T, d_k) real array
        The sinusoids that `rope` was given.
    grad : (..., T, d_k) array
        Gradient of a loss with respect to what `rope` returned.
    pairing : str
        The pairing that `rope` was given; the default, "adjacent", is that of `rope`.

    Returns
    -------
    (..., T, d_k) array
        Gradient of the loss with respect to the queries or keys.

    Raises
    ------
    ValueError
        If d_k is odd, or if pairing is neither "adjacent" nor "half".

    Notes
    -----
    Equation eq-rope-vjp; [su2024]. The inverse of a rotation is its transpose.
    """
    first, second = _split_pairs("rope_vjp", grad, pairing)
    sinusoids = sinusoids.astype(grad.dtype, copy=False)
    sine, cosine = sinusoids[..., 0::2], sinusoids[..., 1::2]
    return _join_pairs(first * cosine + second * sine, second * cosine - first * sine, pairing)


@equation
def rope_permutation(d_k: int) -> np.ndarray:
    """Return the permutation of coordinates that turns "adjacent" pairs into "half" pairs.

    Parameters
    ----------
    d_k : int, at least 0
        Width; must be even.

    Returns
    -------
    (d_k,) integer array
        All even coordinates, then all odd ones; its `np.argsort` is the inverse permutation.

    Raises
    ------
    ValueError
        If d_k is odd.

    Notes
    -----
    Equation eq-rope-permutation; the pairs are those of [su2024]. Applied to the
    columns of both w_q and w_k, it changes no score.
    """
    if d_k % 2:
        raise ValueError(f"rope_permutation: d_k must be even; got {d_k}")
    return np.arange(d_k).reshape(d_k // 2, 2).T.reshape(d_k)


@equation
def embedding(tokens: np.ndarray, table: np.ndarray) -> np.ndarray:
    """Look up rows of a table: token embeddings, or learned position embeddings.

    Parameters
    ----------
    tokens : (..., T) integer array
        Row numbers: token ids, or positions, in [0, N).
    table : (N, d_model) array
        One row for each token id, or for each position.

    Returns
    -------
    (..., T, d_model) array
        The embeddings.

    Raises
    ------
    ValueError
        If a token id is below 0 or not below N.

    Notes
    -----
    Equation eq-embedding; [vaswani2017], section 3.4, and section 3.5 for positions.
    """
    require_rows("embedding", tokens, len(table))
    return table[tokens]


@equation
def embedding_vjp(tokens: np.ndarray, table: np.ndarray, grad: np.ndarray) -> np.ndarray:
    """Compute the vector-Jacobian product of `embedding` with respect to the table.

    Parameters
    ----------
    tokens : (..., T) integer array
        Row numbers: token ids, or positions, in [0, N).
    table : (N, d_model) array
        Its values are not used.
    grad : (..., T, d_model) array
        Gradient of a loss with respect to what `embedding` returned.

    Returns
    -------
    (N, d_model) array
        Gradient of the loss with respect to the table: each row sums those of its occurrences.

    Raises
    ------
    ValueError
        If a token id is below 0 or not below N.

    Notes
    -----
    Equation eq-embedding-vjp; the derivative of [vaswani2017], section 3.4.
    """
    require_rows("embedding_vjp", tokens, len(table))
    dtable = np.zeros_like(table)
    shape = np.broadcast_shapes(tokens.shape, grad.shape[:-1])
    rows, grads = np.broadcast_to(tokens, shape), np.broadcast_to(grad, (*shape, grad.shape[-1]))
    np.add.at(dtable, rows, grads)
    return dtable


@equation
def relative_bias(table: np.ndarray, n_queries: int, n_keys: int, offset: int = 0) -> np.ndarray:
    """Compute a bias of the scores that depends only on the distance from query to key.

    Parameters
    ----------
    table : (H, N) array
        For each head the bias at each of N = 2m + 1 distances, from -m (the key is m or more
        positions before the query) to m (m or more after it).
    n_queries : int, at least 0
    n_keys : int, at least 0
    offset : int, at least 0
        Position of the first query.

    Returns
    -------
    (H, T, S) array
        The bias of each head.

    Raises
    ------
    ValueError
        If N is even.

    Notes
    -----
    Equation eq-relative-bias; [raffel2020], with the clipped distances of [shaw2018]. Departure:
    [raffel2020] groups long distances in buckets that share a bias.
    """
    distances = np.arange(n_keys) - np.arange(n_queries)[:, np.newaxis] - offset
    return relative_bias_at(table, distances)


@equation
def relative_bias_vjp(table: np.ndarray, grad: np.ndarray, offset: int = 0) -> np.ndarray:
    """Compute the vector-Jacobian product of `relative_bias`.

    Parameters
    ----------
    table : (H, N) array
        Its values are not used.
    grad : (H, T, S) array
        Gradient of a loss with respect to the bias.
    offset : int, at least 0
        Position of the first query.

    Returns
    -------
    (H, N) array
        Gradient of the loss with respect to the table: summed over the pairs at each distance.

    Raises
    ------
    ValueError
        If N is even.

    Notes
    -----
    Equation eq-relative-bias-vjp; the derivative of [raffel2020].
    """
    _, n_queries, n_keys = grad.shape
    distances = np.arange(n_keys) - np.arange(n_queries)[:, np.newaxis] - offset
    return relative_bias_at_vjp(table, distances, grad)


@equation
def alibi_slopes(n_heads: int) -> np.ndarray:
    """Return the ALiBi slope of each head: how fast its bias falls with distance.

    Parameters
    ----------
    n_heads : int, at least 1

    Returns
    -------
    (H,) array
        2^(-8 h / H) for h = 1 ... H if H is a power of two. If not, the slopes of the next smaller
        power of two, then every other slope of the next larger one.

    Notes
    -----
    Equation eq-alibi-slopes; [press2022], whose code defines the slopes for other H. In float64.
    """
    smaller = 2 ** (n_heads.bit_length() - 1)
    slopes = 2.0 ** (-8 * np.arange(1, smaller + 1) / smaller)
    between = 2.0 ** (-8 * np.arange(1, 2 * smaller, 2) / (2 * smaller))
    return np.concatenate([slopes, between[: n_heads - smaller]])


@equation
def alibi_bias(n_heads: int, n_queries: int, n_keys: int, offset: int = 0) -> np.ndarray:
    """Compute the ALiBi bias of the scores: minus the slope of each head times the distance.

    Parameters
    ----------
    n_heads : int, at least 1
    n_queries : int, at least 0
    n_keys : int, at least 0
    offset : int, at least 0
        Position of the first query.

    Returns
    -------
    (H, T, S) array
        At most 0.

    Notes
    -----
    Equation eq-alibi-bias; [press2022]. Departure: in the paper a causal mask hides later keys;
    here the bias falls in both directions. In float64.
    """
    t, s = np.arange(n_queries)[:, np.newaxis] + offset, np.arange(n_keys)
    return alibi_bias_at(n_heads, np.abs(t - s))


def alibi_bias_at(n_heads: int, distances: np.ndarray) -> np.ndarray:
    """Return the bias (..., H, T, S) for distances (..., T, S), all at least 0."""
    return -alibi_slopes(n_heads)[:, np.newaxis, np.newaxis] * distances[..., np.newaxis, :, :]


def _split_pairs(where: str, x: np.ndarray, pairing: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the first and the second coordinates of all pairs."""
    width = x.shape[-1]
    if width % 2:
        raise ShapeError(f"{where}: axis d_k must be even; got {width}")
    if not isinstance(pairing, str) or pairing not in ("adjacent", "half"):
        raise ValueError(f'{where}: pairing must be "adjacent" or "half"; got {pairing!r}')
    if pairing == "adjacent":
        return x[..., 0::2], x[..., 1::2]
    return x[..., : width // 2], x[..., width // 2 :]


def _join_pairs(first: np.ndarray, second: np.ndarray, pairing: str) -> np.ndarray:
    """Put the first and the second coordinates of all pairs back in place."""
    if pairing == "half":
        return np.concatenate([first, second], axis=-1)
    both = np.stack([first, second], axis=-1)
    return both.reshape(*first.shape[:-1], 2 * first.shape[-1])


def require_rows(where: str, tokens: np.ndarray, n_rows: int, name: str = "tokens") -> None:
    """Raise ValueError unless every token id, or position, has a row in the table."""
    if tokens.size and not n_rows:
        raise ValueError(f"{where}: table has no rows, so {name} must be empty; got {tokens.size}")
    if tokens.size and not (tokens.min() >= 0 and tokens.max() < n_rows):
        raise ValueError(
            f"{where}: {name} must be from 0 to {n_rows - 1}; got {tokens.min()} to {tokens.max()}"
        )
