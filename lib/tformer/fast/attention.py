"""Attention: each query asks all keys, and takes a weighted mean of the values (chapter 3).

A mask is boolean, and True means "may look". It is a bias of -inf wherever it is False, so
everything below follows from the scores. A row that may look nowhere has scores of -inf only: its
weights are zeros, and so are its output and what it passes back.
"""

import math
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import pad, scaled_dot_product_attention

from tformer.fast.checks import checked
from tformer.fast.softmax import softmax
from tformer.shapes import require_scale

__all__ = ["attention", "attention_vjp", "attention_weights"]


class Kernel(NamedTuple):
    """What PyTorch's kernel on a device wants, besides four axes and one width for all.

    half : half precision is left to it. On a CPU it is no faster in it than in float32.
    width : the width is a multiple of this.
    fewest : with fewer keys than this it needs a mask. With fewer than a vector register holds, and
        no mask, the one on a CPU takes a row of NaN for one that may look nowhere.
    keys : with a mask, the number of keys is a multiple of this.
    blind : it may be given rows that may look nowhere, and gives zeros. On a GPU, in half
        precision, they come back as the mean of the values.
    """

    half: bool
    width: int
    fewest: int
    keys: int
    blind: bool


CPU = Kernel(half=False, width=1, fewest=16, keys=1, blind=True)
GPU = Kernel(half=True, width=8, fewest=0, keys=16, blind=False)


@checked
def attention_weights(
    q: Tensor,
    k: Tensor,
    mask: Tensor | None = None,
    bias: Tensor | None = None,
    scale: float | None = None,
) -> Tensor:
    """Table of weights: row t, column s holds how much query t takes of value s.

    Parameters
    ----------
    q : (..., T, K) array
        Queries.
    k : (..., S, K) array
        Keys.
    mask : (..., T or 1, S or 1) boolean array, optional
        True where query t may look at key s; without it, everywhere.
    bias : (..., T or 1, S or 1) array, optional
        Added to the scaled scores; -inf hides a key as the mask does.
    scale : float, optional
        Factor of the scores, finite and above 0; 1/√K if left out.

    Returns
    -------
    (..., T, S) array
        Each row sums to one, or is zero where it may look nowhere.

    Raises
    ------
    ShapeError
        If two arrays disagree about an axis or their leading axes do not broadcast.
    ValueError
        If scale is not finite and above 0.
    TypeError
        If mask does not hold booleans, or another array no floating-point numbers.

    Notes
    -----
    Equation eq-attention-weights; [vaswani2017]. Departures: a row whose scores are all -inf gives
    zeros, an empty row stays empty. A score of +inf or NaN makes its row NaN, even where the mask
    hides it, since +inf or NaN plus -inf is NaN. Half precision is widened to float32 on the way.
    """
    scale = require_scale("attention_weights", scale, q)
    scores_TS = scale * (_widened(q) @ _widened(k).mT)
    if bias is not None:
        scores_TS = scores_TS + bias
    if mask is not None:
        scores_TS = scores_TS + _hiding(mask, scores_TS.dtype)
    return softmax(scores_TS).to(q.dtype)


@checked
def attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    mask: Tensor | None = None,
    bias: Tensor | None = None,
    scale: float | None = None,
) -> Tensor:
    """Scaled dot-product attention: row t is the mean of the values, by the weights of query t.

    Parameters
    ----------
    q : (..., T, K) array
        Queries.
    k : (..., S, K) array
        Keys.
    v : (..., S, V) array
        Values, one for each key.
    mask : (..., T or 1, S or 1) boolean array, optional
        True where query t may look at key s; without it, everywhere.
    bias : (..., T or 1, S or 1) array, optional
        Added to the scaled scores; -inf hides a key as the mask does.
    scale : float, optional
        Factor of the scores, finite and above 0; 1/√K if left out.

    Returns
    -------
    (..., T, V) array
        A row that may look nowhere is zero.

    Raises
    ------
    ShapeError
        If two arrays disagree about an axis or their leading axes do not broadcast.
    ValueError
        If scale is not finite and above 0.
    TypeError
        If mask does not hold booleans, or another array no floating-point numbers.

    Notes
    -----
    Equation eq-attention; [vaswani2017], by the kernel of [dao2022], which never stores the table
    of scores. Departures, infinite and NaN entries as in the definition. On a CPU half precision is
    widened to float32, where the kernel is no slower; on a GPU the weights are rounded to it. Where
    PyTorch has no such kernel (float64 on a GPU, a gradient for the bias on a CPU), it stores them.
    """
    kernel = CPU if q.is_cpu else GPU
    if bias is None and scale is None and _takes(kernel, q, k, v, mask):
        return scaled_dot_product_attention(q, k, v, attn_mask=mask)
    scale = require_scale("attention", scale, q)
    leading = _leading_axes(q, k, v, mask, bias)
    dtype, width = q.dtype, v.shape[-1]
    q, k, v = (_four_axes(x, leading) for x in _fitted(kernel, q, k, v))
    shown = _shown(kernel, k, mask, bias, leading)
    y = _by_kernel(kernel, q, k, v, shown, scale)
    return y[..., :width].reshape(*leading, q.shape[-2], width).to(dtype)


@checked
def attention_vjp(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    grad: Tensor,
    mask: Tensor | None = None,
    bias: Tensor | None = None,
    scale: float | None = None,
) -> tuple[Tensor, Tensor, Tensor, Tensor | None]:
    """Vector-Jacobian product of attention: the gradients passed back to its arguments.

    Parameters
    ----------
    q : (..., T, K) array
        Queries.
    k : (..., S, K) array
        Keys.
    v : (..., S, V) array
        Values, one for each key.
    grad : (..., T, V) array
        Gradient of a loss with respect to the output of `attention`.
    mask : (..., T or 1, S or 1) boolean array, optional
        True where query t may look at key s; without it, everywhere.
    bias : (..., T or 1, S or 1) array, optional
        Added to the scaled scores; -inf hides a key as the mask does.
    scale : float, optional
        Factor of the scores, finite and above 0; 1/√K if left out.

    Returns
    -------
    dq : (..., T, K) array
        Each gradient has the shape of its argument: axes along which that was repeated are summed.
    dk : (..., S, K) array
    dv : (..., S, V) array
    dbias : (..., T or 1, S or 1) array, optional
        None without a bias.

    Raises
    ------
    ShapeError
        If two arrays disagree about an axis or their leading axes do not broadcast.
    ValueError
        If scale is not finite and above 0.
    TypeError
        If mask does not hold booleans, or another array no floating-point numbers.

    Notes
    -----
    Equation eq-attention-vjp; the derivatives of [vaswani2017], by PyTorch's automatic
    differentiation of `attention`, which computes the weights again where it needs them [dao2022].
    A row that may look nowhere passes back zeros; one of NaN passes back NaN, except that to some
    values PyTorch's kernel passes 0 if the score of another was +inf.
    """
    scale = require_scale("attention_vjp", scale, q)
    with torch.enable_grad():
        q, k, v = (x.detach().requires_grad_() for x in (q, k, v))
        bias = None if bias is None else bias.detach().requires_grad_()
        inputs = [x for x in (q, k, v, bias) if x is not None]
        y, grad = torch.broadcast_tensors(attention(q, k, v, mask, bias, scale), grad)
        dq, dk, dv, *dbias = torch.autograd.grad(y, inputs, grad, materialize_grads=True)
    return dq, dk, dv, dbias[0] if dbias else None


def _takes(kernel: Kernel, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> bool:
    """Whether the kernel takes the arguments as they are, and with the usual scale."""
    shape = k.shape
    if mask is None:
        right = shape[-2] >= kernel.fewest
    else:
        right = mask.ndim == 2 and kernel.blind and shape[-2] % kernel.keys == 0
    return (
        right
        and q.ndim == len(shape) == 4
        and q.shape[:2] == shape[:2]
        and v.shape == shape
        and shape[3] % kernel.width == 0
        and (kernel.half or q.dtype.itemsize >= 4)
        and q.stride()[3] == k.stride()[3] == v.stride()[3] == 1
    )


def _leading_axes(*arrays: Tensor | None) -> tuple[int, ...]:
    """The leading axes of all arrays after broadcasting."""
    shapes = {tuple(x.shape[:-2]) for x in arrays if x is not None} - {()}
    if len(shapes) > 1:  # torch.broadcast_shapes takes as long as a small kernel
        return tuple(torch.broadcast_shapes(*shapes))
    return shapes.pop() if shapes else ()


def _widened(x: Tensor) -> Tensor:
    """Half precision as float32; wider tensors as they are."""
    return x if x.dtype == torch.float64 else x.float()


def _hiding(mask: Tensor, dtype: torch.dtype) -> Tensor:
    """The mask as a bias: 0 where one may look, -inf where not."""
    return torch.zeros_like(mask, dtype=dtype).masked_fill(~mask, -torch.inf)


def _fitted(kernel: Kernel, *tensors: Tensor) -> list[Tensor]:
    """Queries, keys and values in a precision and, filled up with zeros, a width it takes."""
    if not kernel.half:
        tensors = tuple(map(_widened, tensors))
    width = max(x.shape[-1] for x in tensors)
    width += -width % kernel.width
    return [pad(x, (0, width - x.shape[-1])) if x.shape[-1] < width else x for x in tensors]


def _shown(
    kernel: Kernel,
    k: Tensor,
    mask: Tensor | None,
    bias: Tensor | None,
    leading: tuple[int, ...],
) -> Tensor | None:
    """Mask and bias as the one tensor that the kernel takes, if any."""
    shown = mask
    if bias is not None:
        bias = bias.to(k.dtype)
        shown = bias if mask is None else bias + _hiding(mask, k.dtype)
    elif mask is None and k.shape[-2] < kernel.fewest:
        shown = torch.ones(1, k.shape[-2], dtype=torch.bool, device=k.device)
    return None if shown is None else _four_axes_of_mask(shown, leading)


def _by_kernel(
    kernel: Kernel, q: Tensor, k: Tensor, v: Tensor, shown: Tensor | None, scale: float
) -> Tensor:
    """Output of the kernel, with zeros where a row may look nowhere."""
    if shown is None or kernel.blind:
        return scaled_dot_product_attention(q, k, v, attn_mask=shown, scale=scale)
    looks, shown = _opened(shown.expand(*shown.shape[:-1], k.shape[-2]))
    k, v, shown = _filled_up(kernel, k, v, shown)
    return looks * scaled_dot_product_attention(q, k, v, attn_mask=shown, scale=scale)


def _opened(shown: Tensor) -> tuple[Tensor, Tensor]:
    """Which rows may look somewhere, and `shown` with the other rows looking everywhere."""
    if shown.dtype == torch.bool:
        looks = shown.any(dim=-1, keepdim=True)
        return looks, shown | ~looks
    looks = (shown != -torch.inf).any(dim=-1, keepdim=True)
    return looks, shown.masked_fill(~looks, 0.0)


def _filled_up(
    kernel: Kernel, k: Tensor, v: Tensor, shown: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """Keys, values and mask with hidden keys up to the number that the kernel wants.

    They are copies of the last key: a zero would make a score of NaN for an infinite query.
    """
    missing = -k.shape[-2] % kernel.keys
    copies = k[:, :, -1:].expand(-1, -1, missing, -1)
    hidden = 0 if shown.dtype == torch.bool else -torch.inf
    return (
        torch.cat([k, copies], dim=-2),
        pad(v, (0, 0, 0, missing)),
        pad(shown, (0, missing), value=hidden).contiguous(),  # its rows are aligned then
    )


def _four_axes(x: Tensor, leading: tuple[int, ...]) -> Tensor:
    """`x` with its leading axes repeated and folded to two; no copy if there were no more."""
    if x.stride(-1) != 1:
        x = x.contiguous()
    if len(leading) == 2 and x.shape[:-2] == leading:
        return x
    x = x.expand(*leading, *x.shape[-2:])
    return x.reshape(math.prod(leading[:-1]), math.prod(leading[-1:]), *x.shape[-2:])


def _four_axes_of_mask(x: Tensor, leading: tuple[int, ...]) -> Tensor:
    """A mask or bias with two leading axes, repeated no more than it must be."""
    own = (1,) * (len(leading) + 2 - x.ndim) + tuple(x.shape[:-2])
    front = own[:-1] if set(own[:-1]) <= {1} else leading[:-1]
    return _four_axes(x, (*front, *own[-1:]))
