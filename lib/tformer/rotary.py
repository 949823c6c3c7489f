"""The frequencies of RoPE under each scaling, for both libraries."""

import math

import numpy as np

from tformer.layer_configuration import RopeScaling, Rotary
from tformer.shapes import ShapeError

__all__ = ["rotary_frequencies", "rotated_width"]


def rotary_frequencies(rotary: Rotary, width: int) -> np.ndarray:
    """Return the frequency of each of width / 2 pairs of coordinates, scaled as `rotary` says.

    Parameters
    ----------
    rotary : Rotary
    width : int
        How many coordinates are rotated.

    Returns
    -------
    (width / 2,) array
        In radians a token, in float64.

    Notes
    -----
    Equation eq-rotary-frequencies; [su2024], scaled as in [chen2023] ("linear"), [peng2024]
    ("yarn"), or Llama 3.1 [dubey2024] ("llama3").
    """
    plain = rotary.base ** (-np.arange(0, width, 2) / width)
    if rotary.turning is not None:
        plain[rotary.turning :] = 0
    scaling = rotary.scaling
    if scaling is None:
        return plain
    slow = _share_divided(rotary.base, plain, width, scaling)
    return plain * (1 - slow) + plain / scaling.factor * slow


def rotated_width(rotary: Rotary, wanted: int | None, width: int) -> int:
    """Return how many of `width` coordinates are rotated.

    Raises
    ------
    ShapeError
        If that number is odd, or there are not so many coordinates.
    """
    n = width if wanted is None else wanted
    if n > width or n % 2:
        raise ShapeError(
            f"rotary: {n} coordinates of {width} cannot be rotated in pairs; "
            f"rotary.width is {rotary.width}"
        )
    return n


def _share_divided(base: float, plain: np.ndarray, width: int, scaling: RopeScaling) -> np.ndarray:
    """How far each frequency goes from its own value, 0, to that value over the factor, 1."""
    if scaling.kind == "linear":
        return np.ones_like(plain)
    if scaling.kind == "llama3":
        turns = scaling.original * plain / (2 * math.pi)
        return 1 - np.clip((turns - scaling.low) / (scaling.high - scaling.low), 0, 1)
    fast, slow = (
        width * math.log(scaling.original / (2 * math.pi * turns)) / (2 * math.log(base))
        for turns in (scaling.high, scaling.low)
    )
    if scaling.truncate:
        fast, slow = math.floor(fast), math.ceil(slow)
    fast, slow = max(fast, 0), min(slow, width - 1)
    return np.clip((np.arange(width // 2) - fast) / ((slow - fast) or 0.001), 0, 1)
