"""The size of a vector as a power of two, to divide by before anything is squared."""

import numpy as np

__all__ = ["magnitude"]


def magnitude(x: np.ndarray, axis: int | tuple[int, ...] = -1) -> np.ndarray:
    """Power of two that brings the largest entry along `axis` between 1 and 2.

    What is divided by it and later multiplied by it again is the same to the last bit, but its
    squares neither overflow nor vanish. Where all entries are 0, any power will do; of symbols, in
    which claims read the formulas, it is 1. The axis stays, with size 1.
    """
    if x.dtype == object:
        return np.ones_like(x.sum(axis=axis, keepdims=True))
    largest = np.abs(x).max(axis=axis, keepdims=True, initial=0)
    return np.ldexp(np.ones_like(largest), np.frexp(largest)[1] - 1)
