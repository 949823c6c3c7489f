"""Images as rows of patches, and the digits that this chapter reads."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

Array = np.ndarray
DIGITS = Path(__file__).with_name("digits.npz")


def patches(images: Any, p: int) -> Any:
    """Cut images into patches of p × p pixels: one token each, row by row.

    Parameters
    ----------
    images : (..., h, w) array or tensor
        p divides h and w.
    p : int

    Returns
    -------
    (..., h w / p², p²) array or tensor
        The pixels of a patch are in its own order, row by row.
    """
    *batch, h, w = images.shape
    if h % p or w % p:
        raise ValueError(f"patches: p must divide height and width; got {p} for {h} × {w}")
    cut = images.reshape(*batch, h // p, p, w // p, p)
    return cut.swapaxes(-2, -3).reshape(*batch, h * w // p**2, p**2)


def unpatch(tokens: Any, height: int, width: int) -> Any:
    """Put patches together again: the inverse of `patches`.

    Parameters
    ----------
    tokens : (..., T, p²) array or tensor
    height, width : int
        Of the image, in pixels.

    Returns
    -------
    (..., height, width) array or tensor
    """
    *batch, _, size = tokens.shape
    p = round(size**0.5)
    cut = tokens.reshape(*batch, height // p, width // p, p, p)
    return cut.swapaxes(-2, -3).reshape(*batch, height, width)


@cache
def digits() -> tuple[Array, Array]:
    """The digits in the order of their file: images (1797, 8, 8), 0 to 1; labels (1797,)."""
    with np.load(DIGITS) as stored:
        return stored["images"] / 16.0, stored["labels"].astype(int)
