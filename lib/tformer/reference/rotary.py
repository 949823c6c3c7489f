"""RoPE as layers of released models use it: of some coordinates, with scaled frequencies."""

import numpy as np

from tformer.layer_configuration import LayerConfiguration
from tformer.reference.positions import rope, rope_vjp
from tformer.rotary import rotary_frequencies, rotated_width


def rotary_sinusoids(
    x: np.ndarray,
    width: int,
    c: LayerConfiguration,
    positions: np.ndarray | None,
    offset: int,
    whole: bool = False,
) -> np.ndarray | None:
    """Return sines and cosines (..., T, n) for the new tokens x (..., T, d_model), or None.

    `positions` are those of all tokens, cached ones first; `whole` rotates all of `width`.
    """
    if c.rotary is None:
        return None
    n = rotated_width(c.rotary, None if whole else c.rotary.width, width)
    frequencies = rotary_frequencies(c.rotary, n)
    at = positions_of(x, positions, offset)
    angles = at[..., np.newaxis] * frequencies
    factor = 1.0 if c.rotary.scaling is None else c.rotary.scaling.attention_factor
    waves = np.empty((*at.shape, n))
    waves[..., 0::2], waves[..., 1::2] = factor * np.sin(angles), factor * np.cos(angles)
    return waves.astype(x.dtype)


def positions_of(x: np.ndarray, positions: np.ndarray | None, offset: int) -> np.ndarray:
    """Return the positions of the new tokens: as given, or counted from `offset`."""
    return np.arange(offset, offset + x.shape[-2]) if positions is None else positions[..., offset:]


def rotate_some(x: np.ndarray, sinusoids: np.ndarray, pairing: str) -> np.ndarray:
    """Rotate the first coordinates of x, as many as there are sinusoids; the rest stays."""
    n = sinusoids.shape[-1]
    rotated = rope(x[..., :n], sinusoids, pairing)
    return np.concatenate([rotated, _like(x[..., n:], rotated)], axis=-1)


def rotate_some_vjp(grad: np.ndarray, sinusoids: np.ndarray, pairing: str) -> np.ndarray:
    """Compute the vector-Jacobian product of `rotate_some`."""
    n = sinusoids.shape[-1]
    rotated = rope_vjp(sinusoids, grad[..., :n], pairing)
    return np.concatenate([rotated, _like(grad[..., n:], rotated)], axis=-1)


def _like(x: np.ndarray, rotated: np.ndarray) -> np.ndarray:
    """Broadcast the leading axes of x to those of what was rotated."""
    return np.broadcast_to(x, (*rotated.shape[:-1], x.shape[-1]))
