"""The magnitude of a vector as a power of two, to divide by before squaring."""

import numpy as np

__all__ = ["magnitude"]


def magnitude(x: np.ndarray, axis: int | tuple[int, ...] = -1) -> np.ndarray:
    """Return the power of two that scales the largest entry along `axis` to between 1 and 2.

    Dividing by it and multiplying by it again is exact, and squares in between neither overflow nor
    vanish. Where all entries are 0, the power is arbitrary; for symbolic entries (dtype object) it
    is 1. The axis is kept with size 1.
    """
    if x.dtype == object:
        return np.ones_like(x.sum(axis=axis, keepdims=True))
    largest = np.abs(x).max(axis=axis, keepdims=True, initial=0)
    return np.ldexp(np.ones_like(largest), np.frexp(largest)[1] - 1)
