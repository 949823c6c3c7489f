"""Position: added to the words, turned into queries and keys, or said in the scores (chapter 7).

A position is a number, counted from 0: `np.arange(T) + offset` with a cache of `offset` words. A
model can be given others: from 0 again in each of several documents that are packed into one row,
or from the first word of a text that is filled up on the left.
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
    """Waves: each pair of columns is the sine and the cosine of one angle, which grows with place.

    Parameters
    ----------
    positions : (..., T) integer array
    d_model : int, at least 0
        Width; an even number.
    base : float, finite and above 0
        The slowest wave is nearly this many times as long as the fastest.
    interpolation : float, finite and above 0
        Positions are divided by it, so that as many times as many fit between those of training.

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
    """Rotary positions: each pair of coordinates is turned by the angle of its wave.

    Parameters
    ----------
    x : (..., T, d_k) array
        Queries or keys.
    sinusoids : (..., T, d_k) real array
        What `sinusoidal` gives for their positions.
    pairing : str
        "adjacent" pairs coordinates 2i and 2i + 1, "half" i and i + d_k / 2.

    Returns
    -------
    (..., T, d_k) array

    Raises
    ------
    ValueError
        If d_k is odd, or if pairing is neither of the two.

    Notes
    -----
    Equation eq-rope; [su2024], whose pairs are adjacent. Computed in the precision of x.
    """
    first, second = _pairs("rope", x, pairing)
    sinusoids = sinusoids.astype(x.dtype, copy=False)
    sine, cosine = sinusoids[..., 0::2], sinusoids[..., 1::2]
    first, second = (
        first * cosine - second * sine,
        first * sine + second * cosine,
    )
    return _together(first, second, pairing)


@equation
def rope_vjp(sinusoids: np.ndarray, grad: np.ndarray, pairing: str = "adjacent") -> np.ndarray:
    """Vector-Jacobian product of `rope`: the gradient is turned back.

    Parameters
    ----------
    sinusoids : (..., T, d_k) real array
        Those that `rope` was given.
    grad : (..., T, d_k) array
        Gradient of a loss with respect to what `rope` returned.
    pairing : str
        The same as there.

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
    Equation eq-rope-vjp; [su2024]. A rotation's inverse is its transpose.
    """
    first, second = _pairs("rope_vjp", grad, pairing)
    sinusoids = sinusoids.astype(grad.dtype, copy=False)
    sine, cosine = sinusoids[..., 0::2], sinusoids[..., 1::2]
    return _together(first * cosine + second * sine, second * cosine - first * sine, pairing)


@equation
def rope_permutation(d_k: int) -> np.ndarray:
    """Which coordinates to take, in turn, so that adjacent pairs become pairs of halves.

    Parameters
    ----------
    d_k : int, at least 0
        Width; an even number.

    Returns
    -------
    (d_k,) integer array
        All even coordinates, then all odd ones; `np.argsort` of it is the way back.

    Raises
    ------
    ValueError
        If d_k is odd.

    Notes
    -----
    Equation eq-rope-permutation; the pairs are those of [su2024]. For the columns of w_q and w_k
    alike: then no score changes.
    """
    if d_k % 2:
        raise ValueError(f"rope_permutation: d_k must be even; got {d_k}")
    return np.arange(d_k).reshape(d_k // 2, 2).T.reshape(d_k)


@equation
def embedding(tokens: np.ndarray, table: np.ndarray) -> np.ndarray:
    """Rows of a table: the vector of each word, or of each position that has learned one.

    Parameters
    ----------
    tokens : (..., T) integer array
        Which rows; from 0 to N - 1.
    table : (N, d_model) array

    Returns
    -------
    (..., T, d_model) array

    Raises
    ------
    ValueError
        If a token is below 0 or not below N.

    Notes
    -----
    Equation eq-embedding; [vaswani2017], section 3.4, and section 3.5 for positions.
    """
    require_rows("embedding", tokens, len(table))
    return table[tokens]


@equation
def embedding_vjp(tokens: np.ndarray, table: np.ndarray, grad: np.ndarray) -> np.ndarray:
    """Vector-Jacobian product of `embedding`: each row gathers the gradients of its uses.

    Parameters
    ----------
    tokens : (..., T) integer array
        Which rows; from 0 to N - 1.
    table : (N, d_model) array
        Its entries play no part.
    grad : (..., T, d_model) array
        Gradient of a loss with respect to the rows.

    Returns
    -------
    (N, d_model) array
        Gradient of the loss with respect to the table.

    Raises
    ------
    ValueError
        If a token is below 0 or not below N.

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
    """A bias for the scores that only depends on how far apart query and key are.

    Parameters
    ----------
    table : (H, N) array
        For each head one number for each of N = 2m + 1 distances, from -m (the key stands m places
        before the query, or more) to m.
    n_queries : int, at least 0
    n_keys : int, at least 0
    offset : int, at least 0
        Position of the first query.

    Returns
    -------
    (H, T, S) array

    Raises
    ------
    ValueError
        If N is even.

    Notes
    -----
    Equation eq-relative-bias; [raffel2020], with the clipped distances of [shaw2018]. Departure:
    [raffel2020] lets long distances share numbers in buckets.
    """
    distances = np.arange(n_keys) - np.arange(n_queries)[:, np.newaxis] - offset
    return relative_bias_at(table, distances)


@equation
def relative_bias_vjp(table: np.ndarray, grad: np.ndarray, offset: int = 0) -> np.ndarray:
    """Vector-Jacobian product of `relative_bias`: each distance gathers what passes along it.

    Parameters
    ----------
    table : (H, N) array
        Its entries play no part.
    grad : (H, T, S) array
        Gradient of a loss with respect to the bias.
    offset : int, at least 0
        Position of the first query.

    Returns
    -------
    (H, N) array
        Gradient of the loss with respect to the table.

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
    """How fast each head loses interest in what is far away.

    Parameters
    ----------
    n_heads : int, at least 1

    Returns
    -------
    (H,) array
        The powers 2^(-8 h / H) for h = 1 ... H if H is a power of two. If not, those of the next
        smaller one, then every other one of the next larger.

    Notes
    -----
    Equation eq-alibi-slopes; [press2022], whose code says what to do if H is no power of two. In
    float64.
    """
    smaller = 2 ** (n_heads.bit_length() - 1)
    slopes = 2.0 ** (-8 * np.arange(1, smaller + 1) / smaller)
    between = 2.0 ** (-8 * np.arange(1, 2 * smaller, 2) / (2 * smaller))
    return np.concatenate([slopes, between[: n_heads - smaller]])


@equation
def alibi_bias(n_heads: int, n_queries: int, n_keys: int, offset: int = 0) -> np.ndarray:
    """A bias for the scores that falls with the distance, in each head by a slope of its own.

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
    Equation eq-alibi-bias; [press2022]. Departure: there a mask hides later keys; here the bias
    falls on either side. In float64.
    """
    t, s = np.arange(n_queries)[:, np.newaxis] + offset, np.arange(n_keys)
    return alibi_bias_at(n_heads, np.abs(t - s))


def alibi_bias_at(n_heads: int, distances: np.ndarray) -> np.ndarray:
    """The bias (..., H, T, S) for any distances (..., T, S), all at least 0."""
    return -alibi_slopes(n_heads)[:, np.newaxis, np.newaxis] * distances[..., np.newaxis, :, :]


def _pairs(where: str, x: np.ndarray, pairing: str) -> tuple[np.ndarray, np.ndarray]:
    """The first and the second coordinates of all pairs."""
    width = x.shape[-1]
    if width % 2:
        raise ShapeError(f"{where}: axis d_k must be even; got {width}")
    if not isinstance(pairing, str) or pairing not in ("adjacent", "half"):
        raise ValueError(f'{where}: pairing must be "adjacent" or "half"; got {pairing!r}')
    if pairing == "adjacent":
        return x[..., 0::2], x[..., 1::2]
    return x[..., : width // 2], x[..., width // 2 :]


def _together(first: np.ndarray, second: np.ndarray, pairing: str) -> np.ndarray:
    """The coordinates in their places, from the first and the second of all pairs."""
    if pairing == "half":
        return np.concatenate([first, second], axis=-1)
    both = np.stack([first, second], axis=-1)
    return both.reshape(*first.shape[:-1], 2 * first.shape[-1])


def require_rows(where: str, tokens: np.ndarray, n_rows: int, name: str = "tokens") -> None:
    """Raise ValueError unless there is a row for every token."""
    if tokens.size and not n_rows:
        raise ValueError(f"{where}: table has no rows, so {name} must be empty; got {tokens.size}")
    if tokens.size and not (tokens.min() >= 0 and tokens.max() < n_rows):
        raise ValueError(
            f"{where}: {name} must be from 0 to {n_rows - 1}; got {tokens.min()} to {tokens.max()}"
        )
