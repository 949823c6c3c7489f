"""What keeps intermediate results within the range of a format: a wider one, and a power of two."""

import torch
from torch import Tensor

__all__ = ["magnitude", "wide"]


def wide(x: Tensor) -> Tensor:
    """Half precision in float32, to be rounded once at the end; other tensors as they are."""
    return x.float() if x.dtype in (torch.float16, torch.bfloat16) else x


def magnitude(x: Tensor, dim: int | tuple[int, ...] = -1) -> Tensor:
    """Power of two near the largest entry along `dim`, as a constant, for float32 and float64.

    What is divided by it and later multiplied by it again is the same to the last bit, but its
    squares neither overflow nor vanish. Where all entries are 0, any power will do. The axis stays,
    with size 1.
    """
    limits, x = torch.finfo(x.dtype), x.detach().abs()
    largest = x.amax(dim, keepdim=True) if x.numel() else x.sum(dim, keepdim=True)
    largest = torch.where(largest > 0, largest, 1.0).clamp(limits.tiny, limits.max / 2)
    return largest.log2().floor().exp2()
