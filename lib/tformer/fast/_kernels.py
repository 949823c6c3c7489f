"""What PyTorch's attention kernels want of their arguments: see decisions 008 and 009.

`attention` is a call of the kernel between two steps, and both are made here: the arguments are
made fit for it, and what comes back gets its shape, its precision and the zeros of its fully masked
rows.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import pad

from tformer.fast.precision import wide
from tformer.parameters import tree_map

__all__ = ["CPU", "GPU", "Kernel", "additive", "for_kernel", "kernel_of", "takes_groups"]


class Kernel(NamedTuple):
    """What PyTorch's kernel on a device wants, besides four axes and one width for all.

    half : half precision is left to it. On a CPU it is no faster in it than in float32.
    width : the width is a multiple of this.
    fewest : with fewer keys than this it needs a mask. With fewer than a vector register holds, and
        no mask, the one on a CPU takes a row of NaN for a fully masked one.
    keys : with a mask, the number of keys is a multiple of this.
    fully_masked : it may be given fully masked rows, and gives zeros. On a GPU, in half precision,
        they come back as the mean of the values.
    """

    half: bool
    width: int
    fewest: int
    keys: int
    fully_masked: bool


CPU = Kernel(half=False, width=1, fewest=16, keys=1, fully_masked=True)
GPU = Kernel(half=True, width=8, fewest=1, keys=16, fully_masked=False)
Arguments = tuple[Tensor, Tensor, Tensor, Tensor | None, Callable[[Tensor], Tensor]]


def for_kernel(
    q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, bias: Tensor | None
) -> Arguments:
    """Queries, keys, values and one mask, all fit for the kernel; and what restores its output."""
    kernel = kernel_of(q)
    if bias is None and _takes(kernel, q, k, v, mask):
        return q, k, v, mask, _unchanged
    leading = _leading_axes(q, k, v, mask, bias)
    shape, dtype = (*leading, q.shape[-2], v.shape[-1]), q.dtype
    if k.shape[-2] == 0:
        q = _zeros_for(q)  # without a key there is no score to be infinite or NaN
    q, k, v = (_four_axes(x, leading) for x in _pad_widths(kernel, q, k, v))
    attn_mask = _one_mask(kernel, k, mask, bias, leading)
    looking: Tensor | None = None
    if attn_mask is not None and not kernel.fully_masked:
        looking, attn_mask = _without_fully_masked(
            attn_mask.expand(*attn_mask.shape[:-1], k.shape[-2])
        )
        k, v, attn_mask = _pad_keys(kernel, k, v, attn_mask)

    def restored(y: Tensor) -> Tensor:
        y = y if looking is None else looking * y
        return y[..., : shape[-1]].reshape(shape).to(dtype)

    return q, k, v, attn_mask, restored


def kernel_of(x: Tensor) -> Kernel:
    """The kernel of the device that a tensor lies on."""
    return CPU if x.is_cpu else GPU


def widened(x: Tensor, *others: Any) -> tuple[Any, ...]:
    """All of it in float32, if it is in a half precision that the device is no faster in."""
    half = x.dtype.itemsize < 4 and not kernel_of(x).half
    return tree_map(wide, (x, *others)) if half else (x, *others)


def _unchanged(y: Tensor) -> Tensor:
    return y


def _zeros_for(x: Tensor) -> Tensor:
    """Zeros in place of `x`, to which they pass back zeros, whatever it holds."""
    return x.masked_fill(torch.ones((), dtype=torch.bool, device=x.device), 0.0)


def _takes(kernel: Kernel, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> bool:
    """Whether the kernel takes the arguments as they are."""
    shape = k.shape
    if mask is None:
        right = shape[-2] >= kernel.fewest
    else:
        right = mask.ndim == 2 and kernel.fully_masked and shape[-2] % kernel.keys == 0
    return (
        right
        and q.ndim == len(shape) == 4
        and q.shape[:2] == shape[:2]
        and v.shape == shape
        and shape[2] > 0
        and shape[3] % kernel.width == 0
        and (kernel.half or q.dtype.itemsize >= 4)
        and q.stride()[3] == k.stride()[3] == v.stride()[3] == 1
    )


def takes_groups(q: Tensor, k: Tensor, v: Tensor) -> bool:
    """Whether the kernel takes several heads with fewer keys and values as they are, unmasked.

    It then reads them where they lie, while folding copies the queries. A single query is better
    folded.
    """
    kernel = kernel_of(q)
    return (
        not kernel.half
        and q.ndim == k.ndim == 4
        and q.shape[0] == k.shape[0]
        and q.shape[1] > k.shape[1]
        and q.shape[2] > 1
        and k.shape == v.shape
        and k.shape[2] >= kernel.fewest
        and k.shape[3] > 0
    )


def _leading_axes(*arrays: Tensor | None) -> tuple[int, ...]:
    """The leading axes of all arrays after broadcasting."""
    shapes = {tuple(x.shape[:-2]) for x in arrays if x is not None} - {()}
    if len(shapes) > 1:  # torch.broadcast_shapes takes as long as a small kernel
        return tuple(torch.broadcast_shapes(*shapes))
    return shapes.pop() if shapes else ()


def additive(mask: Tensor, dtype: torch.dtype) -> Tensor:
    """The additive mask: 0 where one may look, -inf where not."""
    return torch.zeros_like(mask, dtype=dtype).masked_fill_(~mask, -torch.inf)


def _pad_widths(kernel: Kernel, *tensors: Tensor) -> list[Tensor]:
    """Queries, keys and values in a precision and, padded with zeros, a width it takes."""
    if not kernel.half:
        tensors = tuple(map(wide, tensors))
    width = max(x.shape[-1] for x in tensors)
    width += -width % kernel.width
    return [pad(x, (0, width - x.shape[-1])) if x.shape[-1] < width else x for x in tensors]


def _one_mask(
    kernel: Kernel,
    k: Tensor,
    mask: Tensor | None,
    bias: Tensor | None,
    leading: tuple[int, ...],
) -> Tensor | None:
    """Mask and bias as the one tensor that the kernel takes, if any."""
    attn_mask = mask
    if bias is not None:
        bias = bias.to(k.dtype)
        attn_mask = bias if mask is None else bias + additive(mask, k.dtype)
    elif mask is None and k.shape[-2] < kernel.fewest:
        attn_mask = torch.ones(1, k.shape[-2], dtype=torch.bool, device=k.device)
    return None if attn_mask is None else _four_axes_of_mask(attn_mask, leading)


def _without_fully_masked(attn_mask: Tensor) -> tuple[Tensor, Tensor]:
    """Which rows are not fully masked, and the mask with those that are opened to every key."""
    if attn_mask.dtype == torch.bool:
        looking = attn_mask.any(dim=-1, keepdim=True)
        return looking, attn_mask | ~looking
    looking = (attn_mask != -torch.inf).any(dim=-1, keepdim=True)
    return looking, attn_mask.masked_fill(~looking, 0.0)


def _pad_keys(
    kernel: Kernel, k: Tensor, v: Tensor, attn_mask: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """Keys, values and mask, padded with masked keys to a number that the kernel takes.

    They are copies of the last key: a zero would make a score of NaN for an infinite query.
    """
    missing = -k.shape[-2] % kernel.keys
    copies = k[:, :, -1:].expand(-1, -1, missing, -1)
    masked = 0 if attn_mask.dtype == torch.bool else -torch.inf
    return (
        torch.cat([k, copies], dim=-2),
        pad(v, (0, 0, 0, missing)),
        pad(attn_mask, (0, missing), value=masked).contiguous(),  # its rows are aligned then
    )


def _four_axes(x: Tensor, leading: tuple[int, ...]) -> Tensor:
    """`x` with its leading axes repeated and folded to two; no copy if there were no more."""
    if x.stride(-1) != 1:
        x = x.contiguous()
    if x.shape[:-2] == leading and 0 < len(leading) < 3:
        return x if len(leading) == 2 else x.unsqueeze(0)
    if x.shape[:-2].numel() < math.prod(leading):
        x = x.contiguous()  # so that folding copies no repetition
    x = x.expand(*leading, *x.shape[-2:])
    return x.reshape(math.prod(leading[:-1]), math.prod(leading[-1:]), *x.shape[-2:])


def _four_axes_of_mask(x: Tensor, leading: tuple[int, ...]) -> Tensor:
    """A mask or bias with two leading axes, repeated no more than it must be."""
    own = (1,) * (len(leading) + 2 - x.ndim) + tuple(x.shape[:-2])
    front = own[:-1] if set(own[:-1]) <= {1} else leading[:-1]
    return _four_axes(x, (*front, *own[-1:]))
