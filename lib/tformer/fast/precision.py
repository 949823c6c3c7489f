"""Keep intermediate results in range: a wider dtype, and scaling by a power of two."""

import torch
from torch import Tensor

__all__ = ["magnitude", "wide"]


def wide(x: Tensor) -> Tensor:
    """Convert half precision to float32, to be rounded once at the end; return others unchanged."""
    return x.float() if x.dtype in (torch.float16, torch.bfloat16) else x


def magnitude(x: Tensor, dim: int | tuple[int, ...] = -1) -> Tensor:
    """Return a power of two near the largest entry along `dim`, detached, for float32 and float64.

    Dividing by it and multiplying by it again is exact, and squares in between neither overflow nor
    vanish. Where all entries are 0, the power is arbitrary. The axis is kept with size 1.
    """
    limits, x = torch.finfo(x.dtype), x.detach().abs()
    largest = x.amax(dim, keepdim=True) if x.numel() else x.sum(dim, keepdim=True)
    largest = torch.where(largest > 0, largest, 1.0).clamp(limits.tiny, limits.max / 2)
    return largest.log2().floor().exp2()
