"""What PyTorch's attention kernels require of their arguments: see decisions 008 and 009.

`attention` calls the kernel between two steps that are defined here. The first brings the arguments
into the form that the kernel takes; the second restores shape and precision of the output, and sets
fully masked rows to zero.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import pad

from tformer.fast.precision import wide
from tformer.parameters import tree_map

__all__ = [
    "CPU",
    "GPU",
    "Kernel",
    "additive",
    "for_kernel",
    "kernel_of",
    "takes_folded",
    "takes_groups",
]


class Kernel(NamedTuple):
    """Requirements of PyTorch's kernel on a device, besides four axes and one width for q, k and v.

    half : it is given tensors in half precision; on a CPU, where it is no faster in it, float32.
    width : the width must be a multiple of this.
    fewest : with fewer keys than this it needs a mask. With fewer than a vector register holds, and
        no mask, the CPU kernel treats a row of NaN as a fully masked one.
    keys : with a mask, the number of keys must be a multiple of this.
    fully_masked : it returns zeros for fully masked rows. On a GPU, in half precision, it returns
        the mean of the values instead.
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
    """Return q, k, v and one mask as the kernel takes them, and what restores its output."""
    kernel, lacking = kernel_of(q), 4 - q.ndim
    if bias is None and lacking >= 0:
        q4, k4, v4 = (x.view((1,) * lacking + x.shape) if lacking else x for x in (q, k, v))
        if _takes(kernel, q4, k4, v4, mask):
            return q4, k4, v4, mask, lambda y: y.view(y.shape[lacking:]) if lacking else y
    leading = _leading_axes(q, k, v, mask, bias)
    shape, dtype = (*leading, q.shape[-2], v.shape[-1]), q.dtype
    if k.shape[-2] == 0:
        q = zeros_for(q)  # without a key there is no score to be infinite or NaN
    q, k, v = (_four_axes(x, leading) for x in _pad_widths(kernel, q, k, v))
    attn_mask = _one_mask(kernel, k, mask, bias, leading)
    attending: Tensor | None = None
    if attn_mask is not None and not kernel.fully_masked:
        attending, attn_mask = _without_fully_masked(
            attn_mask.expand(*attn_mask.shape[:-1], k.shape[-2])
        )
        k, v, attn_mask = _pad_keys(kernel, k, v, attn_mask)

    def restored(y: Tensor) -> Tensor:
        y = y if attending is None else attending * y
        return y[..., : shape[-1]].reshape(shape).to(dtype)

    return q, k, v, attn_mask, restored


def kernel_of(x: Tensor) -> Kernel:
    """Return the requirements of the kernel on the device of `x`."""
    return CPU if x.is_cpu else GPU


def widened(x: Tensor, *others: Any) -> tuple[Any, ...]:
    """Convert all arguments to float32 if x is in half precision and that is no faster here."""
    half = x.dtype.itemsize < 4 and not kernel_of(x).half
    return tree_map(wide, (x, *others)) if half else (x, *others)


def zeros_for(x: Tensor) -> Tensor:
    """Return zeros in the shape of `x`, with gradient 0 for `x`, whatever its entries."""
    return x.masked_fill(torch.ones((), dtype=torch.bool, device=x.device), 0.0)


def _takes(kernel: Kernel, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> bool:
    """Return whether the kernel takes the arguments as they are."""
    shape = k.shape
    if mask is None:
        fits = shape[-2] >= kernel.fewest
    else:
        fits = mask.ndim == 2 and kernel.fully_masked and shape[-2] % kernel.keys == 0
    return (
        fits
        and q.ndim == len(shape) == 4
        and q.shape[:2] == shape[:2]
        and v.shape == shape
        and shape[2] > 0
        and shape[3] % kernel.width == 0
        and (kernel.half or q.dtype.itemsize >= 4)
        and q.stride()[3] == k.stride()[3] == v.stride()[3] == 1
    )


def takes_groups(q: Tensor, k: Tensor, v: Tensor) -> bool:
    """Return whether the kernel takes fewer key/value heads than query heads as they are, unmasked.

    It then reads keys and values in place, while folding the groups would copy the queries. For a
    single query folding is faster.
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


def takes_folded(q: Tensor, k: Tensor, v: Tensor) -> bool:
    """Return whether the kernel takes one query a head as it is: no leading axes, no mask."""
    kernel = kernel_of(q)
    return (
        not kernel.half
        and q.ndim == k.ndim == 3
        and q.shape[1] == 1
        and q.dtype.itemsize >= 4
        and k.shape == v.shape
        and k.shape[1] >= kernel.fewest
        and k.shape[2] > 0
        and q.is_contiguous()
        and k.stride()[2] == v.stride()[2] == 1
    )


def _leading_axes(*arrays: Tensor | None) -> tuple[int, ...]:
    """Return the leading axes of all arrays after broadcasting."""
    shapes = {tuple(x.shape[:-2]) for x in arrays if x is not None} - {()}
    if len(shapes) > 1:  # torch.broadcast_shapes takes as long as a small kernel
        return tuple(torch.broadcast_shapes(*shapes))
    return shapes.pop() if shapes else ()


def additive(mask: Tensor, dtype: torch.dtype) -> Tensor:
    """Return the additive mask: 0 where `mask` is True, -inf where it is False."""
    return torch.zeros_like(mask, dtype=dtype).masked_fill_(~mask, -torch.inf)


def _pad_widths(kernel: Kernel, *tensors: Tensor) -> list[Tensor]:
    """Convert q, k and v to a precision and, padded with zeros, a width that the kernel takes."""
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
    """Combine mask and bias to the one tensor that the kernel takes, or None."""
    attn_mask = mask
    if bias is not None:
        bias = bias.to(k.dtype)
        attn_mask = bias if mask is None else bias + additive(mask, k.dtype)
    elif mask is None and k.shape[-2] < kernel.fewest:
        attn_mask = torch.ones(1, k.shape[-2], dtype=torch.bool, device=k.device)
    return None if attn_mask is None else _four_axes_of_mask(attn_mask, leading)


def _without_fully_masked(attn_mask: Tensor) -> tuple[Tensor, Tensor]:
    """Return which rows are not fully masked, and the mask with fully masked rows unmasked."""
    if attn_mask.dtype == torch.bool:
        attending = attn_mask.any(dim=-1, keepdim=True)
        return attending, attn_mask | ~attending
    attending = (attn_mask != -torch.inf).any(dim=-1, keepdim=True)
    return attending, attn_mask.masked_fill(~attending, 0.0)


def _pad_keys(
    kernel: Kernel, k: Tensor, v: Tensor, attn_mask: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """Pad keys, values and mask with masked keys to a number of keys that the kernel takes.

    The padding copies the last key: a key of zeros would give an infinite query a score of NaN.
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
    """Broadcast the leading axes of `x` and fold them to two; no copy if there were no more."""
    if x.stride(-1) != 1:
        x = x.contiguous()
    if x.shape[:-2] == leading and 0 < len(leading) < 3:
        return x if len(leading) == 2 else x.unsqueeze(0)
    if x.shape[:-2].numel() < math.prod(leading):
        x = x.contiguous()  # so that folding copies no broadcast axis
    x = x.expand(*leading, *x.shape[-2:])
    return x.reshape(math.prod(leading[:-1]), math.prod(leading[-1:]), *x.shape[-2:])


def _four_axes_of_mask(x: Tensor, leading: tuple[int, ...]) -> Tensor:
    """Fold the leading axes of a mask or bias to two, broadcast no more than necessary."""
    own = (1,) * (len(leading) + 2 - x.ndim) + tuple(x.shape[:-2])
    front = own[:-1] if set(own[:-1]) <= {1} else leading[:-1]
    return _four_axes(x, (*front, *own[-1:]))
